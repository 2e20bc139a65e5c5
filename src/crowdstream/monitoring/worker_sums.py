"""`WorkerSums`: what the monitors of this room have in common. Sums per worker, with room to spare.

A monitor says what arrays it keeps; growing, packing and unpacking them is done here, and so is
reading the skills by which labels are judged. Knows nothing of what is summed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, StateError
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.observer import Observer, Packed
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.monitoring import loops
from crowdstream.sums.forgetting import Forgetting

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Observer)

RENEW = 1.05
"""Growth in tasks after which the workers' skills are read anew: estimators renew their shared
readings as often, which was measured to be harmless."""

MOST = 200.0
"""The logarithm of a weight at which sums are brought back to units of the present: variances are
sums of its square, and their products must stay below 1e308."""

NO_FAMILY: Codes = np.empty(0, np.int32)


class WorkerSums(Observer):
    """An observer whose state is arrays: some with a row per worker, some shared by all.

    ``per_worker`` and ``shared`` name them, with the shape of a row and of the whole.
    """

    per_worker: ClassVar[dict[str, tuple[int, ...]]] = {}
    shared: ClassVar[dict[str, tuple[int, ...]]] = {}

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
        """The skills by which labels are judged; the last is the crowd's mean, for strangers."""
        self._judge: loops.Judge | None = None
        self._judges = (0, 0)
        self._bind()

    def _bind(self) -> None:
        """The arrays have moved: tell the loops."""

    def _make_room(self, workers: int, *, seen: bool = True) -> None:
        """Let there be rows for so many workers; a question does not count them as seen."""
        room = len(self.arrays[next(iter(self.per_worker))])
        if workers > room:
            room = max(workers, 2 * room, 16)
            for name, shape in self.per_worker.items():
                grown = np.zeros((room, *shape))
                grown[: self.workers] = self.arrays[name][: self.workers]
                self.arrays[name] = grown
            self._bind()
        if seen:
            self.workers = max(self.workers, workers)

    # Judging labels --------------------------------------------------------------------------

    def _due(self, more: int, memory: float | None) -> bool:
        """Whether skills are to be read anew, once so many tasks more were seen."""
        growth = (RENEW - 1.0) * min(self.renewed, memory or self.renewed)
        return self.tasks + more >= self.renewed + growth

    def _read_skills(self, crowd: Estimator) -> Floats:
        """The skills by which labels are judged from now on, and the mean."""
        return np.append(crowd._skills(), crowd.mean_skill_)

    def _judge_for(self, batch: LabelBatch, crowd: Estimator, sign: int) -> loops.Judge:
        """What judges the labels of these tasks."""
        if self.renewed == 0.0 or (sign > 0 and self._due(len(batch), memory_of(crowd))):
            self.skills = self._read_skills(crowd)
            self.renewed = float(max(self.tasks + len(batch), 1))
            self._judge = None
        classes = max(len(crowd._classes), 2)
        single = batch.starts.size == 2
        largest = int(batch.starts[1] - batch.starts[0] if single else batch.sizes.max(initial=1))
        known, room = self._judges
        if self._judge is None or crowd.families or known != classes or largest > room:
            self._judges = classes, max(largest, 2 * room if largest > room else room)
            self._judge = judge_by(self.skills, crowd, *self._judges)
        return self._judge

    # Merging and saving ----------------------------------------------------------------------

    def _add_counts(self, other: Self, names: Ints) -> None:
        """Make room for another's workers, and count its tasks."""
        self._make_room(int(names.max(initial=-1)) + 1)
        self.tasks += other.tasks
        self.renewed = 0.0  # skills are read anew when the next task comes

    def pack(self) -> Packed:
        """All sums, without spare room."""
        found: Packed = {name: self.arrays[name][: self.workers] for name in self.per_worker}
        found |= {name: self.arrays[name] for name in self.shared}
        found["skills"] = self.skills
        found["seen"] = np.array([self.tasks, self.renewed])
        return found

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        first = arrays.get(next(iter(self.per_worker)), np.empty(0))
        wanted = {name: (len(first), *shape) for name, shape in self.per_worker.items()}
        wanted |= self.shared | {"seen": (2,)}
        for name, shape in wanted.items():
            found = arrays.get(name)
            if found is None or found.shape != shape or found.dtype != np.float64:
                raise StateError(f"a saved {type(self).__name__} whose sums do not fit: {name}")
        for name in (*self.per_worker, *self.shared):
            self.arrays[name] = arrays[name].astype(np.float64)
        self.workers = len(first)
        self.tasks, self.renewed = int(arrays["seen"][0]), float(arrays["seen"][1])
        self.skills = arrays["skills"].astype(np.float64)
        self._judge = None
        self._bind()


