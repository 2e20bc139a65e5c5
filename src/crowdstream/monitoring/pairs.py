"""`Pairs`: how often each two workers agree, and how far beyond what the truth explains.

The 256 most active workers are compared; `dependence` finds what their agreements say. Only
reported: no decision depends on it. Knows nothing of declared families.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.estimator import Estimator
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.tables import value_series
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.dependence import PairErrors, dependence
from crowdstream.monitoring.pair_loops import PairSums
from crowdstream.monitoring.worker_sums import Floats, ForgettingSums, Shapes, mirrored
from crowdstream.schedule import COMPARED
from crowdstream.serialization import Packed
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

SLOTS = 256
"""Workers who are compared: a table of 256² pairs takes half a megabyte."""

MANY = 64
"""Most labels of one task that are compared pair by pair."""

FIRST = 2
"""Labels of one task that are compared where they decide whether there are more."""

WORTH = 2.0
"""A worker takes the slot of one who has answered this many times less."""

TABLES = ("met", "same")

ANSWERS, SLOT = range(2)
"""Columns of a worker's row: answers, and 1 + its slot among those compared (0 for none)."""


class Compared(NamedTuple):
    """Workers who are compared, tasks shared by each pair, agreements, and what those say."""

    who: Ints
    met: Floats
    same: Floats
    found: PairErrors


class Pairs(ForgettingSums):
    """Tasks shared and agreements of each two of the most active workers."""

    per_worker: ClassVar[Shapes] = {"rows": (2,)}

    def __init__(self) -> None:
        self._slots: Codes = np.empty(0, np.int32)
        self._scratch: Ints = np.empty(MANY, np.int64)
        self._tables = {name: np.zeros((SLOTS, SLOTS)) for name in TABLES}
        super().__init__()

    def _bind(self) -> None:
        self._slots = self.arrays["rows"][:, SLOT].astype(np.int32) - 1
        met, same = self._tables.values()
        self._sums = PairSums(met, same, self._slots, self._scratch)

    def _weights(self) -> Iterator[Floats]:
        yield from self._tables.values()

    def patience(self, crowd: Estimator) -> int:
        """Until it is chosen again who is compared."""
        if view.memory_of(crowd) or self._memory:
            return 0  # each task has a weight of its own
        if crowd._n_met <= SLOTS:
            return 2**62
        return max(math.ceil(self._chosen_next) - self.tasks - 1, 0)

    def most_workers(self, crowd: Estimator) -> int:
        """Until there are more than can be compared."""
        return SLOTS if crowd._n_met <= SLOTS else 2**62

    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Count shared tasks and agreements, or take them back."""
        self._remember(view.memory_of(crowd))
        self._reserve(crowd._n_met)
        who = batch.workers[batch.starts[0] : batch.starts[-1]]
        if len(batch) > 1:
            times = np.bincount(who, minlength=self.workers)
            self.arrays["rows"][: times.size, ANSWERS] += sign * times
        else:
            self.arrays["rows"][who, ANSWERS] += sign
        if sign > 0:
            self._choose(len(batch))
        most = FIRST if in_order else MANY
        for part, weight in self._weighted(batch, sign):
            self._sums.add(part.coded, weight, self._scale.growth, most)

    def _choose(self, more: int) -> None:
        """Choose who is compared: the first workers, then those who have answered far more."""
        free = int((self.arrays["rows"][: min(self.workers, SLOTS), SLOT] == 0).sum())
        if self.workers <= SLOTS and free:
            first = np.arange(self.workers)
            self._give(first, first)
        elif self.workers > SLOTS and self.tasks + more >= self._chosen_next:
            self._replace()
            self.renewed = float(self.tasks + more)

    @property
    def _chosen_next(self) -> float:
        """Return the tasks at which it is chosen next who is compared."""
        return self.renewed + (COMPARED - 1.0) * min(self.renewed, self._memory or self.renewed)

    def _give(self, workers: Ints, slots: Ints) -> None:
        self.arrays["rows"][workers, SLOT] = slots + 1
        self._slots[workers] = slots

    def _replace(self) -> None:
        """Let the most active take the slots of those who have answered half as much."""
        answers, slots = self.arrays["rows"][: self.workers, ANSWERS], self._slots[: self.workers]
        holders = np.full(SLOTS, -1)
        inside = np.flatnonzero(slots >= 0)
        holders[slots[inside]] = inside
        load = np.where(holders >= 0, answers[holders], 0.0)
        outside = np.flatnonzero(slots < 0)
        if outside.size > SLOTS:  # no need to sort them all
            least = np.partition(answers[outside], -SLOTS)[-SLOTS]
            outside = outside[answers[outside] >= least]
        outside = outside[np.argsort(-answers[outside], kind="stable")[:SLOTS]]
        weakest = np.argsort(load, kind="stable")[: outside.size]
        taken = answers[outside] >= np.maximum(WORTH * load[weakest], 1.0)
        if not taken.any():
            return
        left = holders[weakest[taken]]
        self._give(left[left >= 0], np.full((left >= 0).sum(), -1))
        self._give(outside[taken], weakest[taken])
        for table in self._tables.values():
            table[weakest[taken]] = 0.0
            table[:, weakest[taken]] = 0.0

    def compared(self, crowd: Estimator) -> Compared:
        """The workers who are compared, and what their agreements say."""
        who = np.flatnonzero(self._slots[: self.workers] >= 0)
        here = np.ix_(self._slots[who], self._slots[who])
        met, same = (mirrored(table)[here] / self._unit for table in self._tables.values())
        return Compared(who, met, same, dependence(met, same, view.label_counts(crowd)[who]))

    # Merging and saving ----------------------------------------------------------------------

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add another's pairs, as far as there are slots for its workers."""
        self._add_counts(other, names)
        self._add_clock(other)
        few = names[: other.workers]
        self.arrays["rows"][few, ANSWERS] += other.arrays["rows"][: few.size, ANSWERS]
        self._choose(0)
        there, here = other._slots[: few.size], self._slots[few]
        both = (there >= 0) & (here >= 0)
        for name, table in self._tables.items():
            moved = np.zeros((SLOTS, SLOTS))
            found = mirrored(other._tables[name])[np.ix_(there[both], there[both])]
            moved[np.ix_(here[both], here[both])] = found
            table += np.triu(moved, 1)

    def pack(self) -> Packed:
        """All sums, without empty slots."""
        used = min(self.workers, SLOTS)
        return super().pack() | {name: self._tables[name][:used, :used] for name in TABLES}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        used = min(self.workers, SLOTS)
        for name, found in self._checked(arrays, dict.fromkeys(TABLES, (used, used))).items():
            self._tables[name][...] = 0.0
            self._tables[name][:used, :used] = found


