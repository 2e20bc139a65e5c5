"""Every JSON that the command line prints: its fields, its version, and how it is written.

``demo --json``, ``run --json``, ``spark run --json``, ``savings --json``, ``gold plan --json``,
``gold check --json``, ``jury --json``, ``agree --json``, ``judges --json``, ``rate --json``,
``gate --json``, ``drift --json`` and ``preferences --json`` print one object on one line;
``stream`` prints one `crowdstream.Decision` per line; a table in a ``.jsonl`` file has one object
per row with the names of its columns.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

import msgspec

from crowdstream.labels.meaning.interpreting import ReadAs
from crowdstream.monitoring.coefficients import Coefficients
from crowdstream.statements.expected import WrongDecisions

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.decisions.decision import Decision
    from crowdstream.gold_plan import GoldCheck
    from crowdstream.labels import ClassLabel
    from crowdstream.panel import Jury, Preferences, RunComparison
    from crowdstream.panel.against_gold import JudgesOnGold
    from crowdstream.panel.agreement import AgreementReport
    from crowdstream.rates import Rates
    from crowdstream.savings import Savings

SCHEMA_VERSION = 1
"""Version of the objects below; raised when a field is removed or changes its meaning."""


class HardTask(msgspec.Struct):
    """A task of ``run --json`` on which the workers disagree most; 0 is easy, 1 is hard."""

    task: str | int
    difficulty: float


class DoubtfulTask(msgspec.Struct):
    """A task of ``run --json`` to send out again: decided so far, and how many labels it needs.

    ``more_labels``: how many more are expected to settle it; null, and ``needs`` "expert", where
    more labels are not expected to. ``needs`` is "labels" otherwise.
    """

    task: str | int
    label: str | int | bool | None
    confidence: float
    votes: int
    more_labels: int | None
    needs: str


class AdvisedWorker(msgspec.Struct):
    """A worker of ``run --json`` to drop, coach or pay, with the reason (codes of `advice`)."""

    worker: str | int
    advice: str
    reason: str
    on_class: str | None
    answers: float
    error_rate: float
    error_low: float
    error_high: float
    weight: float


class Change(msgspec.Struct):
    """An alarm of ``run --json``: see `crowdstream.monitoring.DriftAlarm`."""

    tasks_seen: int
    worker: str | int
    direction: str
    before: float
    after: float
    answers: int
    everyone: bool


class Cost(msgspec.Struct):
    """Cost that ``run --price`` prints: of all labels, and had each task been stopped once settled.

    ``enough``: what the labels would have cost then; ``saved``: the share of the cost not spent;
    ``other_decisions``: the share of tasks that would have been decided otherwise;
    ``replayed_tasks``: how many tasks this was tried on. These four are null where it could not
    be tried, ``other_decisions`` also with ``--ordinal``: streams decide by no median.
    """

    price: float
    total: float
    per_decision: float
    enough: float | None
    saved: float | None
    other_decisions: float | None
    replayed_tasks: int | None


class ErrorDependence(msgspec.Struct):
    """Joint errors of workers, as `Estimator.dependence_` has them."""

    verdict: str
    excess: float | None
    error: float | None


class TruthMatch(msgspec.Struct):
    """Counts of the tasks in a file of correct labels that were found, some by their spelling."""

    tasks: int
    matched: int
    by_spelling: int


class FlipRate(msgspec.Struct):
    """Rate at which a worker contradicts itself, over the tasks it was asked again.

    ``low`` and ``high``: 95 % interval (Wilson).
    """

    rate: float
    low: float
    high: float
    tasks: int


class MissingOnClass(msgspec.Struct):
    """Share of the tasks decided as a class that a worker of ``run --json`` did not answer.

    ``share_low`` and ``share_high``: 95 % interval (Wilson).
    """

    worker: str | int
    label: str
    asked: int
    missing: int
    share: float
    share_low: float
    share_high: float


class RunReport(msgspec.Struct, kw_only=True):
    """Output of ``crowdstream run --json``.

    ``settled``: decisions whose confidence reached ``--settle`` and that have ``--min-labels``.
    ``unsettled``: the others, to be sent out again; ``doubtful``: the most doubtful of them, up to
    five. ``advice``: how many workers to drop, coach, pay, keep and wait for; ``advised``: the
    first of those to drop, coach and pay. ``evidence``: what the intervals of error rates rest on
    (null without any). ``changes``: the latest alarms. ``identifiable``: whether
    error rates could be estimated; if not, the decisions fell back to majority vote.
    ``families``: groups of workers who do not answer independently, declared or found;
    ``copies``: those found, who copy one another; ``suspects``: groups who may copy.
    ``effective_votes``: how many independent labels carry as much information as the labels of an
    average task, at most. ``dependence``: whether workers make mistakes together. ``alarms``: how
    often a worker's error rate changed. ``hardest``: the tasks with the least agreement. Of these,
    all but ``dependence`` are null with ``--method majority``. ``agreement``: how far labels agree,
    by the usual coefficients (null without monitors, with more than 100 classes, or if no task has
    two labels). ``expected_errors``: wrong decisions to be expected. ``scored_tasks``,
    ``error_rate`` and ``truth_matched`` are there with ``--truth`` only, ``mean_distance`` with
    ``--ordinal`` and ``set_f1`` (of all choices of all tasks) with ``--choices`` too;
    ``gold_matched`` with ``--gold``, ``cost`` with ``--price``. ``read_as``: what the files mean.
    On a scale, ``expected_steps``: the expected distance from the truth, in steps. ``flip_rates``:
    share of the tasks that a worker was asked again on which it contradicts itself. ``missing``:
    share of a worker's tasks without an answer; ``missing_by_class``: the same per decided class.
    ``question``: where there are several.
    """

    schema_version: int = SCHEMA_VERSION
    question: str | msgspec.UnsetType = msgspec.UNSET
    read_as: ReadAs
    method: str
    tasks: int
    labels: int
    workers: int
    classes: int
    settled: int
    settle: float
    min_labels: int
    unsettled: int
    doubtful: list[DoubtfulTask]
    advice: dict[str, int]
    advised: list[AdvisedWorker]
    evidence: str | None
    identifiable: bool
    families: list[list[str | int]] | None
    copies: list[list[str | int]] | None
    suspects: list[list[str | int]] | None
    effective_votes: float | None
    dependence: ErrorDependence
    alarms: int | None
    changes: list[Change] | None
    labels_per_task: float
    hardest: list[HardTask] | None
    agreement: Coefficients | None
    expected_errors: WrongDecisions
    warnings: list[str]
    seconds: float
    scored_tasks: int | msgspec.UnsetType = msgspec.UNSET
    error_rate: float | msgspec.UnsetType = msgspec.UNSET
    mean_distance: float | msgspec.UnsetType = msgspec.UNSET
    set_f1: float | msgspec.UnsetType = msgspec.UNSET
    truth_matched: TruthMatch | msgspec.UnsetType = msgspec.UNSET
    gold_matched: TruthMatch | msgspec.UnsetType = msgspec.UNSET
    cost: Cost | msgspec.UnsetType = msgspec.UNSET
    expected_steps: float | msgspec.UnsetType = msgspec.UNSET
    flip_rates: dict[str | int, FlipRate] | msgspec.UnsetType = msgspec.UNSET
    missing: dict[str | int, float] | msgspec.UnsetType = msgspec.UNSET
    missing_by_class: list[MissingOnClass] | msgspec.UnsetType = msgspec.UNSET


class QuestionsReport(msgspec.Struct, kw_only=True):
    """Output of ``crowdstream run --json`` for several questions: a `RunReport` each."""

    schema_version: int = SCHEMA_VERSION
    read_as: ReadAs
    questions: list[RunReport]
    warnings: list[str]
    seconds: float


class SparkReport(msgspec.Struct, kw_only=True):
    """Output of ``crowdstream spark run --json``; the counts of rows are those of `Intake`.

    ``null_task``, ``null_worker``: rows of the input that were left out (``--on-error skip``), on
    whatever question. ``agreement`` and ``flip_rates``: as of `RunReport`. ``question``: where
    there are several.
    """

    schema_version: int = SCHEMA_VERSION
    question: str | msgspec.UnsetType = msgspec.UNSET
    read_as: ReadAs
    method: str
    rows: int
    labels: int
    tasks: int
    workers: int
    classes: int
    null_task: int
    null_worker: int
    null_label: int
    repeated: int
    replaced: int
    settled: int
    identifiable: bool
    agreement: Coefficients | None
    warnings: list[str]
    seconds: float
    flip_rates: dict[str | int, FlipRate] | msgspec.UnsetType = msgspec.UNSET


class SparkQuestionsReport(msgspec.Struct, kw_only=True):
    """Output of ``crowdstream spark run --json`` for several questions: a `SparkReport` each."""

    schema_version: int = SCHEMA_VERSION
    read_as: ReadAs
    questions: list[SparkReport]
    warnings: list[str]
    seconds: float


def flip_rates_of(flips: pl.DataFrame) -> dict[str | int, FlipRate]:
    """Return the flip rates of workers who were asked again (worker, repeated, flips)."""
    from crowdstream.monitoring.missing import flip_rates

    columns = "worker", "flip_rate", "flip_low", "flip_high", "repeated"
    rows = flip_rates(flips).select(columns).iter_rows()
    return {worker: FlipRate(*numbers) for worker, *numbers in rows}


class DemoReport(msgspec.Struct, kw_only=True):
    """Output of ``crowdstream demo --json``: claims about a simulated panel, and the truth.

    ``error_rate``: share of decisions that are wrong; ``majority_error_rate``: of majority vote;
    ``best_worker``: the judge who errs least. ``expected_errors``: wrong decisions as they were
    expected without the truth; ``expected_errors_held``: whether the truth is within their limits.
    ``sure``: decisions of a confidence of 0.95 or more; ``sure_error_rate``: share of them that are
    wrong. ``intervals_held``: workers whose true error rate is in their interval.
    ``effective_votes``: how many independent votes the panel is worth at most, by its labels;
    ``true_effective_votes``: by its true errors.
    """

    schema_version: int = SCHEMA_VERSION
    tasks: int
    workers: int
    labels: int
    seed: int
    error_rate: float
    majority_error_rate: float
    best_worker: str
    best_worker_error_rate: float
    expected_errors: WrongDecisions
    expected_errors_held: bool
    sure: int
    sure_error_rate: float | None
    intervals_held: int
    effective_votes: float
    true_effective_votes: float


def savings_report(
    method: str, found: Savings, warnings: list[str], read_as: ReadAs
) -> dict[str, object]:
    """Return the output of ``crowdstream savings --json``."""
    head = {"schema_version": SCHEMA_VERSION, "read_as": read_as, "method": method}
    return {**head, **found.report(), "warnings": warnings}


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
    """Output of ``crowdstream gold plan --json``; ``tasks``: those there are to choose from."""

    schema_version: int = SCHEMA_VERSION
    read_as: ReadAs
    method: str
    tasks: int
    to_check: int
    strata: list[StratumReport]
    warnings: list[str] = []
    gold_matched: TruthMatch | msgspec.UnsetType = msgspec.UNSET


def check_report(method: str, found: GoldCheck, read_as: ReadAs) -> dict[str, object]:
    """Return the output of ``crowdstream gold check --json``."""
    head = {"schema_version": SCHEMA_VERSION, "read_as": read_as, "method": method}
    return {**head, **msgspec.structs.asdict(found)}


def jury_report(found: Jury, warnings: list[str], read_as: ReadAs) -> dict[str, object]:
    """Return the output of ``crowdstream jury --json``: all of `Jury` but the decisions."""
    fields = msgspec.structs.asdict(found)
    joint = found.joint_errors
    more = {
        "workers": found.workers.to_dicts(),
        "joint_errors": None
        if joint is None
        else {**msgspec.structs.asdict(joint), "without": joint.without.to_dicts()},
        "notes": [*warnings, *found.notes],
    }
    if found.missing_by_class is not None:
        more["missing_by_class"] = found.missing_by_class.to_dicts()
    del fields["decisions"]
    return {"schema_version": SCHEMA_VERSION, "read_as": read_as, **fields, **more}


def comparison_report(
    found: RunComparison, warnings: list[str], read_as: ReadAs
) -> dict[str, object]:
    """Return the output of ``crowdstream drift --json``: all of `RunComparison`."""
    tables = {name: getattr(found, name).to_dicts() for name in ("workers", "classes", "estimated")}
    more = {**tables, "notes": [*warnings, *found.notes]}
    head = {"schema_version": SCHEMA_VERSION, "read_as": read_as}
    return {**head, **msgspec.structs.asdict(found), **more}


def agree_report(
    found: AgreementReport, pairs: pl.DataFrame, warnings: list[str], read_as: ReadAs
) -> dict[str, object]:
    """Return the output of ``crowdstream agree --json``: `Coefficients`, and kappas of pairs.

    Of ``cohen``, ``pairs`` is how many share enough tasks, the others their Cohen's kappas, null
    where none is defined.
    """
    kappas = pairs["kappa"].drop_nulls()
    return {
        "schema_version": SCHEMA_VERSION,
        "read_as": read_as,
        "workers": found.workers,
        "classes": found.classes,
        **msgspec.structs.asdict(found.coefficients),
        "cohen": {
            "pairs": pairs.height,
            "median": kappas.median(),
            "least": kappas.min(),
            "most": kappas.max(),
        },
        "notes": [*warnings, *found.notes],
    }


def rates_report(
    found: Rates,
    needed: Mapping[ClassLabel, int | None] | None,
    warnings: list[str],
    read_as: ReadAs,
) -> dict[str, object]:
    """Return the output of ``crowdstream rate --json``; ``gold_needed`` with ``--width``."""
    fields = msgspec.structs.asdict(found) | {"notes": [*warnings, *found.notes]}
    if needed is not None:
        fields["gold_needed"] = {str(name): number for name, number in needed.items()}
    return {"schema_version": SCHEMA_VERSION, "read_as": read_as, **fields}


def judges_report(found: JudgesOnGold, warnings: list[str], read_as: ReadAs) -> dict[str, object]:
    """Return the output of ``crowdstream judges --json``."""
    fields = msgspec.structs.asdict(found) | {"notes": [*warnings, *found.notes]}
    return {"schema_version": SCHEMA_VERSION, "read_as": read_as, **fields}


def questions_of(
    reports: dict[str, dict[str, object]], read_as: ReadAs, notes: list[str]
) -> dict[str, object]:
    """Return a command's ``--json`` output for several questions: its object of each."""
    made = [
        {"question": name, **{key: value for key, value in one.items() if key != "read_as"}}
        for name, one in reports.items()
    ]
    head = {"schema_version": SCHEMA_VERSION, "read_as": read_as}
    return {**head, "questions": made, "notes": notes}


def preferences_report(found: Preferences, warnings: list[str]) -> dict[str, object]:
    """Return the output of ``crowdstream preferences --json``."""
    more = {"items": found.items.to_dicts(), "workers": found.workers.to_dicts()}
    more["notes"] = [*warnings, *found.notes]
    return {"schema_version": SCHEMA_VERSION, **msgspec.structs.asdict(found), **more}


def print_json(
    report: RunReport
    | QuestionsReport
    | SparkReport
    | SparkQuestionsReport
    | PlanReport
    | DemoReport
    | Decision
    | dict[str, object],
) -> None:
    """One object on one line of standard output, at once."""
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.buffer.flush()


def write_rows(table: pl.DataFrame, file: IO[bytes]) -> None:
    """One object per row of a table."""
    table.write_ndjson(file)
