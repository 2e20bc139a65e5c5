"""Sentences of a comparison: how it is measured, how it is read, what to be wary of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from crowdstream_lab.compare.measures import RUNS, SLOW, WARM_TASKS
from crowdstream_lab.compare.methods import CROWDKIT, REFERENCE
from crowdstream_lab.compare.paired import (
    ALIKE,
    BETTER,
    EQUIVALENT,
    FEWEST,
    FEWEST_DIFFERING,
    FEWEST_TASKS,
    TOLD_APART,
    TOO_FEW_TASKS,
    WORSE,
)
from crowdstream_lab.compare.tables import LEVEL, Ranking, Study, sizes
from crowdstream_lab.datasets import Dataset, names

HOW = (
    "Online: the share of tasks decided wrongly when each is decided from its labels and the tasks "
    "before it; blank for methods that need all labels first. Final: all tasks decided with what "
    "all labels taught. Only tasks with gold are judged, and no method sees it. SBIC and "
    "la-one-pass never revise a decision: what they said online is final.",
    "A tie is counted in expectation: exactly for majority vote, ½ between two classes; "
    "among more classes a weighted decision counts as the coin fell.",
    "Online methods: the mean over the file's order of tasks and random ones; others: once. One "
    "that is over the time limit online has no final error on that set either.",
    "− majority and − adaptive: the mean over sets of a method's error less that of the other on "
    "the same set, ± its paired standard error (the spread of these differences over the root of "
    "their number), over the sets that both ran on.",
    f"Against adaptive: better or worse if the mean is more than {TOLD_APART:g} standard errors "
    f"from 0, otherwise “{ALIKE}”, which is not to say as good: a method that is far worse "
    f"on some sets and better on others gets it too. Below {FEWEST} sets nothing is said. Of many "
    "methods that are all alike one in twenty would still get a word, so that a single word proves "
    "little.",
    "Equivalent: the 95 % interval of the mean difference (Student's t over the sets) lies within "
    f"{100 * EQUIVALENT:g} points of 0. A method can be both worse and equivalent.",
    "A published algorithm counts once, by its best implementation here; the library's own methods "
    "and variants of ours are not counted.",
    "On a single set the standard errors are over its tasks: each is wrong, right or, in a tie, in "
    "between under both methods. They tell of other tasks of the same kind, not of other crowds. "
    f"Below {FEWEST_TASKS} tasks nothing is said, and methods that differ on fewer than "
    f"{FEWEST_DIFFERING} tasks cannot be told apart.",
    "Rank: the mean over all sets, by final error, of the methods that ran on every one. Worse: "
    "sets on which majority vote errs less.",
    "ECE (ten bins) and Brier score are of the confidence in the final decisions.",
    "ns/label: wall time of fit_predict over labels, from a table with text ids (crowd-kit: a "
    f"pandas table), the quickest of up to {RUNS} runs (one with --quick), fewer once they took "
    f"{SLOW:g} s together. "
    "MB: how far these raised the peak resident memory of a fresh process that had loaded the "
    f"method and run it on {WARM_TASKS} tasks; what that had freed and is taken again does not "
    "show, so read 0 as less than a few MB. Of both, the median over sets.",
)
"""Sentences on how everything is measured, for the page and the Markdown."""


SEEN = (
    f"The public sets are not unseen for {REFERENCE}: its first version was drawn looking at some "
    "500 configurations on 18 of them, and at least three constants of the present one were "
    "compared there. On 22 real sets kept aside, the study it comes from measured an error of "
    "0.208, and 0.216 for majority vote. More in docs/benchmark-protocol.md."
)
"""Said where a public set takes part; the figures are of the study that the estimator came from."""


LEFT_OUT = (
    "How mean differences change when each set is left out in turn: a lead that hangs on one set "
    "shows here. The last column names sets without which the word against adaptive is another."
)


def caution(study: Study) -> str:
    """Return what to be wary of; empty for a user's own labels."""
    known = set(names())
    return SEEN if any(data.name in known for data in study.sets) else ""


