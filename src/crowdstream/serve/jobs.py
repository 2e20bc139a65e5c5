"""`Job`: what the engine is asked to do. `Loans`: who works on a project, and what waits for it.

A project whose work takes long is lent to a thread beside: what is asked of it meanwhile waits
until it is back, and nobody else waits. Knows nothing of what is done.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from crowdstream.serve.answers import Answer
from crowdstream.serve.project import Project
from crowdstream.serve.wire import LabelIn

Apply = Callable[[Project, float], object]
"""Applies a request to its project at a time; returns what is answered."""

STEP = 0.02
"""Seconds that a step may take which everybody waits for: well below the promised 50 ms."""

SLOW_FOR = 300.0
"""Seconds for which a project that had a longer step is expected to have another."""

CELLS = 100_000
"""Workers times classes squared from which on a project's steps are expected to be long."""

MANY = 2_000
"""Labels that take about as long as a step."""

THREADS = 4
"""Projects that are lent at a time; others wait for a thread."""

LOAN_LABELS = 20_000
"""Labels after which what is lent comes back to be written."""


@dataclass(slots=True, eq=False)
class Job:
    """A request that waits, or a question.

    ``key`` and what was ``said`` tell whether it was applied before. ``label``: all it brings is
    this one, without a time, which may be taken together with others'. ``tell`` is called with the
    answer, or the error, in the event loop; ``keep`` in the engine's thread instead. A question
    without a project is about the engine itself.
    """

    tell: Callable[[Any], None]
    project: str = ""
    apply: Apply | None = None
    ask: Callable[[], object] | None = None
    weight: int = 1
    key: bytes = b""
    said: bytes = b""
    label: LabelIn | None = None
    keep: Callable[[Any], None] | None = None
    answer: object = None


@dataclass(slots=True, eq=False)
class Loan:
    """A project, what is done to it meanwhile, and what came of it: writes, or questions."""

    project: Project
    jobs: list[Job]
    new: dict[bytes, Answer] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    @property
    def is_write(self) -> bool:
        """Return True if there is something to commit."""
        return self.jobs[0].apply is not None


class Loans:
    """Projects that are lent, and what waits for each.

    Parameters
    ----------
    work
        What is done with a loan, in a thread beside.
    back
        Told when it is done, in that thread.
    """

    def __init__(self, work: Callable[[Loan], None], back: Callable[[Loan], None]) -> None:
        self._work, self._back = work, back
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="beside")
        self._waiting: dict[str, deque[Job]] = {}
        self._slow_until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def is_lent(self, name: str) -> bool:
        """Return True if a project is lent to a thread."""
        return name in self._waiting

    def note(self, name: str, seconds: float) -> None:
        """Note how long a step took."""
        if seconds > STEP:
            self._slow_until[name] = time.monotonic() + SLOW_FOR

    def is_slow(self, project: Project) -> bool:
        """Return True if a project's steps are expected to be long."""
        crowd = project.stream.crowd
        if len(crowd._workers) * max(len(crowd._classes), 2) ** 2 >= CELLS:
            return True
        return self._slow_until.get(project.name, 0.0) > time.monotonic()

    def lend(self, project: Project, jobs: list[Job]) -> None:
        """Begin with the first of some jobs; the others wait, as all that come after them do."""
        waiting = self._waiting.setdefault(project.name, deque())
        waiting.extend(jobs)
        kind, size = waiting[0].apply is None, 0
        now, later = list[Job](), deque[Job]()
        for job in waiting:
            # Questions overtake no label that was acknowledged, and labels no other labels.
            if (job.apply is None) == kind and size < LOAN_LABELS:
                now.append(job)
                size += job.weight
            else:
                later.append(job)
        self._waiting[project.name] = later
        self._pool.submit(self._run, Loan(project, now))

    def _run(self, loan: Loan) -> None:
        try:
            self._work(loan)
        finally:
            self._back(loan)

    def wait(self, job: Job) -> None:
        """Let a job wait until its project is back."""
        self._waiting[job.project].append(job)

    def returned(self, loan: Loan) -> list[Job]:
        """Take a project back; returns what has waited for it, in order."""
        return list(self._waiting.pop(loan.project.name))

    def end(self) -> None:
        """End the threads, which have nothing to do any more."""
        self._pool.shutdown()
