"""Advice on workers as ``--json`` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.cli.json_output import AdvisedWorker
from crowdstream.report.advised import shown_workers

if TYPE_CHECKING:
    import polars as pl


def advised_workers(workers: pl.DataFrame) -> list[AdvisedWorker]:
    """The first of those to drop, coach and pay."""
    found = shown_workers(workers)
    if not found.height:
        return []
    return [
        AdvisedWorker(*row) for row in found.select(AdvisedWorker.__struct_fields__).iter_rows()
    ]


def evidence_of(workers: pl.DataFrame) -> str | None:
    """Return what the intervals of error rates rest on, if there are any."""
    return workers["evidence"][0] if workers["error_low"].count() else None
