"""Numbers and tables of a report, found once, before anything is drawn or worded.

Knows estimators and coded labels; nothing of pages, charts or files.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from crowdstream.deciding import Prepared
from crowdstream.decisions.decision import SettleRule
from crowdstream.defaults import LEVEL, MIN_LABELS, SETTLE
from crowdstream.errors import ManyClasses, NotIdentifiable, SureInDoubt
from crowdstream.estimators import Estimator
from crowdstream.gold_plan.filled import is_plan
from crowdstream.gold_plan.fooled import NOTHING_CHECKED, Checked
from crowdstream.labels import ClassLabel, CodedLabels, TaskId, Truths
from crowdstream.labels.choice_cells import split_cell
from crowdstream.monitoring import tasks_to_resend
from crowdstream.monitoring.agreement import question_coefficients
from crowdstream.monitoring.coefficients import Coefficients
from crowdstream.monitoring.missing import missing_verdicts
from crowdstream.panel import EffectiveJudges, effective_judges
from crowdstream.plain_text import counted
from crowdstream.rates import Rates, rate
from crowdstream.report.advised import advised_table
from crowdstream.report.expected import ErrorCount
from crowdstream.report.monitors import MonitorReport, is_monitored, monitor_report
from crowdstream.report.spending import Replay, Spending
from crowdstream.statements.expected import WrongDecisions

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
    """Settings of how decisions are made and reported."""

    settle: float = SETTLE
    min_labels: int = MIN_LABELS
    level: float = LEVEL
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
    rates: Rates | None = None
    """The share of each class, corrected by gold."""
    spending: Spending | None = None
    gold_tasks: int = 0
    checked: Checked = NOTHING_CHECKED
    """Settled decisions on gold tasks, each made without its own answer."""
    prepared: Prepared | None = None
    read_as: str = ""
    """One line that says how the input was read."""
    steps: float | None = None
    """Expected distance from the truth on a scale, in steps."""
    distance: float | None = None
    """Mean distance from the truth on a scale where the truth is known, in steps."""
    missing: pl.DataFrame | None = None
    """Workers who were asked and did not answer."""
    asked_known: bool = True
    """True if the labels say who was asked; else everybody counts as asked everything."""
    pairs: pl.DataFrame | None = None
    """Decisions on pairs of task and choice, where the labels are choices."""
    unknown_classes: list[str] = field(default_factory=list)
    """Classes of the truths that no worker gave."""

    @property
    def agreement(self) -> Coefficients | None:
        """Coefficients of agreement; None if no monitor counted them."""
        question = None if self.prepared is None else self.prepared.question
        return question_coefficients(self.crowd, question, self.settings.level)

    @property
    def from_state(self) -> bool:
        """True if there is a saved state and no labels."""
        return self.decisions is None

    @property
    def kind(self) -> str:
        """Kind of the labels: classes, scale or choices."""
        return "classes" if self.prepared is None else self.prepared.question.kind.name

    @property
    def unit(self) -> str:
        """Unit of decisions: a task, or a pair of task and choice."""
        return "task" if self.pairs is None else "pair"

    @property
    def classes(self) -> list[str]:
        """The classes; of choices, what could be chosen; of a scale, from end to end."""
        if self.prepared is not None and self.prepared.choices is not None:
            return list(self.prepared.choices.classes)
        given = list(map(str, self.crowd.classes_))
        if self.prepared is not None and (places := self.prepared.question.kind.places):
            given.sort(key=lambda name: places.get(name, 0.0))
        return given

    def parts(self, label: ClassLabel) -> tuple[str, ...]:
        """The classes of a decision: one, or those of a set."""
        choices = None if self.prepared is None else self.prepared.choices
        return (str(label),) if choices is None else split_cell(str(label), choices.joiner)

    @property
    def flips(self) -> pl.DataFrame | None:
        """Workers who were asked again (worker, repeated, flips); None if nobody was."""
        return None if self.prepared is None else self.prepared.question.flips

    @property
    def settled(self) -> int:
        """Decisions that are settled."""
        return 0 if self.decisions is None else int(self.decisions["settled"].sum())

    @property
    def identified(self) -> bool:
        """True if any error rate is known."""
        return bool(self.workers["error_rate"].count())


Tick = Callable[[str], None]
"""Told what is being done."""


def find_in_state(crowd: Estimator, settings: Settings) -> Findings:
    """Collect the findings of a saved state alone."""
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
    true_sets: Known | None = None,
    plan: Truths | None = None,
    learnt: bool = False,
    tick: Tick = lambda _: None,
) -> Findings:
    """Collect the findings of labels, decided by a new estimator or by one that has learnt before.

    ``gold`` teaches, ``truth`` is only held against the decisions; both as the estimator takes
    them. ``plan``: gold as it was given, so that strata it was drawn by are known. ``true_sets``:
    of choices, the sets that ``truth`` comes from. ``learnt``: the estimator has learnt these
    labels already.
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
            weighted=crowd.weighs_ and bool(crowd.identifiable_),
            gold=dict(gold or {}),
        )
    notes += dict.fromkeys(str(doubt.message) for doubt in doubts)
    tick("judging workers and tasks")
    found = find_in_state(crowd, settings)
    found.labels, found.tasks = int(decisions["votes"].sum()), decisions.height
    found.decisions, found.notes, found.prepared = decisions, notes, prepared
    found.missing = missing_verdicts(prepared.question.table, decisions)
    found.asked_known = _says_who_was_asked(prepared.question.table)
    if "steps" in decisions.columns and decisions.height:
        found.steps = cast("float | None", decisions["steps"].mean())
    found.pairs = None if prepared.choices is None else raw
    shown = decisions if found.pairs is None else found.pairs
    if found.pairs is None:
        found.notes += _row_notes(before, crowd)
    taught = _gold_tasks(found, gold or {})
    _find_errors(found, table, gold or {}, taught)
    if truth:
        known_sets = _sets_by_task(found, true_sets or {})
        _measure(found, table, known_sets if prepared.choices is not None else truth, taught)
    known = {**(truth or {}), **(gold or {})}
    if known and found.pairs is None:  # who says no to what hardly anybody chose is no panel
        found.joint = _joint_errors(table, known)
    if gold and found.gold_tasks and found.kind == "classes" and not before.intake_.rows:
        drawn = plan if is_plan(plan) else dict(gold)
        found.rates = rate(prepared.question, drawn, crowd=before, level=settings.level)  # type: ignore[arg-type]
    if is_monitored(crowd) or crowd.weighs_:
        found.doubtful = _doubtful(crowd, table, shown, rule)
        if found.identified:
            from crowdstream.report.charts.hardest import hard_tasks

            found.hard = hard_tasks(crowd, table)
    tick("buying labels again")
    if decisions.height and not learnt:
        replay = Replay(
            before,
            settings.settle,
            settings.min_labels,
            settings.seed,
            compared=found.kind == "classes",  # a stream decides no medians
        )
        if found.pairs is None:  # a worker answers all choices of a task: no pair is bought alone
            replay.take(table, decisions)
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
    crowd.learn_many(table, gold=gold)
    return cast("pl.DataFrame", crowd.predict_many(table, gold=gold, **rule))


