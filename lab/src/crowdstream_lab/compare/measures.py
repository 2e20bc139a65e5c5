"""One method on one data set, in this process: errors, calibration, time and memory.

Knows nothing of processes, tables or pages.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdstream import Estimator, InputError
from crowdstream.extension import distance_on
from crowdstream.metrics import brier, calibration_error
from crowdstream_lab.compare.methods import CROWDKIT, Method
from crowdstream_lab.datasets import Dataset

if TYPE_CHECKING:
    pass


RUNS = 5
"""A method is timed over so many runs, of which the quickest counts: others can only add to it."""


SLOW = 0.5
"""Once they took this many seconds together, it is not run again: what else the machine does then
adds little to a run, and a benchmark of some forty methods ends in minutes."""


WARM_TASKS = 20
"""Tasks a method meets before it is measured, so that loading does not count."""


OK, TOO_LARGE, OVER_LIMIT, TWO_ONLY, FAILED, MISSING = (
    "ok",
    "too large",
    "over the time limit",
    "for two classes only",
    "failed",
    "not installed",
)


FILE = "file"
"""The order of the tasks as the labels' file has them."""


@dataclass(frozen=True)
class Row:
    """Measures of one method on one order of one set; None where there is nothing to say.

    ``prequential`` and ``final`` are shares of wrong decisions; ``ece``, ``brier`` and, on sets
    with a scale, the mean ``distance`` from the truth are of the final ones. Times are nanoseconds
    per label, ``memory_mb`` is in 2²⁰ bytes. ``outcomes`` has the errors of single tasks and is no
    column of the long table.
    """

    set: str
    method: str
    order: str
    status: str = OK
    note: str = ""
    prequential: float | None = None
    final: float | None = None
    ece: float | None = None
    brier: float | None = None
    distance: float | None = None
    ns_fit: float | None = None
    ns_stream: float | None = None
    memory_mb: float | None = None
    outcomes: pl.DataFrame | None = field(default=None, compare=False, repr=False)


COLUMNS = {
    name: pl.Float64 if "float" in str(kind) else pl.String
    for name, kind in Row.__annotations__.items()
    if name != "outcomes"
}
"""Columns of the long table."""


OUTCOMES = {
    "method": pl.String,
    "order": pl.String,
    "task": pl.String,
    "final": pl.Float64,
    "prequential": pl.Float64,
}
"""Columns of the errors of single tasks: 0, 1, or in between for a tie."""


def ready(data: Dataset) -> Dataset:
    """The set as all methods can take it: one label a worker and task (the last), gold for these.

    So that none is held to account for rows that another reads otherwise.
    """
    labels = data.labels.drop_nulls().unique(["task", "worker"], keep="last", maintain_order=True)
    gold = data.gold.join(labels.select("task").unique(), on="task", how="semi")
    if not gold.height:
        raise InputError("gold", "tasks that have labels", "none in common with the labels")
    return replace(data, labels=labels, gold=gold)


