"""The tables of workers: error rates with their intervals, weights, quality, flags; confusions.

Knows neither estimators nor streams: it is given sums and what was read from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel, Vocabulary
from crowdstream.labels.folding import MOST_CLASSES
from crowdstream.metrics import wilson
from crowdstream.models.model import WorkerReading
from crowdstream.sums.agreement import AgreementSums

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW_ANSWERS = 10
"""A worker with fewer answers than this is flagged: whatever is said of it may change."""

CHANCE = 0.25
"""Skill below which a worker is called at chance: once the interval excludes more, and does not
exclude half of it. So a guesser whose interval ends just short of chance is told no other thing
than the guessers beside it."""

ONE_CLASS = 0.9
"""Share of one class in a worker's answers that is flagged, if the crowd's own share is lower."""

CLEARLY = 0.7
"""Share of one class that the lower limit of a flagged worker's share must exceed."""

MOST_AT_ONCE = 16
"""Classes up to which all is multiplied at once: beyond, n K³ products take seconds."""

Costs: TypeAlias = (
    "Mapping[str, Mapping[str, float]] | Mapping[int, Mapping[int, float]] | "
    "Mapping[ClassLabel, Mapping[ClassLabel, float]]"
)
"""Cost of taking a class (outer) for another (inner)."""


def worker_table(
    workers: Vocabulary,
    classes: Vocabulary,
    sums: AgreementSums,
    answers: Floats,
    found: WorkerReading,
    more: Mapping[str, NDArray[np.generic] | str],
    costs: Costs | None,
) -> pl.DataFrame:
    """Return what `Estimator.workers` returns.

    ``answers``: of each worker, as they count now; ``more``: the columns that observers add.
    """
    import polars as pl

    n = len(workers)
    unknown = np.full(n, np.nan)
    errors, low, high = (
        cast("Floats", more.get(name, default))
        for name, default in (
            ("error_rate", np.where(found.solved, found.errors, np.nan)),
            ("error_low", unknown),
            ("error_high", unknown),
        )
    )
    shared = sums.met > 0
    share_places = len(classes) > sums.classes
    matrix = _even_costs(costs, sums) if share_places else _cost_matrix(costs, classes)
    quality = _quality(_confusions(found, sums.classes), found.prior, matrix)
    flags = _flags(1.0 - 1.0 / sums.classes, answers, sums.said, found, low, high)
    return pl.DataFrame(
        {
            "worker": workers.column("worker"),
            "answers": answers,
            "error_rate": errors,
            "error_low": low,
            "error_high": high,
            "evidence": pl.Series([more.get("evidence")], dtype=pl.String).new_from_index(0, n),
            "weight": found.weights,
            "agreement": np.where(shared, sums.agree / np.where(shared, sums.met, 1.0), np.nan),
            "quality": np.where(found.solved, quality, np.nan),
            "flags": flags,
        }
    ).with_columns(
        pl.col("error_rate", "error_low", "error_high", "agreement", "quality").fill_nan(None)
    )


