"""`rate`: the share of each class, or the accuracy of a system, from many labels and few gold ones.

Puts together what labels say without gold (`reading`) and the correction by gold (`ppi`).
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple, Unpack

import numpy as np

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.estimators import Estimator
from crowdstream.labels import ClassLabel, Table, Truths, WorkerId
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.plain_text import counted, printable
from crowdstream.rates.limits import Floats
from crowdstream.rates.ppi import (
    TINY,
    Ints,
    Sample,
    corrected_mean,
    gold_alone,
    sample_shift,
    shift_bound,
    spread_of,
)
from crowdstream.rates.reading import (
    NO_OUTPUT,
    UNKNOWN,
    GoldSample,
    Predicted,
    predict,
    predict_without,
    read_outputs,
)
from crowdstream.rates.records import ACCURACY, DIFFERENCE, FIRST, SHARE, VERSUS, Rate, Rates
from crowdstream.statements.rates import chance_shift_words, shift_limit, shift_words
from crowdstream.validation import check_number

NAMED = 12
"""Classes that a message names."""

FEW = 20
"""Gold tasks below which the limits are said to rest on few: there they cover less than 0.94."""


def rate(
    data: Table,
    gold: Truths,
    *,
    positive: ClassLabel | None = None,
    system: Truths | WorkerId | None = None,
    versus_system: Truths | WorkerId | None = None,
    versus: Table | None = None,
    versus_gold: Truths | None = None,
    crowd: Estimator | None = None,
    level: float = LEVEL,
    **meaning: Unpack[TableMeaning],
) -> Rates:
    """Return the share of each class among all tasks, corrected by gold, with valid limits.

    The labels are decided without the gold; what gold shows of the errors then corrects the rate
    (prediction-powered inference, PPI++). The result is unbiased however wrong the panel is, also
    jointly, and the better the panel, the narrower the interval. It holds for gold tasks that are a
    random sample, or that were chosen by `gold_needed`, whose strata are accounted for.

    Parameters
    ----------
    data, **meaning
        The labels, as for `Estimator.fit`.
    gold
        True labels of some tasks, or the filled-in table of `gold_needed`, or the path of either.
    positive
        The class whose share is asked for; all classes unless given.
    system
        A system under test: its outputs (task → label: a mapping, a table, or a file), or the name
        of a worker of these labels, whose labels the panel then does without. Its accuracy is
        returned instead of the shares.
    versus_system
        Another system's outputs: returns its accuracy too, and the difference, paired by task.
    versus, versus_gold
        Labels and gold of another system on the same tasks: returns its shares too, and the
        differences, paired by task. Only tasks that both have gold for tell of the difference.
    crowd
        The estimator to predict with, ``Adaptive()`` unless given. It is not changed.
    level
        Level of the intervals.

    Returns
    -------
    A `Rate` per class, the panel's rate and gold's alone beside the corrected one.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(7, 1000, p=0.2, seed=1)
    >>> found = cs.rate(made.labels(), made.truths().head(60), positive="1")
    >>> [row] = found.rates
    >>> row.high - row.low < row.gold_high - row.gold_low
    True
    >>> outputs = dict(made.truths().iter_rows())  # a system that is always right
    >>> cs.rate(made.labels(), made.truths().head(60), system=outputs)["accuracy"].high
    1.0
    """
    check_number("level", level, *LEVEL_RANGE)
    _check_asked(system, versus_system, versus, versus_gold)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    if system is not None:
        return _accuracies(data, gold, system, versus_system, crowd, meaning, level, z)
    shares = _shares(*predict(data, crowd, meaning, gold))
    if versus is None or versus_gold is None:
        columns = shares.picked(positive)
        made = [_rate_of(shares.sample(k), z, shares, k) for k in columns]
        return _rates(SHARE, shares, made, columns, level)
    other = _shares(*predict(versus, crowd, meaning, versus_gold))
    return _compared(shares, other, positive, level, z)


def _check_asked(system: object, versus_system: object, versus: object, gold: object) -> None:
    """Refuse arguments that do not go together."""
    if system is not None and versus is not None:
        raise CrowdstreamError("system compares outputs by versus_system, not by versus")
    if versus_system is not None and system is None:
        raise CrowdstreamError("versus_system needs system")
    if (versus is None) != (gold is None):
        raise CrowdstreamError("versus and versus_gold need one another")


class _Side(NamedTuple):
    """One system: predictions and gold, and per task and column what is asked for.

    ``names``: of the columns. ``predicted``: the probability that each is so, per task.
    ``decided``: whether it was decided so. ``truth``: whether it is so, per gold task.
    """

    found: Predicted
    gold: GoldSample
    names: list[ClassLabel]
    predicted: Floats
    decided: Floats
    truth: Floats

    def picked(self, positive: ClassLabel | None) -> list[int]:
        """The columns that are asked for."""
        if positive is None:
            return list(range(len(self.names)))
        place = self.found.column(positive)
        if place == UNKNOWN:
            known = ", ".join(str(name) for name in self.names[:NAMED])
            raise InputError("positive", f"one of the classes {known}", repr(positive))
        return [place]

    def sample(self, column: int, ends: tuple[float, float] = (0.0, 1.0)) -> Sample:
        """Truths and predictions of one column."""
        predicted, places = self.predicted[:, column], self.gold.places
        rest = predicted
        if self.gold.strata is None:
            free = np.ones(predicted.size, np.bool_)
            free[places] = False
            rest = predicted[free]
        truth = self.truth[:, column]
        return Sample(truth, predicted[places], rest, ends, self.gold.strata, self.gold.sizes)

    def only(self, places: Ints) -> _Side:
        """Return this side of some tasks; gold elsewhere is left out."""
        where = np.full(len(self.found.tasks), UNKNOWN, np.int64)
        where[places] = np.arange(places.size)
        kept = where[self.gold.places] != UNKNOWN
        strata = None if self.gold.strata is None else self.gold.strata[kept]
        gold = self.gold._replace(
            places=where[self.gold.places][kept], truth=self.gold.truth[kept], strata=strata
        )
        tasks = [self.found.tasks[place] for place in places.tolist()]
        found = self.found._replace(
            tasks=tasks, chances=self.found.chances[places], decided=self.found.decided[places]
        )
        decided, truth = self.decided[places], self.truth[kept]
        return _Side(found, gold, self.names, self.predicted[places], decided, truth)


def _shares(found: Predicted, gold: GoldSample) -> _Side:
    """Return the indicator of each class, whose mean is its share."""
    classes = np.arange(len(found.classes))
    decided = (found.decided[:, None] == classes).astype(np.float64)
    truth = (gold.truth[:, None] == classes).astype(np.float64)
    return _Side(found, gold, found.classes, found.chances, decided, truth)


def _accuracies(
    data: Table,
    gold: Truths,
    system: Truths | WorkerId,
    versus: Truths | WorkerId | None,
    crowd: Estimator | None,
    meaning: TableMeaning,
    level: float,
    z: float,
) -> Rates:
    """The accuracy of one system or two."""
    outputs: list[Truths] = []
    if _is_worker(system):
        found, sample, said = predict_without(data, system, crowd, meaning, gold)  # type: ignore[arg-type]
        outputs.append(said)
    else:
        found, sample = predict(data, crowd, meaning, gold)
        outputs.append(system)  # type: ignore[arg-type]
    if versus is not None:
        if _is_worker(versus):
            raise CrowdstreamError("versus_system takes outputs, not the name of a worker")
        outputs.append(versus)  # type: ignore[arg-type]
    columns, notes = [], list[str]()
    for name, each in zip(("system", "versus_system"), outputs, strict=False):
        read, more = read_outputs(each, found, name)
        columns.append(read)
        notes += more
    side = _accuracy_side(found, sample._replace(notes=[*sample.notes, *notes]), columns)
    made = [_rate_of(side.sample(0), z, side, 0)]
    if len(columns) == 2:
        made.append(_rate_of(side.sample(1), z, side, 1, VERSUS))
        made.append(_difference(side, 0, side, 1, z))
    return _rates(ACCURACY, side, made, [0], level)


def _is_worker(system: object) -> bool:
    """Return True if a system is a worker's name and not a file of outputs."""
    if isinstance(system, PathLike):
        return False
    return isinstance(system, int) or (isinstance(system, str) and not Path(system).exists())


