"""What a report tells, as numbers and tables: found once, before anything is drawn or worded.

Knows estimators and coded labels; nothing of pages, charts or files.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from crowdstream.deciding import Prepared
from crowdstream.decisions import MIN_LABELS, SETTLE, SettleRule
from crowdstream.errors import ManyClasses, NotIdentifiable, SureInDoubt
from crowdstream.estimators import Estimator
from crowdstream.labels import ClassLabel, CodedLabels, TaskId
from crowdstream.monitoring import tasks_to_resend
from crowdstream.monitoring.missing import missing_notes, missing_verdicts
from crowdstream.panel import EffectiveJudges, effective_judges
from crowdstream.report.advised import advised_table
from crowdstream.report.expected import ErrorCount, WrongDecisions
from crowdstream.report.monitors import MonitorReport, is_monitored, monitor_report
from crowdstream.report.spending import Replay, Spending

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators.worker_table import Costs

Known = Mapping[TaskId, ClassLabel]
"""Tasks whose correct label is known."""

DOUBTFUL = 6
"""Tasks in doubt that the first screen names."""

PANEL = 20
"""Workers whose joint errors are told: each has a row."""

DENSE = 0.5
"""Share of the tasks of known truth that they must have answered: else hardly two share enough."""


class Measured(NamedTuple):
    """Errors on tasks whose truth is known and was not taught: their share and its limits."""

    error: float
    low: float
    high: float
    tasks: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How decisions are made and told."""

    settle: float = SETTLE
    min_labels: int = MIN_LABELS
    level: float = 0.95
    costs: Costs | None = None
    price: float | None = None
    seed: int = 0


@dataclass(kw_only=True)
class Findings:
    """All that a report tells. What needs the labels is None if there was a state alone."""

    crowd: Estimator
    settings: Settings
    workers: pl.DataFrame
    monitors: MonitorReport | None
    labels: int
    tasks: int
    notes: list[str] = field(default_factory=list)
    """On the input, in sentences."""
    decisions: pl.DataFrame | None = None
    errors: WrongDecisions | None = None
    measured: Measured | None = None
    truths: pl.DataFrame | None = None
    doubtful: pl.DataFrame | None = None
    hard: pl.DataFrame | None = None
    joint: EffectiveJudges | None = None
    """Errors that the busiest workers make together, where truths are known."""
    spending: Spending | None = None
    gold_tasks: int = 0
    prepared: Prepared | None = None
    read_as: str = ""
    """What the input was read as, in one line."""
    steps: float | None = None
    """Expected distance from the truth on a scale, in steps."""
    missing: pl.DataFrame | None = None
    """Who was asked and did not answer."""
    unknown_classes: list[str] = field(default_factory=list)
    """Classes of the truths that no worker gave."""

    @property
    def from_state(self) -> bool:
        """Whether there are no labels, only what was learnt of them."""
        return self.decisions is None

    @property
    def settled(self) -> int:
        """Decisions that are settled."""
        return 0 if self.decisions is None else int(self.decisions["settled"].sum())

    @property
    def identified(self) -> bool:
        """Whether error rates are known at all."""
        return bool(self.workers["error_rate"].count())


Tick = Callable[[str], None]
"""Told what is being done."""


def find_in_state(crowd: Estimator, settings: Settings) -> Findings:
    """What is known from a saved state alone."""
    return Findings(
        crowd=crowd,
        settings=settings,
        workers=advised_table(crowd, settings.level, settings.costs),
        monitors=monitor_report(crowd, crowd.tasks_),
        labels=crowd.intake_.labels,
        tasks=crowd.tasks_,
    )


def find_in_labels(
    prepared: Prepared,
    crowd: Estimator,
    settings: Settings,
    *,
    gold: Known | None = None,
    truth: Known | None = None,
    learnt: bool = False,
    tick: Tick = lambda _: None,
) -> Findings:
    """What is known from labels, by an estimator that knows nothing yet or something before.

    ``gold`` teaches, ``truth`` is only held against the decisions. ``learnt``: the estimator has
    learnt these labels already.
    """
    table = prepared.table
    before, notes = crowd.copy(), list[str]()
    rule: dict[str, Any] = {"settle": settings.settle, "min_labels": settings.min_labels}
    tick(f"deciding {table.height:,} labels")
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", SureInDoubt)
        raw = _decide(table, crowd, gold, rule, learnt=learnt)
        decisions = prepared.decided(
            raw,
            SettleRule.checked(settings.settle, settings.min_labels),
            weighted=crowd.weighs and bool(crowd.identifiable_),
            gold=dict(gold or {}),
        )
    notes += dict.fromkeys(str(doubt.message) for doubt in doubts)
    tick("judging workers and tasks")
    found = find_in_state(crowd, settings)
    found.labels, found.tasks = int(decisions["votes"].sum()), decisions.height
    found.decisions, found.notes, found.prepared = decisions, notes, prepared
    found.missing = missing_verdicts(prepared.question.table, decisions)
    found.notes[:0] = missing_notes(found.missing)
    if "steps" in decisions.columns and decisions.height:
        found.steps = cast("float", decisions["steps"].mean())
    shown = raw if prepared.choices is not None else decisions
    _find_errors(found, table, gold or {})
    if truth:
        _measure(found, table, truth, gold or {})
    if known := {**(truth or {}), **(gold or {})}:
        found.joint = _joint_errors(table, known)
    if is_monitored(crowd) or crowd.weighs:
        found.doubtful = _doubtful(crowd, table, shown, rule)
        if found.identified:
            from crowdstream.report.charts.hardest import hard_tasks

            found.hard = hard_tasks(crowd, table)
    tick("buying labels again")
    if decisions.height and not learnt:
        replay = Replay(before, settings.settle, settings.min_labels, settings.seed)
        replay.take(table, shown)
        found.spending = replay.cost(settings.price or 0.0, found.labels, found.tasks)
    return found