def answer(study: Study) -> str:
    """The outcome in a sentence: of the published algorithms, how many are better than adaptive."""
    if len(study.sets) == 1 and study.outcomes is not None:
        return _answer_on_one(study)
    told = _by_algorithm(study)
    called = {name: x for name, x in told.items() if x["verdict"] in (BETTER, ALIKE, WORSE)}
    if told and not called:
        return f"With fewer than {FEWEST} sets no method is called better or worse than another."
    if not called:
        return ""
    names = {
        word: sorted(name for name, x in called.items() if x["verdict"] == word)
        for word in (BETTER, ALIKE, WORSE)
    }
    same = sorted(name for name, x in called.items() if x["equivalent"])
    rest = len(told) - len(called)
    return (
        f"Of {len(told)} published algorithms, with all labels in, {len(names[BETTER])} are better "
        f"than {REFERENCE}{_listed(names[BETTER])}, {len(names[ALIKE])} cannot be told apart from "
        f"it{_listed(names[ALIKE])}, and {len(names[WORSE])} are worse"
        + _listed(names[WORSE])
        + (f"; {rest} ran on too few sets" if rest else "")
        + f". Within half a point of it at 95 %: {len(same)}{_listed(same)}."
    )


def _answer_on_one(study: Study) -> str:
    """The outcome on one set, method by method."""
    table = study.summary().filter(pl.col("method") != REFERENCE, pl.col("verdict") != "")
    words = dict(table.select("method", "verdict").iter_rows())
    if not words:
        return ""
    if TOO_FEW_TASKS in words.values():
        return f"With fewer than {FEWEST_TASKS} tasks no method is called better or worse."
    names = {word: [m for m, x in words.items() if x == word] for word in (BETTER, ALIKE, WORSE)}
    return (
        f"On these tasks {len(names[BETTER])} methods are better than "
        f"{REFERENCE}{_listed(names[BETTER])}, {len(names[ALIKE])} cannot be told apart from it, "
        f"and {len(names[WORSE])} are worse."
    )


def _by_algorithm(study: Study) -> dict[str, dict[str, Any]]:
    """Published algorithm → the summary's row of its best implementation."""
    algorithms = {method.name: method.algorithm for method in study.methods}
    found: dict[str, dict[str, Any]] = {}
    for row in study.summary().iter_rows(named=True):
        name = algorithms[row["method"]]
        if name is None or not row["verdict"]:
            continue
        if name not in found or row["behind"] < found[name]["behind"]:
            found[name] = row
    return found


def _listed(names: Sequence[str]) -> str:
    return f" ({'; '.join(names)})" if names else ""


def size_text(data: Dataset) -> str:
    """Say how large a data set is."""
    size = sizes(data)
    return (
        f"{data.meta.title}: {size['labels']:,} labels of {size['tasks']:,} tasks by "
        f"{size['workers']:,} workers, {size['classes']} classes, "
        f"gold for {size['gold_tasks']:,} tasks."
    )


def verdict_text(ranking: Ranking | None) -> str:
    """Say if mean ranks differ."""
    if ranking is None:
        return "Ranks are compared from two sets and two methods on."
    return (
        f"Friedman's test on {ranking.methods} methods and {ranking.sets} sets: "
        f"p = {ranking.p_value:.2g}. Mean ranks differ at the {LEVEL:g} level if more than "
        f"{ranking.critical_difference:.2f} apart (Nemenyi)."
    )


def deviations(study: Study) -> list[str]:
    """In what the rivals are not as published: one line each."""
    lines = [f"{m.name}: {m.deviation()}" for m in study.methods if m.deviation()]
    if any(m.family == CROWDKIT for m in study.methods):
        lines.append("ck: as crowd-kit has them, with its defaults")
    return lines
