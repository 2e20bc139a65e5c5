"""Teacher and students over the sums of a crowd: shared readings, passes over tables, scores.

The teacher reads agreement sums, the taught student counts confusions by the teacher's posteriors,
the swept student by its own. Formulas in docs/how-it-works.md. Knows workers, classes and tasks by
their codes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators import loops
from crowdstream.estimators.calibration import Calibration
from crowdstream.estimators.votes import CELLS, Scorer, majority
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.confusions import ConfusionSums
from crowdstream.sums.parallel import parts_of, side_by_side

Floats = NDArray[np.float64]

SWEEPS = 14
"""Times that the swept confusions are recounted from their own posteriors at most."""

STILL = 0.01
"""Answers by which the largest count may change for the sweeps to be over."""

UNSEEN = 4.0
"""Times the excess correlation by which confidence is discounted: it is measured at the posterior
of the same labels, so tasks on which the crowd is wrong together look as if it were right. On 18
public sets 1, 2 and 4 gave a calibration error of 0.12, 0.10 and 0.085."""

KIN = 0.3
"""Correlation of errors within a declared family before its members have met, and `KIN_WORTH` the
meetings that this is worth."""
KIN_WORTH = 20.0

NOTHING: Floats = np.empty(0)

CHANCE = 3.0
"""Standard errors by which agreement must differ from that of a crowd that guesses."""

MAIN_GROUP = 0.95
"""The largest group of workers linked by shared tasks must hold this part of all meetings for the
crowd to count as one; the workers outside it vote with the mean weight."""

TEACHER = ("unit", "mean", "spread", "strength", "surplus", "met", "all_met", "evidence", "V")
TEACHER_WHOLE = ("met_workers", "groups", "main")
STUDENT = ("strength", "typical")


def read_teacher(sums: AgreementSums, unit: float) -> loops.Teacher:
    """A teacher that has read the sums."""
    shares = np.full(sums.classes, 1.0 / sums.classes)
    teacher = loops.Teacher(sums.loops, shares, np.zeros(sums.classes))
    teacher.renew(sums.workers, unit, np.empty((max(sums.workers, 1), 3)))
    return teacher


def why_not(teacher: loops.Teacher, named: int) -> str:
    """Why the crowd cannot be identified by agreement, if so."""
    if teacher.met <= 0.0:
        return "no two workers share a task"
    if teacher.met_workers < 3:
        return "fewer than three workers share tasks"
    if named < 2:
        return "only one class was ever seen"
    if teacher.met < MAIN_GROUP * teacher.all_met:
        return "groups of workers share no task"
    if teacher.evidence < CHANCE:
        return "workers agree no more than by chance"
    return ""


def vote_weights(skills: Floats, classes: int) -> Floats:
    """log(s (K − 1)/(1 − s)), s = 1/K + (1 − 1/K) ψ, with skills ψ kept in [0, 0.6]."""
    kept = np.clip(skills, 0.0, loops.CAP_SKILL)
    return np.log((1 + (classes - 1) * kept) / (1 - kept))


class Shared(NamedTuple):
    """Shared readings as arrays, for saving."""

    teacher: Floats
    shares: Floats
    taught: Floats
    swept: Floats
    state: Floats


class Reading:
    """Teacher and students, and the sums they read.

    ``gate``: how far the swept confusions are believed; ``rho``: the excess correlation of errors
    within a task, by which confidence is discounted.
    """

    def __init__(self, sums: AgreementSums) -> None:
        self.sums = sums
        self.taught = ConfusionSums()
        self.swept = ConfusionSums()
        self.reason = "no two workers share a task"
        self.rho = 0.0
        self.calibration = Calibration()
        self.kin: Floats = NOTHING
        """Of each declared family the correlation of errors."""
        self._bound = (-1, -1)
        self._teacher: loops.Teacher
        self._students: tuple[loops.Student, loops.Student]
        self._prior: tuple[Floats, Floats]
        self._pooled: tuple[Floats, Floats]
        self._f: Floats
        self.crowd: loops.Crowd
        self.make_room()

    # The loops' objects ----------------------------------------------------------------------

    def make_room(self) -> None:
        """Let the confusions have as much room as the sums, and the loops know where they are."""
        n, k = self.sums.workers, self.sums.classes
        for counts in (self.taught, self.swept):
            counts.make_room(n, k)
        bound = id(self.sums.loops), id(self.taught.counts)
        if bound != self._bound:
            self._bind(k, had=self._bound != (-1, -1))
            self._bound = id(self.sums.loops), id(self.taught.counts)
        for reader in (self._teacher, *self._students):
            reader.workers = n

    def _bind(self, classes: int, had: bool) -> None:
        before = self.save() if had else None
        gate, heads = (self.crowd.gate, self.crowd.heads) if had else (0.0, True)
        known = self._f.size if had else 0
        self._f = np.full(classes, 1.0 / classes)
        self._prior = np.full(classes, 1.0 / classes), np.full(classes, 1.0 / classes)
        self._pooled = np.empty((classes + 1, classes)), np.empty((classes + 1, classes))
        self._teacher = loops.Teacher(self.sums.loops, self._f, np.zeros(classes))
        one, two = (
            loops.Student(counts.counts, counts.mass, pooled, prior)
            for counts, pooled, prior in zip(
                (self.taught, self.swept), self._pooled, self._prior, strict=True
            )
        )
        self._students = one, two
        self.crowd = loops.Crowd(
            self.sums.loops, self._teacher, one, two, np.empty((3, classes)), self.kin
        )
        self.crowd.gate, self.crowd.heads = gate, heads
        if before is not None and known == classes:
            self.restore(before)
        else:  # a class more: everything is read anew
            self.renew_students(1.0)

    def save(self) -> Shared:
        """The shared readings."""
        state = [self.crowd.gate, self.crowd.heads, self.rho]
        taught, swept = (
            np.concatenate([[getattr(student, name) for name in STUDENT], prior, pooled.ravel()])
            for student, prior, pooled in zip(
                self._students, self._prior, self._pooled, strict=True
            )
        )
        return Shared(
            np.array([getattr(self._teacher, name) for name in TEACHER + TEACHER_WHOLE], float),
            self._f.copy(),
            taught,
            swept,
            np.concatenate([state, self.kin]),
        )

    def restore(self, shared: Shared) -> None:
        """Take over what `save` gave."""
        k = self._f.size
        for name, value in zip(TEACHER + TEACHER_WHOLE, shared.teacher.tolist(), strict=True):
            setattr(self._teacher, name, int(value) if name in TEACHER_WHOLE else value)
        self._f[:] = shared.shares
        for student, prior, pooled, found in zip(
            self._students, self._prior, self._pooled, (shared.taught, shared.swept), strict=True
        ):
            student.strength, student.typical = found[:2].tolist()
            prior[:] = found[2 : 2 + k]
            pooled[:] = found[2 + k :].reshape(k + 1, k)
        self.crowd.gate, self.rho = float(shared.state[0]), float(shared.state[2])
        self.crowd.heads = bool(shared.state[1])
        self._set_kin(shared.state[3:])

    # Reading ---------------------------------------------------------------------------------

    @property
    def teacher(self) -> loops.Teacher:
        """What the agreement sums say."""
        return self._teacher

    def renew(self, unit: float, named: int) -> None:
        """Read anew what all workers share."""
        self.renew_teacher(unit, named)
        self.renew_students(unit)

    def renew_teacher(self, unit: float, named: int) -> None:
        """Read the agreement sums anew."""
        n = self.sums.workers
        self._teacher.renew(n, unit, np.empty((max(n, 1), 3)))
        self.reason = why_not(self._teacher, named)
        self.crowd.heads = bool(self.reason) and not self.sums.told.any()
        self._set_kin(self._kin())

    def renew_students(self, unit: float) -> None:
        """Read the confusions anew."""
        one, two = self._students
        strength = self._teacher.strength
        one.renew(self.sums.workers, strength, unit, self._f)
        two.workers = self.sums.workers
        two.renew(self.sums.workers, two.spread_strength(strength, unit), unit, self._f)

    def _set_kin(self, kin: Floats) -> None:
        self.kin = self.crowd.rho = np.ascontiguousarray(kin)

    def _kin(self) -> Floats:
        """Correlation of errors within each declared family, beyond what its skills explain."""
        pairs, same = self.sums.kin.T
        if not pairs.size:
            return NOTHING
        skills, k = self.skills(), self.sums.classes
        members = [skills[self.sums.family == f] for f in range(pairs.size)]
        skill = np.array([who.mean() if who.size else 0.0 for who in members])
        expected = 1 / k + (1 - 1 / k) * skill**2
        found = (same / np.maximum(pairs, 1e-12) - expected) / np.maximum(1 - expected, 1e-9)
        found = (pairs * np.clip(found, 0.0, 1.0) + KIN_WORTH * KIN) / (pairs + KIN_WORTH)
        return np.asarray(found)

    @property
    def typical_error(self) -> float:
        """How often the crowd errs, by the student that is believed."""
        return self._students[1 if self.crowd.gate > 0.5 else 0].typical

    def why_not(self, named: int) -> str:
        """Why the crowd cannot be identified by agreement, if so."""
        return why_not(self._teacher, named)

    def skills(self) -> Floats:
        """Every worker's skill."""
        found = np.empty(self.sums.workers)
        self._teacher.fill_skills(found)
        return found

    def confusions(self) -> Floats:
        """p(said | class) of every worker by the student that is believed, class by said."""
        student = self._students[1] if self.crowd.gate > 0.5 else self._students[0]
        found = np.empty((self.sums.workers, self.sums.classes, self.sums.classes))
        student.fill_confusions(found)
        return found.transpose(0, 2, 1)

    def prior(self) -> Floats:
        """How frequent the classes are."""
        return self._prior[1 if self.crowd.gate > 0.5 else 0]

    def scorer(self) -> Scorer:
        """The gated scores, or majority vote where the crowd cannot be identified."""
        if self.crowd.heads:
            return Scorer(majority, identified=False)
        return Scorer(self._by_logs(), identified=True, rho=self.discount, calibrate=self.calibrate)

    @property
    def discount(self) -> float:
        """The correlation of errors by which confidence is discounted."""
        return UNSEEN * max(self.rho, 0.0)

    @property
    def calibrate(self) -> Callable[[Floats], Floats] | None:
        """How known truths bear confidences out, if any is known."""
        return self.calibration.apply if self.calibration.known else None

    def _by_logs(self) -> Callable[[LabelBatch, Floats], None]:
        k = self.sums.classes
        logs, prior = np.empty((self.sums.workers + 1, k, k)), np.empty(k)
        self.crowd.fill_logs(logs, prior)
        return self._with_tables(logs, prior)

    def _with_tables(self, logs: Floats, prior: Floats) -> Callable[[LabelBatch, Floats], None]:
        def score(batch: LabelBatch, scores: Floats) -> None:
            powers = self.powers(batch)
            args = batch.starts, batch.workers, batch.labels, powers, logs, prior, scores
            loops.add_logs(*args)

        return score

    def powers(self, batch: LabelBatch) -> Floats:
        """What each label is worth beside its kin's on the task; empty where nobody has any."""
        if not self.kin.size:
            return NOTHING
        found = np.ones(batch.workers.size)
        self.crowd.fill_powers(batch.starts, batch.workers, found)
        return found

    # Passes ----------------------------------------------------------------------------------

    def fit(self, batch: LabelBatch, named: int, sweep: bool) -> None:
        """Pass 1 adds the sums, pass 2 the soft counts by the finished teacher; then the sweeps.

        Each pass is a sum over tasks: any number of threads, the same bits.
        """
        self.sums.add(batch)
        self.renew_teacher(1.0, named)
        k = self.sums.classes
        weights = vote_weights(np.append(self.skills(), self._teacher.mean), k)
        if self.kin.size:  # families: labels count by their powers
            table = weights[:, None, None] * np.eye(k)
            self._count(batch, self._with_tables(table, np.log(self._f)), self.taught)
        else:
            prior = np.log(self._f)

            def vote(part: LabelBatch, scores: Floats) -> None:
                args = part.starts, part.workers, part.labels, weights, prior, scores
                loops.add_weights(*args)

            self._count(batch, vote, self.taught)
        self.renew_students(1.0)
        self.crowd.gate = 0.0
        self._count(batch, self._by_logs(), self.swept)
        self.renew_students(1.0)
        if sweep:
            self.sweep(batch)

    def sweep(self, batch: LabelBatch) -> None:
        """Recount the swept confusions from their own posteriors until they stand still."""
        n, k = self.sums.workers, self.sums.classes
        student = self._students[1]
        table = np.empty((n + 1, k, k))
        for _ in range(SWEEPS):
            before = self.swept.counts[:n, :k].copy()
            student.fill_confusions(table)
            by_own = self._with_tables(np.log(table), np.log(self._prior[1]))
            self._count(batch, by_own, self.swept)
            student.renew(n, student.strength, 1.0, self._f)
            if np.abs(self.swept.counts[:n, :k] - before).max(initial=0.0) < STILL:
                break

    def posteriors(self, batch: LabelBatch) -> Floats:
        """By the swept confusions alone."""
        n, k = self.sums.workers, self.sums.classes
        table, scores = np.empty((n + 1, k, k)), np.empty((len(batch), k))
        self._students[1].fill_confusions(table)
        self._with_tables(np.log(table), np.log(self._prior[1]))(batch, scores)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _count(
        self,
        batch: LabelBatch,
        score: Callable[[LabelBatch, Floats], None],
        into: ConfusionSums,
    ) -> None:
        """Put the soft counts of all tasks by these scores in place of what was counted."""
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
                args = here.starts, here.workers, here.labels, here.truths, found, counts, mass
                loops.add_soft_counts(*args)
            return counts, mass

        done = side_by_side(work, len(parts))
        into.replace(
            sum((c for c, _ in done[1:]), done[0][0]), sum((m for _, m in done[1:]), done[0][1])
        )


def compact(batch: LabelBatch) -> tuple[LabelBatch, Codes]:
    """The same tasks with their own workers numbered from 0, and who those are."""
    who, codes = np.unique(batch.workers, return_inverse=True)
    return LabelBatch(
        batch.starts, codes.astype(np.int32), batch.labels, batch.truths, batch.tasks
    ), who.astype(np.int32)
