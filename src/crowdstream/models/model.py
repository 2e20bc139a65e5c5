"""`Model`: what was learnt of workers, and how tasks are scored by it. Arrays in, arrays out.

A model knows workers, classes and tasks by their codes. It keeps agreement sums, and whatever else
it learns; `Estimator` gives it names, verbs and files, `Stream` runs its `scoring` in a loop. To
write one, say how tasks are scored (`scorer`, `scoring`) and what is known of workers (`read`).
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.models.copies import Copies
from crowdstream.models.dependence import NOT_MEASURED, Dependence
from crowdstream.models.fallback import MAJORITY
from crowdstream.models.newcomers import AGAINST, newcomers_against
from crowdstream.models.passes import AddTasks, TaskTable
from crowdstream.models.scorer import CELLS, Scorer
from crowdstream.models.scoring_loops import Scoring
from crowdstream.schedule import Schedule
from crowdstream.serialization import Packed, over, under
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.forgetting import Forgetting

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Use: TypeAlias = Callable[[int, int, Floats, Scorer], None]
"""What takes the scores of the tasks from a first to a last, as each was scored in its turn."""


@dataclass
class WorkerReading:
    """What a model reads from its sums, one entry per worker.

    ``solved``: whose error rate is known; ``apart``: who shares no task with the main group;
    ``confusions`` n×K×K: how often a class (rows) is called each; without them errors are spread
    evenly. ``prior``: how frequent the classes are; without it all alike. ``ways``: error rates by
    each way of reading them, one row each, where there are several. ``copies``, ``suspects``: who
    is found to copy, and of whom that is in doubt, where it is looked for. ``weigh`` finds
    ``weights``, what a worker's vote adds, which takes longer than all else and few ask for.
    """

    errors: Floats
    weigh: Callable[[], Floats]
    solved: Flags
    apart: Flags
    confusions: Floats | None = None
    prior: Floats | None = None
    ways: Floats | None = None
    copies: Flags | None = None
    suspects: Flags | None = None

    @functools.cached_property
    def weights(self) -> Floats:
        """Log-odds that each worker's vote adds, while the model is as it was read."""
        return self.weigh()


