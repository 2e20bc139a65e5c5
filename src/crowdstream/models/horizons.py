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
from crowdstream.models.scorer import Scorer
from crowdstream.models.scoring_loops import Scoring
from crowdstream.models.teacher import error_rates, read_teacher
from crowdstream.serialization import Packed
from crowdstream.sums.agreement import AgreementSums, fill
from crowdstream.sums.growing import grown

HORIZONS = (8, 16, 64, 256, 1024)
"""Own answers after which what a worker did counts 1/e; beside them one that never forgets."""

KEEP: Floats = np.array([1.0 - 1.0 / horizon for horizon in HORIZONS] + [1.0])
"""What an answer leaves of the sums at each horizon."""


class HorizonSums:
    """What is learnt of every worker at each horizon, and of the crowd.

    ``rows``: B, C and weights; ``crowd``: spread, pairs and belief of each horizon; ``total``: see
    `crowdstream.models.horizon_loops`.
    """

    def __init__(self, sums: AgreementSums) -> None:
        horizons = KEEP.size
        self.workers = 0
        self._rows: Floats = np.zeros((0, 3 * horizons))
        self.crowd: Floats = np.zeros((4, horizons))
        self.crowd[2] = 1.0 / horizons
        self.crowd[3] = 1.0
        self.total: Floats = np.zeros(6)
        self._odds: Floats = np.empty(2)
        self.loops = Horizons(sums.loops, self.crowd, self.total, KEEP, np.empty(horizons))
        self.loops.bind(self._rows, self._odds, work_for)

    def make_room(self, workers: int, classes: int) -> None:
        """Have rows for so many workers, and space to score so many classes."""
        before = self._rows, self._odds
        self._rows, self._odds = grown(self._rows, workers), grown(self._odds, classes)
        if before[0] is not self._rows or before[1] is not self._odds:
            self.loops.bind(self._rows, self._odds, work_for)
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


class ManyHorizons(Model):
    """Agreement sums, of which it is read whether the crowd can be identified, and horizons."""

    order_free = False
    adds_up = False
    follows = True

    def __init__(self) -> None:
        super().__init__()
        self.horizons = HorizonSums(self.sums)
        self.reason = NO_MEETINGS
        """Why the crowd cannot be identified by agreement, if so."""
        self._stale = False

    @property
    def scoring(self) -> Scoring:
        """Skills as they are now; what can be identified, as it was found last."""
        return self.horizons.loops

    def make_room(self, workers: int, classes: int, named: int) -> None:
        """Have room for so many workers and classes."""
        super().make_room(workers, classes, named)
        self.horizons.make_room(workers, classes)

    def fold(self, homes: Codes, places: int) -> Model:
        """Go on by places."""
        super().fold(homes, places)
        self.horizons.make_room(self.sums.workers, places)
        self.refresh()
        self.renew()
        return self

    def refresh(self) -> None:
        """Know all classes that were seen, from the next label of a stream on."""
        self.horizons.loops.named = self.sums.classes if self.many else self.named

    def _changed(self) -> None:
        """Skills are never old, and what can be identified is found out by the schedule."""

    def renew(self) -> None:
        """Find out again whether the crowd can be identified."""
        super().renew()
        named = self.horizons.loops.named
        self.reason = why_not(read_teacher(self.sums.narrowed(named), 1.0), named)
        self.horizons.loops.fell_back = bool(self.reason) and not self.sums.known.any()

    # Learning --------------------------------------------------------------------------------

    def learn(self, batch: LabelBatch, sign: int = 1) -> None:
        """Learn tasks in order, or take them back."""
        if sign < 0:
            super().learn(batch, sign)
            self.horizons.loops.take_back(batch.coded)
            self.renew()
            return
        for first, last in self._parts(batch):
            self.horizons.loops.learn_all(batch.part(first, last).coded, 1.0, 1.0)
            self.clock += last - first
        self.renew_if_due()

    def follow(self, batch: LabelBatch, scored: LabelBatch, use: Use) -> None:
        """Score each task by those before it, then learn it."""
        super().follow(batch, scored, use)
        self.renew_if_due()

    def _parts(self, batch: LabelBatch) -> Iterator[tuple[int, int]]:
        """Parts of a batch that is learnt, each ending where `renew` is due."""
        at = 0
        while at < len(batch):
            self.renew_if_due()
            end = min(at + max(self.schedule.tasks_left(self.clock), 1), len(batch))
            yield at, end
            at = end

    # Reading ---------------------------------------------------------------------------------

    def scorer(self) -> Scorer:
        """By the skills as they are now."""
        loops = self._prepared()
        if loops.fell_back:
            return MAJORITY

        def score(batch: LabelBatch, scores: Floats) -> None:
            loops.score_all(batch.coded, scores)

        return Scorer(score, identified=True)

    def _prepared(self) -> Horizons:
        self.horizons.loops.prepare(self.sums.classes)
        return self.horizons.loops

    def identify(self) -> tuple[bool, str]:
        """Return whether agreement or known truths tell workers apart, and if not, why."""
        return verdict(self.reason, self.horizons.loops.fell_back)

    def skills(self) -> Floats:
        """Return how much better than chance each worker is now."""
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
        self.refresh()
        self.clock += other.clock
        self.renew()

    def pack(self) -> Packed:
        """Sums, horizons, and whether the crowd can be identified."""
        found = super().pack() | self.horizons.pack()
        found["fell_back"] = np.array(self.horizons.loops.fell_back)
        found["reason"] = np.frombuffer(self.reason.encode(), np.uint8)
        return found

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        self.horizons.unpack(arrays, self.sums.workers, self.sums.classes)
        self.refresh()
        self.horizons.loops.fell_back = arrays["fell_back"].item()
        self.reason = arrays["reason"].tobytes().decode()


def work_for(labels: int) -> Floats:
    """Two rows with space for so many labels."""
    return np.empty((2, labels))
