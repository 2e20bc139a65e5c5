"""Base of monitors: arrays of sums, the skills that judge labels, and forgetting.

A monitor names the arrays it keeps; growing, saving and loading them happens here. Knows nothing
of what is summed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.estimators.estimator import Estimator
from crowdstream.estimators.observer import Observer
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.judging_loops import Judge, JudgedSums
from crowdstream.schedule import next_reading
from crowdstream.serialization import Packed
from crowdstream.sums.forgetting import Forgetting
from crowdstream.sums.growing import grown

Floats = NDArray[np.float64]
Shapes = dict[str, tuple[int, ...]]

MOST = 200.0
"""The logarithm of a weight at which sums are brought back to units of the present: variances are
sums of its square, and their products must stay below 1e308."""


class WorkerSums(Observer):
    """An observer whose state is arrays: some with one row per worker, some shared by all.

    ``per_worker`` and ``shared`` name them, with the shape of a row and of the whole.
    """

    per_worker: ClassVar[Shapes] = {}
    shared: ClassVar[Shapes] = {}

    def __init__(self) -> None:
        self.workers = 0
        self.arrays: dict[str, Floats] = {
            name: np.zeros((0, *shape)) for name, shape in self.per_worker.items()
        }
        self.arrays |= {name: np.zeros(shape) for name, shape in self.shared.items()}
        self.tasks = 0
        """Tasks seen, less those taken back."""
        self.renewed = 0.0
        """Tasks that had been seen when skills were read last."""
        self.skills: Floats = np.zeros(1)
        """The skills that judge labels; the last is the mean, for unknown workers."""
        self._judge: Judge | None = None
        self._judge_size = (0, 0)
        self._bind()

    def _bind(self) -> None:
        """Hand the arrays to the loops; called whenever the arrays have moved."""

    def _reserve(self, workers: int, *, seen: bool = True) -> None:
        """Have rows for so many workers; a question does not count them as seen."""
        if workers > len(self.arrays[next(iter(self.per_worker))]):
            for name in self.per_worker:
                self.arrays[name] = grown(self.arrays[name], workers)
            self._bind()
        if seen:
            self.workers = max(self.workers, workers)

    # Judging labels --------------------------------------------------------------------------

    def _due(self, more: int, memory: float | None) -> bool:
        """Return True if skills are to be read again once so many more tasks have been seen."""
        return self.tasks + more >= next_reading(self.renewed, memory)

    def patience(self, crowd: Estimator) -> int:
        """Until skills are read again."""
        if self.renewed == 0.0:
            return 0
        return max(next_reading(self.renewed, view.memory_of(crowd)) - self.tasks - 1, 0)

    def most_workers(self, crowd: Estimator) -> int:
        """Any number: newcomers are judged by the mean until skills are read again."""
        return 2**62

    def _read_skills(self, crowd: Estimator) -> Floats:
        """The skills that judge labels from now on, and their mean."""
        return np.append(view.skills_of(crowd), view.mean_skill(crowd))

    def _judge_for(self, batch: LabelBatch, crowd: Estimator, sign: int) -> Judge:
        """The judge of these tasks' labels, made anew when skills are read again."""
        if self.renewed == 0.0 or (sign > 0 and self._due(len(batch), view.memory_of(crowd))):
            self.skills = self._read_skills(crowd)
            self.renewed = float(max(self.tasks + len(batch), 1))
            self._judge = None
        single = batch.starts.size == 2  # spares a single task the time of NumPy's calls
        largest = int(batch.starts[1] - batch.starts[0] if single else batch.sizes.max(initial=1))
        classes, (known, most) = view.class_count(crowd), self._judge_size
        if self._judge is None or view.family_of(crowd).size or known != classes or largest > most:
            self._judge_size = classes, max(largest, 2 * most if largest > most else most)
            self._judge = view.judge_by(self.skills, crowd, self._judge_size[1])
        return self._judge

    # Merging and saving ----------------------------------------------------------------------

    def _add_counts(self, other: Self, names: Ints) -> None:
        """Have rows for another's workers, and count its tasks."""
        self._reserve(int(names.max(initial=-1)) + 1)
        self.tasks += other.tasks
        self.renewed = 0.0  # skills are read again when the next task comes

    def pack(self) -> Packed:
        """All sums, without spare rows."""
        found: Packed = {name: self.arrays[name][: self.workers] for name in self.per_worker}
        found |= {name: self.arrays[name] for name in self.shared}
        found["skills"] = self.skills
        found["seen"] = np.array([self.tasks, self.renewed])
        return found

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        self.workers = len(arrays.get(next(iter(self.per_worker)), ()))
        wanted = {name: (self.workers, *shape) for name, shape in self.per_worker.items()}
        self.arrays |= self._checked(arrays, wanted | self.shared)
        seen = self._checked(arrays, {"seen": (2,)})["seen"]
        self.tasks, self.renewed = int(seen[0]), float(seen[1])
        self.skills = arrays["skills"].astype(np.float64)
        self._judge = None
        self._bind()

    def _checked(
        self, arrays: Mapping[str, NDArray[np.generic]], wanted: Shapes
    ) -> dict[str, Floats]:
        """Copies of saved arrays, which must have these shapes."""
        for name, shape in wanted.items():
            found = arrays.get(name)
            if found is None or found.shape != shape or found.dtype != np.float64:
                raise StateError(f"a saved {type(self).__name__} whose sums do not fit: {name}")
        return {name: arrays[name].astype(np.float64) for name in wanted}