class Model(ABC):
    """Agreement sums, their scale and clock, and how tasks are scored by them.

    Parameters
    ----------
    memory
        About how many tasks to remember; ``None``: all.
    families
        How many families of workers are declared.
    """

    version: ClassVar[int] = 1
    """Of the arrays that it saves; raised when they change."""
    weighs: ClassVar[bool] = True
    """Whether votes are weighted. If False, falling back to majority vote raises no warning."""
    order_free: ClassVar[bool] = True
    """Whether, without forgetting, the order of tasks learnt one by one does not matter."""
    adds_up: ClassVar[bool] = True
    """Whether, without forgetting, `fit` is sums over tasks, wherever these are."""
    reversible: ClassVar[bool] = True
    """Whether tasks can be taken back and models merged."""
    copies: Copies | None = None
    """Groups of workers who copy, or may do so; None where that is not looked for."""

    in_loop: ClassVar[bool] = True
    """Whether a stream's compiled loop can run it, by its `scoring`."""

    def __init__(self, memory: float | None = None, families: int = 0) -> None:
        self.sums = AgreementSums(families)
        self.scale = Forgetting(memory)
        self.forgets = memory is not None
        self.clock = 0
        """Tasks that were opened or learnt."""
        self.named = 0
        """Classes that were ever seen."""
        self.many = False
        """Whether classes share places, there being very many."""
        self.schedule = Schedule()
        """When readings that a stream keeps are due."""
        self._against = AGAINST
        self._stale = True

    @property
    def unit(self) -> float:
        """Return what the newest task counts."""
        return self.scale.weight(max(self.clock - 1, 0))

    # Room ------------------------------------------------------------------------------------

    def make_room(self, workers: int, classes: int, named: int) -> None:
        """Have room for so many workers and classes, of which ``named`` were seen."""
        self.named = named
        self.sums.make_room(workers, classes)

    def reserve(self, workers: int) -> None:
        """Have room for so many workers, some of whom a stream's loop may meet by itself."""
        self.sums.reserve(workers)

    def fold(self, homes: Codes, places: int) -> Model:
        """The model to go on with where classes share places; class a goes to ``homes[a]``."""
        self.sums.fold(homes, places)
        self.many = True
        return self

    # Learning --------------------------------------------------------------------------------

    def learn(self, batch: LabelBatch, sign: int = 1) -> None:
        """Learn tasks in order (sign 1), or take them back (−1)."""
        self._changed()
        if sign < 0:
            self.clock -= len(batch)
            self.sums.add(batch, -self.scale.weight(self.clock), self.scale.growth)
            return
        at = 0
        while at < len(batch):
            end = min(at + self.scale.make_room(self.clock, self.arrays()), len(batch))
            self.sums.add(batch.part(at, end), self.scale.weight(self.clock), self.scale.growth)
            self.clock += end - at
            at = end

    def follow(self, batch: LabelBatch, scored: LabelBatch, use: Use) -> None:
        """Score each task by those before it, then learn it; ``use`` takes the scores.

        ``batch``: the tasks as they are learnt; ``scored``: as they are scored, which is another
        batch where classes share places.
        """
        for first, last in self._parts(batch):
            part = batch.part(first, last)
            scores = np.empty((last - first, self.sums.classes))
            weight, growth = self.scale.weight(self.clock), self.scale.growth
            scoring = self.scoring
            if scored is batch:
                scoring.follow(part.coded, weight, growth, scores)
            else:
                for t in range(last - first):
                    asked, told = scored.part(first + t, first + t + 1), part.part(t, t + 1)
                    scoring.score_tasks(asked.coded, scores[t : t + 1])
                    scoring.learn_all(told.coded, weight, growth)
                    weight *= growth
            use(first, last, scores, self.scored())
            self.clock += last - first
        self._changed()

    def _parts(self, batch: LabelBatch) -> Iterator[tuple[int, int]]:
        """Parts of a batch that is learnt, within what memory and numbers hold."""
        at, most = 0, max(CELLS // self.sums.classes, 1)
        while at < len(batch):
            ahead = min(self.scale.make_room(self.clock, self.arrays()), most)
            end = min(at + ahead, len(batch))
            yield at, end
            at = end

    def fit(self, table: TaskTable) -> None:
        """Learn a whole table, nothing having been learnt before."""
        self.learn_table(table)

    def learn_table(self, table: TaskTable) -> None:
        """Learn more tasks as a whole, in passes over them: the same sums however they are divided.

        Where the order of tasks matters they are gone through in order, in memory.
        """
        if self.forgets or not self.adds_up:
            self.learn(table.batch)
            return
        self._changed()
        (found,) = table.add_up([AddTasks(self.sums)])
        self.sums.add_sums(found)
        self.clock = int(self.sums.total[0])

    def replace_open(self, before: AgreementSums, now: AgreementSums) -> None:
        """Learn the agreement of tasks that are open, in place of what they were before.

        So that a stream in which every task is still open already teaches. Once a task is closed
        `learn_table` learns it.
        """
        self._changed()
        self.sums.remove_sums(before)
        self.sums.add_sums(now)
        self.clock = int(self.sums.total[0])

    # Open tasks of a stream ------------------------------------------------------------------

    def open(self) -> int:
        """Open a task: its place in the order of tasks."""
        self.renew_if_due()
        self.scale.make_room(self.clock, self.arrays())
        self.clock += 1
        return self.clock - 1

    def learn_open(self, batch: LabelBatch, sign: int, place: int) -> None:
        """Learn of an open task what can be taken back, or take it back."""
        truth = int(batch.truths[0]) if batch.truths.size else -1
        weight = sign * self.scale.weight(place)
        self.scoring.add(batch.coded, batch.labels.size, truth, weight)

    def score_open(self, batch: LabelBatch, own: float, scores: Floats) -> Scorer:
        """Score an open task that counts ``own`` in the sums, its own labels left out."""
        if self.in_loop:
            self.scoring.ask(batch.coded, batch.labels.size, own, scores)
            return self.scored()
        scorer = self.scorer()
        scorer.score(batch, scores)
        return scorer

    # Readings that a stream keeps ------------------------------------------------------------

    @property
    @abstractmethod
    def scoring(self) -> Scoring:
        """Return what scores open tasks, by readings that are renewed as `schedule` says."""

    def renew(self) -> None:
        """Read anew what all workers share."""
        self._stale = False
        self.schedule.renewed(self.clock, float(self.sums.total[2]))
        if self.weighs:
            self._against = newcomers_against(self.sums, self.unit)

    def _changed(self) -> None:
        """Tasks were learnt as a whole: readings are to be of the sums as they are."""
        self._stale = True

    def refresh(self) -> None:
        """`renew` if tasks were learnt as a whole since."""
        if self._stale:
            self.renew()

    def renew_if_due(self) -> None:
        """`renew` if there are so many more tasks."""
        if self.clock > self.schedule.after_tasks:
            self.renew()

    def renew_for_label(self) -> None:
        """`renew` if there are so many more labels."""
        if self.schedule.has_many_more_labels(float(self.sums.total[2]), self.unit):
            self.renew()

    @property
    def against(self) -> float:
        """Return what newcomers' labels counted against decisions when readings were renewed."""
        self.refresh()
        return self._against

    # Tasks that close ------------------------------------------------------------------------

    def close(self, batch: LabelBatch, place: int) -> None:
        """Learn what the labels of an open task have not taught yet: it closes."""
        truth = int(batch.truths[0]) if batch.truths.size else -1
        self.scoring.finish(batch.coded, batch.labels.size, truth, self.scale.weight(place))
        self.closed(batch, np.array([place]))

    def closed(self, batch: LabelBatch, places: Ints, just_now: bool = True) -> None:  # noqa: B027
        """Tasks that were at these places have closed, and their posteriors are counted.

        ``just_now``: whether the last one is the newest event; else nothing was due then.
        """

    @property
    def line(self) -> tuple[float, float, float] | None:
        """Shift, slope and ceiling by which known truths correct confidences, if any do."""
        return None

    @property
    def due_at(self) -> int:
        """The tasks from which on a task that closes has something to be done at once."""
        return 2**62

    # Scores ----------------------------------------------------------------------------------

    @abstractmethod
    def scorer(self) -> Scorer:
        """Return how tasks that were not learnt are scored."""

    def scored(self) -> Scorer:
        """Return the same for scores that `scoring` has made."""
        return MAJORITY if self.scoring.fell_back else Scorer(MAJORITY.score, identified=True)

    def score_one(self, task: LabelBatch, scores: Floats) -> Scorer | None:
        """Score one task that was not learnt, faster than by `scorer`; ``None`` if it cannot be."""
        return None

    # Reading ---------------------------------------------------------------------------------

    @abstractmethod
    def identify(self) -> tuple[bool, str]:
        """Return whether the labels determine the error rates, and if not, why."""

    @abstractmethod
    def skills(self) -> Floats:
        """How much better than chance each worker is: 1 always right, 0 guessing, below 0 worse."""

    @property
    @abstractmethod
    def mean_skill(self) -> float:
        """The skill of a worker of whom nothing is known."""

    @property
    def mean_accuracy(self) -> float:
        """Return how often such a worker is right."""
        chance = 1.0 / self.sums.classes
        return chance + (1.0 - chance) * self.mean_skill

    @abstractmethod
    def read(self) -> WorkerReading:
        """Return what is known of every worker."""

    @property
    def excess_correlation(self) -> float:
        """How much more errors within a task are correlated than independent ones would be."""
        return 0.0

    @property
    def dependence(self) -> Dependence:
        """Return whether workers err together, where that is measured."""
        return Dependence(NOT_MEASURED)

    @property
    def doubt(self) -> float:
        """Return how much intervals allow for joint errors, from 0 to 1; 0 unless measured."""
        return 0.0

    @property
    def changing(self) -> bool:
        """Return True while evidence shows that workers change; recent answers decide then."""
        return False

    @property
    def calibration(self) -> str:
        """What confidence rests on: "gold", "independence" or "none" but the model itself."""
        return "none"

    def doubts(self) -> list[Warning]:
        """Return what is in doubt about its decisions, beside whether votes could be weighted."""
        return []

    # Merging and saving ----------------------------------------------------------------------

    def arrays(self) -> list[Floats]:
        """All sums that forgetting scales."""
        return self.sums.arrays()

    def rescale(self) -> None:
        """Bring sums to units of the newest task."""
        self.scale.renormalise(max(self.clock - 1, 0), self.arrays())

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add what another learnt; its worker i is ``names[i]``, its class a ``classes[a]``."""
        self._changed()
        self.sums.merge(other.sums, names, classes)

    def pack(self) -> Packed:
        """Return what was learnt, as arrays."""
        self.refresh()
        marks = {
            "tasks": np.array(self.schedule.tasks),
            "labels": np.array(self.schedule.labels),
            "against": np.array(self._against),
        }
        return self.sums.pack() | over("renewed", marks)

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `pack` gave; there is room already."""
        self.sums.unpack(arrays, self.sums.workers, self.sums.classes)
        marks = {name: value.item() for name, value in under("renewed", arrays).items()}
        self.schedule.tasks, self.schedule.labels = marks["tasks"], marks["labels"]
        self._against, self._stale = marks["against"], False