def _accuracy_side(found: Predicted, gold: GoldSample, outputs: list[Ints]) -> _Side:
    """Columns of `_Side` for the accuracy of each system, on tasks that all have outputs for."""
    kept = np.all([said != NO_OUTPUT for said in outputs], axis=0)
    each = np.arange(len(found.tasks))
    predicted, decided, truth = [], [], []
    for said in outputs:
        known = np.maximum(said, 0)
        predicted.append(np.where(said >= 0, found.chances[each, known], 0.0))
        decided.append((said == found.decided).astype(np.float64))
        truth.append((said[gold.places] == gold.truth).astype(np.float64))
    columns = (np.stack(part, axis=1) for part in (predicted, decided, truth))
    names: list[ClassLabel] = ["accuracy"] * len(outputs)
    return _Side(found, gold, names, *columns).only(np.flatnonzero(kept))


def _rate_of(sample: Sample, z: float, side: _Side, column: int, name: str = FIRST) -> Rate:
    """One rate: raw, by gold alone, and corrected."""
    _check_gold(sample)
    raw = float(side.decided[:, column].mean())
    panel = float(side.predicted[:, column].mean())
    return _made(sample, z, side.names[column], name, raw, panel, len(side.names))


def _difference(one: _Side, left: int, other: _Side, right: int, z: float) -> Rate:
    """The difference of two rates on the same tasks and gold tasks."""
    both = one._replace(
        predicted=(one.predicted[:, left] - other.predicted[:, right])[:, None],
        truth=(one.truth[:, left] - other.truth[:, right])[:, None],
    )
    raw = float(one.decided[:, left].mean() - other.decided[:, right].mean())
    sample = both.sample(0, (-1.0, 1.0))
    _check_gold(sample)
    panel, classes = float(both.predicted.mean()), len(one.names)
    return _made(sample, z, one.names[left], DIFFERENCE, raw, panel, classes)


