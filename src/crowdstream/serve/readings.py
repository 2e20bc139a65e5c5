"""What is read from projects: overviews, tables of workers, alarms. Changes nothing.

Called by whoever has the project, the engine or a thread beside. What takes long is kept for as
long as it is worth: ten times as long as it took to read, so that reading takes at most a tenth of
the project's time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from crowdstream.defaults import LEVEL
from crowdstream.errors import CrowdstreamError
from crowdstream.monitoring import Drift, Pairs, Trends, alarms
from crowdstream.monitoring.agreement import crowd_coefficients
from crowdstream.monitoring.estimator_view import find_observer, mean_accuracy
from crowdstream.monitoring.families import groups_of
from crowdstream.monitoring.trends import latest_changes
from crowdstream.serve.store import Store
from crowdstream.serve.wire import (
    AgreementOut,
    AlarmOut,
    ExpectedErrors,
    HookCounts,
    LabelWorth,
    Overview,
    Saved,
    TaskCounts,
)
from crowdstream.statements.agreement import agreement_words
from crowdstream.statements.expected import (
    basis_words,
    checked_wrong,
    expected_wrong,
    share_words,
)
from crowdstream.statements.worth import label_worth

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.serve.project import Project

T = TypeVar("T")

LEAST, SHARE = 0.25, 10.0
"""Seconds that something read is kept at least, and how many times as long as it took."""

METER_SECONDS = 10.0
"""Seconds over which labels a second are counted."""

MOST_ALARMS = 200
"""Alarms of a project that are held in memory."""

SHOWN_ALARMS = 20
"""Alarms that an overview shows: the latest."""

COPIES_FROM = 3
"""Workers from whom on it is asked who copies whom."""


class Cached(Generic[T]):
    """Something that was read, until it is old and its project has changed."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._version = -1
        self._until = 0.0
        self._value: T | None = None

    def get(self, version: int) -> T:
        """What was read, anew if it is time."""
        now = time.monotonic()
        if self._value is None or (version != self._version and now >= self._until):
            self._value = self._read()
            ended = time.monotonic()
            self._until = ended + max(LEAST, SHARE * (ended - now))
            self._version = version
        return self._value


