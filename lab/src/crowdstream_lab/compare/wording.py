"""What a comparison says in sentences: how it is measured, how it is read, what to be wary of."""

from __future__ import annotations

from crowdstream_lab.compare.measures import RUNS, SLOW, WARM_TASKS
from crowdstream_lab.compare.methods import CROWDKIT, REFERENCE
from crowdstream_lab.compare.paired import ALIKE, FEWEST, TOLD_APART
from crowdstream_lab.compare.tables import LEVEL, Ranking, Study, sizes
from crowdstream_lab.datasets import Dataset, names

HOW = (
    "Online: the share of tasks decided wrongly when each is decided from its labels and the tasks "
    "before it; blank for methods that need all labels first. Final: all tasks decided with what "
    "all labels taught. Only tasks with gold are judged, and no method sees it. SBIC never "
    "revises a decision: what it said online is final.",
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
"""How everything is measured; on the page and in the Markdown."""


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
    """What to be wary of; empty for a user's own labels."""
    known = set(names())
    return SEEN if any(data.name in known for data in study.sets) else ""


def answer(study: Study) -> str:
    """The outcome in a sentence: how many methods are better than adaptive, how many worse."""
    table = study.summary()
    told = [
        (name, word)
        for name, word in table.select("method", "verdict").iter_rows()
        if name != REFERENCE and word
    ]
    if not told:
        return ""
    better = [name for name, word in told if word == "better"]
    alike = [name for name, word in told if word == ALIKE]
    worse = sum(word == "worse" for _, word in told)
    if not better and not alike and not worse:
        return f"With fewer than {FEWEST} sets no method is called better or worse than another."
    return (
        f"Against {REFERENCE}, all labels in: better: {', '.join(better) or 'none'}; "
        f"{ALIKE}: {', '.join(alike) or 'none'}; worse: {worse} others."
    )


def size_text(data: Dataset) -> str:
    """How large a data set is, in a sentence."""
    size = sizes(data)
    return (
        f"{data.meta.title}: {size['labels']:,} labels of {size['tasks']:,} tasks by "
        f"{size['workers']:,} workers, {size['classes']} classes, "
        f"gold for {size['gold_tasks']:,} tasks."
    )


def verdict_text(ranking: Ranking | None) -> str:
    """Whether mean ranks differ, in a sentence."""
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
