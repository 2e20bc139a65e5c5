"""`Decided`: what a writer needs of a decision. The one way in for tables and `Decision`s alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from crowdstream.decisions import Decision
from crowdstream.defaults import SETTLE
from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel

if TYPE_CHECKING:
    import polars as pl

Decisions: TypeAlias = "pl.DataFrame | Iterable[Decision]"


class Decided(NamedTuple):
    """A decided task; its name is text, as tools write it."""

    task: str
    label: ClassLabel
    confidence: float
    settled: bool


def decided(decisions: Decisions) -> dict[str, Decided]:
    """Decisions by task; those without a label are left out.

    >>> decided([Decision("7", "good", 0.9, 0.8, 3, True, True)])["7"].label
    'good'
    """
    import polars as pl

    if isinstance(decisions, pl.DataFrame):
        return {one.task: one for one in _of_table(decisions)}
    return {
        str(one.task): Decided(str(one.task), one.label, one.confidence, one.settled)
        for one in decisions
        if one.label is not None
    }


def _of_table(table: pl.DataFrame) -> Iterable[Decided]:
    import polars as pl

    for name in ("task", "label", "confidence"):
        if name not in table.columns:
            raise InputError("decisions", f"a column {name!r}", ", ".join(table.columns))
    rows = table.filter(pl.col("label").is_not_null())
    confidence = rows["confidence"].cast(pl.Float64, strict=False)
    if confidence.null_count() or not confidence.is_between(0.0, 1.0).all():
        raise InputError("decisions, column 'confidence'", "numbers from 0 to 1", "others")
    settled = confidence >= SETTLE
    if "settled" in rows.columns:
        settled = rows["settled"].cast(pl.String).str.to_lowercase().is_in(["true", "1"])
    for task, label, sure, is_settled in zip(
        rows["task"].cast(pl.String), rows["label"], confidence, settled, strict=True
    ):
        if task is not None:
            yield Decided(task, label, sure, is_settled)
