"""Passes over all tasks of a table: what is added up, in whatever parts and in whatever order.

A fit is a few passes, each a sum over tasks. Whoever holds the labels goes through them: `InMemory`
in threads, `crowdstream.spark` on a cluster; what a pass adds up is the same. Knows codes only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels import UNKNOWN
from crowdstream.labels.batch import Ints, LabelBatch, joined
from crowdstream.labels.folding import add_keys, mix
from crowdstream.labels.tables import value_series
from crowdstream.models.scorer import Score, count_posteriors
from crowdstream.models.scoring_loops import choose_below
from crowdstream.parallel import parts_of, side_by_side
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.confusions import Counts, no_counts
from crowdstream.sums.rows import FEW_CLASSES, UNIT

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Sums = TypeVar("Sums")

NO_LIMIT = 2**62

HIGHEST = 2**64 - 1
"""The highest key."""

NAMED = np.uint64(2**24 - 1)
"""Bits of a gold task's number that tell apart tasks which are alike."""


class Pass(ABC, Generic[Sums]):
    """Something that is added up over tasks. It may be pickled, and so may its sums."""

    @property
    def by_name(self) -> bool:
        """Return whether it has to know what tasks are called."""
        return True

    @property
    def cells(self) -> int:
        """Return how many numbers its sums are, where they may be very many."""
        return 0

    @abstractmethod
    def begin(self) -> Sums:
        """The sum over no tasks."""

    @abstractmethod
    def add(self, sums: Sums, batch: LabelBatch) -> None:
        """Add some tasks."""

    @abstractmethod
    def join(self, sums: Sums, other: Sums) -> None:
        """Add the sum over other tasks."""


class TaskTable(ABC):
    """All tasks of a table, wherever they are."""

    @abstractmethod
    def add_up(self, passes: Sequence[Pass[Any]]) -> list[Any]:
        """The sums of several passes, gone through at once."""

    @property
    @abstractmethod
    def batch(self) -> LabelBatch:
        """All tasks in their order, for who has to go through them one by one."""


class InMemory(TaskTable):
    """A table in the memory of this machine, gone through in threads."""

    def __init__(self, batch: LabelBatch) -> None:
        self._batch = batch

    @property
    def batch(self) -> LabelBatch:
        """The table."""
        return self._batch

    def add_up(self, passes: Sequence[Pass[Any]]) -> list[Any]:
        """Each part of the tasks in a thread of its own.

        All in one where the sums of another thread would be more numbers than there are labels.
        """
        labels = int(self._batch.starts[-1] - self._batch.starts[0])
        parts = parts_of(len(self._batch))
        if sum(one.cells for one in passes) > labels:
            parts = [(0, len(self._batch))]

        def work(part: int) -> list[Any]:
            return go_through(passes, [self._batch.part(*parts[part])])

        first, *others = side_by_side(work, len(parts))
        for other in others:
            join_all(passes, first, other)
        return first


def go_through(passes: Sequence[Pass[Any]], batches: Iterable[LabelBatch]) -> list[Any]:
    """The sums of passes over some tasks."""
    found = [one.begin() for one in passes]
    for batch in batches:
        for one, sums in zip(passes, found, strict=True):
            one.add(sums, batch)
    return found


def join_all(passes: Sequence[Pass[Any]], sums: Sequence[Any], others: Sequence[Any]) -> None:
    """Add the sums over other tasks to those over some."""
    for one, mine, theirs in zip(passes, sums, others, strict=True):
        one.join(mine, theirs)


# Keys and hidden truths ---------------------------------------------------------------------


def task_keys(batch: LabelBatch, seed: int, which: Ints | None = None) -> Keys:
    """A number per task (or of some) that looks random, of its name, whatever the order."""
    return mix(name_hashes(batch, which) ^ np.uint64(seed))


def name_hashes(batch: LabelBatch, which: Ints | None = None) -> Keys:
    """Hash the names of tasks (or of some)."""
    names = value_series("task", batch.tasks)
    if which is not None:
        names = names.gather(which)
    if names.dtype.is_signed_integer():
        names = names.cast(int)  # in however many bits it came
    return names.hash().to_numpy()


def gold_tasks(batch: LabelBatch) -> Ints:
    """The tasks of known truth that have labels."""
    if not batch.truths.size:
        return np.empty(0, np.int64)
    return np.flatnonzero((batch.truths >= 0) & (batch.sizes > 0))


