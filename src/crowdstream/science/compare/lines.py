"""The tables as text: cells of text, sentences, and how everything was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from crowdstream.science.compare.measures import OK, RUNS, SLOW, WARM_TASKS
from crowdstream.science.compare.tables import LEVEL, Ranking, Study, sizes
from crowdstream.science.datasets import Dataset

if TYPE_CHECKING:
    pass


SUMMARY_HEAD = (
    "method",
    "sets",
    "online",
    "final",
    "− majority",
    "rank",
    "worse",
    "ECE",
    "Brier",
    "ns/label",
    "MB",
)


SET_HEAD = ("method", "online", "final", "ECE", "Brier", "ns/label", "ns/label online", "MB")


HOW = (
    "Online: the share of tasks decided wrongly when each is decided from its labels and the tasks "
    "before it; blank for methods that need all labels first. Final: all tasks decided with what "
    "all labels taught. Only tasks with gold are judged.",
    "A tie is counted in expectation: exactly for majority vote, ½ between two classes; "
    "among more classes a weighted decision counts as the coin fell.",
    "Online methods: the mean over the file's order of tasks and random ones; others: once.",
    "− majority: the mean over its sets of a method's final error less that of majority vote. "
    "Rank: the mean over all sets, by final error, of the methods that ran on every one. Worse: "
    "sets on which majority vote errs less.",
    "ECE (ten bins) and Brier score are of the confidence in the final decisions.",
    "ns/label: wall time of fit_predict over labels, from a table with text ids (crowd-kit: a "
    f"pandas table), the quickest of up to {RUNS} runs, fewer once they took {SLOW:g} s together. "
    "MB: how far these raised the peak resident memory of a fresh process that had loaded the "
    f"method and run it on {WARM_TASKS} tasks; what that had freed and is taken again does not "
    "show, so read 0 as less than a few MB. Of both, the median over sets.",
)
"""How everything is measured; on the page and in the Markdown."""


def summary_lines(study: Study) -> list[list[str]]:
    """The summary as text: one list of cells per method."""
    total = len(study.sets)
    return [
        [
            row["method"],
            f"{row['sets']}/{total}",
            number_text(row["prequential"], 4),
            number_text(row["final"], 4),
            number_text(row["excess"], 4, "+"),
            number_text(row["rank"], 2),
            str(row["worse"]),
            number_text(row["ece"], 3),
            number_text(row["brier"], 3),
            number_text(row["ns_fit"], 0),
            number_text(row["memory_mb"], 1),
        ]
        for row in study.summary().iter_rows(named=True)
    ]


def set_lines(study: Study, name: str) -> list[list[str]]:
    """A set's table as text: the best first, then what did not run."""
    table = study.by_set().filter(pl.col("set") == name)
    return [
        [
            row["method"],
            number_text(row["prequential"], 4),
            number_text(row["final"], 4) if row["status"] == OK else row["status"],
            number_text(row["ece"], 3),
            number_text(row["brier"], 3),
            number_text(row["ns_fit"], 0),
            number_text(row["ns_stream"], 0),
            number_text(row["memory_mb"], 1),
        ]
        for row in table.sort("final", nulls_last=True, maintain_order=True).iter_rows(named=True)
    ]


def number_text(value: float | None, digits: int, sign: str = "") -> str:
    """A number with so many digits; nothing for None."""
    return "" if value is None else f"{value:{sign},.{digits}f}"


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