class Readings:
    """What was read from one project.

    Parameters
    ----------
    project
        Gives the project as it is now: it is made anew when a write fails.
    store
        Where alarms are.
    hooks
        What annotation tools sent.
    """

    def __init__(self, project: Callable[[], Project], store: Store, hooks: HookCounts) -> None:
        self._project = project
        self._store = store
        found = store.alarms(project().id, MOST_ALARMS)
        self.alarms = [msgspec.msgpack.decode(one, type=AlarmOut) for one in found]
        self.hooks = hooks
        self.latest: Overview | None = None
        """The project in numbers as it was last read."""
        self._meter: deque[tuple[float, int]] = deque()
        self._workers = Cached(self._read_workers)
        self._worth = Cached(self._read_worth)
        self._agreement = Cached(self._read_agreement)
        self._open = Cached(lambda: [str(task) for task in project().stream.open_tasks])

    def workers(self) -> pl.DataFrame:
        """One row per worker: `Estimator.workers` and ``trend``, names as text."""
        return self._workers.get(self._project().version)

    def _read_workers(self) -> pl.DataFrame:
        import polars as pl

        crowd = self._project().stream.crowd
        table: Any = crowd.workers(level=LEVEL)
        change = latest_changes(crowd) if find_observer(crowd, Trends) else None
        trend = pl.Series("trend", change, pl.Float64, nan_to_null=True)
        if len(trend) < table.height:
            trend = trend.extend_constant(None, table.height - len(trend))
        found: pl.DataFrame = table.with_columns(
            pl.col("worker").cast(pl.String), pl.col("answers").cast(pl.Float64), trend
        )
        return found

    def open_tasks(self) -> list[str]:
        """Open tasks, the longest idle first, as of a moment ago."""
        return self._open.get(self._project().version)

    def new_alarms(self, now: float) -> list[AlarmOut]:
        """Alarms that were not there before."""
        project = self._project()
        if find_observer(project.stream.crowd, Drift) is None:
            return []
        last = self.alarms[-1].tasks_seen if self.alarms else -1
        known = {one.worker for one in self.alarms if one.tasks_seen == last}
        new = []
        for one in alarms(project.stream.crowd):
            if one.tasks_seen < last or (one.tasks_seen == last and str(one.worker) in known):
                continue
            fields = msgspec.structs.asdict(one) | {"worker": str(one.worker)}
            new.append(AlarmOut(at=now, **fields))
        return new

    def add_alarms(self, new: list[AlarmOut]) -> None:
        """Keep alarms that `new_alarms` found."""
        packed = map(msgspec.msgpack.encode, new)
        self._store.add_alarms(self._project().id, new[0].at, packed)
        self.alarms = [*self.alarms, *new][-MOST_ALARMS:]

    def count(self, now: float) -> None:
        """Note how many labels there are, for how many come in a second."""
        labels = self._project().stream.counts.labels
        if not self._meter or now >= self._meter[-1][0] + 0.5:
            self._meter.append((now, labels))
        while len(self._meter) > 2 and self._meter[0][0] < now - METER_SECONDS:
            self._meter.popleft()

    def labels_per_second(self, now: float) -> float:
        """Labels a second, of late."""
        if not self._meter:
            return 0.0
        at, labels = self._meter[0]
        span = max(now - at, 1.0)
        return max(self._project().stream.counts.labels - labels, 0) / span

    def overview(self) -> Overview:
        """The project in numbers."""
        self.latest = self._read_overview()
        return self.latest

    def _read_overview(self) -> Overview:
        project, now = self._project(), time.time()
        stream, state, settings = project.stream, project.state, project.settings
        crowd, counts = stream.crowd, stream.counts
        identifiable = crowd.identifiable_
        classes = list(crowd.classes_)
        worth, copies = self._worth.get(project.version)
        return Overview(
            project=project.name,
            created=project.created,
            at=now,
            settings=settings,
            labels=counts.labels,
            labels_per_second=self.labels_per_second(now),
            repeated=counts.repeated,
            replaced=counts.replaced,
            retracted=counts.retracted,
            skipped=counts.skipped,
            late=counts.late + state.late,
            workers=len(crowd._workers),
            classes=classes[:100],
            chance=1.0 - 1.0 / max(len(classes), 2),
            tasks=task_counts(project),
            identifiable=bool(identifiable),
            why_not="" if identifiable else str(identifiable.reason),
            expected_errors=expected_errors(project),
            saved=saved(project),
            label_worth=worth,
            agreement=self._agreement.get(project.version)[0],
            mean_accuracy=mean_accuracy(crowd),
            alarms=self.alarms[-SHOWN_ALARMS:],
            copies=copies,
            hooks=self.hooks,
        )

    def _read_worth(self) -> tuple[LabelWorth | None, list[list[str]]]:
        project = self._project()
        crowd, closed = project.stream.crowd, project.stream.counts.closed
        if not closed or find_observer(crowd, Pairs) is None or len(crowd._workers) < COPIES_FROM:
            return None, []
        votes = max(project.state.used / closed, 1.0)
        try:
            found = label_worth(crowd, votes)
            copies = [[str(name) for name in group] for group in groups_of(crowd, "copy")]
        except CrowdstreamError:  # not enough is known yet
            return None, []
        return LabelWorth(votes, found.effective, found.effective / votes, found.about), copies

    def _read_agreement(self) -> tuple[AgreementOut | None]:
        """How far labels of closed tasks agree; in a tuple, since None is not kept."""
        found = crowd_coefficients(self._project().stream.crowd)
        text = agreement_words(found)
        return (None if found is None or not text else AgreementOut(found, text),)


def task_counts(project: Project) -> TaskCounts:
    """Tasks that are open and closed, and why."""
    reasons = project.state.reasons
    return TaskCounts(
        open=project.stream.n_open,
        closed=project.stream.counts.closed,
        settled=reasons.get("settled", 0),
        full=reasons.get("full", 0),
        hard=reasons.get("hard", 0),
        idle=reasons.get("idle", 0),
        by_hand=reasons.get("closed", 0),
    )


def expected_errors(project: Project) -> ExpectedErrors | None:
    """How many of the decisions on closed tasks are expected to be wrong."""
    state = project.state
    decided = state.doubt.tasks
    if not decided:
        return None
    gold = state.gold_wrong, state.gold_expected, state.gold_tasks
    found = expected_wrong(state.doubt, project.stream.crowd)
    if state.gold_tasks:
        found = checked_wrong(state.doubt, *gold)
    rate, low, high = (min(one / decided, 1.0) for one in (found.errors, found.low, found.high))
    return ExpectedErrors(
        decided=decided,
        errors=found.errors,
        low=found.low,
        high=found.high,
        rate=rate,
        rate_low=low,
        rate_high=high,
        basis=found.basis,
        gold_tasks=state.gold_tasks,
        shown=share_words(found, decided),
        about=basis_words(found, decided),
    )


def saved(project: Project) -> Saved | None:
    """What closed tasks did not need of the labels that each might have had."""
    most, closed = project.settings.max_labels, project.stream.counts.closed
    if most is None or not closed:
        return None
    labels = max(most * closed - project.state.used, 0)
    price = project.settings.price
    money = None if price is None else price * labels
    return Saved(most, labels, labels / (most * closed), money, project.settings.currency)
