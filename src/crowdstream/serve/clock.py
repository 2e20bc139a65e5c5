"""`Clock`: the time of a server, which runs evenly whatever the machine's clock is set to.

Idle tasks, snapshots, alarms and answers that are kept go by it; so does the log, so that a replay
has the same times. It begins at the machine's time, and not before the last time in the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

SET = 60.0
"""Seconds by which the machine's clock and this one differ before that is said in the log."""

log = logging.getLogger("crowdstream.serve")


def _steady() -> float:
    """Seconds that have gone by, those asleep too where the system can tell."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Clock:
    """Seconds since 1970 that never jump.

    Parameters
    ----------
    wall
        The machine's time, which may be set.
    steady
        Seconds that go by evenly.

    Examples
    --------
    >>> machine = iter([1000.0, 400.0, 400.0])
    >>> clock = Clock(wall=lambda: next(machine), steady=iter([0.0, 5.0, 9.0]).__next__)
    >>> clock.now(), clock.now()
    (1005.0, 1009.0)
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = _steady
    ) -> None:
        self._wall, self._steady = wall, steady
        self._begun, self._start = steady(), wall()
        self._told = 0.0

    def begin_after(self, at: float) -> None:
        """Go on from a time, if the machine's clock is behind it."""
        self._start += max(at - self.now(), 0.0)

    def now(self) -> float:
        """Return the time."""
        now = self._start + self._steady() - self._begun
        ahead = self._wall() - now
        if abs(ahead - self._told) > SET:
            self._told = ahead
            log.warning(
                "the machine's clock is %.0f s off the server's, which runs evenly: it was set; "
                "a restart takes it over", ahead,
            )  # fmt: skip
        return now
