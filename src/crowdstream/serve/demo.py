"""A simulated crowd that keeps labelling, so that there is something to look at.

Knows what a newcomer should see: workers of all kinds, one who gets worse, one who copies, one who
always says the same. Labels go the way that all labels go.
"""

from __future__ import annotations

import asyncio
import random
import time

from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import Project
from crowdstream.serve.server import Server
from crowdstream.serve.wire import LabelIn, Settings

NAME = "demo"
CLASSES = ("allow", "remove", "unsure")
SHARES = (0.6, 0.3, 0.1)

SETTINGS = Settings(max_labels=7, classes=list(CLASSES), price=0.04, currency="USD")

ERRORS = {
    "ada": 0.04, "ben": 0.07, "chloe": 0.09, "dora": 0.12, "emil": 0.15, "fatima": 0.18,
    "gus": 0.22, "hana": 0.26, "judge-large": 0.10, "judge-small": 0.24, "ivo": 0.30,
}  # fmt: skip
"""How often each worker errs."""

DRIFTER, COPIER, COPIED, SPAMMER = "ben", "kit", "dora", "lou"

DRIFT_TASKS, DRIFT_ERROR = 700, 0.45
"""Tasks after which the drifter gets worse, or better again, and how much worse."""

FIRST, AT_ONCE, OPEN, PAUSE = 4000, 10, 40, 0.05
"""Labels at the start and how many of them at once, tasks that are open at a time, seconds between
two labels later."""

SPREAD = 0.07
"""One over the tasks that workers pass by: many are in doubt at a time."""


class Demo:
    """Labels for ever."""

    def __init__(self, server: Server, seed: int = 7) -> None:
        self._engine = server.engine
        self._random = random.Random(seed)
        self._tasks = 0
        self._open: dict[str, dict[str, str]] = {}
        self._truths: dict[str, str] = {}

    async def run(self) -> None:
        """Make the project, fill it, go on."""
        while True:
            try:
                await self._begin()
                break
            except (ProblemError, AssertionError):  # the engine has not started yet
                await asyncio.sleep(0.05)
        for _ in range(FIRST // AT_ONCE):
            await self._send([self._label() for _ in range(AT_ONCE)])
        while True:
            await self._send([self._label()])
            await asyncio.sleep(self._random.expovariate(1.0 / PAUSE))

    async def _begin(self) -> None:
        def create() -> int:
            if NAME not in self._engine.projects:
                self._engine.create(NAME, SETTINGS, time.time())
            return self._engine.projects[NAME].stream.counts.closed

        self._tasks = await self._engine.ask(create) + 1

    async def _send(self, labels: list[LabelIn]) -> None:
        def apply(project: Project, now: float) -> object:
            found = project.observe(labels, now)
            for decision in found.decisions:
                if decision.closed:
                    self._open.pop(str(decision.task), None)
            return found

        try:
            await self._engine.write(NAME, apply, weight=len(labels))
        except ProblemError:  # a full disk, say: the real crowd would come back too
            await asyncio.sleep(1.0)

    def _label(self) -> LabelIn:
        """A worker comes and takes a task."""
        chance = self._random
        worker = chance.choice([*ERRORS, COPIER, SPAMMER])
        while len(self._open) < OPEN:
            self._tasks += 1
            name = f"post-{self._tasks:05d}"
            self._open[name] = {}
            self._truths[name] = chance.choices(CLASSES, SHARES)[0]
        free = [task for task, answers in self._open.items() if worker not in answers]
        task = free[min(int(chance.expovariate(SPREAD)), len(free) - 1)] if free else self._new()
        label = self._answer(worker, task)
        self._open[task][worker] = label
        return LabelIn(task, worker, label)

    def _new(self) -> str:
        self._tasks += 1
        name = f"post-{self._tasks:05d}"
        self._open[name], self._truths[name] = {}, CLASSES[0]
        return name

    def _answer(self, worker: str, task: str) -> str:
        chance, truth = self._random, self._truths[task]
        if worker == SPAMMER:
            return CLASSES[0]
        if worker == COPIER:
            copied = self._open[task].get(COPIED)
            if copied is not None and chance.random() < 0.95:
                return copied
            worker = COPIED
        error = ERRORS[worker]
        if worker == DRIFTER and self._tasks // DRIFT_TASKS % 2:
            error = DRIFT_ERROR
        if chance.random() >= error:
            return truth
        return chance.choice([label for label in CLASSES if label != truth])
