"""Agreement in whole numbers: what every estimator learns from a task.

Without forgetting all sums are whole numbers (label shares multiples of 2⁻²⁴) held in float64, so
any order, any partition and any retraction gives the same bits, up to 2⁵³ pairs of labels a worker
and 2²⁹ tasks. Knows workers and classes by their codes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.parallel import parts_of, side_by_side
from crowdstream.sums.agreement_loops import AgreementRows
from crowdstream.sums.group_loops import flatten, join_pairs
from crowdstream.sums.growing import grown
from crowdstream.sums.rows import AGREE, HEAD, KNOWN, MET, MET2, RIGHT

Floats = NDArray[np.float64]


class Column:
    """A column of the rows of `AgreementSums`, one number per worker."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __get__(self, sums: AgreementSums, owner: object = None) -> Floats:
        return sums.rows[:, self.place]


class AgreementSums:
    """The sums of a crowd: one row per worker, and what all share.

    Parameters
    ----------
    families
        How many families are declared; `declare` says who belongs to them.
    """

    def __init__(self, families: int = 0) -> None:
        self.workers = 0
        self.classes = 2
        self._rows: Floats = np.zeros((0, HEAD + 6))
        self._groups: Codes = np.empty(0, np.int32)
        self._family: Codes = np.empty(0, np.int32)
        self.shares: Floats = np.zeros(2)
        self.declared = families
        """Families that users declare; those found in the labels come after them."""
        self.relatives: Floats = np.zeros((families, 2))
        """Of each family: pairs of its members' labels on the same task, how many are the same."""
        self.total: Floats = np.zeros(3)
        """Tasks, tasks with labels, labels."""
        self.loops = AgreementRows()
        self._bind()

    def _bind(self) -> None:
        arrays = self._rows, self.shares, self._groups, self._family, self.relatives, self.total
        self.loops.bind(*arrays)
        self.loops.set_classes(np.zeros(self.classes))

    def reserve(self, workers: int) -> None:
        """Have rows for so many workers, who are yet to be met."""
        n = len(self._rows)
        if workers > n:
            self._rows, self._family = grown(self._rows, workers), grown(self._family, workers, -1)
            self._groups = grown(self._groups, workers)
            self._groups[n:] = np.arange(n, self._groups.size)
            self._bind()

    def make_room(self, workers: int, classes: int) -> None:
        """Have rows for so many workers and columns for so many classes."""
        k = self.classes
        self.reserve(workers)
        if classes > k:
            wider = np.zeros((len(self._rows), 3, classes))
            wider[:, :, :k] = self._by_class
            self._rows = np.hstack([self._rows[:, :HEAD], wider.reshape(len(wider), 3 * classes)])
            self.shares = np.append(self.shares, np.zeros(classes - k))
            self.classes = classes
            self._bind()
        self.workers = self.loops.workers = max(self.workers, workers)

    def fold(self, homes: Codes, places: int) -> None:
        """Have columns for so many places instead of classes; class a is at ``homes[a]``."""
        k = homes.size
        moved = np.zeros((len(self._rows), 3, places))
        for a, place in enumerate(homes.tolist()):
            moved[:, :, place] += self._by_class[:, :, a]
        self._rows = np.hstack([self._rows[:, :HEAD], moved.reshape(len(moved), 3 * places)])
        self.shares = np.bincount(homes, self.shares[:k], places).astype(np.float64)
        self.classes = places
        self._bind()

    @property
    def _by_class(self) -> Floats:
        """A view of said, own and others: by worker, which of the three, class."""
        return self._rows[:, HEAD:].reshape(-1, 3, self.classes)

    # What is there ---------------------------------------------------------------------------

    @property
    def rows(self) -> Floats:
        """One row per worker, without spare rows."""
        return self._rows[: self.workers]

    agree = Column(AGREE)
    """Pairs of the worker's label with another's on the same task that are the same."""
    met = Column(MET)
    """All such pairs."""
    met2 = Column(MET2)
    """Ordered pairs of others on the same task."""
    known = Column(KNOWN)
    """Answers on tasks of known truth."""
    right = Column(RIGHT)
    """Number of those answers that are right."""

    @property
    def said(self) -> Floats:
        """Answers by class."""
        return self.rows[:, HEAD : HEAD + self.classes]

    @property
    def answers(self) -> Floats:
        """Answers of each worker."""
        return np.asarray(self.said.sum(axis=1))

    @property
    def density(self) -> float:
        """The share of the tasks that a worker who has answered any has labelled, in the mean."""
        cells = float(self.total[1]) * int(np.count_nonzero(self.answers > 0.0))
        return float(self.total[2]) / cells if cells > 0.0 else 0.0

    @property
    def groups(self) -> Codes:
        """First worker of the group that each worker is linked with by shared tasks.

        That two have once met is not taken back.
        """
        groups = self._groups[: self.workers].copy()
        flatten(groups)
        return groups

    @property
    def main_group(self) -> int:
        """The largest of these groups, by workers who have met anybody; −1 without workers."""
        if not self.workers:
            return -1
        return int(np.bincount(self.groups, self.met > 0, self.workers).argmax())

    @property
    def family(self) -> Codes:
        """The number of each worker's family, −1 for none."""
        return self._family[: self.workers]

    def declare(self, family: Codes, since: int) -> None:
        """Say to which families the workers from ``since`` on belong."""
        self._family[since : since + family.size] = family

    def set_found(self, groups: Sequence[Codes], relatives: Floats) -> None:
        """Make these groups families beside those declared, in place of what was found before.

        ``relatives``: one row per group, the pairs it begins with. What was added already stays as
        it is: members were compared with one another there.
        """
        family = self._family
        family[family >= self.declared] = -1
        for number, members in enumerate(groups, start=self.declared):
            family[members] = number
        self.relatives = np.concatenate([self.relatives[: self.declared], relatives])
        self._bind()

    def arrays(self) -> list[Floats]:
        """All that forgetting scales."""
        return [self._rows, self.shares, self.relatives, self.total]

    # Adding up -------------------------------------------------------------------------------

    def add(self, batch: LabelBatch, weight: float = 1.0, growth: float = 1.0) -> None:
        """Add tasks (weight 1) or take them away (−1); side by side where there are many."""
        parts = parts_of(len(batch)) if growth == 1.0 else [(0, len(batch))]
        if len(parts) == 1:
            self.add_part(batch, weight, growth)
            return
        others = [self.empty() for _ in parts[1:]]

        def work(k: int) -> None:
            (self if k == 0 else others[k - 1]).add_part(batch.part(*parts[k]), weight)

        side_by_side(work, len(parts))
        for other in others:
            self.add_sums(other)

    def add_part(self, batch: LabelBatch, weight: float = 1.0, growth: float = 1.0) -> None:
        """Add tasks in this thread alone."""
        self.loops.add(batch.coded, weight, growth)

    def add_sums(self, other: AgreementSums) -> None:
        """Add sums of the same crowd, in the same codes, over other tasks."""
        self._rows[: other.workers] += other.rows
        self.shares += other.shares
        self._add_relatives(other, 1.0)
        self.total += other.total
        join_pairs(self._groups, np.arange(other.workers), other.groups.astype(np.int64))
        self.loops.changes += 1

    def remove_sums(self, other: AgreementSums) -> None:
        """Take away what `add_sums` added; that two have once met stays."""
        self._rows[: other.workers] -= other.rows
        self.shares -= other.shares
        self._add_relatives(other, -1.0)
        self.total -= other.total
        self.loops.changes += 1

    def _add_relatives(self, other: AgreementSums, sign: float) -> None:
        """Add another's pairs inside families; of other families than these declared ones only."""
        same = len(other.relatives) == len(self.relatives)
        few = len(self.relatives) if same else self.declared
        self.relatives[:few] += sign * other.relatives[:few]

    def empty(self) -> AgreementSums:
        """Return the same crowd with nothing learnt."""
        other = AgreementSums(len(self.relatives))
        other.declared = self.declared
        other.make_room(self.workers, self.classes)
        other.declare(self.family, 0)
        return other

    def without(self, batch: LabelBatch, weight: float = 1.0) -> AgreementSums:
        """A copy from which tasks are taken away."""
        other = self.empty()
        for mine, theirs in zip(self.arrays(), other.arrays(), strict=True):
            theirs[: len(mine)] = mine[: len(theirs)]
        other._groups[: self.workers] = self._groups[: self.workers]
        other.add_part(batch, -weight)
        return other

    def merge(self, other: AgreementSums, names: Ints, classes: Ints) -> None:
        """Add another crowd's sums; its worker i is ``names[i]`` here, its class a ``classes[a]``.

        Columns of classes that the other has columns for and never met are left out, and so are
        pairs inside families that were found, which need not be the same.
        """
        k = classes.size
        self._rows[names, :HEAD] += other.rows[:, :HEAD]
        self._by_class[np.ix_(names, np.arange(3), classes)] += other._by_class[: names.size, :, :k]
        self.shares[classes] += other.shares[:k]
        self.relatives[: self.declared] += other.relatives[: self.declared]
        self.total += other.total
        join_pairs(self._groups, names, names[other.groups])
        self.loops.changes += 1

    def narrowed(self, classes: int) -> AgreementSums:
        """The sums with columns for the first classes only: the others have no label yet."""
        if max(classes, 2) == self.classes:
            return self
        found = AgreementSums(len(self.relatives))
        found.make_room(self.workers, classes)
        found.merge(self, np.arange(self.workers), np.arange(classes))
        found.declared = self.declared
        return found

    # Saving ----------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Callable[..., AgreementSums], tuple[object, ...]]:
        size = self.workers, self.classes
        return _restored, (len(self.relatives), size, self.family, self.pack())

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """The arrays, without spare rows."""
        return self._slots(self.workers) | {"groups": self.groups}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        self.make_room(workers, classes)
        fill(self._slots(workers), arrays)
        self.loops.changes += 1

    def _slots(self, workers: int) -> dict[str, NDArray[np.generic]]:
        return {
            "rows": self._rows[:workers],
            "shares": self.shares,
            "groups": self._groups[:workers],
            "relatives": self.relatives,
            "total": self.total,
        }


def _restored(
    families: int, size: tuple[int, int], family: Codes, arrays: Mapping[str, NDArray[np.generic]]
) -> AgreementSums:
    """Sums that were pickled."""
    sums = AgreementSums(families)
    sums.unpack(arrays, *size)
    sums.declare(family, 0)
    return sums


def fill(
    slots: Mapping[str, NDArray[np.generic]], arrays: Mapping[str, NDArray[np.generic]]
) -> None:
    """Put saved arrays where they belong, refusing those that do not fit."""
    for name, slot in slots.items():
        found = arrays.get(name)
        if found is None or found.shape != slot.shape or found.dtype != slot.dtype:
            raise StateError(f"a saved state whose sums do not fit: {name}")
        slot[...] = found