def pairs(crowd: Estimator, *, least: int = 20) -> pl.DataFrame:
    """One row per pair of workers, the most dependent first: how far they agree beyond the truth.

    ``tasks``: how many they share; ``agreement``; ``rho``: the correlation of their errors; ``z``:
    its standard errors above 0; ``duplicate``: whether they are copies of one group, as
    `families` lists them. The 256 most active workers are compared; ρ changes no worker's weight.

    Parameters
    ----------
    crowd
        An estimator with monitors, see `monitor`.
    least
        Fewest tasks that a pair must share to be listed.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.monitor(cs.Adaptive())
    >>> copying = {1: (0, 0.97)}  # the second copies the first
    >>> crowd.learn_many(cs.simulate(8, 1000, p=0.3, copying=copying).labels())
    >>> pairs(crowd).select("one", "other", "duplicate").row(0)
    ('w0', 'w1', True)
    """
    import polars as pl

    check_number("least", least, 1, 10**12, whole=True)
    who, met, same, found = view.observer_of(crowd, Pairs).compared(crowd)
    one, other = np.nonzero(np.triu(met >= least, 1))
    names, rho, z = crowd.workers_, found.rho[one, other], found.z[one, other]
    return pl.DataFrame(
        {
            "one": value_series("one", [names[who[i]] for i in one]),
            "other": value_series("other", [names[who[i]] for i in other]),
            "tasks": met[one, other],
            "agreement": same[one, other] / met[one, other],
            "rho": rho,
            "z": z,
            "duplicate": _same_group(crowd, who[one], who[other]),
        }
    ).sort("rho", "z", descending=True)


def _same_group(crowd: Estimator, one: Ints, other: Ints) -> NDArray[np.bool_]:
    """Return which pairs are copies of one group."""
    groups = np.full(len(crowd.workers_), -1)
    copies = view.copies_of(crowd)
    for number, group in enumerate(copies.declared if copies else []):
        groups[group.members] = number
    return np.asarray((groups[one] >= 0) & (groups[one] == groups[other]))
