"""Fitting readings to a table: passes over all its tasks, of several readings at once.

Each pass is a sum over tasks: any number of threads, or of machines, the same bits. Formulas in
docs/how-it-works.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.models.passes import (
    AddTasks,
    Folds,
    Keys,
    Pass,
    TaskTable,
    gold_tasks,
    task_keys,
)
from crowdstream.models.reading import Reading
from crowdstream.models.scorer import Score
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.confusions import Change, ConfusionSums

Floats = NDArray[np.float64]

SWEEPS = 14
"""Times that the swept confusions are recounted from their own posteriors at most."""

FEWEST, SWEPT = 3, 14_000_000
"""The same in large tables: so many times, or as often as this many labels are gone through. On
simulated crowds of 600,000 to a million labels the errors after 3, 14 and 40 times differ by less
than 0.0006."""

STILL = 0.01
"""Answers by which the largest count may change for the sweeps to be over."""


FEW_MOVED = 0.0005
"""Share of the answers that may still move between classes for the sweeps of a table to be over
whose workers and classes are many, once they have gone through as much as `SWEPT`. On simulated
crowds of 20 to 100 classes the errors then differ from those after 14 times by 0.001 at most."""


def add_tasks(readings: Sequence[Reading], table: TaskTable) -> None:
    """Pass 1: the agreement sums."""
    found = table.add_up([AddTasks(reading.sums, reading.hidden) for reading in readings])
    for reading, sums in zip(readings, found, strict=True):
        reading.sums.add_sums(sums)


def fit_students(readings: Sequence[Reading], table: TaskTable, named: int) -> None:
    """Pass 2 counts by the finished teacher, pass 3 by teacher and student together."""
    for reading in readings:
        reading.renew_teacher(1.0, named)
    _recount(readings, table, Reading.by_skills, "taught")
    for reading in readings:
        reading.renew_students(1.0)
        reading.crowd.gate = 0.0
    _recount(readings, table, Reading.by_second_look, "swept")
    for reading in readings:
        reading.renew_students(1.0)


def teach_students(reading: Reading, table: TaskTable) -> None:
    """Count the posteriors of more tasks by what was read so far, in one pass.

    Where nothing was counted before, the taught confusions are read before the others are counted,
    as by `fit_students`.
    """
    passes = [reading.count_by(reading.by_skills())]
    if reading.taught.mass.any():
        passes.append(reading.count_by(reading.by_swept_or_all()))
    taught, *swept = table.add_up(passes)
    reading.taught.add(*taught)
    if not swept:
        reading.renew_students(1.0)
        swept = table.add_up([reading.count_by(reading.by_swept_or_all())])
    reading.swept.add(*swept[0])


def sweep(readings: Sequence[Reading], table: TaskTable) -> None:
    """Recount the swept confusions from their own posteriors until they stand still."""
    if not readings:
        return
    labels, work = int(readings[0].sums.total[2]), _work(readings[0].sums)
    for done in range(1, _times(labels) + 1):
        changes = _recount(readings, table, Reading.by_swept, "swept")
        for reading in readings:
            reading.renew_swept()
        readings = [
            reading
            for reading, change in zip(readings, changes, strict=True)
            if change.largest >= STILL
            and (done < _times(work) or change.moved >= FEW_MOVED * labels)
        ]
        if not readings:
            break


def _times(labels: int) -> int:
    """How often to go through so many labels."""
    return min(max(SWEPT // max(labels, 1), FEWEST), SWEEPS)


def _work(sums: AgreementSums) -> int:
    """The labels of a table, as many of two classes as take the same time."""
    k = sums.classes
    return max(int(sums.total[2]), sums.workers * k) * k // 2


def recount_swept(
    reading: Reading, table: TaskTable, by: tuple[Floats, Floats] | None = None
) -> None:
    """Count the swept confusions once more by their own posteriors, or by other confusions'."""

    def score(reading: Reading) -> Score:
        return reading.by_swept() if by is None else reading.by_confusions(*by)

    _recount([reading], table, score, "swept")
    reading.renew_swept()