def shuffled(labels: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The labels with their tasks in another order, each task's together."""
    tasks = labels["task"].unique(maintain_order=True)
    place = np.random.default_rng(seed).permutation(len(tasks))
    places = pl.DataFrame({"task": tasks, "place": place})
    return labels.join(places, on="task").sort("place", maintain_order=True).drop("place")


def dataset_error(decisions: pl.DataFrame, data: Dataset, *, majority: bool = False) -> float:
    """The share of the tasks with gold that are decided wrongly, ties in expectation.

    A tie of two classes counts ½. Of more, a decision by coin counts as it fell, unless it was a
    ``majority`` vote: then it is known among how many classes the coin chose.

    >>> from crowdstream_lab.datasets import Meta
    >>> labels = pl.DataFrame({"task": ["t"] * 3, "worker": ["a", "b", "c"], "label": list("xyz")})
    >>> data = Dataset("", labels, pl.DataFrame({"task": ["t"], "label": ["x"]}), Meta(""))
    >>> fell = pl.DataFrame({"task": ["t"], "label": ["y"], "margin": [0.0]})
    >>> dataset_error(fell, data), round(dataset_error(fell, data, majority=True), 3)
    (1.0, 0.667)
    """
    return float(task_errors(decisions, data, majority=majority).to_numpy().mean())


def task_errors(decisions: pl.DataFrame, data: Dataset, *, majority: bool = False) -> pl.Series:
    """Return the error on each task with gold, in its order: what `dataset_error` is the mean of.

    The rule is that of `crowdstream.metrics.error_rate`; a task without a decision is wrong.
    """
    decided = decisions.select("task", said=pl.col("label").cast(pl.String), margin="margin")
    table = data.gold.select("task", truth=pl.col("label").cast(pl.String))
    table = table.join(decided, on="task", how="left", maintain_order="left")
    wrong = (pl.col("said") != pl.col("truth")).fill_null(True).cast(pl.Float64)
    if majority:
        most = pl.col("votes") == pl.col("votes").max().over("task")
        votes = data.labels.group_by("task", "label").agg(votes=pl.len()).filter(most)
        tied = votes.group_by("task").agg(tied=pl.col("label").cast(pl.String))
        table = table.join(tied, on="task", how="left", maintain_order="left")
        chance = pl.col("tied").list.contains(pl.col("truth")) / pl.col("tied").list.len()
        wrong = pl.when(pl.col("tied").list.len() > 1).then(1 - chance).otherwise(wrong)
    elif pl.concat([data.labels["label"], data.gold["label"]]).n_unique() <= 2:
        tie = (pl.col("margin") == 0) & pl.col("said").is_not_null()
        wrong = pl.when(tie).then(0.5).otherwise(wrong)
    return table.select(wrong=wrong)["wrong"]


def measure(
    method: Method, data: Dataset, shuffles: int, seed: int, runs: int = RUNS
) -> Iterator[Row]:
    """A method on a set, in this process: a row for the file's order, and one for each shuffle.

    Times are the quickest of up to so many ``runs``.
    """
    runner = _Foreign(method) if method.family == CROWDKIT else _Native(method)
    few = data.labels["task"].unique(maintain_order=True).head(WARM_TASKS)
    sample = runner.table(data.labels.filter(pl.col("task").is_in(few.implode())))
    with contextlib.suppress(Exception):  # what it has to say, it will say again below
        runner.fit(sample)
        runner.stream(sample)
    size, table = data.labels.height, runner.table(data.labels)
    before = _peak_mb(reset=True)
    found, seconds = _timed(lambda: runner.fit(table), runs)
    memory = None if before is None else (_peak_mb() or 0.0) - before
    row = _judged(method, data, FILE, runner.decisions(found))
    row = replace(row, ns_fit=seconds / size * 1e9, memory_mb=memory)
    if not runner.online:
        yield row
        return
    said, seconds = _timed(lambda: runner.stream(table), runs)
    yield _online(row, said, method, data, ns_stream=seconds / size * 1e9)
    for number in range(shuffles):
        table = shuffled(data.labels, seed + number)
        row = _judged(method, data, f"shuffle {number + 1}", runner.fit(table))
        yield _online(row, runner.stream(table), method, data)


def _judged(method: Method, data: Dataset, order: str, decisions: pl.DataFrame) -> Row:
    """A row of what the final decisions are worth."""
    wrong = task_errors(decisions, data, majority=method.majority)
    outcomes = pl.DataFrame(
        {"task": data.gold["task"].cast(pl.String), "final": wrong}
    ).with_columns(method=pl.lit(method.name), order=pl.lit(order), prequential=None)
    return Row(
        data.name,
        method.name,
        order,
        final=float(wrong.to_numpy().mean()),
        outcomes=outcomes.select(pl.col(name).cast(kind) for name, kind in OUTCOMES.items()),
        **_quality(decisions, data),
    )


def _online(
    row: Row,
    decisions: pl.DataFrame,
    method: Method,
    data: Dataset,
    ns_stream: float | None = None,
) -> Row:
    """The row with what the online decisions are worth."""
    wrong = task_errors(decisions, data, majority=method.majority)
    assert row.outcomes is not None
    return replace(
        row,
        prequential=float(wrong.to_numpy().mean()),
        ns_stream=ns_stream,
        outcomes=row.outcomes.with_columns(prequential=wrong),
    )


class _Native:
    """One of this package's methods: takes a polars table, gives one of decisions."""

    def __init__(self, method: Method) -> None:
        self.make = method.make
        made = method.make()
        self.verb = next((v for v in ("stream_many", "stream_predict") if hasattr(made, v)), "")
        self.online = bool(self.verb)
        # What the table means was told when it was read.
        self.meaning = {"as_classes": True} if isinstance(made, Estimator) else {}

    def table(self, labels: pl.DataFrame) -> Any:
        return labels

    def fit(self, table: Any) -> Any:
        return self.make().fit_predict(table, **self.meaning)

    def stream(self, table: Any) -> Any:
        return getattr(self.make(), self.verb)(table, **self.meaning) if self.online else None

    def decisions(self, found: Any) -> pl.DataFrame:
        decided: pl.DataFrame = found
        return decided


class _Foreign(_Native):
    """One of crowd-kit's: takes a pandas table, gives a series of labels, some probabilities."""

    def table(self, labels: pl.DataFrame) -> Any:
        import pandas as pd

        return pd.DataFrame({name: labels[name].to_list() for name in labels.columns})

    def fit(self, table: Any) -> Any:
        made = self.make()
        return made.fit_predict(table), getattr(made, "probas_", None)

    def decisions(self, found: Any) -> pl.DataFrame:
        labels, chances = found
        decided = {"task": labels.index.tolist(), "label": labels.tolist()}
        if chances is None:
            return pl.DataFrame(decided).with_columns(confidence=None, margin=None)
        best = np.sort(chances.loc[labels.index].fillna(0.0).to_numpy(float), axis=1)
        lead = best[:, -1] - best[:, -2] if best.shape[1] > 1 else best[:, -1]
        return pl.DataFrame({**decided, "confidence": best[:, -1], "margin": lead})


def _timed(run: Callable[[], Any], runs: int) -> tuple[Any, float]:
    """Return a function's result, and the seconds of its quickest run."""
    taken: list[float] = []
    while len(taken) < runs and sum(taken) < SLOW:
        start = time.perf_counter()
        found = run()
        taken.append(time.perf_counter() - start)
    return found, min(taken)


def _peak_mb(reset: bool = False) -> float | None:
    """The most resident memory this process had so far, or, on Linux, since the last reset."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _quality(decisions: pl.DataFrame, data: Dataset) -> dict[str, Any]:
    """Return measures of final decisions besides their error."""
    found: dict[str, Any] = {}
    if data.scale is not None:
        said = decisions.select("task", pl.col("label").cast(pl.String))
        scored = data.gold.select("task", truth="label").join(said, on="task", how="left")
        found["distance"] = distance_on(data.scale, scored)
    if decisions["confidence"].null_count():
        return found
    found["ece"] = calibration_error(decisions, data.gold)
    found["brier"] = brier(decisions, data.gold)
    return found
