"""A stream in micro-batches on one machine, in plain Python: what the cluster's must equal."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from crowdstream.decisions.decision import SettleRule
from crowdstream.estimators import Estimator
from crowdstream.estimators.settling import predicted
from crowdstream.labels.batch import LabelBatch
from crowdstream.models.passes import AddTasks, InMemory
from crowdstream.sums.agreement import AgreementSums

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
"""Of a session for tests: jobs are tiny, and to compile them takes longer than to run them."""


class Row(NamedTuple):
    """A row of a micro-batch; ``at`` in microseconds."""

    task: str | None
    worker: str | None
    label: str | None
    at: int | None = 0


class Given(NamedTuple):
    """A label that stands."""

    worker: str
    label: str
    step: int
    at: int


class OneMachine:
    """The same micro-batches in dictionaries and lists, with the library's own verbs."""

    def __init__(
        self,
        crowd: Estimator,
        *,
        settle: float | None = 0.95,
        min_labels: int = 2,
        max_labels: int | None = None,
        idle: int | None = None,
        watermark: int | None = None,
    ) -> None:
        self.crowd, self.rule = crowd, SettleRule(settle, min_labels)
        self.max_labels, self.idle, self.delay = max_labels, idle, watermark
        self.open: dict[str, list[Given]] = {}
        self.closed: dict[str, int] = {}
        self.open_sums = AgreementSums()
        self.newest: int | None = None
        self.step = 0
        self.counts: Counter[str] = Counter()
        self.decisions: list[dict[str, Any]] = []

    def take(self, rows: Iterable[Row]) -> None:
        self.step += 1
        came: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
        for task, givens in self.open.items():
            for one in givens:
                came[task, one.worker] = [(one.at, one.step, one.label)]
        for task, worker, label, at in self._good(rows):
            came.setdefault((task, worker), []).append((at, self.step, label))
        tasks: dict[str, list[Given]] = {}
        for (task, worker), said in came.items():
            said.sort()
            at, _, label = said[0]
            for later in said[1:]:
                self.counts["repeated" if later[2] == label else "replaced"] += 1
                if later[2] != label:
                    at, _, label = later
            first = min(step for _, step, _ in said)
            tasks.setdefault(task, []).append(Given(worker, label, first, at))
        for task, givens in tasks.items():
            givens.sort(key=lambda one: (one.step, one.at, one.worker))
            if self.max_labels is not None:
                self.counts["late"] += len(givens[self.max_labels :])
                tasks[task] = givens[: self.max_labels]
        self._decide_and_learn({task: tasks[task] for task in sorted(tasks)})

    def end(self) -> None:
        self.step += 1
        self._decide_and_learn({task: self.open[task] for task in sorted(self.open)}, end=True)

    def _good(self, rows: Iterable[Row]) -> list[tuple[str, str, str, int]]:
        """The labels among the rows that are not late."""
        found = []
        watermark = None if self.newest is None or self.delay is None else self.newest - self.delay
        if watermark is not None:
            self.closed = {task: at for task, at in self.closed.items() if at >= watermark}
        for task, worker, label, at in rows:
            self.counts["rows"] += 1
            if task is None or worker is None or label is None or at is None:
                names = "task", "worker", "label", "at"
                values = task, worker, label, at
                self.counts[f"null_{names[values.index(None)]}"] += 1
            elif (watermark is not None and at < watermark) or task in self.closed:
                self.counts["late"] += 1
                if not (watermark is not None and at < watermark):
                    self.newest = at if self.newest is None else max(at, self.newest)
            else:
                self.newest = at if self.newest is None else max(at, self.newest)
                found.append((task, worker, label, at))
        return found

    def _batch(self, tasks: dict[str, list[Given]]) -> LabelBatch:
        crowd, givens = self.crowd, [one for each in tasks.values() for one in each]
        return LabelBatch(
            np.cumsum([0, *map(len, tasks.values())]),
            np.array([crowd._workers.code(one.worker) for one in givens], np.int32),
            np.array([crowd._classes.code(one.label) for one in givens], np.int32),
            tasks=list(tasks),
        )

    def _decide_and_learn(self, tasks: dict[str, list[Given]], *, end: bool = False) -> None:
        crowd, before = self.crowd, self.crowd.copy()
        givens = [one for each in tasks.values() for one in each]
        for worker in sorted({one.worker for one in givens}):
            crowd._workers.add(worker)
        for label in sorted({one.label for one in givens}):
            crowd._classes.add(label)
        batch = self._batch(tasks)
        votes = before._decide(batch, crowd._classes)
        learnt = np.array([min(one.step for one in each) < self.step for each in tasks.values()])
        table = predicted(before, batch, votes, self.rule, crowd._classes, learnt)
        closed = {}
        for decision, (task, each) in zip(table.to_dicts(), tasks.items(), strict=True):
            why = self._why(decision["settled"], each, end)
            if why is not None:
                closed[task] = each
                self.closed[task] = self.newest or 0
                self.counts[why] += 1
                decision |= {"identifiable": votes.identified, "closed": why}
                self.decisions.append(decision)
        self.open = {task: each for task, each in tasks.items() if task not in closed}
        crowd._make_room()
        self.open_sums.make_room(crowd._model.sums.workers, crowd._model.sums.classes)
        (now,) = InMemory(self._batch(self.open)).add_up([AddTasks(crowd._model.sums)])
        crowd._model.replace_open(self.open_sums, now)
        self.open_sums = now
        learnable = InMemory(self._batch(closed))
        crowd._model.learn_table(learnable)
        if closed:
            crowd._notify_more(learnable, len(closed), in_order=True)

    def _why(self, settled: bool, givens: list[Given], end: bool) -> str | None:
        if settled:
            return "settled"
        if self.max_labels is not None and len(givens) >= self.max_labels:
            return "full"
        if self.idle is not None and self.delay is not None and self.newest is not None:
            last = max(one.at for one in givens)
            if last <= self.newest - self.delay - self.idle:
                return "idle"
        return "end" if end else None