def recount_by_gold(readings: Sequence[Reading], table: TaskTable) -> None:
    """Count the swept confusions by what known truths make of all scores.

    Unless they were swept: then their own posteriors are believed.
    """
    readings = [r for r in readings if r.crowd.golden and not r.crowd.gate > 0.0]
    _recount(readings, table, Reading.by_crowd, "swept")
    for reading in readings:
        reading.renew_students(1.0)


def _recount(
    readings: Sequence[Reading], table: TaskTable, scores: Callable[[Reading], Score], into: str
) -> list[Change]:
    """Put the posterior counts of all tasks by these scores in place of what was counted."""
    if not readings:
        return []
    found = table.add_up([one.count_by(scores(one)) for one in readings])
    sums: list[ConfusionSums] = [getattr(one, into) for one in readings]
    return [old.replace(*new) for old, new in zip(sums, found, strict=True)]


# Gold -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LookAtGold(Pass[list[tuple[Ints, Floats, Codes]]]):
    """The scores of gold tasks, each by the reading that does not know its truth.

    Of the last ``most`` alone, in the order of `in_order`: ranks, scores and truths, in parts.
    """

    readings: Sequence[Reading]
    folds: Folds
    most: int

    def begin(self) -> list[tuple[Ints, Floats, Codes]]:
        """None."""
        return []

    def add(self, sums: list[tuple[Ints, Floats, Codes]], batch: LabelBatch) -> None:
        """Look at the gold of some tasks."""
        gold, ranks = self.folds.ranks(batch)
        wanted = np.isin(ranks, self._order()[-self.most :])
        gold, ranks = gold[wanted], ranks[wanted]
        for fold, reading in enumerate(self.readings):
            mine = ranks % self.folds.number == fold
            if mine.any():
                held = batch.pick(gold[mine])
                sums.append((ranks[mine], reading.features(held), held.truths))

    def join(
        self, sums: list[tuple[Ints, Floats, Codes]], other: list[tuple[Ints, Floats, Codes]]
    ) -> None:
        """Add those of other tasks."""
        sums.extend(other)

    def _order(self) -> Ints:
        """All ranks, fold by fold."""
        ranks, number = np.arange(self.folds.keys.size), self.folds.number
        return ranks[np.lexsort((ranks, ranks % number))]

    def in_order(self, found: list[tuple[Ints, Floats, Codes]]) -> tuple[Floats, Codes]:
        """Scores and truths, fold by fold, in each by rank: whatever the order of tasks."""
        ranks, features, truths = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((ranks, ranks % self.folds.number))
        return features[order], truths[order]


@dataclass(frozen=True, eq=False)
class LookAtTruths(Pass[list[tuple[Keys, Floats, Codes]]]):
    """The scores of gold tasks by a reading that knows none of their truths: keys, scores, truths.

    In parts, whose order does not matter: `in_order` sorts them by their keys.
    """

    reading: Reading
    seed: int

    def begin(self) -> list[tuple[Keys, Floats, Codes]]:
        """None."""
        return []

    def add(self, sums: list[tuple[Keys, Floats, Codes]], batch: LabelBatch) -> None:
        """Look at the gold of some tasks."""
        gold = gold_tasks(batch)
        if gold.size:
            held = batch.pick(gold)
            found = self.reading.features(held)
            sums.append((task_keys(batch, self.seed, gold), found, held.truths))

    def join(
        self, sums: list[tuple[Keys, Floats, Codes]], other: list[tuple[Keys, Floats, Codes]]
    ) -> None:
        """Add those of other tasks."""
        sums.extend(other)

    @staticmethod
    def in_order(found: list[tuple[Keys, Floats, Codes]]) -> tuple[Floats, Codes]:
        """Scores and truths by key: whatever the order of tasks."""
        keys, features, truths = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(keys, kind="stable")
        return features[order], truths[order]
