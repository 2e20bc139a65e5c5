"""The table of labellers: what is known of each, how surely, and what that means in words.

Knows neither estimators nor streams: it is given numbers, a row a labeller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.estimators.watch import Limits
from crowdstream.labels import ClassLabel, Vocabulary

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW_ANSWERS = 10
"""A labeller with fewer answers than this is flagged where no interval says how little is known."""

CHANCE = 0.25
"""Skill below which a labeller is called at chance, once the interval excludes more."""

PARROT = 0.9
"""Share of one class in a labeller's answers that is called always, if the crowd's is lower."""

Costs: TypeAlias = (
    "Mapping[str, Mapping[str, float]] | Mapping[int, Mapping[int, float]] | "
    "Mapping[ClassLabel, Mapping[ClassLabel, float]]"
)
"""What it costs to take a class (outer) for another (inner)."""


@dataclass
class People:
    """What an estimator itself knows, a row a labeller.

    ``shared``: who has met anybody; ``solved``: whose error rate is known; ``apart``: who shares no
    task with the main group; ``confusions`` n×K×K: how often a class (rows) is called each; where
    there are none, all errors are taken to be alike. ``prior``: how frequent the classes are.
    """

    answers: Floats
    errors: Floats
    weights: Floats
    agreed: Floats
    met: Floats
    shared: Flags
    solved: Flags
    apart: Flags
    fading: bool
    confusions: Floats | None = None
    prior: Floats = field(default_factory=lambda: np.empty(0))


def labeller_table(
    workers: Vocabulary,
    classes: Vocabulary,
    people: People,
    limits: Limits | None,
    said: Floats | None,
    costs: Costs | None,
) -> pl.DataFrame:
    """What `Estimator.labellers` returns."""
    import polars as pl

    n, k = len(workers), max(len(classes), 2)
    worst = 1.0 - 1.0 / k
    errors = np.where(people.solved, people.errors, np.nan)
    low, high = np.full(n, np.nan), np.full(n, np.nan)
    backed: Sequence[str | None] = [None] * n
    if limits is not None:
        low, high = (1 - limits.high) * worst, (1 - limits.low) * worst
        # An estimate that one skill for all classes does not explain widens the interval, so that
        # both are in it.
        off = np.where((low <= errors) & (errors <= high), 0.0, errors - (1 - limits.skill) * worst)
        low = np.clip(low + np.fmin(off, 0.0), 0.0, 1.0)
        high = np.clip(high + np.fmax(off, 0.0), 0.0, 1.0)
        low, high = np.where(people.solved, low, 0.0), np.where(people.solved, high, 1.0)
        backed = ["gold" if told else "agreement" for told in limits.gold]
    quality = _quality(people, k, _cost_matrix(costs, classes))
    table = pl.DataFrame(
        {
            "worker": value_series("worker", workers.to_list()),
            "answers": people.answers,
            "error_rate": errors,
            "error_low": low,
            "error_high": high,
            "weight": people.weights,
            "agreement": people.agreed / np.where(people.shared, people.met, np.inf),
            "quality": np.where(people.solved, quality, np.nan),
            "backed_by": pl.Series(backed, dtype=pl.String),
            "flags": pl.Series(_flags(classes, people, limits, said), dtype=pl.String),
        }
    )
    return table.with_columns(
        pl.col("answers") if people.fading else pl.col("answers").round().cast(pl.Int64),
        pl.col("error_rate", "error_low", "error_high", "quality").fill_nan(None),
        pl.when(pl.Series(people.shared)).then("agreement").alias("agreement"),
    )


def _flags(
    classes: Vocabulary, people: People, limits: Limits | None, said: Floats | None
) -> list[str]:
    """In words what is significant of each labeller."""
    n = people.answers.size
    found: list[list[str]] = [[] for _ in range(n)]
    for i in range(n):
        if limits is None or not people.solved[i]:
            if people.answers[i] < FEW_ANSWERS:
                found[i].append("too few answers")
        elif limits.low[i] > 0:
            found[i].append("better than chance")
        elif limits.high[i] < 0:
            found[i].append("adversarial")
        elif limits.high[i] < CHANCE:
            found[i].append("at chance")
        else:
            found[i].append("too few answers")
        if people.apart[i]:
            found[i].append("shares no task with the main group")
    if said is not None and len(classes) > 1 and said.size:
        answers = said.sum(axis=1)
        top = said.argmax(axis=1)
        least = _wilson(said.max(axis=1), answers)[0]
        common = said.sum(axis=0) / max(said.sum(), 1.0)
        for i in map(
            int, np.flatnonzero((answers >= FEW_ANSWERS) & (least > np.maximum(common[top], 0.7)))
        ):
            if said[i, top[i]] >= PARROT * answers[i] and common[top[i]] < PARROT:
                found[i].append(f"always says {classes[int(top[i])]}")
    return ["; ".join(words) for words in found]


def _wilson(hits: Floats, of: Floats, z: float = 1.959964) -> tuple[Floats, Floats]:
    """Limits of a share."""
    of = np.maximum(of, 1e-9)
    p = hits / of
    middle, half = p + z * z / (2 * of), z * np.sqrt(p * (1 - p) / of + (z / (2 * of)) ** 2)
    return (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)


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


def _quality(people: People, k: int, costs: Floats) -> Floats:
    """1 − the expected cost of a labeller's answers / that of one who guesses by the class mix.

    An answer is worth the posterior over the classes it leaves (Ipeirotis, Provost and Wang,
    Quality management on Amazon Mechanical Turk, 2010): 1 knows, 0 guesses. One who is wrong in a
    way that can be turned around is worth as much as one who is right as often.
    """
    prior = people.prior if people.prior.size == k else np.full(k, 1.0 / k)
    confusions = people.confusions
    if confusions is None:
        skill = 1.0 - people.errors / (1.0 - 1.0 / k)
        eye = np.eye(k)
        confusions = skill[:, None, None] * eye + (1.0 - skill[:, None, None]) / k
    joint = prior[:, None] * np.clip(confusions, 0.0, 1.0)
    given = joint.sum(axis=1, keepdims=True)
    after = joint / np.maximum(given, 1e-12)
    cost = np.einsum("nky,kl,nly,ny->n", after, costs, after, given[:, 0])
    spam = prior @ costs @ prior
    if spam <= 0:
        return np.full(people.errors.size, np.nan)
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