def labels(tasks: int, workers: int, each: int, seed: int) -> list[Row]:
    """Labels by workers of different skill, 2 to ``each`` of a task, a task every minute."""
    rng = np.random.default_rng(seed)
    right = rng.uniform(0.55, 0.98, workers)
    found = []
    for t in range(tasks):
        truth = int(rng.integers(3))
        for w in rng.permutation(workers)[: int(rng.integers(2, each + 1))].tolist():
            said = truth if rng.random() < right[w] else int(rng.integers(3))
            at = (60 * t + int(rng.integers(600))) * 1_000_000
            found.append(Row(f"t{t:04d}", f"w{w:02d}", f"c{said}", at))
    return found


def write(rows: Iterable[Row], folder: Path, number: int) -> None:
    """One file of a source, there at once; files are read in order of their age."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {"task": pl.String, "worker": pl.String, "label": pl.String, "at": pl.Int64}
    frame = pl.DataFrame(list(rows), schema=kinds, orient="row")
    frame.with_columns(pl.col("at").cast(pl.Datetime("us", "UTC"))).write_parquet(folder / "part")
    os.utime(folder / "part", (1_700_000_000 + number,) * 2)
    shutil.move(folder / "part", folder / f"{number:03d}.parquet")


def source(session: Any, folder: Path) -> Any:
    """The files of a folder, one per micro-batch."""
    schema = "task string, worker string, label string, at timestamp"
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.option("pathGlobFilter", "*.parquet").parquet(str(folder))


def decisions_in(state: Path) -> pl.DataFrame:
    """All decisions of a stream, by task."""
    files = sorted((state / "decisions").rglob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]).sort("task")


RULES: dict[str, Any] = {"max_labels": 5, "idle": "20 minutes", "watermark": "30 minutes"}
"""Rules under which tasks close in every way."""


def run(session: Any, folder: Path, state: Path, estimator: Any = None, **rules: Any) -> None:
    """Take all files that there are, one per micro-batch."""
    from crowdstream import spark

    labels = source(session, folder)
    given: dict[str, Any] = (
        {"at": "at", "trigger": "available now", "partitions": 2} | RULES | rules
    )
    query = spark.stream(labels, state, estimator, **given)
    try:
        assert query.awaitTermination(300)
    finally:
        query.stop()
