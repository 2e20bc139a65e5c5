"""Teacher and students over the sums of a crowd: shared readings, passes over tables, scores.

The teacher reads agreement sums, the taught student counts confusions by the teacher's posteriors,
the swept student by its own. Formulas in docs/how-it-works.md. Knows workers, classes and tasks by
their codes only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators import vote_loops
from crowdstream.estimators.confusion_loops import Student, add_posteriors
from crowdstream.estimators.crowd_loops import SCORES, Crowd
from crowdstream.estimators.fallback import MAJORITY, NO_MEETINGS, majority, why_not
from crowdstream.estimators.families import correlations
from crowdstream.estimators.gold_model import GoldModel
from crowdstream.estimators.teacher import (
    CAP_ALONE,
    LEAN_ALONE,
    new_teacher,
    renew_teacher,
    skills_of,
    vote_weights,
    weighted_votes,
)
from crowdstream.estimators.votes import CELLS, Scorer
from crowdstream.labels.batch import LabelBatch
from crowdstream.parallel import parts_of, side_by_side
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.confusions import ConfusionSums

Floats = NDArray[np.float64]
Score: TypeAlias = Callable[[LabelBatch, Floats], None]

SWEEPS = 14
"""Times that the swept confusions are recounted from their own posteriors at most."""

FEWEST, SWEPT = 3, 14_000_000
"""The same in large tables: so many times, or as often as this many labels are gone through. On
simulated crowds of 600,000 to a million labels the errors after 3, 14 and 40 times differ by less
than 0.0006."""

STILL = 0.01
"""Answers by which the largest count may change for the sweeps to be over."""

UNSEEN = 4.0
"""Times the excess correlation by which confidence is discounted: it is measured at the posterior
of the same labels, so tasks on which the crowd is wrong together look as if it were right. On 18
public sets 1, 2 and 4 gave a calibration error of 0.12, 0.10 and 0.085."""

ALIKE = 0.9
"""Correlation of errors within a task that the common factor takes into account at most."""

NOTHING: Floats = np.empty(0)

TEACHER = ("unit", "mean", "spread", "strength", "surplus", "met", "all_met", "evidence", "V")
TEACHER_WHOLE = ("met_workers", "groups", "main")
"""What a teacher has read, as it is saved; the last are whole numbers."""


class Reading:
    """Teacher and students, and the sums they read.

    ``reason``: why the crowd cannot be identified by agreement, if so.
    """

    def __init__(self, sums: AgreementSums) -> None:
        self.sums = sums
        self.taught = ConfusionSums()
        self.swept = ConfusionSums()
        self.reason = NO_MEETINGS
        self.alone = False
        """Whether the teacher decides alone: classes share places, which have no confusions."""
        self._rho = 0.0
        self.gold = GoldModel()
        self._turn = threading.Lock()
        self.powers = vote_loops.FamilyPowers(sums.loops, NOTHING)
        self._set_classes(gate=0.0, fell_back=True)

    @property
    def rho(self) -> float:
        """How much more errors within a task are correlated than independent ones would be."""
        return self._rho

    @rho.setter
    def rho(self, excess: float) -> None:
        self._rho = excess
        self.crowd.rho = min(max(excess, 0.0), ALIKE)
        self.crowd.discount = self.discount

    # The loops' objects ----------------------------------------------------------------------

    def make_room(self) -> None:
        """Have as many confusions as there are workers and classes, known to the loops."""
        n, k, before = self.sums.workers, self.sums.classes, self.taught.counts
        if k != self.taught.classes:
            self._set_classes(self.crowd.gate, self.crowd.fell_back)
        self._make_room_for_students()
        if self.taught.counts is not before:
            self._bind()
        for reader in (self.teacher, *self._students):
            reader.workers = n

    def _set_classes(self, gate: float, fell_back: bool) -> None:
        """Make the loops' objects for as many classes as the sums have."""
        k = self.sums.classes
        self._make_room_for_students()
        self._prior = np.full(k, 1.0 / k), np.full(k, 1.0 / k)
        self._pooled = np.empty((k + 1, k)), np.empty((k + 1, k))
        self.teacher = new_teacher(self.sums, self.powers)
        self._students = (
            Student(self.powers, self._pooled[0], self._prior[0], np.empty(k)),
            Student(self.powers, self._pooled[1], self._prior[1], np.empty(k)),
        )
        self._bind()
        self.crowd = Crowd(self.sums.loops, self.teacher, *self._students)
        self.crowd.gate, self.crowd.fell_back, self.crowd.alone = gate, fell_back, self.alone
        if self.alone:
            self.teacher.cap, self.crowd.lean = CAP_ALONE, LEAN_ALONE
        self.rho = self._rho
        self.gold.make_room(k)
        self.use_gold()
        self.renew_students(1.0)

    def _make_room_for_students(self) -> None:
        for student in (self.taught, self.swept):
            student.make_room(0 if self.alone else self.sums.workers, self.sums.classes)

    def _bind(self) -> None:
        for student, sums in zip(self._students, (self.taught, self.swept), strict=True):
            student.bind(sums.counts, sums.mass)

    def go_alone(self) -> None:
        """Let the teacher decide alone, by sums of places; what students learnt is given up."""
        self.alone = True
        self.taught, self.swept, self.gold = ConfusionSums(), ConfusionSums(), GoldModel()
        self._rho = 0.0
        self._set_classes(0.0, self.crowd.fell_back)

    # Saving ----------------------------------------------------------------------------------

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """The shared readings."""
        taught, swept = (
            np.concatenate([[student.strength, student.typical], prior, pooled.ravel()])
            for student, prior, pooled in zip(
                self._students, self._prior, self._pooled, strict=True
            )
        )
        state = [self.crowd.gate, self.crowd.fell_back, self.rho]
        return {
            "teacher": np.array([getattr(self.teacher, k) for k in TEACHER + TEACHER_WHOLE], float),
            "shares": np.array(self.teacher.f),
            "taught": taught,
            "swept": swept,
            "state": np.concatenate([state, self.powers.rho]),
        }

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], named: int) -> None:
        """Take over what `pack` gave, of a crowd that has seen so many classes."""
        k = self.sums.classes
        for name, value in zip(TEACHER + TEACHER_WHOLE, arrays["teacher"].tolist(), strict=True):
            setattr(self.teacher, name, int(value) if name in TEACHER_WHOLE else value)
        np.asarray(self.teacher.f)[:] = arrays["shares"]
        for student, prior, pooled, found in zip(
            self._students, self._prior, self._pooled, (arrays["taught"], arrays["swept"]),
            strict=True,
        ):  # fmt: skip
            student.strength, student.typical = found[:2].tolist()
            prior[:] = found[2 : 2 + k]
            pooled[:] = found[2 + k :].reshape(k + 1, k)
        gate, fell_back, self.rho, *families = arrays["state"].tolist()
        self.crowd.gate, self.crowd.fell_back = gate, bool(fell_back)
        self.powers.rho = np.array(families)
        self.reason = why_not(self.teacher, named)
        self.use_gold()

    # Reading ---------------------------------------------------------------------------------

    def renew(self, unit: float, named: int) -> None:
        """Read anew what all workers share."""
        self.renew_teacher(unit, named)
        self.renew_students(unit)
        self.use_gold()

    def renew_teacher(self, unit: float, named: int) -> None:
        """Read the agreement sums anew."""
        renew_teacher(self.teacher, self.sums, unit)
        self.reason = why_not(self.teacher, named)
        known = not self.alone and self.sums.known.any()
        self.crowd.fell_back = bool(self.reason) and not known
        if len(self.sums.relatives):
            self.powers.rho = correlations(self.sums, self.skills())

    def use_gold(self, gold: GoldModel | None = None) -> None:
        """Let the crowd score by what known truths say of the scores, if any are known."""
        k, self.gold = self.sums.classes, gold or self.gold
        self.crowd.bind(
            self.gold.weights, self.gold.bias, np.empty((SCORES, k)), np.empty((SCORES, k))
        )
        self.crowd.golden = self.gold.known and not self.crowd.fell_back

    def renew_gold(self) -> None:
        """Weigh the scores anew by the truths known so far."""
        self.gold.renew(self.prior_weights)
        self.use_gold()

    @property
    def prior_weights(self) -> Floats:
        """What the scores weigh before any truth is known."""
        g = self.crowd.gate
        return np.array([(1.0 - g) / 2.0, g, (1.0 - g) / 2.0])

    def renew_students(self, unit: float) -> None:
        """Read the confusions anew."""
        if self.alone:
            return
        n, (one, two) = self.sums.workers, self._students
        strength, shares = self.teacher.strength, self.teacher.f
        one.renew(n, strength, unit, shares)
        two.workers = n
        two.renew(n, two.spread_strength(strength, unit), unit, shares)

    def skills(self) -> Floats:
        """Every worker's skill."""
        return skills_of(self.teacher, self.sums.workers)

    @property
    def believed(self) -> int:
        """The student that is believed: 0 the taught, 1 the swept one."""
        return 1 if self.crowd.gate > 0.5 else 0

    @property
    def typical_error(self) -> float:
        """How often the crowd errs."""
        return self._students[self.believed].typical

    def prior(self) -> Floats:
        """How frequent the classes are."""
        return self._prior[self.believed]

    def confusions(self) -> tuple[Floats, Floats]:
        """p(said | class) of every worker by the student believed; error rates by either student.

        Confusions are by worker, class and said; error rates have one row per student.
        """
        n, k = self.sums.workers, self.sums.classes
        found, errors = np.empty((2, n, k, k)), np.empty((2, n))
        for j, (student, prior) in enumerate(zip(self._students, self._prior, strict=True)):
            student.fill_confusions(found[j])
            errors[j] = 1.0 - np.einsum("iaa,a->i", found[j], prior / prior.sum())
        return found[self.believed].transpose(0, 2, 1), np.clip(errors, 0.0, 1.0)

    # Scores ----------------------------------------------------------------------------------

    def scorer(self, score: Score | None = None) -> Scorer:
        """The gated scores, or majority vote where the crowd cannot be identified.

        ``score``: a way to score that is ready already.
        """
        if self.crowd.fell_back:
            return MAJORITY
        if self.crowd.golden:
            return Scorer(score or self._by_crowd, True, 0.0, self._calibrate)
        if self.alone:
            return Scorer(score or self._by_skills(), True)
        return Scorer(score or self._by_logs(), True, self.discount)

    def scored(self) -> Scorer:
        """The same for scores that were made already."""
        return self.scorer(majority)

    def _calibrate(self, confidences: Floats) -> Floats:
        """Confidences as known truths bear them out; the winner's is never below an even share."""
        return np.maximum(self.gold.line.apply(confidences), 1.0 / self.sums.classes)

    def before(self, confidence: float) -> float:
        """The confidence by the crowd's scores that is this one once known truths correct it."""
        return self.gold.line.before(confidence) if self.crowd.golden else confidence

    @property
    def discount(self) -> float:
        """The correlation of errors by which confidence is discounted, at most 1.

        Beyond 1 another vote for the winner would lower its confidence.
        """
        return min(UNSEEN * max(self._rho, 0.0), 1.0)

    def _by_logs(self) -> Score:
        """By teacher and students together."""
        k = self.sums.classes
        logs, prior = np.empty((self.sums.workers + 1, k, k)), np.empty(k)
        self.crowd.fill_logs(logs, prior)
        return self._with_tables(logs, prior)

    def _by_crowd(self, batch: LabelBatch, scores: Floats) -> None:
        """By all that the crowd's scores are made of, where known truths weigh them.

        One thread at a time: tasks are worked out in arrays that the crowd has once.
        """
        with self._turn:
            self.crowd.score_tasks(batch.coded, scores)

    def _by_swept(self) -> Score:
        """By the swept confusions alone."""
        n, k = self.sums.workers, self.sums.classes
        table = np.empty((n + 1, k, k))
        self._students[1].fill_confusions(table)
        return self._with_tables(np.log(table), np.log(self._prior[1]))

    def _by_skills(self) -> Score:
        """By the teacher alone."""
        k, prior = self.sums.classes, np.log(self.teacher.f)
        if self.alone:
            prior *= LEAN_ALONE
        weights = vote_weights(np.append(self.skills(), self.teacher.mean), k, self.teacher.cap)
        if len(self.sums.relatives):  # labels count to the power of their families
            return self._with_tables(weights[:, None, None] * np.eye(k), prior)
        return weighted_votes(weights, prior)

    def _with_tables(self, logs: Floats, prior: Floats) -> Score:
        def score(batch: LabelBatch, scores: Floats) -> None:
            tasks, powers = batch.coded, NOTHING
            if len(self.sums.relatives):
                powers = np.ones(batch.workers.size)
                self.powers.fill(tasks, powers)
            vote_loops.add_logs(tasks, powers, logs, prior, scores)

        return score

    # Passes ----------------------------------------------------------------------------------

    def fit(self, batch: LabelBatch, named: int, sweep: bool) -> None:
        """Pass 1 adds the sums, pass 2 the counts by the finished teacher; then the sweeps.

        Each pass is a sum over tasks: any number of threads, the same bits.
        """
        self.sums.add(batch)
        self.renew_teacher(1.0, named)
        if self.alone:
            return
        self.count(batch, self._by_skills(), self.taught)
        self.renew_students(1.0)
        self.crowd.gate = 0.0
        self.count(batch, self._by_logs(), self.swept)
        self.renew_students(1.0)
        if sweep:
            self.sweep(batch)

    def sweep(self, batch: LabelBatch) -> None:
        """Recount the swept confusions from their own posteriors until they stand still."""
        n, k, student = self.sums.workers, self.sums.classes, self._students[1]
        times = SWEPT // max(batch.labels.size, 1)
        for _ in range(min(max(times, FEWEST), SWEEPS)):
            before = self.swept.counts[:n, :k].copy()
            self.count(batch, self._by_swept(), self.swept)
            student.renew(n, student.strength, 1.0, self.teacher.f)
            if np.abs(self.swept.counts[:n, :k] - before).max(initial=0.0) < STILL:
                break

    def recount(self, batch: LabelBatch) -> None:
        """Count the swept confusions by what known truths make of all scores.

        Unless they were swept: then their own posteriors are believed.
        """
        if not self.crowd.golden or self.crowd.gate > 0.0:
            return
        self.count(batch, self._by_crowd, self.swept)
        self.renew_students(1.0)

    def features(self, batch: LabelBatch) -> Floats:
        """The scores of tasks that known truths are to weigh."""
        found = np.empty((len(batch), SCORES, self.sums.classes))
        self.crowd.look_at(batch.coded, 0.0, found)
        return found

    def posteriors(self, batch: LabelBatch) -> Floats:
        """By the swept confusions alone."""
        scores = np.empty((len(batch), self.sums.classes))
        self._by_swept()(batch, scores)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def count(self, batch: LabelBatch, score: Score, into: ConfusionSums) -> None:
        """Put the posterior counts of all tasks by these scores in place of what was counted."""
        n, k = self.sums.workers, self.sums.classes
        parts = parts_of(len(batch))
        step = max(CELLS // 16 // k, 1)

        def work(part: int) -> tuple[Floats, Floats]:
            counts, mass = np.zeros((n, k, k)), np.zeros(k)
            first, last = parts[part]
            scores = np.empty((min(step, last - first), k))
            for at in range(first, last, step):
                here = batch.part(at, min(at + step, last))
                found = scores[: len(here)]
                score(here, found)
                add_posteriors(here.coded, found, counts, mass)
            return counts, mass

        done = side_by_side(work, len(parts))
        into.replace(
            sum((c for c, _ in done[1:]), done[0][0]), sum((m for _, m in done[1:]), done[0][1])
        )