@dataclass(frozen=True, eq=False)
class GoldNumbers:
    """A number per gold task that looks random, of who said what on it, not of its name.

    ``workers`` and ``classes`` have numbers made of the sums. Tasks that are alike in all this are
    told apart by their names: which of them has which number makes no difference.
    """

    workers: Keys
    classes: Keys
    seed: int

    @classmethod
    def of(cls, sums: AgreementSums, seed: int) -> GoldNumbers:
        """Numbers by these sums."""
        said = sums.said
        workers = np.full(sums.workers, seed + 1, np.uint64)
        for column in (sums.agree, sums.met, said.sum(axis=1), (said * said).sum(axis=1)):
            workers = mix(workers + column.astype(np.uint64))
        shares = np.rint(sums.shares * UNIT).astype(np.uint64)
        return cls(
            workers, mix(mix(shares + np.uint64(1)) + said.sum(axis=0).astype(np.uint64)), seed
        )

    def __call__(self, batch: LabelBatch, gold: Ints) -> Keys:
        """Those of some tasks of a batch."""
        held = batch.pick(gold)
        task = np.repeat(np.arange(len(held)), held.sizes)
        said: Keys = self.workers[held.workers] + mix(self.classes[held.labels])
        found: Keys = add_keys(task, mix(said), len(held)) + self.classes[held.truths]
        return (mix(found) & ~NAMED) | (task_keys(batch, self.seed, gold) & NAMED)


@dataclass(frozen=True, eq=False)
class Folds:
    """Gold tasks dealt out, by the rank of their numbers among those of all gold tasks."""

    keys: Keys
    numbers: GoldNumbers
    number: int

    def ranks(self, batch: LabelBatch) -> tuple[Ints, Ints]:
        """The gold tasks of a batch, and their ranks."""
        gold = gold_tasks(batch)
        return gold, np.searchsorted(self.keys, self.numbers(batch, gold))

    def hide(self, batch: LabelBatch, fold: int) -> LabelBatch:
        """Return the same tasks, the truths of one fold unknown."""
        gold, ranks = self.ranks(batch)
        held = gold[ranks % self.number == fold]
        if not held.size:
            return batch
        truths = batch.truths.copy()
        truths[held] = UNKNOWN
        return LabelBatch(batch.starts, batch.workers, batch.labels, truths, batch.tasks)


@dataclass(frozen=True, eq=False)
class Hidden:
    """The truths of one fold, which a reading must not know."""

    folds: Folds
    fold: int

    def __call__(self, batch: LabelBatch) -> LabelBatch:
        """The tasks as that reading sees them."""
        return self.folds.hide(batch, self.fold)


# What is added up ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AddTasks(Pass[AgreementSums]):
    """Agreement in whole numbers, of the crowd that ``sums`` are of."""

    sums: AgreementSums
    hidden: Hidden | None = None

    @property
    def by_name(self) -> bool:
        """Only to hide truths."""
        return self.hidden is not None

    def begin(self) -> AgreementSums:
        """Nothing learnt."""
        return self.sums.empty()

    def add(self, sums: AgreementSums, batch: LabelBatch) -> None:
        """Add tasks."""
        sums.add_part(self.hidden(batch) if self.hidden else batch)

    def join(self, sums: AgreementSums, other: AgreementSums) -> None:
        """Add other tasks' sums."""
        sums.add_sums(other)

    def __reduce__(self) -> tuple[type, tuple[AgreementSums, Hidden | None]]:
        return AddTasks, (self.sums.empty(), self.hidden)


@dataclass(frozen=True, eq=False)
class CountPosteriors(Pass[tuple[Counts, Floats]]):
    """Every task's posterior by these scores, in its workers' counts, and how often classes are."""

    score: Score
    workers: int
    classes: int
    hidden: Hidden | None = None

    @property
    def by_name(self) -> bool:
        """Only to hide truths."""
        return self.hidden is not None

    @property
    def cells(self) -> int:
        """Return how many counts there are; of many classes those of right answers alone."""
        rows = self.workers * self.classes
        return rows * self.classes if self.classes <= FEW_CLASSES else rows

    def begin(self) -> tuple[Counts, Floats]:
        """Counts by worker, said and class; tasks by class."""
        return no_counts(self.workers, self.classes), np.zeros(self.classes)

    def add(self, sums: tuple[Counts, Floats], batch: LabelBatch) -> None:
        """Add tasks."""
        count_posteriors(self.score, self.hidden(batch) if self.hidden else batch, *sums)

    def join(self, sums: tuple[Counts, Floats], other: tuple[Counts, Floats]) -> None:
        """Add other tasks' counts."""
        (counts, mass), (more, its_mass) = sums, other
        counts += more  # type: ignore[operator]
        mass += its_mass


