"""The table of workers: what is known of each, how surely, and what that means in words.

Knows neither estimators nor streams: it is given numbers, one row per worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel, Vocabulary
from crowdstream.metrics import wilson

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW_ANSWERS = 10
"""A worker with fewer answers than this is flagged where no interval says how little is known."""

CHANCE = 0.25
"""Skill below which a worker is called at chance, once the interval excludes more."""

PARROT = 0.9
"""Share of one class in a worker's answers that is called always, if the crowd's is lower."""

Costs: TypeAlias = (
    "Mapping[str, Mapping[str, float]] | Mapping[int, Mapping[int, float]] | "
    "Mapping[ClassLabel, Mapping[ClassLabel, float]]"
)
"""What it costs to take a class (outer) for another (inner)."""


@dataclass
class WorkerReading:
    """What an estimator itself knows, one row per worker.

    ``solved``: whose error rate is known; ``apart``: who shares no task with the main group;
    ``confusions`` n×K×K: how often a class (rows) is called each; where there are none, all errors
    are taken to be alike. ``prior``: how frequent the classes are. ``said``: answers by class.
    """

    answers: Floats
    errors: Floats
    weights: Floats
    agree: Floats
    met: Floats
    said: Floats
    solved: Flags
    apart: Flags
    forgets: bool
    confusions: Floats | None = None
    prior: Floats = field(default_factory=lambda: np.empty(0))


def worker_table(
    workers: Vocabulary,
    classes: Vocabulary,
    found: WorkerReading,
    more: Mapping[str, NDArray[np.generic] | list[str]],
    costs: Costs | None,
) -> pl.DataFrame:
    """What `Estimator.workers` returns; ``more`` are the columns that observers add."""
    import polars as pl

    n, k = len(workers), max(len(classes), 2)
    errors = np.where(found.solved, found.errors, np.nan)
    nothing = np.full(n, np.nan)
    low = cast("Floats", more.get("error_low", nothing))
    high = cast("Floats", more.get("error_high", nothing))
    if "error_low" in more:
        # An estimate that the interval's one skill for all classes does not explain widens it.
        low = np.where(found.solved, np.fmin(low, np.where(found.solved, errors, 1.0)), 0.0)
        high = np.where(found.solved, np.fmax(high, np.where(found.solved, errors, 0.0)), 1.0)
    shared = found.met > 0
    quality = np.where(found.solved, _quality(found, k, _cost_matrix(costs, classes)), np.nan)
    table = pl.DataFrame(
        {
            "worker": value_series("worker", workers.to_list()),
            "answers": found.answers,
            "error_rate": errors,
            "error_low": low,
            "error_high": high,
            "evidence": pl.Series(more.get("evidence", [None] * n), dtype=pl.String),
            "weight": found.weights,
            "agreement": found.agree / np.where(shared, found.met, np.inf),
            "quality": quality,
            "flags": pl.Series(_flags(classes, found, low, high), dtype=pl.String),
        }
    )
    return table.with_columns(
        pl.col("answers") if found.forgets else pl.col("answers").round().cast(pl.Int64),
        pl.col("error_rate", "error_low", "error_high", "quality").fill_nan(None),
        pl.when(pl.Series(shared)).then("agreement").alias("agreement"),
    )


def _flags(classes: Vocabulary, found: WorkerReading, low: Floats, high: Floats) -> list[str]:
    """In words what is significant of each worker."""
    chance = 1.0 - 1.0 / max(len(classes), 2)
    words: list[list[str]] = [[] for _ in found.answers]
    for i in range(found.answers.size):
        if np.isnan(low[i]) or not found.solved[i]:
            if found.answers[i] < FEW_ANSWERS:
                words[i].append("too few answers")
        elif high[i] < chance:
            words[i].append("better than chance")
        elif low[i] > chance:
            words[i].append("adversarial")
        elif low[i] > (1.0 - CHANCE) * chance:
            words[i].append("at chance")
        else:
            words[i].append("too few answers")
        if found.apart[i]:
            words[i].append("shares no task with the main group")
    for i, always in _parrots(found.said).items():
        words[i].append(f"always says {classes[always]}")
    return ["; ".join(flags) for flags in words]


def _parrots(said: Floats) -> dict[int, int]:
    """Workers who say one class almost always, where the crowd says it clearly less often."""
    if said.shape[1] < 2 or not said.size:
        return {}
    answers, top = said.sum(axis=1), said.argmax(axis=1)
    common = (said.sum(axis=0) / max(said.sum(), 1.0))[top]
    least = wilson(said.max(axis=1), answers)[0]
    always = (answers >= FEW_ANSWERS) & (least > np.maximum(common, 0.7))
    always &= (said.max(axis=1) >= PARROT * answers) & (common < PARROT)
    return {int(i): int(top[i]) for i in np.flatnonzero(always)}


def _cost_matrix(costs: Costs | None, classes: Vocabulary) -> Floats:
    k = max(len(classes), 2)
    matrix = 1.0 - np.eye(k)
    if not isinstance(costs or {}, Mapping):
        raise InputError("costs", "a mapping of class to class to cost", repr(costs))
    for truth, row in (costs or {}).items():
        if not isinstance(row, Mapping):
            raise InputError(f"costs[{truth!r}]", "a mapping of class to cost", repr(row))
        for taken, cost in row.items():
            for name in (truth, taken):
                if name not in classes:
                    raise InputError("costs", "classes that were seen", repr(name))
            if not (isinstance(cost, (int, float, np.number)) and 0 <= cost < np.inf):
                raise InputError(f"costs[{truth!r}][{taken!r}]", "a number from 0", repr(cost))
            matrix[classes.code(truth), classes.code(taken)] = cost
    return matrix


def _quality(found: WorkerReading, k: int, costs: Floats) -> Floats:
    """1 − the expected cost of a worker's answers / that of one who guesses by the class mix.

    An answer is worth the posterior over the classes it leaves (Ipeirotis, Provost and Wang,
    Quality management on Amazon Mechanical Turk, 2010): 1 knows, 0 guesses. One who is wrong in a
    way that can be turned around is worth as much as one who is right as often.
    """
    prior = found.prior if found.prior.size == k else np.full(k, 1.0 / k)
    confusions = found.confusions
    if confusions is None:
        skill = 1.0 - found.errors / (1.0 - 1.0 / k)
        eye = np.eye(k)
        confusions = skill[:, None, None] * eye + (1.0 - skill[:, None, None]) / k
    joint = prior[:, None] * np.clip(confusions, 0.0, 1.0)
    given = joint.sum(axis=1, keepdims=True)
    after = joint / np.maximum(given, 1e-12)
    cost = np.einsum("nky,kl,nly,ny->n", after, costs, after, given[:, 0])
    spam = prior @ costs @ prior
    if spam <= 0:
        return np.full(found.errors.size, np.nan)
    quality: Floats = np.clip(1.0 - cost / spam, 0.0, 1.0)
    return quality


def value_series(name: str, values: Sequence[ClassLabel] | pl.Series) -> pl.Series:
    """Ids or classes as a column; those that no one type holds as strings."""
    import polars as pl

    if isinstance(values, pl.Series):
        return values.alias(name)
    if not values:
        return pl.Series(name, [], pl.String)
    kinds = {type(value) for value in values}
    if kinds == {int}:
        numbers = cast("Sequence[int]", values)
        if max(numbers) < 2**63:
            return pl.Series(name, numbers, pl.Int64)
        if min(numbers) >= 0:
            return pl.Series(name, numbers, pl.UInt64)
    elif len(kinds) == 1:
        return pl.Series(name, values)
    return pl.Series(name, [str(value) for value in values])