def _decide(
    table: CodedLabels, crowd: Estimator, gold: Known | None, rule: dict[str, Any], *, learnt: bool
) -> pl.DataFrame:
    """Decide a table, on top of what is known if anything is."""
    if learnt:
        return cast("pl.DataFrame", crowd.predict_many(table, gold=gold, **rule))
    if not crowd.intake_.rows:
        return cast("pl.DataFrame", crowd.fit_predict(table, gold=gold, **rule))
    if crowd.follows:
        return cast("pl.DataFrame", crowd.stream_many(table, gold=gold, **rule))
    crowd.learn_many(table, gold=gold)
    return cast("pl.DataFrame", crowd.predict_many(table, gold=gold, **rule))


def _find_errors(found: Findings, table: CodedLabels, gold: Known) -> None:
    """How many decisions are expected to be wrong; checked against gold where there is any."""
    assert found.decisions is not None
    errors, tasks = ErrorCount(), list(gold)
    errors.take(found.decisions, tasks)
    if gold:
        found.gold_tasks = int(found.decisions["task"].is_in(tasks).sum())
    plain = found.prepared is None or found.prepared.question.kind.name == "classes"
    if found.gold_tasks and plain:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManyClasses)
            errors.check(table, found.crowd, gold, found.settings.settle)
    found.errors = errors.report()


def _measure(found: Findings, table: CodedLabels, truth: Known, gold: Known) -> None:
    """How many decisions are wrong where the truth is known; what was taught does not count."""
    import polars as pl

    from crowdstream.labels.gold import truth_table
    from crowdstream.metrics import error_rate, wilson

    assert found.decisions is not None
    known = truth_table({task: label for task, label in truth.items() if task not in gold})
    scored = found.decisions.join(known.select("task"), on="task", how="semi")
    if not scored.height:
        return
    crowd, tied = found.crowd, None
    if not (crowd.weighs and crowd.identifiable_):  # a coin chose among the classes of a tie
        coins = scored.filter(scored["margin"] == 0).select("task")
        tied = table.frame().join(coins, on="task", how="semi").cast({"label": pl.String})
        known = known.cast({"label": pl.String})
        scored = scored.cast({"label": pl.String})
    error = error_rate(scored, known, labels=tied, classes=len(crowd.classes_))
    low, high = wilson(error * scored.height, scored.height)
    found.measured = Measured(error, float(low), float(high), scored.height)
    found.truths = known
    given = set(map(str, crowd.classes_))
    found.unknown_classes = sorted(set(map(str, known["label"].unique())) - given)


def _joint_errors(table: CodedLabels, known: Known) -> EffectiveJudges | None:
    """What the busiest workers are worth together, if they are a panel: most answered most."""
    from crowdstream.labels.gold import truth_table

    truths = truth_table(known).select("task")
    votes = table.frame().join(truths, on="task", how="semi").drop_nulls("label")
    busiest = votes["worker"].value_counts(name="tasks").top_k(PANEL, by="tasks")
    if busiest.height < 2 or busiest["tasks"].sum() < DENSE * busiest.height * truths.height:
        return None
    return effective_judges(votes.join(busiest, on="worker", how="semi"), known)


def _doubtful(
    crowd: Estimator, table: CodedLabels, decisions: pl.DataFrame, rule: dict[str, Any]
) -> pl.DataFrame:
    """The decisions nearest to a coin toss, and how many labels each needs."""
    open_ones = decisions.filter(~decisions["settled"])
    nearest = open_ones.sort("confidence", maintain_order=True).head(DOUBTFUL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentifiable)
        return tasks_to_resend(crowd, table, nearest, **rule)