def _check_gold(sample: Sample) -> None:
    if not sample.truth.size:
        raise CrowdstreamError("gold: none of its tasks can be used for this rate")


def _made(
    sample: Sample,
    z: float,
    name: ClassLabel,
    side: str,
    decided: float,
    panel: float,
    classes: int,
) -> Rate:
    alone = gold_alone(sample, z)
    found = corrected_mean(sample, z, classes=classes)
    ratio = (alone.high - alone.low) / max(found.high - found.low, TINY)
    return Rate(
        name=name, side=side, decided=decided, panel=panel,
        gold=alone.value, gold_low=alone.low, gold_high=alone.high,
        value=found.value, low=found.low,
        high=found.high, power=found.power, worth=sample.truth.size * ratio**2,
        spread=spread_of(sample, found.power),
    )  # fmt: skip


def _rates(what: str, side: _Side, made: list[Rate], columns: list[int], level: float) -> Rates:
    notes = [*side.gold.notes, *_shift_notes(side, columns)]
    n = side.gold.places.size
    if n < FEW:
        notes.append(f"{counted(n, 'gold task')}: limits rest on few, {FEW} or more are better")
    if n == len(side.found.tasks):
        notes.append("every task is gold: the labels add nothing")
    return Rates(
        what=what, tasks=len(side.found.tasks), gold_tasks=n,
        stratified=side.gold.strata is not None, level=level, rates=made, notes=notes,
    )  # fmt: skip


def _shift_notes(side: _Side, columns: list[int]) -> list[str]:
    """Say if gold does not look like a random sample."""
    samples = {column: side.sample(column) for column in columns}
    shifts = {column: abs(sample_shift(sample)) for column, sample in samples.items()}
    worst = max(shifts, key=lambda column: shifts[column])
    if shifts[worst] <= shift_bound(len(side.names)):
        return []
    if shifts[worst] <= shift_limit(len(side.names)):
        return [chance_shift_words(shifts[worst])]
    sample = samples[worst]
    name = printable(side.names[worst])
    name = "right" if name == "accuracy" else name
    return [shift_words(name, float(sample.predicted.mean()), float(sample.rest.mean()))]


def _compared(
    one: _Side, other: _Side, positive: ClassLabel | None, level: float, z: float
) -> Rates:
    """Shares of two systems, and their differences on the tasks of both."""
    there = other.found.places(one.found.tasks)
    if not (there != UNKNOWN).any():
        raise CrowdstreamError("versus: no task in common with the first labels")
    paired = _paired(one, other, there)
    made, columns = [], one.picked(positive)
    for column in columns:
        right = other.found.column(one.names[column])
        made.append(_rate_of(one.sample(column), z, one, column))
        if right == UNKNOWN:
            continue
        made.append(_rate_of(other.sample(right), z, other, right, VERSUS))
        made.append(_difference(paired[0], column, paired[1], right, z))
    found = _rates(SHARE, one, made, columns, level)
    notes = [f"versus: {note}" for note in other.gold.notes]
    both, gold = len(paired[0].found.tasks), paired[0].gold.places.size
    notes.append(f"differences: {counted(both, 'task')} of both, {gold:,} with gold of both")
    found.notes.extend(notes)
    return found


def _paired(one: _Side, other: _Side, there: Ints) -> tuple[_Side, _Side]:
    """Both of the same tasks, with the gold tasks of both, in the same order."""
    here = np.flatnonzero(there != UNKNOWN)
    one, other = one.only(here), other.only(there[here])
    places: dict[int, int] = {place: k for k, place in enumerate(other.gold.places.tolist())}
    kept = np.array([place in places for place in one.gold.places.tolist()], np.bool_)
    if not kept.any():
        raise CrowdstreamError("versus_gold: no gold task in common with gold")
    order = np.array([places[place] for place in one.gold.places[kept].tolist()], np.int64)
    strata = None if one.gold.strata is None else one.gold.strata[kept]
    sides = []
    for side, rows in ((one, np.flatnonzero(kept)), (other, order)):
        gold = side.gold._replace(
            places=side.gold.places[rows], truth=side.gold.truth[rows],
            strata=strata, sizes=one.gold.sizes,
        )  # fmt: skip
        sides.append(side._replace(gold=gold, truth=side.truth[rows]))
    return sides[0], sides[1]
