"""Alarms as the command line tells them: in JSON, and of a stream each once, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crowdstream.cli.json_output import Change
from crowdstream.report.monitors import MonitorReport, alarms_of, find_shifts
from crowdstream.wording import alarm_words, shift_words

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator
    from crowdstream.labels import WorkerId
    from crowdstream.monitoring import DriftAlarm

CHANGES = 10
"""Alarms that are reported."""


def latest_changes(found: MonitorReport) -> list[Change]:
    """The latest alarms as ``--json`` prints them, the newest first."""
    fields = Change.__struct_fields__
    latest = found.alarms[: -CHANGES - 1 : -1]
    return [Change(*(getattr(alarm, name) for name in fields)) for alarm in latest]


class AlarmNews:
    """The alarms of a stream in words, each once; those of a state that it resumes are old."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator
        alarms = alarms_of(estimator)
        self.known = set(map(_key, alarms))
        self.shifted = {_key(alarm) for alarm in alarms if alarm.everyone}
        self.count = 0

    def new(self) -> Iterator[str]:
        """Yield what has come up since the last call."""
        alarms = alarms_of(self.estimator)
        shifts = find_shifts(self.estimator, alarms)
        new_shifts = [shift for shift in shifts if self.shifted.isdisjoint(map(_key, shift))]
        self.shifted = {_key(alarm) for shift in shifts for alarm in shift}
        new = [alarm for alarm in alarms if _key(alarm) not in self.known]
        self.known = set(map(_key, alarms))
        self.count += len(new)
        yield from map(shift_words, new_shifts)
        yield from (alarm_words(alarm) for alarm in new if not alarm.everyone)


def _key(alarm: DriftAlarm) -> tuple[int, WorkerId]:
    """Return an alarm's identity; whether most workers had it may come out later."""
    return alarm.tasks_seen, alarm.worker
