"""Passes over a table that find who copies in it, however many its workers are.

Some hundreds of workers are compared pair by pair on a sample. Of more workers, or where two share
too few tasks of it, candidates are found first: a count-min sketch of *two gave the same label that
few gave*, the pairs that it has counted often, and how often these agree. Then the tasks that the
candidates share are the sample. All are sums of whole numbers over tasks: threads and machines give
the same. Knows codes only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.models.copies import LEVELS, MOST, SHARED, Copies, find_copies, most_compared
from crowdstream.models.copy_loops import add_to_sketch, count_listed, list_pairs
from crowdstream.models.passes import (
    ChooseTasks,
    Chosen,
    Keys,
    Pass,
    TaskTable,
    gold_tasks,
    task_keys,
)
from crowdstream.models.reservoir import Reservoir
from crowdstream.models.rows import CROWDED, SKETCH
from crowdstream.sums.agreement import AgreementSums

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]

GOLD_TASKS = 500
"""Gold tasks that are kept to judge suspects by: ten on which group and rest differ are plenty."""

SAMPLE = 200_000
"""Labels on which workers are compared."""

MEETINGS = 100.0
"""Tasks that two workers must share on average in a sample for it to be enough."""

OFTEN = 10
"""Times that a pair must have given the same label that few gave to be a candidate."""

LISTED = 2**16
"""Counters of the sketch that may say so; of more, the highest."""

CANDIDATES = 512
"""Workers in candidate pairs whose agreement is counted."""

NEARLY = 0.05
"""How far below the least kappa a candidate's agreement beyond habits may be: kappa knows the tasks
that two share."""

HALF, MASK = np.uint64(32), np.uint64(2**32 - 1)
"""A pair's key has one worker in its upper bits, the other in the lower."""

NOBODY: Ints = np.empty(0, np.int64)

BUFFER = 2**17
"""Pairs that are listed before they are counted: 1 MB."""


@dataclass(frozen=True, eq=False)
class ChooseGold(ChooseTasks):
    """The gold tasks with the smallest keys."""

    def add(self, sums: Chosen, batch: LabelBatch) -> None:
        """Choose among tasks more."""
        gold = gold_tasks(batch)
        if gold.size:
            self._choose(sums, task_keys(batch, self.seed, gold), batch.pick(gold))


@dataclass(frozen=True, eq=False)
class ChooseShared(ChooseTasks):
    """The tasks with the smallest keys among those that two of some workers share."""

    chosen: Bytes = None  # type: ignore[assignment]
    """One per worker: whether it is one of them."""

    def add(self, sums: Chosen, batch: LabelBatch) -> None:
        """Choose among tasks more."""
        first, last = int(batch.starts[0]), int(batch.starts[-1])
        before = np.concatenate([[0], np.cumsum(self.chosen[batch.workers[first:last]], dtype=int)])
        number = np.diff(before[batch.starts - first])
        which = np.flatnonzero(number >= 2)
        if which.size:
            self._choose(sums, task_keys(batch, self.seed, which), batch.pick(which))


@dataclass(frozen=True, eq=False)
class SketchPairs(Pass[tuple[Codes, Ints]]):
    """How often two workers with slots gave the same label that few gave, and each such a one."""

    slots: Codes
    number: int
    classes: int

    @property
    def by_name(self) -> bool:
        """Tasks need no names."""
        return False

    def begin(self) -> tuple[Codes, Ints]:
        """Count nothing."""
        pairs = self.number * (self.number - 1) // 2
        shape = (1, pairs) if pairs <= 2 * SKETCH else (2, SKETCH)
        return np.zeros(shape, np.int32), np.zeros(self.number, np.int64)

    def add(self, sums: tuple[Codes, Ints], batch: LabelBatch) -> None:
        """Count some tasks."""
        add_to_sketch(batch.coded, self.slots, *_scratch(batch, self.classes), *sums)

    def join(self, sums: tuple[Codes, Ints], other: tuple[Codes, Ints]) -> None:
        """Add other tasks' counts."""
        np.add(sums[0], other[0], out=sums[0])
        np.add(sums[1], other[1], out=sums[1])


class Listed:
    """Pairs and how often they came, in order of their keys."""

    def __init__(self) -> None:
        self.keys: Keys = np.empty(0, np.uint64)
        self.counts: Ints = np.empty(0, np.int64)

    def add(self, keys: Keys, counts: Ints) -> None:
        """Add more of them."""
        keys, counts = np.concatenate([self.keys, keys]), np.concatenate([self.counts, counts])
        self.keys, places = np.unique(keys, return_inverse=True)
        self.counts = np.bincount(places, counts, self.keys.size).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ListPairs(Pass[Listed]):
    """The pairs that a sketch of two rows has counted often, and how often they were."""

    slots: Codes
    classes: int
    sketch: Codes
    least: int

    @property
    def by_name(self) -> bool:
        """Tasks need no names."""
        return False

    def begin(self) -> Listed:
        """List none."""
        return Listed()

    def add(self, sums: Listed, batch: LabelBatch) -> None:
        """List those of some tasks."""
        tasks, scratch, at = batch.coded, _scratch(batch, self.classes), 0
        room = max(BUFFER, int(batch.sizes.max(initial=0)) * CROWDED)
        pairs = np.empty(room, np.uint64)
        while at < len(batch):
            at, number = list_pairs(tasks, at, self.slots, *scratch, self.sketch, self.least, pairs)
            sums.add(*np.unique(pairs[:number], return_counts=True))

    def join(self, sums: Listed, other: Listed) -> None:
        """Add those of other tasks."""
        sums.add(other.keys, other.counts)


