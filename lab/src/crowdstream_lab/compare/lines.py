"""The tables of a comparison as cells of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from crowdstream_lab.compare.measures import OK
from crowdstream_lab.compare.methods import REFERENCE, YARDSTICK
from crowdstream_lab.compare.paired import leave_out
from crowdstream_lab.compare.tables import Study

AGAINST = f"against {REFERENCE}"


SUMMARY_HEAD = (
    "method",
    "sets",
    "online",
    "final",
    f"− {YARDSTICK}",
    f"− {REFERENCE}",
    AGAINST,
    "ECE",
    "ns/label",
    "MB",
)
"""Headings of the one table that the terminal shows."""


FINAL_HEAD = (
    "method",
    "sets",
    "final",
    f"− {YARDSTICK} ± s.e.",
    f"− {REFERENCE} ± s.e.",
    AGAINST,
    "rank",
    "worse",
)


ONLINE_HEAD = ("method", "sets", "online", *FINAL_HEAD[3:6])


COST_HEAD = (
    "method",
    "ECE",
    "Brier",
    f"Brier − {REFERENCE} ± s.e.",
    AGAINST,
    "ns/label",
    "ns/label online",
    "MB",
)


LEFT_OUT_HEAD = (
    "method",
    f"− {YARDSTICK}, lowest",
    "highest",
    f"− {REFERENCE}, lowest",
    "highest",
    "hangs on",
)


SET_HEAD = ("method", "online", "final", "ECE", "Brier", "ns/label", "ns/label online", "MB")


@dataclass(frozen=True)
class Sheet:
    """A table as text with its title."""

    title: str
    head: Sequence[str]
    lines: list[list[str]]
    note: str = ""


def number_text(value: float | None, digits: int, sign: str = "") -> str:
    """A number with so many digits; nothing for None."""
    return "" if value is None else f"{value:{sign},.{digits}f}"


def difference_text(mean: float | None, error: float | None) -> str:
    """A mean difference and its standard error.

    >>> difference_text(-0.03266, 0.00812), difference_text(0.01, None)
    ('-0.0327 ± 0.0081', '+0.0100')
    """
    shown = number_text(mean, 4, "+")
    return shown if error is None else f"{shown} ± {error:.4f}"


def _difference(row: dict[str, Any], name: str, against: str) -> str:
    """A difference of the summary's; nothing for the method itself."""
    if row["method"] == against:
        return ""
    return difference_text(row[name], row[f"{name}_se"])


def _word(row: dict[str, Any], prefix: str = "") -> str:
    """The word against adaptive, and whether the two are equivalent."""
    word, same = row[f"{prefix}verdict"], row[f"{prefix}equivalent"]
    return f"{word}, equivalent" if same else str(word)


def summary_lines(study: Study) -> list[list[str]]:
    """The summary as text: one list of cells per method that ran on some set."""
    total = len(study.sets)
    return [
        [
            row["method"],
            f"{row['sets']}/{total}",
            number_text(row["prequential"], 4),
            number_text(row["final"], 4),
            _difference(row, "excess", YARDSTICK),
            _difference(row, "behind", REFERENCE),
            _word(row),
            number_text(row["ece"], 3),
            number_text(row["ns_fit"], 0),
            number_text(row["memory_mb"], 1),
        ]
        for row in study.summary().iter_rows(named=True)
    ]


def final_lines(study: Study) -> list[list[str]]:
    """Errors with all labels in; a method that did not run on every set shows why."""
    total, reasons = len(study.sets), _reasons(study)
    lines = [
        [
            row["method"],
            f"{row['sets']}/{total}",
            reasons.get(row["method"]) or number_text(row["final"], 4),
            _difference(row, "excess", YARDSTICK),
            _difference(row, "behind", REFERENCE),
            _word(row),
            number_text(row["rank"], 2),
            str(row["worse"]),
        ]
        for row in study.summary().iter_rows(named=True)
    ]
    shown = {line[0] for line in lines}
    blank = [""] * (len(FINAL_HEAD) - 3)
    return lines + [
        [name, f"0/{total}", why, *blank] for name, why in reasons.items() if name not in shown
    ]


def online_lines(study: Study) -> list[list[str]]:
    """Errors as tasks come, of the methods that can decide then, the best first."""
    table = study.summary().filter(pl.col("online_excess").is_not_null())
    total, reasons = len(study.sets), _reasons(study)
    return [
        [
            row["method"],
            f"{row['sets']}/{total}",
            reasons.get(row["method"]) or number_text(row["prequential"], 4),
            _difference(row, "online_excess", YARDSTICK),
            _difference(row, "online_behind", REFERENCE),
            _word(row, "online_"),
        ]
        for row in table.sort("prequential", "online_excess", nulls_last=True).iter_rows(named=True)
    ]


def cost_lines(study: Study) -> list[list[str]]:
    """Calibration, time and memory."""
    return [
        [
            row["method"],
            number_text(row["ece"], 3),
            number_text(row["brier"], 3),
            _difference(row, "brier_behind", REFERENCE),
            row["brier_verdict"],
            number_text(row["ns_fit"], 0),
            number_text(row["ns_stream"], 0),
            number_text(row["memory_mb"], 1),
        ]
        for row in study.summary().sort("brier", nulls_last=True).iter_rows(named=True)
    ]


def left_out_lines(study: Study) -> list[list[str]]:
    """Return how mean differences of the final error change with each set left out."""
    over, behind = (study.differences("final", x) for x in (YARDSTICK, REFERENCE))
    over.pop(YARDSTICK, None)
    behind.pop(REFERENCE, None)
    lines = []
    for method in study.summary()["method"]:
        cells = [method]
        for found in (leave_out(over.get(method, {})), leave_out(behind.get(method, {}))):
            ends = ((None, ""),) * 2 if found is None else (found.lowest, found.highest)
            cells += [
                f"{number_text(x, 4, '+')} without {name}" if name else "" for x, name in ends
            ]
        turning = [] if found is None else found.turning
        lines.append([*cells, ", ".join(turning)])
    return lines


def sheets(study: Study, note: str) -> list[Sheet]:
    """All tables over all sets; ``note`` goes with the last."""
    found = [
        Sheet("All labels in", FINAL_HEAD, final_lines(study)),
        Sheet("As tasks come", ONLINE_HEAD, online_lines(study)),
        Sheet("Confidence, time and memory", COST_HEAD, cost_lines(study)),
    ]
    if len(study.sets) > 1:
        found.append(Sheet("Each set left out", LEFT_OUT_HEAD, left_out_lines(study), note))
    return found


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


def _reasons(study: Study) -> dict[str, Any]:
    """Method → what it met most often where it did not run to its end."""
    missed = study.by_set().filter(pl.col("status") != OK)
    table = missed.group_by("method", maintain_order=True).agg(pl.col("status").mode().sort())
    return {method: words[0] for method, words in table.iter_rows()}