class Chosen:
    """Some tasks with their keys."""

    def __init__(self) -> None:
        self.keys: Keys = np.empty(0, np.uint64)
        self.batch = joined([])


@dataclass(frozen=True, eq=False)
class ChooseTasks(Pass[Chosen]):
    """The tasks that have labels with the smallest keys, in the order of these.

    So many tasks at most, and no more than it takes to have so many labels; ``each``: labels that
    are kept of one task.
    """

    seed: int
    tasks: int = NO_LIMIT
    labels: int = NO_LIMIT
    each: int = NO_LIMIT

    def begin(self) -> Chosen:
        """None."""
        return Chosen()

    def add(self, sums: Chosen, batch: LabelBatch) -> None:
        """Choose among tasks more."""
        which, keys = self._few(batch)
        self._choose(sums, keys, batch.pick(which))

    def _few(self, batch: LabelBatch) -> tuple[Ints, Keys]:
        """The tasks with labels below some key, enough of them, and their keys.

        Keys are spread evenly: how many tasks are below a bound can be guessed, and no key of
        another need be kept or sorted.
        """
        names, total = name_hashes(batch), int(batch.starts[-1] - batch.starts[0])
        which, keys = np.empty(len(batch), np.int64), np.empty(len(batch), np.uint64)
        share = 1.5 * min(self.tasks / max(len(batch), 1), self.labels / max(total, 1)) + 1e-4
        while True:
            bound = min(int(share * 2.0**64), HIGHEST)
            number = choose_below(names, self.seed, batch.starts, bound, keys, which)
            labels = np.minimum(batch.sizes_of(which[:number]), self.each).sum()
            if bound == HIGHEST or number >= self.tasks or labels >= self.labels:
                return which[:number], keys[:number]
            share *= 2.0

    def join(self, sums: Chosen, other: Chosen) -> None:
        """Choose among those chosen of other tasks, too."""
        self._choose(sums, other.keys, other.batch)

    def _choose(self, sums: Chosen, keys: Keys, batch: LabelBatch) -> None:
        which = self._smallest(keys, batch.sizes)
        found = batch.pick(which)
        if (found.sizes > self.each).any():
            found = found.first(np.minimum(found.sizes, self.each))
        keys = keys[which]
        if sums.keys.size:
            keys, found = np.concatenate([sums.keys, keys]), joined([sums.batch, found])
            which = self._smallest(keys, found.sizes)
            keys, found = keys[which], found.pick(which)
        sums.keys, sums.batch = keys, found

    def _smallest(self, keys: Keys, sizes: Ints) -> Ints:
        which, total = np.flatnonzero(sizes), max(int(sizes.sum()), 1)
        wanted = min(self.tasks, int(1.5 * self.labels * which.size / total) + 1)
        while wanted < which.size:  # no need to sort them all
            few = which[np.argpartition(keys[which], wanted)[:wanted]]
            labels = np.minimum(sizes[few], self.each).sum()
            if wanted >= self.tasks or labels >= self.labels:
                which = few
                break
            wanted *= 2
        which = which[np.lexsort((which, keys[which]))]
        enough = int(np.searchsorted(np.cumsum(np.minimum(sizes[which], self.each)), self.labels))
        return which[: min(enough + 1, self.tasks)]


@dataclass(frozen=True, eq=False)
class GoldKeys(Pass[list[Keys]]):
    """The numbers of all gold tasks, in parts."""

    numbers: GoldNumbers

    def begin(self) -> list[Keys]:
        """None."""
        return []

    def add(self, sums: list[Keys], batch: LabelBatch) -> None:
        """Note those of some tasks."""
        gold = gold_tasks(batch)
        if gold.size:
            sums.append(self.numbers(batch, gold))

    def join(self, sums: list[Keys], other: list[Keys]) -> None:
        """Note those of other tasks."""
        sums.extend(other)