@dataclass(frozen=True, eq=False)
class CountListed(Pass[Ints]):
    """Tasks that listed pairs share, and those on which they agree: one row per pair."""

    slots: Codes
    place: Codes
    pairs: int

    @property
    def by_name(self) -> bool:
        """Tasks need no names."""
        return False

    def begin(self) -> Ints:
        """Count nothing."""
        return np.zeros((self.pairs, 2), np.int64)

    def add(self, sums: Ints, batch: LabelBatch) -> None:
        """Count some tasks."""
        here = np.empty(int(batch.sizes.max(initial=1)), np.int64)
        count_listed(batch.coded, self.slots, here, self.place, sums)

    def join(self, sums: Ints, other: Ints) -> None:
        """Add other tasks' counts."""
        sums += other


def _scratch(batch: LabelBatch, classes: int) -> tuple[Codes, Ints]:
    return np.zeros(classes, np.int32), np.empty(int(batch.sizes.max(initial=1)), np.int64)


def find_in(
    table: TaskTable,
    sample: LabelBatch,
    sums: AgreementSums,
    gold: Reservoir,
    answers: Ints | Floats,
    seed: int,
) -> Copies:
    """Find who copies in a table of which a sample is at hand, judging suspects by gold tasks.

    ``sums``: those of its workers, with the families that are declared; ``answers``: of each.
    """
    family = sums.family.copy()
    family[family >= sums.declared] = -1
    active = (answers >= SHARED) & (family < 0)
    number, whole = int(active.sum()), sample.labels.size >= answers.sum()
    met = float((sample.sizes * (sample.sizes - 1)).sum()) / max(number * (number - 1), 1)
    if number <= most_compared(sums.classes) and (whole or met >= MEETINGS):
        found = find_copies(sample, sums.classes, family)
    else:
        chosen = candidates(table, active, sums)
        if not chosen.size:
            return Copies()
        marked = np.zeros(sums.workers, np.uint8)
        marked[chosen] = 1
        (shared,) = table.add_up([ChooseShared(seed, labels=SAMPLE, chosen=marked)])
        found = find_copies(shared.batch, sums.classes, family, chosen)
    return found.judged(gold.batch()[0], sums.workers, sums.classes)


def candidates(table: TaskTable, active: NDArray[np.bool_], sums: AgreementSums) -> Codes:
    """Find at most `MOST` active workers to compare: those in pairs that agree nearly always."""
    who = np.flatnonzero(active)
    ones, others = (who[part] for part in _often_alike(table, who, sums))
    slots, inside = _slots(np.unique([ones, others]), sums.workers)
    place = np.full((inside, inside), -1, np.int32)
    numbers = np.arange(ones.size)
    place[slots[ones], slots[others]] = place[slots[others], slots[ones]] = numbers
    if not ones.size:
        return np.empty(0, np.int32)
    (found,) = table.add_up([CountListed(slots, place, ones.size)])
    habits = sums.said / np.maximum(sums.answers, 1.0)[:, None]
    chance = (habits[ones] * habits[others]).sum(axis=1)
    agreed = found[:, 1] / np.maximum(found[:, 0], 1)
    beyond = (agreed - chance) / np.maximum(1.0 - chance, 1e-9)
    close = (found[:, 0] >= SHARED) & (beyond >= LEVELS[-1] - NEARLY)
    ones, others = ones[close], others[close]
    kept = _most(ones, others, beyond[close], MOST)
    return np.unique([ones[kept], others[kept]]).astype(np.int32)


def _often_alike(table: TaskTable, who: Ints, sums: AgreementSums) -> tuple[Ints, Ints]:
    """Pairs, by their places in ``who``, that often gave the same label that few gave.

    Of at most `CANDIDATES` workers: those who did so most often, over how often each could have.
    """
    slots, number = _slots(who, sums.workers)
    ((sketch, minority),) = table.add_up([SketchPairs(slots, number, sums.classes)])
    high = np.sort(sketch[0][sketch[0] >= OFTEN])
    least = OFTEN if high.size <= LISTED else int(high[-LISTED])
    if len(sketch) == 1:
        cells = np.flatnonzero(sketch[0] >= least)
        counts = sketch[0][cells]
        ones = ((1 + np.sqrt(8.0 * cells + 1)) // 2).astype(np.int64)
        others = cells - ones * (ones - 1) // 2
    elif sketch.max(axis=1).min() < OFTEN:
        return NOBODY, NOBODY
    else:
        (listed,) = table.add_up([ListPairs(slots, sums.classes, sketch, least)])
        often = listed.counts >= least
        keys, counts = listed.keys[often], listed.counts[often]
        ones, others = (part.astype(np.int64) for part in (keys >> HALF, keys & MASK))
    kept = _most(ones, others, counts / np.sqrt(minority[ones] * minority[others]), CANDIDATES)
    return ones[kept], others[kept]


def _slots(who: Ints, workers: int) -> tuple[Codes, int]:
    """Number some workers from 0, −1 for all others; how many there are."""
    slots = np.full(workers, -1, np.int32)
    slots[who] = np.arange(who.size)
    return slots, who.size


def _most(one: Ints, other: Ints, score: Floats, workers: int) -> NDArray[np.bool_]:
    """The pairs of the highest scores that so many workers have; those that tie are in or out."""
    order = np.argsort(-score, kind="stable")
    both = np.stack([one[order], other[order]], axis=1).ravel()
    _, first = np.unique(both, return_index=True)
    if first.size <= workers:
        return np.ones(one.size, np.bool_)
    cut = score[order[np.sort(first)[workers] // 2]]
    return np.asarray(score > cut)
