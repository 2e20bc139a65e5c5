"""`Tracking`: follows workers who change, without being told how fast."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import NotIdentifiable
from crowdstream.estimators.base import SETTLE, Estimator, Identifiability
from crowdstream.estimators.observer import Packed
from crowdstream.estimators.open_task import OpenTask
from crowdstream.estimators.reading import read_teacher, why_not
from crowdstream.estimators.tracking_loops import Bank
from crowdstream.estimators.votes import Scorer, Ties, Votes, check_ties, choose, majority
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.labels import Table, TaskId, Truths
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.sums.agreement import AgreementSums, fill

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

HORIZONS = (8, 16, 64, 256, 1024)
"""Own answers after which what a worker did counts 1/e; beside them one that never forgets."""

KEEP: Floats = np.array([1.0 - 1.0 / horizon for horizon in HORIZONS] + [1.0])
"""What an answer leaves of the sums at each horizon."""

RENEW = 1.05
"""Growth in tasks after which it is asked anew whether the crowd can be identified."""

NO_SCORES: Floats = np.empty((0, 2))


class HorizonSums:
    """What is learnt of every worker at each horizon, and of the crowd: arrays with room to spare.

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
        self._classes = 2
        self.loops = self._bind(0)

    def _bind(self, named: int) -> Bank:
        room = np.empty(KEEP.size), np.empty(self._classes)
        bank = Bank(self._rows, self.crowd, self.total, KEEP, *room)
        bank.named = named
        return bank

    def make_room(self, workers: int, classes: int) -> None:
        """Let there be rows for so many workers, and room to score so many classes."""
        room = len(self._rows)
        if workers > room or classes > self._classes:
            rows = np.zeros((max(workers, 2 * room, 16) if workers > room else room, 3 * KEEP.size))
            rows[:room] = self._rows
            self._rows, self._classes = rows, max(classes, self._classes)
            self.loops = self._bind(self.loops.named)
        self.workers = max(self.workers, workers)

    @property
    def rows(self) -> Floats:
        """One row per worker, without spare room."""
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
        """The arrays, without spare room."""
        return {"horizons": self.rows, "crowd": self.crowd, "total_skill": self.total}

    def unpack(self, arrays: Packed, workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        self.make_room(workers, classes)
        fill({"horizons": self.rows, "crowd": self.crowd, "total_skill": self.total}, arrays)
        self.loops.named = classes


class Tracking(Estimator):
    """Follows workers who change, each as fast as it does, without being told how fast.

    What a worker did is summed up at six horizons, from its last 8 answers to all it ever gave.
    A label is foreseen at each horizon, from the other labels of its task alone; a horizon is
    believed as far as it foresees, for the worker and for the crowd. So one skill per worker
    decides, shrunk towards the crowd's mean by as much as workers are alike. Time per label and
    memory per worker are constant.

    Where nobody changes it is nearly as good as one skill for ever; where errors differ from class
    to class, or classes are of very different frequency, `Adaptive` knows more.

    Parameters
    ----------
    ties
        ``"coin"``: a fair coin, seeded; ``"lowest"``: the lowest class in sorting order.
    seed
        Random seed for breaking ties.

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

    order_free = False
    follows = True
    _horizons_: HorizonSums | None = None
    _reason: str = "no two workers share a task"
    _majority: bool = True
    _closed: int = 0
    """Tasks that the horizons have learnt."""
    _renewed: int = 0

    def __init__(self, ties: Ties = "coin", seed: int = 0) -> None:
        self.ties = ties
        self.seed = seed
        check_ties(ties, seed)

    # State -----------------------------------------------------------------------------------

    @property
    def _horizons(self) -> HorizonSums:
        if self._horizons_ is None:
            self._horizons_ = HorizonSums()
        return self._horizons_

    def _make_room(self) -> None:
        super()._make_room()
        self._horizons.make_room(len(self._workers), len(self._classes))

    def _due(self) -> int:
        """How many tasks may be learnt before it is to be asked anew what can be identified.

        An open task counts when it opens and again when it closes.
        """
        left = int(self._renewed * RENEW) + 1 - self._clock - self._closed
        return (left + 1) // 2

    def _renew(self) -> None:
        """Ask anew whether the crowd can be identified."""
        named = self._horizons.loops.named
        self._reason = why_not(read_teacher(narrowed(self._sums, named), 1.0), named)
        self._majority = bool(self._reason) and not self._sums.told.any()
        self._renewed = self._clock + self._closed

    # Learning --------------------------------------------------------------------------------

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        if sign > 0:
            self._go_through(batch)
            return
        super()._learn(batch, sign)
        self._horizons.loops.take_back(
            batch.starts, batch.workers, batch.labels, batch.truths, work_for(batch)
        )
        self._closed -= len(batch)
        self._renew()

    def _follow(self, batch: LabelBatch) -> Votes:
        n = len(batch)
        votes = Votes.room(n)
        self._go_through(batch, votes)
        return votes._replace(identified=not self._majority)

    def _go_through(self, batch: LabelBatch, votes: Votes | None = None) -> None:
        """Learn tasks in order, deciding each before where decisions are asked for."""
        work, named = work_for(batch), len(self._classes)
        at = 0
        while at < len(batch):
            end = min(at + max(self._due(), 1), len(batch))
            part = batch.part(at, end)
            scores = NO_SCORES if votes is None else np.empty((len(part), max(named, 2)))
            self._horizons.loops.follow(
                part.starts, part.workers, part.labels, part.truths, work, self._majority, scores
            )
            if votes is not None:
                room = votes.part(at, end)
                keys = self._keys(self._classes)
                choose(part, scores, room, named, keys, self.ties, self.seed, 0.0)
            self._sums.add(part)
            self._clock += len(part)
            self._closed += len(part)
            if self._due() <= 0:
                self._renew()
            at = end

    def fit_predict(
        self, data: Table, *, gold: Truths | None = None, settle: float = SETTLE
    ) -> pl.DataFrame:
        """`fit` in the order given, and what was decided of each task from those before it.

        Workers change: what they are worth in the end says nothing of what they were worth when
        an early task was answered. `predict_many` decides by what they are worth in the end.
        """
        afresh = self.clone()
        table = afresh.stream_many(data, gold=gold, settle=settle)
        self._become(afresh)
        if table.height and not self.identifiable_:
            reason = f"{self.identifiable_.reason}: fell back to majority vote"
            warnings.warn(reason, NotIdentifiable, stacklevel=2)
        return table

    # An open task of a stream ----------------------------------------------------------------

    def open_task(self, name: TaskId) -> OpenTask:
        """A task that will take labels; its place in the order of tasks is now."""
        task = super().open_task(name)
        if self._due() <= 0:
            self._renew()
        return task

    def _learn_open(self, batch: LabelBatch, sign: int, place: int) -> None:
        super()._learn_open(batch, sign, place)
        self._horizons.loops.named = len(self._classes)

    def _learn_closed(self, batch: LabelBatch, place: int) -> None:
        self._horizons.loops.follow(
            batch.starts, batch.workers, batch.labels, batch.truths, work_for(batch), False,
            NO_SCORES,
        )  # fmt: skip
        self._closed += len(batch)
        if self._due() <= 0:
            self._renew()

    def _score_open(self, task: OpenTask) -> tuple[Scorer, Floats]:
        scorer = self._scorer(self._sums, len(self._classes))  # which its own labels are not in
        scores = np.empty((1, max(len(self._classes), 2)))
        scorer.score(task.batch(), scores)
        return scorer, scores

    # Reading ---------------------------------------------------------------------------------

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        bank = self._horizons.loops
        bank.prepare(classes)
        if self._majority:
            return Scorer(majority, identified=False)

        def score(batch: LabelBatch, scores: Floats) -> None:
            bank.score(batch.starts, batch.workers, batch.labels, scores)

        return Scorer(score, identified=True)

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far say who is to be trusted, and if not, why."""
        if self._horizons.workers and self._reason and not self._majority:
            return Identifiability(True, "only by the truths that were given")
        return Identifiability(not self._reason, self._reason)

    def skills(self) -> Floats:
        """How much better than chance each worker is now."""
        found = np.empty(len(self._workers))
        bank = self._horizons.loops
        bank.prepare(len(self._classes))
        bank.fill_skills(found)
        return found

    @property
    def mean_skill_(self) -> float:
        """The same of a worker of whom nothing is known."""
        bank = self._horizons.loops
        bank.prepare(len(self._classes))
        return bank.mean

    def _read(self) -> WorkerReading:
        sums, skills = self._sums, self.skills()
        k, weights = sums.classes, np.empty(sums.workers)
        self._horizons.loops.fill_weights(weights)
        known = bool(self.identifiable_)
        apart = sums.groups != main_group(sums)
        return WorkerReading(
            answers=sums.answers,
            errors=np.clip((1.0 - skills) * (1.0 - 1.0 / k), 0.0, 1.0),
            weights=weights,
            agree=sums.agree,
            met=sums.met,
            said=sums.said,
            solved=np.full(sums.workers, known) & (~apart | bool(self._reason)),
            apart=apart & known,
            forgets=False,
        )

    # Merging and saving ----------------------------------------------------------------------

    def _merge(self, other: Estimator, names: Ints, classes: Ints) -> None:
        assert isinstance(other, Tracking)
        super()._merge(other, names, classes)
        theirs = other._horizons
        self._horizons.merge(theirs, names)
        self._horizons.loops.named = len(self._classes)
        self._clock += other._clock
        self._closed += other._closed
        self._renew()

    def _pack(self) -> Packed:
        found = super()._pack() | self._horizons.pack()
        found["moments"] = np.array([self._closed, self._renewed, self._majority], np.int64)
        found["reason"] = np.frombuffer(self._reason.encode(), np.uint8)
        return found

    def _unpack(self, arrays: Packed) -> None:
        super()._unpack(arrays)
        self._horizons.unpack(arrays, len(self._workers), len(self._classes))
        self._closed, self._renewed, majority = arrays["moments"].tolist()
        self._majority = bool(majority)
        self._reason = arrays["reason"].tobytes().decode()


def work_for(batch: LabelBatch) -> Floats:
    """Two rows with room for the labels of any of these tasks."""
    return np.empty((2, int(batch.sizes.max(initial=1))))


def main_group(sums: AgreementSums) -> int:
    """Who stands for the largest group of workers who share tasks."""
    if not sums.workers:
        return -1
    return int(np.bincount(sums.groups, sums.met > 0, sums.workers).argmax())


def narrowed(sums: AgreementSums, classes: int) -> AgreementSums:
    """The sums with columns for the first classes only: the others have not been named yet."""
    if max(classes, 2) == sums.classes:
        return sums
    found = AgreementSums(len(sums.kin))
    found.make_room(sums.workers, classes)
    found.merge(sums, np.arange(sums.workers), np.arange(classes))
    return found
