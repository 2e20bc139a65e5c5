"""Findings of an estimator's monitors on all workers together: families, alarms, independence.

Knows nothing of terminals or files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator
    from crowdstream.labels import WorkerId
    from crowdstream.monitoring import DriftAlarm
    from crowdstream.statements import LabelWorth

NEARBY = 50
"""Answers per worker within which alarms of most workers count as one shift."""


@dataclass(frozen=True)
class MonitorReport:
    """Findings of the monitors; ``shifts`` are the alarms of most workers at once, by time.

    ``over_time``: whether they asked who changed; without it there are no alarms.
    ``families`` are declared, ``copies`` and ``suspects`` found.
    """

    families: list[list[WorkerId]]
    copies: list[list[WorkerId]]
    suspects: list[list[WorkerId]]
    labels_per_task: float
    worth: LabelWorth | None
    alarms: list[DriftAlarm]
    shifts: list[list[DriftAlarm]]
    over_time: bool

    def groups(self) -> Iterator[tuple[str, list[WorkerId]]]:
        """All groups, each with its kind, a key of `wording.GROUPS`."""
        kinds = {"family": self.families, "copy": self.copies, "suspect": self.suspects}
        return ((kind, group) for kind, groups in kinds.items() for group in groups)


def monitor_report(estimator: Estimator, tasks: int) -> MonitorReport | None:
    """Ask the monitors; None where there are none."""
    if not is_monitored(estimator):
        return None
    from crowdstream.monitoring.families import groups_of
    from crowdstream.statements import label_worth

    votes = estimator.intake_.labels / tasks if tasks else 0.0
    worth = label_worth(estimator, votes) if votes >= 1 else None
    families = _declared_families(estimator)
    copies, suspects = (groups_of(estimator, kind) for kind in ("copy", "suspect"))
    alarms = alarms_of(estimator)
    shifts = find_shifts(estimator, alarms)
    return MonitorReport(
        families, copies, suspects, votes, worth, alarms, shifts, watches_time(estimator)
    )


def _declared_families(estimator: Estimator) -> list[list[WorkerId]]:
    """The declared families of which several members have answered."""
    found: dict[str, list[WorkerId]] = {}
    if not estimator.families:
        return []
    for worker in estimator.workers_:
        name = cast("Mapping[WorkerId, str]", estimator.families).get(worker)
        if name is not None:
            found.setdefault(name, []).append(worker)
    return [members for members in found.values() if len(members) > 1]


def is_monitored(estimator: Estimator) -> bool:
    """Return whether monitors go along with an estimator."""
    from crowdstream.monitoring import Pairs

    return any(isinstance(observer, Pairs) for observer in estimator.observers)


def watches_time(estimator: Estimator) -> bool:
    """Return whether monitors ask who changed: only where tasks come in the order of time."""
    from crowdstream.monitoring import Drift

    return any(isinstance(observer, Drift) for observer in estimator.observers)


def alarms_of(estimator: Estimator, *, pending: bool = False) -> list[DriftAlarm]:
    """The alarms so far, or what is pending, the oldest first; none where nobody asks."""
    if not watches_time(estimator):
        return []
    from crowdstream import monitoring

    return monitoring.alarms(estimator, pending=pending)


def find_shifts(estimator: Estimator, alarms: Sequence[DriftAlarm]) -> list[list[DriftAlarm]]:
    """The alarms of most workers at once, one list for each time that this happened."""
    # `NEARBY` answers in tasks, if all workers answer about as often.
    labels = max(estimator.intake_.labels, 1)
    span = NEARBY * estimator.tasks_ * len(estimator._workers) / labels
    shifts: list[list[DriftAlarm]] = []
    for alarm in alarms:
        if not alarm.everyone:
            continue
        last = shifts[-1][-1] if shifts else None
        if (
            last is None
            or last.direction != alarm.direction
            or alarm.tasks_seen - last.tasks_seen > span
        ):
            shifts.append([])
        shifts[-1].append(alarm)
    return shifts