class FadingSums(WorkerSums):
    """Sums that fade as the crowd's do, each task counting more than the one before."""

    def __init__(self) -> None:
        self._memory: float | None = None
        self._scale = Forgetting(None)
        self._clock = 0
        super().__init__()

    @abstractmethod
    def _fade(self, factor: float) -> None:
        """Multiply what every task counts."""

    @property
    def _unit(self) -> float:
        """What the newest task counts."""
        return self._scale.weight(max(self._clock - 1, 0))

    def _remember(self, memory: float | None) -> None:
        """The crowd remembers so many tasks."""
        if memory != self._memory:
            self._memory, self._scale = memory, Forgetting(memory)
            self._scale.origin = self._clock

    def _renormalise(self, task: int) -> None:
        """Bring the sums to units in which the task at this place counts 1."""
        if self._scale.fade and task != self._scale.origin:
            self._fade(1.0 / self._scale.weight(task))
            self._scale.origin = task

    def _weighted(self, batch: LabelBatch, sign: int) -> Iterator[tuple[LabelBatch, float]]:
        """The tasks in parts, with what the first of each part counts."""
        at, fade = 0, self._scale.fade
        while at < len(batch):
            end = len(batch)
            if fade and sign > 0:
                if fade * (self._clock - self._scale.origin) >= MOST:
                    self._renormalise(self._clock)
                end = min(end, at + int(MOST / fade) + 1 - (self._clock - self._scale.origin))
            self._clock -= end - at if sign < 0 else 0
            whole = at == 0 and end == len(batch)
            part = batch if whole else batch.part(at, end)
            yield part, sign * self._scale.weight(self._clock)
            self._clock += end - at if sign > 0 else 0
            at = end
        self.tasks += sign * len(batch)

    def _add_clock(self, other: Self) -> None:
        """Bring both to units of their newest task, before they are added up."""
        for one in (self, other):
            one._renormalise(max(one._clock - 1, 0))
        fades = self._scale.fade > 0
        self._clock = max(self._clock, other._clock) if fades else self._clock + other._clock
        self._scale.origin = max(self._clock - 1, 0) if fades else 0

    def pack(self) -> Packed:
        """All sums, and the scale they fade by."""
        scale = [self._memory or 0.0, self._clock, self._scale.origin]
        return super().pack() | {"scale": np.array(scale, np.float64)}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        scale = arrays.get("scale")
        if scale is None or scale.shape != (3,):
            raise StateError(f"a saved {type(self).__name__} whose sums do not fit: scale")
        memory, clock, origin = scale.tolist()
        self._memory = memory or None
        self._scale, self._clock = Forgetting(self._memory), int(clock)
        self._scale.origin = int(origin)


def mirrored(above: Floats) -> Floats:
    """A symmetric table of which the part above the diagonal was kept."""
    return above + np.triu(above, 1).T


def judge_by(skills: Floats, crowd: Estimator, classes: int, largest: int) -> loops.Judge:
    """What judges labels by these skills, the last being a stranger's."""
    family = crowd._sums.family if crowd.families else NO_FAMILY
    room = np.empty((4, largest))
    return loops.Judge(skills.copy(), family, room, np.empty(classes), np.empty(classes))


def memory_of(crowd: Estimator) -> float | None:
    """How many tasks a crowd remembers, where it is a number."""
    memory = crowd.memory
    return float(memory) if isinstance(memory, (int, float, np.number)) else None


def observer_of(crowd: Estimator, kind: type[Kind]) -> Kind:
    """The crowd's observer of this kind."""
    for observer in crowd.observers:
        if isinstance(observer, kind):
            return observer
    raise InputError(
        "crowd",
        f"an estimator with {kind.__name__}: call monitoring.monitor(crowd) before it learns",
        f"{type(crowd).__name__} without it",
    )
