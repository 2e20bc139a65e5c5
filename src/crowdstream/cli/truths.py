"""Files of correct labels, for --truth and --gold, and what is odd about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crowdstream.cli.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels import ClassLabel, TaskId, Vocabulary

SHOWN = 5
"""Classes that a note names."""


def read_truth_file(option: str, path: str, notes: list[str] | None = None) -> pl.DataFrame:
    """task, gold: the correct labels, from a file with a task and a label (or gold) column."""
    from crowdstream.labels.gold import read_truths, truth_table

    return truth_table(read_truths(path, option=option, notes=notes)).rename({"label": "gold"})


def gold_notes(gold: Mapping[TaskId, ClassLabel] | None, classes: Vocabulary) -> list[str]:
    """What whoever filled in the file of --gold should know.

    >>> from crowdstream.labels import Vocabulary
    >>> gold_notes({"t1": "spma", "t2": "ham"}, Vocabulary(["spam", "ham"]))
    ["1 class of --gold that no worker has given, left out: 'spma'"]
    """
    if gold is None:
        return []
    if not gold:
        return ["no row of --gold is filled in"]
    new = [repr(label) for label in dict.fromkeys(gold.values()) if label not in classes]
    if not new:
        return []
    more = f" and {len(new) - SHOWN:,} more" if len(new) > SHOWN else ""
    noun = "class" if len(new) == 1 else "classe"
    return [
        f"{counted(len(new), noun, 'of --gold that no worker has given, left out')}: "
        f"{', '.join(new[:SHOWN])}{more}"
    ]
