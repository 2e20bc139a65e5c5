"""`Tracking`: follows workers who change, each as fast as it does. Knows workers by codes only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import Votes
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.fallback import MAJORITY, NO_MEETINGS, verdict, why_not
from crowdstream.estimators.observer import Packed
from crowdstream.estimators.open_tasks import OpenTask
from crowdstream.estimators.parameters import Ties
from crowdstream.estimators.state import Identifiability
from crowdstream.estimators.teacher import error_rates, read_teacher
from crowdstream.estimators.tracking_loops import Horizons
from crowdstream.estimators.votes import Scorer, choose
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.labels import TaskId
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.sums.agreement import AgreementSums, fill
from crowdstream.sums.growing import grown

Floats = NDArray[np.float64]

HORIZONS = (8, 16, 64, 256, 1024)
"""Own answers after which what a worker did counts 1/e; beside them one that never forgets."""

KEEP: Floats = np.array([1.0 - 1.0 / horizon for horizon in HORIZONS] + [1.0])
"""What an answer leaves of the sums at each horizon."""

RENEW = 1.05
"""Growth in tasks after which it is found out again whether the crowd can be identified."""

NO_SCORES: Floats = np.empty((0, 2))


class HorizonSums:
    """What is learnt of every worker at each horizon, and of the crowd.

    ``rows``: B, C and weights; ``crowd``: spread, pairs and belief of each horizon; ``total``: see
    `crowdstream.estimators.tracking_loops`.
    """

    def __init__(self) -> None:
        horizons = KEEP.size
        self.workers = 0
        self._rows: Floats = np.zeros((0, 3 * horizons))
        self.crowd: Floats = np.zeros((4, horizons))
        self.crowd[2] = 1.0 / horizons
        self.crowd[3] = 1.0
        self.total: Floats = np.zeros(6)
        self._odds: Floats = np.empty(2)
        self.loops = Horizons(self.crowd, self.total, KEEP, np.empty(horizons))
        self.loops.bind(self._rows, self._odds)

    def make_room(self, workers: int, classes: int) -> None:
        """Have rows for so many workers, and space to score so many classes."""
        before = self._rows, self._odds
        self._rows, self._odds = grown(self._rows, workers), grown(self._odds, classes)
        if before[0] is not self._rows or before[1] is not self._odds:
            self.loops.bind(self._rows, self._odds)
        self.workers = max(self.workers, workers)

    @property
    def rows(self) -> Floats:
        """One row per worker, without spare rows."""
        return self._rows[: self.workers]

    def merge(self, other: HorizonSums, names: Ints) -> None:
        """Add another crowd's sums; weights of horizons are averaged by what each crowd saw."""
        n = KEEP.size
        mine, theirs = self._rows[names], other.rows
        seen = mine[:, 2 * n - 1 : 2 * n], theirs[:, 2 * n - 1 : 2 * n]
        both = np.maximum(seen[0] + seen[1], 1e-300)
        weights = (seen[0] * mine[:, 2 * n :] + seen[1] * theirs[:, 2 * n :]) / both
        mine[:, : 2 * n] += theirs[:, : 2 * n]
        mine[:, 2 * n :] = weights
        self._rows[names] = mine
        tasks = self.total[3], other.total[3]
        if sum(tasks) > 0:
            belief = (tasks[0] * self.crowd[2] + tasks[1] * other.crowd[2]) / sum(tasks)
            self.crowd[2] = belief
        self.crowd[:2] += other.crowd[:2]
        self.total += other.total

    def pack(self) -> Packed:
        """The arrays, without spare rows."""
        return {"horizons": self.rows, "crowd": self.crowd, "total_skill": self.total}

    def unpack(self, arrays: Packed, workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        self.make_room(workers, classes)
        fill(self.pack(), arrays)
        self.loops.named = classes


@dataclass(eq=False, repr=False)
class Tracking(Estimator):
    """Follows workers who change, each as fast as it does, without a memory to choose.

    What a worker did is summed up at six horizons, from its last 8 answers to all it ever gave.
    A label is foreseen at each horizon, from the other labels of its task alone; a horizon is
    believed as far as it foresees, for the worker and for the crowd. So one skill per worker
    decides, shrunk towards the crowd's mean by as much as workers are alike. Time per label and
    memory per worker are constant.

    Where nobody changes it is nearly as good as one skill for ever; where errors differ from class
    to class, or classes are of very different frequency, `Adaptive` knows more.

    Parameters
    ----------
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes.

    Notes
    -----
    Tasks are learnt in the order given, and the order matters. `unlearn_one` takes the agreement
    sums back to the bit; the skills it takes back by what is known now, as if the task had been
    its workers' last, and leaves the horizons' weights as they are. Merging adds up the sums at
    each horizon, which is an approximation: two crowds' last answers are not one crowd's.

    Examples
    --------
    >>> crowd = Tracking()
    >>> for task, truth in enumerate(["spam", "ham", "ham", "spam"] * 50):
    ...     wrong = "ham" if truth == "spam" else "spam"
    ...     tired = wrong if task >= 160 else truth
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "di": tired})
    >>> bool(crowd.skill_of("di") < 0.0)  # right 160 times, wrong the last 40 times
    True
    >>> crowd.predict_one({"ann": "spam", "di": "ham"})
    'spam'

    References
    ----------
    M. Herbster and M. Warmuth, Tracking the best expert, 1998 (mixing that lets the best change).
    """

    ties: Ties = "coin"
    seed: int = 0
    order_free = False
    adds_up = False
    follows = True
    _reason = NO_MEETINGS
    """Why the crowd cannot be identified by agreement, if so."""
    _fell_back = True
    _closed = 0
    """Tasks that the horizons have learnt."""
    _renewed = 0
    """How many tasks had opened and closed when it was last asked what can be identified."""

    # State -----------------------------------------------------------------------------------

    @cached_property
    def _horizons(self) -> HorizonSums:
        return HorizonSums()

    def _make_room(self) -> None:
        super()._make_room()
        self._horizons.make_room(len(self._workers), self._places)

    def _fold(self, homes: Codes) -> None:
        super()._fold(homes)
        self._horizons.make_room(len(self._workers), self._places)
        self._horizons.loops.named = self._places
        self._renew()

    def _due(self) -> int:
        """How many tasks may be learnt before `_renew`.

        An open task counts when it opens and again when it closes.
        """
        left = int(self._renewed * RENEW) + 1 - self._clock - self._closed
        return (left + 1) // 2

    def _renew(self) -> None:
        """Find out again whether the crowd can be identified."""
        named = self._horizons.loops.named
        self._reason = why_not(read_teacher(self._sums.narrowed(named), 1.0), named)
        self._fell_back = bool(self._reason) and not self._sums.known.any()
        self._renewed = self._clock + self._closed

    # Learning --------------------------------------------------------------------------------

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        if sign > 0:
            self._go_through(batch, batch)
            return
        super()._learn(batch, sign)
        self._horizons.loops.take_back(batch.coded, work_for(batch))
        self._closed -= len(batch)
        self._renew()

    def _follow(self, batch: LabelBatch) -> Votes:
        votes = Votes.room(len(batch))
        self._go_through(self._learnt_as(batch), self._scored_as(batch, self._classes), votes)
        return votes._replace(identified=not self._fell_back)

    def _go_through(
        self, batch: LabelBatch, scored: LabelBatch, votes: Votes | None = None
    ) -> None:
        """Learn tasks in order, deciding each before where decisions are asked for.

        Where classes share places, labels are scored by other codes than they are learnt by
        (``scored``), a part of the tasks at a time.
        """
        loops = self._horizons.loops
        work, named = work_for(batch), self._places
        at = 0
        while at < len(batch):
            end = min(at + max(self._due(), 1), len(batch))
            part = batch.part(at, end)
            scores = NO_SCORES if votes is None else np.empty((len(part), max(named, 2)))
            apart = votes is not None and self._folding is not None
            if apart:
                self._scorer(self._sums, named).score(scored.part(at, end), scores)
            in_turn = NO_SCORES if apart else scores
            loops.follow(part.coded, work, self._fell_back, in_turn)
            if votes is not None:
                here, ties = votes.part(at, end), self._ties(self._classes)
                choose(scored.part(at, end), scores, here, named, ties, 0.0)
            self._sums.add(part)
            self._clock += len(part)
            self._closed += len(part)
            if self._due() <= 0:
                self._renew()
            at = end

    # An open task of a stream ----------------------------------------------------------------

    def _open_task(self, name: TaskId) -> OpenTask:
        """A task that will take labels; its place in the order of tasks is now."""
        task = super()._open_task(name)
        if self._due() <= 0:
            self._renew()
        return task

    def _learn_open(self, batch: LabelBatch, sign: int, place: int) -> None:
        super()._learn_open(batch, sign, place)
        self._horizons.loops.named = self._places

    def _learn_closed(self, batch: LabelBatch, place: int) -> None:
        self._horizons.loops.follow(batch.coded, work_for(batch), False, NO_SCORES)
        self._closed += len(batch)
        if self._due() <= 0:
            self._renew()

    def _score_open(self, task: OpenTask) -> tuple[Scorer, Floats]:
        scorer = self._scorer(self._sums, self._places)  # which its own labels are not in
        scores = np.empty((1, max(self._places, 2)))
        scorer.score(self._open_scored(task), scores)
        return scorer, scores

    # Reading ---------------------------------------------------------------------------------

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        loops = self._horizons.loops
        loops.prepare(classes)
        if self._fell_back:
            return MAJORITY

        def score(batch: LabelBatch, scores: Floats) -> None:
            loops.score(batch.coded, scores)

        return Scorer(score, identified=True)

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far say who is to be trusted, and if not, why."""
        return Identifiability(*verdict(self._reason, self._fell_back))

    def _skills(self) -> Floats:
        """How much better than chance each worker is now."""
        found = np.empty(len(self._workers))
        self._prepared().fill_skills(found)
        return found

    @property
    def mean_skill_(self) -> float:
        """The skill of a worker about whom nothing is known."""
        return self._prepared().mean

    def _prepared(self) -> Horizons:
        self._horizons.loops.prepare(self._places)
        return self._horizons.loops

    def _read(self) -> WorkerReading:
        sums, skills = self._sums, self._skills()
        k, weights = sums.classes, np.empty(sums.workers)
        self._horizons.loops.fill_weights(weights)
        known = bool(self.identifiable_)
        apart = sums.groups != sums.main_group
        return WorkerReading(
            errors=error_rates(skills, k),
            weights=weights,
            solved=np.full(sums.workers, known) & (~apart | bool(self._reason)),
            apart=apart & known,
        )

    # Merging and saving ----------------------------------------------------------------------

    def _merge(self, other: Estimator, names: Ints, classes: Ints) -> None:
        assert isinstance(other, Tracking)
        super()._merge(other, names, classes)
        self._horizons.merge(other._horizons, names)
        self._horizons.loops.named = self._places
        self._clock += other._clock
        self._closed += other._closed
        self._renew()

    def _pack(self) -> Packed:
        found = super()._pack() | self._horizons.pack()
        found["moments"] = np.array([self._closed, self._renewed, self._fell_back], np.int64)
        found["reason"] = np.frombuffer(self._reason.encode(), np.uint8)
        return found

    def _unpack(self, arrays: Packed) -> None:
        super()._unpack(arrays)
        self._horizons.unpack(arrays, len(self._workers), self._places)
        self._closed, self._renewed, fell_back = arrays["moments"].tolist()
        self._fell_back = bool(fell_back)
        self._reason = arrays["reason"].tobytes().decode()


def work_for(batch: LabelBatch) -> Floats:
    """Two rows with space for the labels of any of these tasks."""
    return np.empty((2, int(batch.sizes.max(initial=1))))
