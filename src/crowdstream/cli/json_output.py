"""Every JSON that the command line prints: its fields, its version, and how it is written.

``run --json``, ``savings --json``, ``gold plan --json``, ``gold check --json`` and ``compare
--json`` print one object on one line; ``stream`` prints one `crowdstream.Decision` per line; a
table in a ``.jsonl`` file has one object per row with the names of its columns.
"""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.decisions import Decision
    from crowdstream.gold_plan import GoldCheck
    from crowdstream.science.compare import Study
    from crowdstream.science.savings import Savings

SCHEMA_VERSION = 1
"""Version of the objects below; raised when a field is removed or changes its meaning."""


class HardTask(msgspec.Struct):
    """A task of ``run --json`` on which the workers disagree most; 0 is easy, 1 is hard."""

    task: str | int
    difficulty: float


class ExpectedErrors(msgspec.Struct):
    """How many decisions of ``run --json`` are expected to be wrong, with a 95 % interval.

    ``gold_tasks``: how many tasks with a known truth it was checked against; 0 where it rests on
    the crowd's own confidence alone.
    """

    errors: float
    low: float
    high: float
    gold_tasks: int


class RunReport(msgspec.Struct, kw_only=True):
    """What ``crowdstream run --json`` prints.

    ``settled``: decisions whose confidence reached ``--settle``. ``identifiable``: whether
    error rates could be estimated; if not, the decisions fell back to majority vote.
    ``families``: groups of workers who do not answer independently. ``effective_votes``: how
    many independent labels carry as much information as the labels of an average task.
    ``alarms``: how often a worker's error rate changed. ``hardest``: the tasks with the least
    agreement. These four are null with ``--method majority``. ``expected_errors``: wrong
    decisions to be expected. ``scored_tasks`` and ``error_rate`` are there with ``--truth``
    only.
    """

    schema_version: int = SCHEMA_VERSION
    method: str
    tasks: int
    labels: int
    workers: int
    classes: int
    settled: int
    identifiable: bool
    families: list[list[str | int]] | None
    effective_votes: float | None
    alarms: int | None
    hardest: list[HardTask] | None
    expected_errors: ExpectedErrors
    warnings: list[str]
    seconds: float
    scored_tasks: int | msgspec.UnsetType = msgspec.UNSET
    error_rate: float | msgspec.UnsetType = msgspec.UNSET


def savings_report(method: str, found: Savings, warnings: list[str]) -> dict[str, object]:
    """What ``crowdstream savings --json`` prints; ``warnings``: how files were read."""
    about = {"schema_version": SCHEMA_VERSION, "method": method, "warnings": warnings}
    return {**about, **found.report()}


class StratumReport(msgspec.Struct):
    """A stratum of ``gold plan --json``: its number in the file, its tasks, those to be checked.

    ``classes`` and mean ``confidence``: as decided, of those to be checked.
    """

    stratum: int
    tasks: int
    to_check: int
    classes: list[str | int | bool]
    confidence: float


class PlanReport(msgspec.Struct, kw_only=True):
    """What ``crowdstream gold plan --json`` prints; ``tasks``: those there are to choose from."""

    schema_version: int = SCHEMA_VERSION
    method: str
    tasks: int
    to_check: int
    strata: list[StratumReport]
    warnings: list[str] = []


def check_report(method: str, found: GoldCheck, warnings: list[str]) -> dict[str, object]:
    """What ``crowdstream gold check --json`` prints; ``warnings``: how files were read."""
    fields = msgspec.structs.asdict(found)
    fields["warnings"] = warnings + fields["warnings"]
    return {"schema_version": SCHEMA_VERSION, "method": method, **fields}


def compare_report(study: Study, warnings: list[str]) -> dict[str, object]:
    """What ``crowdstream compare --json`` prints; ``warnings``: how files were read."""
    return {**study.report(), "warnings": warnings}


def print_json(report: RunReport | PlanReport | Decision | dict[str, object]) -> None:
    """One object on one line of standard output, at once."""
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.buffer.flush()


def write_rows(table: pl.DataFrame, file: IO[bytes]) -> None:
    """One object per row of a table."""
    table.write_ndjson(file)
