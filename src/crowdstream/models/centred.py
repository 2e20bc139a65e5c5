"""`Centred`: one skill per worker, from agreement beyond what habits explain. The teacher alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.models.fallback import MAJORITY, why_not
from crowdstream.models.families import correlations
from crowdstream.models.model import Floats, Model, WorkerReading
from crowdstream.models.reservoir import Reservoir
from crowdstream.models.scorer import Scorer, TableVotes, WeightedVotes
from crowdstream.models.scoring_loops import FamilyPowers, Scoring
from crowdstream.models.teacher import (
    CAP_ALONE,
    LEAN_ALONE,
    error_rates,
    new_teacher,
    pack_teacher,
    read_teacher,
    renew_teacher,
    skills_of,
    unpack_teacher,
    vote_weights,
)
from crowdstream.models.teacher_loops import Teacher, TeacherVotes
from crowdstream.serialization import Packed, over, under
from crowdstream.sums.rows import CAP_SKILL

NOTHING: Floats = np.empty(0)


class Centred(Model):
    """Reads skills from the sums: all at once for tables, by a schedule in a stream.

    After tasks were learnt as a whole, the stream's reading is that of the sums as they are.
    """

    version = 2

    def __init__(self, memory: float | None = None, families: int = 0) -> None:
        super().__init__(memory, families)
        self.sample: Reservoir | None = None
        """A sample of tasks, if one was kept before classes shared places, drawn by ``seed``."""
        self.seed = 0
        self._set_classes()

    def _set_classes(self) -> None:
        """Make the loops' objects for as many classes as the sums have; they are yet to read."""
        self._powers = FamilyPowers(self.sums.loops, NOTHING)
        self._teacher = new_teacher(self.sums, self._powers)
        self._teacher.cap = CAP_ALONE if self.many else CAP_SKILL
        self._votes = TeacherVotes(self.sums.loops, self._teacher, LEAN_ALONE if self.many else 1.0)
        self._stale = True

    @classmethod
    def by_places(cls, before: Model, sample: Reservoir, seed: int) -> Centred:
        """Go on from another model, whose sums are of places by now, and with its sample."""
        model = cls()
        for name in ("sums", "scale", "forgets", "clock", "named", "many"):
            setattr(model, name, getattr(before, name))
        model.sample, model.seed = sample, seed
        model._set_classes()
        return model

    def make_room(self, workers: int, classes: int, named: int) -> None:
        """Have room for so many workers and classes."""
        super().make_room(workers, classes, named)
        if self.sums.classes != np.asarray(self._teacher.f).size:
            self._set_classes()
        self._teacher.workers = self.sums.workers

    def fold(self, homes: Codes, places: int) -> Model:
        """Go on by places."""
        super().fold(homes, places)
        self._set_classes()
        return self

    # Learning --------------------------------------------------------------------------------

    def learn(self, batch: LabelBatch, sign: int = 1) -> None:
        """Add tasks to the sums or take them away."""
        if sign > 0:
            self.closed(batch, np.arange(self.clock, self.clock + len(batch)))
        super().learn(batch, sign)

    def _parts(self, batch: LabelBatch) -> Iterator[tuple[int, int]]:
        """Tasks one by one, each scored by the skills as they are then."""
        for t in range(len(batch)):
            self.scale.make_room(self.clock, self.arrays())
            self._read()
            yield t, t + 1

    def closed(self, batch: LabelBatch, places: Ints, just_now: bool = True) -> None:
        """Sample tasks that have closed; all else was learnt label by label."""
        if self.sample is not None:
            self.sample.offer_at(batch, places, self.seed)

    # Readings of a stream --------------------------------------------------------------------

    @property
    def scoring(self) -> Scoring:
        """By the skills read last."""
        self.refresh()
        return self._votes

    def renew(self) -> None:
        """Read all skills anew."""
        super().renew()
        self._read()

    def _read(self) -> None:
        renew_teacher(self._teacher, self.sums, self.unit)
        self._votes.fell_back = bool(why_not(self._teacher, self.named))
        if len(self.sums.relatives):
            self._powers.rho = correlations(self.sums, skills_of(self._teacher, self.sums.workers))

    # Reading ---------------------------------------------------------------------------------

    def _now(self) -> Teacher:
        """A teacher that has read the sums as they are."""
        return read_teacher(self.sums, self.unit)

    def scorer(self) -> Scorer:
        """By the skills as they are now."""
        teacher = self._now()
        if why_not(teacher, self.named):
            return MAJORITY
        skills = np.append(skills_of(teacher, self.sums.workers), teacher.mean)
        weights = vote_weights(skills, self.sums.classes, self._teacher.cap)
        prior = np.log(teacher.f) * (LEAN_ALONE if self.many else 1.0)
        if len(self.sums.relatives):  # labels count to the power of their families
            rho = correlations(self.sums, skills[:-1])
            logs = weights[:, None, None] * np.eye(self.sums.classes)
            return Scorer(TableVotes(logs, prior, self.sums.family, rho), identified=True)
        return Scorer(WeightedVotes(weights, prior), identified=True)

    def identify(self) -> tuple[bool, str]:
        """Return whether agreement tells workers apart, and if not, why."""
        reason = why_not(self._now(), self.named)
        return not reason, reason

    def skills(self) -> Floats:
        """Every worker's skill as of now."""
        return skills_of(self._now(), self.sums.workers)

    @property
    def mean_skill(self) -> float:
        """The crowd's mean skill."""
        return float(self._now().mean)

    def read(self) -> WorkerReading:
        """Error rates and weights by the skills."""
        return by_agreement(self)

    # Merging and saving ----------------------------------------------------------------------

    def pack(self) -> Packed:
        """The sums, and what a stream's reading is."""
        found = super().pack() | over("teacher", pack_teacher(self._teacher))
        found["families"] = np.array(self._powers.rho)
        return found if self.sample is None else found | over("sample", self.sample.pack())

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        unpack_teacher(self._teacher, under("teacher", arrays))
        self._powers.rho = np.array(arrays["families"])
        self._votes.fell_back = bool(why_not(self._teacher, self.named))
        kept = under("sample", arrays)
        if kept:
            self.sample = Reservoir()
            self.sample.unpack(kept, self.sums.workers, self.sums.classes)


def by_agreement(model: Model) -> WorkerReading:
    """Return what agreement says of every worker, whatever else a model knows."""
    sums, skills, (known, _) = model.sums, model.skills(), model.identify()
    cap = CAP_ALONE if model.many else CAP_SKILL
    apart = sums.groups != sums.main_group
    return WorkerReading(
        errors=error_rates(skills, sums.classes),
        weigh=lambda: vote_weights(skills, sums.classes, cap),
        solved=np.full(sums.workers, known) & ~apart,
        apart=apart & known,
    )