def _says_who_was_asked(table: CodedLabels) -> bool:
    """Tell whether there are rows without an answer."""
    return bool((table.batch.labels < 0).any())


def _row_notes(before: Estimator, crowd: Estimator) -> list[str]:
    """Rows that were not counted, in sentences."""
    was, now = before.intake_, crowd.intake_
    rest = (
        (now.repeated - was.repeated, "repeated row", "ignored: same task, worker and label"),
        (now.replaced - was.replaced, "label", "replaced by a later one from the same worker"),
    )
    return [counted(number, noun, words) for number, noun, words in rest if number]


def _gold_tasks(found: Findings, gold: Known) -> list[TaskId]:
    """The tasks that have gold; of choices, gold is of pairs of task and choice."""
    import polars as pl

    assert found.decisions is not None
    if found.pairs is None or not gold:
        return list(gold)
    answered = found.decisions.filter(pl.col("votes") > 0)["task"]
    firsts = found.pairs["task"].gather_every(max(len(found.classes), 1))
    taught: list[TaskId] = answered.filter(firsts.is_in(list(gold))).to_list()
    return taught


def _sets_by_task(found: Findings, sets: Known) -> dict[TaskId, ClassLabel]:
    """True sets as decisions have them, by the names that tasks have there."""
    assert found.decisions is not None
    choices = None if found.prepared is None else found.prepared.choices
    if choices is None:
        return {}
    names = {str(task): task for task in found.decisions["task"]}
    texts = {str(task): choices.text_of(str(cell)) for task, cell in sets.items()}
    return {names[task]: text for task, text in texts.items() if task in names}


def _find_errors(found: Findings, table: CodedLabels, gold: Known, taught: list[TaskId]) -> None:
    """Count expected wrong decisions, checked against gold where there is any."""
    assert found.decisions is not None
    errors, parts = ErrorCount(), len(found.classes) if found.kind == "choices" else 1
    errors.take(found.decisions, taught)
    if taught:
        found.gold_tasks = int(found.decisions["task"].is_in(taught).sum())
    if found.gold_tasks and found.kind == "classes":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManyClasses)
            errors.check(table, found.crowd, gold, found.settings.settle)
    found.errors, found.checked = errors.report(found.crowd, parts), errors.checked


def _measure(found: Findings, table: CodedLabels, truth: Known, taught: list[TaskId]) -> None:
    """Count wrong decisions where the truth is known, leaving out gold that was taught."""
    import polars as pl

    from crowdstream.labels.gold import truth_table
    from crowdstream.metrics import error_rate, mean_distance, wilson

    assert found.decisions is not None
    told = set(taught)
    known = truth_table({task: label for task, label in truth.items() if task not in told})
    scored = found.decisions.join(known.select("task"), on="task", how="semi")
    if not scored.height:
        return
    crowd, tied = found.crowd, None
    by_majority = not (crowd.weighs_ and crowd.identifiable_)
    if by_majority and found.kind == "classes":  # a coin chose among the classes of a tie
        coins = scored.filter(scored["margin"] == 0).select("task")
        tied = table.frame().join(coins, on="task", how="semi").cast({"label": pl.String})
        known = known.cast({"label": pl.String})
        scored = scored.cast({"label": pl.String})
    if found.kind == "scale" and found.prepared is not None:
        places = list(found.prepared.question.kind.places)
        placed = known.filter(pl.col("label").cast(pl.String).is_in(places))
        if placed.height:
            found.distance = mean_distance(scored, placed, places)
    error = error_rate(scored, known, labels=tied, classes=len(crowd.classes_))
    low, high = wilson(error * scored.height, scored.height)
    found.measured = Measured(error, float(low), float(high), scored.height)
    found.truths = known
    true = {name for label in known["label"].unique() for name in found.parts(label)}
    found.unknown_classes = sorted(true - set(found.classes))


def _joint_errors(table: CodedLabels, known: Known) -> EffectiveJudges | None:
    """Estimate how many independent judges the busiest workers are worth, if they form a panel."""
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