def confusion_table(workers: Vocabulary, classes: Vocabulary, found: WorkerReading) -> pl.DataFrame:
    """Return what `Estimator.confusions` returns."""
    import polars as pl

    k, n = len(classes), len(workers)
    tables = np.where(found.solved[:, None, None], _confusions(found, max(k, 2)), np.nan)
    names = classes.column("class")
    cells = np.arange(n * k * k)
    return pl.DataFrame(
        {
            "worker": workers.column("worker").gather(cells // max(k * k, 1)),
            "true_class": names.gather(cells // max(k, 1) % max(k, 1)),
            "said": names.gather(cells % max(k, 1)),
            "probability": pl.Series(tables[:, :k, :k].ravel()).fill_nan(None),
        }
    )


def _flags(
    chance: float, answers: Floats, said: Floats, found: WorkerReading, low: Floats, high: Floats
) -> pl.Series:
    """Codes of what is significant of each worker; ``chance`` is the error rate of a guesser."""
    few = answers < FEW_ANSWERS
    # Of the first four the first that holds; comparisons with NaN, which is unknown, do not.
    left = ~np.isnan(low) & found.solved
    holds = {
        "worse_than_chance": low > chance,
        "at_chance": (low > (1.0 - CHANCE) * chance) & (high > (1.0 - CHANCE / 2.0) * chance),
        "better_than_chance": high < chance,
        "undecided": ~few,
    }
    for code, true in holds.items():
        holds[code] = left & true
        left &= ~true
    holds["few_answers"] = few
    holds["separate_group"] = found.apart
    holds["always_one_class"] = _always_one_class(said)
    if found.copies is not None:
        holds["copy"] = found.copies
    if found.suspects is not None:
        holds["suspect"] = found.suspects
    return _code_lists(holds, answers.size)


def _code_lists(holds: Mapping[str, Flags], n: int) -> pl.Series:
    """A list of codes for each worker: those that hold, in the order given.

    A list is made for each combination that there is, which are few, not for each worker.
    """
    import polars as pl

    met = np.zeros(n, np.uint32)
    for place, flags in enumerate(holds.values()):
        met |= flags.astype(np.uint32) << np.uint32(place)
    combinations = np.flatnonzero(np.bincount(met, minlength=1))
    lists = [[code for k, code in enumerate(holds) if bits >> k & 1] for bits in combinations]
    return pl.Series(lists, dtype=pl.List(pl.String)).gather(np.searchsorted(combinations, met))


def _always_one_class(said: Floats) -> Flags:
    """Return who gives almost always one class, where the crowd gives it clearly less often."""
    answers, top = said.sum(axis=1), said.argmax(axis=1)
    common = (said.sum(axis=0) / max(said.sum(), 1.0))[top]
    most = said.max(axis=1, initial=0.0)
    always = (answers >= FEW_ANSWERS) & (wilson(most, answers)[0] > np.maximum(common, CLEARLY))
    return np.asarray(always & (most >= ONE_CLASS * answers) & (common < ONE_CLASS))


def _cost_matrix(costs: Costs | None, classes: Vocabulary) -> Floats:
    matrix = 1.0 - np.eye(max(len(classes), 2))
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


def _even_costs(costs: Costs | None, sums: AgreementSums) -> Floats:
    """Refuse costs where classes share places: all errors cost the same there."""
    if costs:
        raise InputError("costs", f"at most {MOST_CLASSES} classes", "more: all errors cost alike")
    return 1.0 - np.eye(sums.classes)


def _confusions(found: WorkerReading, classes: int) -> Floats:
    """The estimator's confusions, or errors spread evenly."""
    if found.confusions is not None:
        return found.confusions
    skill = (1.0 - found.errors / (1.0 - 1.0 / classes))[:, None, None]
    return np.asarray(skill * np.eye(classes) + (1.0 - skill) / classes)


def _quality(confusions: Floats, prior: Floats | None, costs: Floats) -> Floats:
    """1 − the expected cost of a worker's answers / that of one who guesses by the class mix.

    An answer is worth the posterior over the classes it leaves (Ipeirotis, Provost and Wang,
    Quality management on Amazon Mechanical Turk, 2010): 1 knows, 0 guesses. One who is wrong in a
    way that can be turned around is worth as much as one who is right as often.
    """
    k = len(costs)
    prior = np.full(k, 1.0 / k) if prior is None or prior.size != k else prior
    joint = prior[:, None] * np.clip(confusions, 0.0, 1.0)
    given = joint.sum(axis=1, keepdims=True)
    after = joint / np.maximum(given, 1e-12)
    large = k > MOST_AT_ONCE
    cost = np.einsum("nky,kl,nly,ny->n", after, costs, after, given[:, 0], optimize=large)
    guesser = prior @ costs @ prior
    if guesser <= 0:
        return np.full(len(confusions), np.nan)
    return np.asarray(np.clip(1.0 - cost / guesser, 0.0, 1.0))