class HistorySums(WorkerSums):
    """A monitor of how workers change over time: it follows tasks in order.

    The array ``count`` ends with the number of tasks seen.
    """

    over_time: ClassVar[bool] = True

    _sums: JudgedSums

    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Follow tasks in order. Taking tasks back does not change the history."""
        self._reserve(crowd._n_met)
        if sign > 0:
            judge = self._judge_for(batch, crowd, sign)
            self._sums.add(judge, batch.coded, 1.0, 1.0, in_order)
        else:
            self.arrays["count"][-1] -= len(batch)
        self.tasks += sign * len(batch)

    def sees_like(self, other: Observer) -> bool:
        """Return whether another follows workers in order, too: labels are then judged once."""
        return isinstance(other, HistorySums)

    def see_together(
        self,
        team: Sequence[Observer],
        batch: LabelBatch,
        crowd: Estimator,
        sign: int,
        in_order: bool,
    ) -> None:
        """Judge labels once for two monitors that have seen the same and judge by the same."""
        other = team[1] if len(team) == 2 else None
        if sign < 0 or not isinstance(other, HistorySums) or not self._judges_like(other):
            super().see_together(team, batch, crowd, sign, in_order)
            return
        for one in (self, other):
            one._reserve(crowd._n_met)
        judge = self._judge_for(batch, crowd, sign)
        other.skills, other.renewed, other._judge = self.skills, self.renewed, None
        self._sums.add_with(other._sums, judge, batch.coded, in_order)
        for one in (self, other):
            one.tasks += len(batch)

    def _judges_like(self, other: HistorySums) -> bool:
        same = self.tasks == other.tasks and self.renewed == other.renewed
        return same and (self.skills is other.skills or np.array_equal(self.skills, other.skills))

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Count another's tasks, and take over the history of workers who have none here.

        Two streams have no common order, so no worker's two histories can be joined.
        """
        self._add_counts(other, names)
        few = names[: other.workers]
        fresh = ~self.arrays["rows"][few].any(axis=1)
        for name in self.per_worker:
            self.arrays[name][few[fresh]] = other.arrays[name][: other.workers][fresh]
        self.arrays["count"][-1] += other.arrays["count"][-1]


class ForgettingSums(WorkerSums):
    """Sums that forget as the crowd's do: each task counts more than the one before."""

    def __init__(self) -> None:
        self._memory: float | None = None
        self._scale = Forgetting(None, MOST)
        self._clock = 0
        super().__init__()

    @abstractmethod
    def _weights(self) -> Iterator[Floats]:
        """Views of the sums of weights."""

    def _squares(self) -> Iterator[Floats]:
        """Views of the sums of squared weights."""
        yield from ()

    @property
    def _unit(self) -> float:
        """Return the weight of the newest task."""
        return self._scale.weight(max(self._clock - 1, 0))

    def patience(self, crowd: Estimator) -> int:
        """Until skills are read again; none where each task has a weight of its own."""
        return 0 if view.memory_of(crowd) or self._memory else super().patience(crowd)

    def _remember(self, memory: float | None) -> None:
        """Follow the crowd's memory."""
        if memory != self._memory:
            self._set_scale(memory, self._clock, self._clock)

    def _set_scale(self, memory: float | None, clock: int, origin: int) -> None:
        self._memory, self._scale, self._clock = memory, Forgetting(memory, MOST), clock
        self._scale.origin = origin

    def _weighted(self, batch: LabelBatch, sign: int) -> Iterator[tuple[LabelBatch, float]]:
        """The tasks in parts, with the weight of the first task of each."""
        self.tasks += sign * len(batch)
        if sign < 0:
            self._clock -= len(batch)
            yield batch, -self._scale.weight(self._clock)
            return
        at = 0
        while at < len(batch):
            most = self._scale.make_room(self._clock, self._weights(), self._squares())
            end = min(at + most, len(batch))
            part = batch if end - at == len(batch) else batch.part(at, end)
            yield part, self._scale.weight(self._clock)
            self._clock += end - at
            at = end

    def _add_clock(self, other: Self) -> None:
        """Bring both to units of their newest task, before they are added up."""
        for one in (self, other):
            one._scale.renormalise(max(one._clock - 1, 0), one._weights(), one._squares())
        fades = self._scale.fade > 0
        self._clock = max(self._clock, other._clock) if fades else self._clock + other._clock
        self._scale.origin = max(self._clock - 1, 0) if fades else 0

    def pack(self) -> Packed:
        """All sums, and the scale of their weights."""
        scale = [self._memory or 0.0, self._clock, self._scale.origin]
        return super().pack() | {"scale": np.array(scale, np.float64)}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        memory, clock, origin = self._checked(arrays, {"scale": (3,)})["scale"].tolist()
        self._set_scale(memory or None, int(clock), int(origin))


def mirrored(above: Floats) -> Floats:
    """A symmetric table of which the part above the diagonal was kept."""
    return above + np.triu(above, 1).T
