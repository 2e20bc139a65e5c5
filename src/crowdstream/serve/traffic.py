"""Records of answers: counts, times, and lines of the log. Knows no routes."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of a histogram's buckets, in seconds: from a commit on a fast disk to a bad day."""

REFUSALS = 20
"""Refused requests a second that the log has: a flood of them must not fill the disk."""

log = logging.getLogger("crowdstream.access")


class Histogram:
    """Histogram of durations.

    >>> found = Histogram()
    >>> found.add(0.002), found.add(60.0), found.total
    (None, None, 2)
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def total(self) -> int:
        """Number of samples."""
        return sum(self.counts)


class Traffic:
    """Answers of a server."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.times = {"labels": Histogram(), "other": Histogram()}
        self._second, self._refused = 0, 0

    def add(self, kind: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.statuses[status] += 1
        self.times[kind].add(seconds)

    def log(
        self, method: str, path: str, status: int, seconds: float, client: str, token: str
    ) -> None:
        """Write an answer to the log."""
        level = logging.WARNING if status in (401, 403) or status >= 500 else logging.INFO
        if level == logging.WARNING and not self._may_warn():
            return
        fields = {
            "method": method, "path": path, "status": status,
            "ms": round(1e3 * seconds, 1), "client": client, "token": token or "-",
        }  # fmt: skip
        log.log(level, "request", extra={"fields": fields})

    def _may_warn(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            if self._refused > REFUSALS:
                more = self._refused - REFUSALS
                log.warning("refused requests not shown", extra={"fields": {"number": more}})
            self._second, self._refused = second, 0
        self._refused += 1
        return self._refused <= REFUSALS
