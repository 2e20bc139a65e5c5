"""`ManyHorizons`: skills that change, at several horizons, each believed as far as it foresees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.models.fallback import MAJORITY, NO_MEETINGS, verdict, why_not
from crowdstream.models.horizon_loops import Horizons
from crowdstream.models.model import Floats, Model, Use, WorkerReading
from crowdstream.models.newcomers import newcomers_against
from crowdstream.models.scorer import Scorer
from crowdstream.models.scoring_loops import Scoring
from crowdstream.models.teacher import error_rates, read_teacher
from crowdstream.schedule import MONITORS
from crowdstream.serialization import Packed
from crowdstream.sums.agreement import fill
from crowdstream.sums.growing import grown

HORIZONS = (8, 16, 64, 256, 1024)
"""Own answers after which what a worker did counts 1/e; beside them one that never forgets."""

KEEP: Floats = np.array([1.0 - 1.0 / horizon for horizon in HORIZONS] + [1.0])
"""What an answer leaves of the sums at each horizon."""

NO_SCORES: Floats = np.empty((0, 2))


class HorizonSums:
    """What is learnt of every worker at each horizon, and of the crowd.

    ``rows``: B, C and weights; ``crowd``: spread, pairs and belief of each horizon; ``total``: see
    `crowdstream.models.horizon_loops`.
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

    def unpack(self, arrays: Mapping[str, NDArray[Any]], workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        self.make_room(workers, classes)
        fill(self.pack(), arrays)
        self.loops.named = classes


class ManyHorizons(Model):
    """Agreement sums, of which it is read whether the crowd can be identified, and horizons."""

    order_free = False
    adds_up = False
    follows = True
    in_loop = False

    def __init__(self) -> None:
        super().__init__()
        self.horizons = HorizonSums()
        self.reason = NO_MEETINGS
        """Why the crowd cannot be identified by agreement, if so."""
        self.fell_back = True
        self.finished = 0
        """Tasks that the horizons have learnt."""
        self.renewed = 0
        """How many tasks had opened and closed when it was last asked what can be identified."""
        self._stale = False
        self._votes = Scoring(self.sums.loops)

    @property
    def scoring(self) -> Scoring:
        """What adds labels to the sums; how tasks are scored, `scorer` says."""
        return self._votes

    def _changed(self) -> None:
        """It is found out by its own schedule what can be identified."""

    @property
    def against(self) -> float:
        """What newcomers' labels count against decisions now."""
        return newcomers_against(self.sums, self.unit)

    def make_room(self, workers: int, classes: int, named: int) -> None:
        """Have room for so many workers and classes."""
        super().make_room(workers, classes, named)
        self.horizons.make_room(workers, classes)

    def fold(self, homes: Codes, places: int) -> Model:
        """Go on by places."""
        super().fold(homes, places)
        self.horizons.make_room(self.sums.workers, places)
        self.horizons.loops.named = places
        self.renew()
        return self

    def renew(self) -> None:
        """Find out again whether the crowd can be identified."""
        named = self.horizons.loops.named
        self.reason = why_not(read_teacher(self.sums.narrowed(named), 1.0), named)
        self.fell_back = bool(self.reason) and not self.sums.known.any()
        self.renewed = self.clock + self.finished

    def _left(self) -> int:
        """How many tasks may be learnt before `renew`; each counts as it opens and as it closes."""
        return (int(self.renewed * MONITORS) + 2 - self.clock - self.finished) // 2

    def renew_if_due(self) -> None:
        """`renew` if there are so many more tasks."""
        if self._left() <= 0:
            self.renew()

    # Learning --------------------------------------------------------------------------------

    def learn(self, batch: LabelBatch, sign: int = 1) -> None:
        """Learn tasks in order, or take them back."""
        if sign > 0:
            self._go_through(batch, batch, None)
            return
        super().learn(batch, sign)
        self.horizons.loops.take_back(batch.coded, work_for(batch))
        self.finished -= len(batch)
        self.renew()

    def follow(self, batch: LabelBatch, scored: LabelBatch, use: Use) -> None:
        """Score each task by those before it, then learn it."""
        self._go_through(batch, scored, use)

    def _go_through(self, batch: LabelBatch, scored: LabelBatch, use: Use | None) -> None:
        """Learn tasks in order, scoring each before where scores are asked for."""
        loops, work = self.horizons.loops, work_for(batch)
        for first, last in self._parts(batch):
            part = batch.part(first, last)
            scores = NO_SCORES if use is None else np.empty((last - first, self.sums.classes))
            apart = use is not None and scored is not batch
            if apart:
                self.scorer().score(scored.part(first, last), scores)
            loops.follow(part.coded, work, self.fell_back, NO_SCORES if apart else scores)
            if use is not None:
                use(first, last, scores, self.scored())
            self.sums.add(part)
            self.clock += len(part)
            self.finished += len(part)
            self.renew_if_due()

    def _parts(self, batch: LabelBatch) -> Iterator[tuple[int, int]]:
        """Parts of a batch that is learnt, each ending where `renew` is due."""
        at = 0
        while at < len(batch):
            end = min(at + max(self._left(), 1), len(batch))
            yield at, end
            at = end

    # Open tasks of a stream ------------------------------------------------------------------

    def open(self) -> int:
        """Open a task: its place in the order of tasks."""
        self.clock += 1
        self.renew_if_due()
        return self.clock - 1

    def learn_open(self, batch: LabelBatch, sign: int, place: int) -> None:
        """Add the labels of an open task to the sums, or take them away."""
        super().learn_open(batch, sign, place)
        self.horizons.loops.named = self.sums.classes if self.many else self.named

    def renew_for_label(self) -> None:
        """Nothing: it is found out as tasks open and close."""

    def close(self, batch: LabelBatch, place: int) -> None:
        """Let the horizons learn a task that closes."""
        self.horizons.loops.follow(batch.coded, work_for(batch), False, NO_SCORES)
        self.finished += len(batch)
        self.renew_if_due()

    # Reading ---------------------------------------------------------------------------------

    def scorer(self) -> Scorer:
        """By the skills as they are now."""
        loops = self._prepared()
        if self.fell_back:
            return MAJORITY

        def score(batch: LabelBatch, scores: Floats) -> None:
            loops.score(batch.coded, scores)

        return Scorer(score, identified=True)

    def scored(self) -> Scorer:
        """The same for scores that were made already."""
        return MAJORITY if self.fell_back else Scorer(MAJORITY.score, identified=True)

    def _prepared(self) -> Horizons:
        self.horizons.loops.prepare(self.sums.classes)
        return self.horizons.loops

    def identify(self) -> tuple[bool, str]:
        """Whether agreement or known truths tell workers apart, and if not, why."""
        return verdict(self.reason, self.fell_back)

    def skills(self) -> Floats:
        """How much better than chance each worker is now."""
        found = np.empty(self.sums.workers)
        self._prepared().fill_skills(found)
        return found

    @property
    def mean_skill(self) -> float:
        """The crowd's mean skill."""
        return self._prepared().mean

    def read(self) -> WorkerReading:
        """Error rates and weights by the skills."""
        sums, skills, (known, _) = self.sums, self.skills(), self.identify()
        weights = np.empty(sums.workers)
        self.horizons.loops.fill_weights(weights)
        apart = sums.groups != sums.main_group
        return WorkerReading(
            errors=error_rates(skills, sums.classes),
            weights=weights,
            solved=np.full(sums.workers, known) & (~apart | bool(self.reason)),
            apart=apart & known,
        )

    # Merging and saving ----------------------------------------------------------------------

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add what another learnt."""
        super().merge(other, names, classes)
        self.horizons.merge(other.horizons, names)
        self.horizons.loops.named = self.sums.classes if self.many else self.named
        self.clock += other.clock
        self.finished += other.finished
        self.renew()

    def pack(self) -> Packed:
        """Sums, horizons, and when what was found out."""
        return (
            super().pack()
            | self.horizons.pack()
            | {
                "finished": np.array(self.finished),
                "renewed": np.array(self.renewed),
                "fell_back": np.array(self.fell_back),
                "reason": np.frombuffer(self.reason.encode(), np.uint8),
            }
        )

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        places = self.sums.classes if self.many else self.named
        self.horizons.unpack(arrays, self.sums.workers, places)
        self.finished, self.renewed = arrays["finished"].item(), arrays["renewed"].item()
        self.fell_back = arrays["fell_back"].item()
        self.reason = arrays["reason"].tobytes().decode()


def work_for(batch: LabelBatch) -> Floats:
    """Two rows with space for the labels of any of these tasks."""
    return np.empty((2, int(batch.sizes.max(initial=1))))
