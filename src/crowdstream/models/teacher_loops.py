# cython: language_level=3
# cython: infer_types=True
"""The teacher: one skill per worker, from agreement beyond what the workers' habits explain.

Reads the agreement sums and never writes them. Formulas are those of docs/how-it-works.md, in its
letters; K classes, labels x, classes a. Arrays only. Changing it changes what `CentredAgreement`
and `Adaptive` decide (in the tests that compare bits too), and new attributes must be saved by
crowdstream.models.teacher; benchmarks/core.py times it as a part of "fit".
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.models.scoring_loops import (
        FamilyPowers,
        Scoring,
        count,
        rescale,
    )
    from cython.cimports.crowdstream.sums.agreement_loops import AgreementRows
    from cython.cimports.crowdstream.sums.group_loops import find
    from cython.cimports.crowdstream.sums.rows import *
    from cython.cimports.libc.math import log, pow, sqrt  # noqa: A004
else:
    from math import log, pow, sqrt  # noqa: A004

    from crowdstream.models.scoring_loops import FamilyPowers, Scoring, count, rescale
    from crowdstream.sums.agreement_loops import AgreementRows
    from crowdstream.sums.group_loops import find
    from crowdstream.sums.rows import *

    Reading = cython.struct(
        R=cython.double,
        V=cython.double,
        met=cython.double,
        met2=cython.double,
        N=cython.double,
    )


LEAST = cython.declare(cython.double, 0.002)  # variance of skills: nobody is quite like everybody
SPREAD = cython.declare(cython.double, 0.05)  # variance of skills that real crowds have
SPREAD_WORTH = cython.declare(cython.double, 20.0)  # workers that this is worth


@cython.final
@cython.cclass
class Teacher:
    """One skill per worker.

    ``f``: shares of the classes among the labels. ``mean``: the crowd's mean skill ψ̄. ``spread``:
    the variance τ² of skills. ``strength``: the answers that a confusion's prior is worth.
    ``evidence``: by how many standard errors agreement differs from that of guessers. ``met``:
    meetings of the main group of workers who share tasks (``all_met``: of everybody),
    ``met_workers`` how many of them have met anybody; ``groups``: how many groups share no task.
    ``unit``: what one task counts now, which forgetting makes grow. ``cap``: the skill beyond which
    a vote counts no more. Of the task at hand: ``votes``
    and the ``product`` of the odds that they give each class.
    """

    def __init__(self, sums: AgreementRows, powers: FamilyPowers, f, votes, product):
        self.sums = sums
        self.powers = powers
        self.f = f
        self.votes = votes
        self.product = product
        self.classes = f.shape[0]
        self.workers = 0
        self.unit = 1.0
        self.cap = CAP_SKILL
        self.mean = (self.classes * ACCURACY - 1.0) / (self.classes - 1.0)
        self.spread = LEAST
        self.strength = MOST_STRENGTH
        self.surplus = self.met = self.all_met = self.evidence = 0.0
        self.met_workers = self.groups = self.main = 0
        self.V = 1.0 - 1.0 / self.classes

    # One worker ------------------------------------------------------------------------------

    def read(self, i, x, m, weight):
        """R_i = (agree − ⟨own, f⟩ − ⟨μ, others⟩ + met ⟨μ, f⟩)/V, μ = (said + H f)/(N + H).

        Times (N + H)/(N + H − 1), since a label takes part in the habit it is compared with. As a
        fraction, so that whoever goes on divides once. Without the worker's label x on a task of m
        labels, `votes`, that counted ``weight``; 0 leaves nothing out.
        """
        K = self.classes
        h = H * self.unit
        less = weight * (m - 1)
        met = self.sums.rows[i, MET] - less
        agree: cython.double = self.sums.rows[i, AGREE] - weight * (self.votes[x] - 1)
        agree += less * self.f[x]
        N: cython.double = h
        habit: cython.double = 0.0
        for a in range(K):
            said: cython.double = self.sums.rows[i, HEAD + a]
            others: cython.double = self.sums.rows[i, HEAD + 2 * K + a]
            if weight != 0.0:
                others -= weight * self.votes[a]
                if a == x:
                    said -= weight
                    others += weight
            agree -= self.sums.rows[i, HEAD + K + a] * self.f[a]
            N += said
            habit += (said + h * self.f[a]) * (met * self.f[a] - others)
        return Reading(
            agree * N + habit,
            self.V * (N - self.unit),
            met,
            self.sums.rows[i, MET2] - less * (m - 2),
            N - h,
        )

    def noise(self, met, met2):
        """The variance of R, of a worker with the mean skill (docs/sparse.md)."""
        K = self.classes
        square = self.mean * self.mean
        found = met * (1.0 + (K - 2.0) * square) / (K - 1.0)
        found += met2 * square * (1.0 + (K - 2.0) * self.mean) / (K - 1.0)
        return found - (met + met2) * square * square

    def skill_from(self, found):
        """ψ_i: the precision-weighted mean of R/(met ψ̄), with its noise, and of ψ̄, with τ²."""
        if not found.met > 0.0:
            return self.mean
        c = found.met * self.mean
        noise = self.unit * self.noise(found.met, found.met2)
        return (found.R * c * self.spread + self.mean * noise * found.V) / (
            found.V * (self.spread * c * c + noise)
        )

    def is_inside(self, i):
        """Whether a worker belongs to the main group of those who share tasks."""
        if i >= self.workers:
            return False
        return self.groups < 2 or find(self.sums.groups, i) == self.main

    def fill_skills(self, out: cython.double[::1]):
        """Every worker's skill; the mean of those who share no task with the main group."""
        low = -1.0 / (self.classes - 1.0)
        with cython.nogil:
            for i in range(out.shape[0]):
                out[i] = self.mean
                if self.is_inside(i):
                    out[i] = min(max(self.skill_from(self.read(i, 0, 1, 0.0)), low), 1.0)

    # One task --------------------------------------------------------------------------------

    def odds(self, i, x, m, weight):
        """Of a vote: s (K − 1)/(1 − s) with s = 1/K + (1 − 1/K) ψ, ψ kept in [0, ``cap``].

        Label x on a task of m labels that counted ``weight`` is left out of the worker's skill.
        """
        skill: cython.double = self.mean
        if self.is_inside(i):
            skill = self.skill_from(self.read(i, x, m, weight))
        skill = min(max(skill, 0.0), self.cap)
        return (1.0 + (self.classes - 1.0) * skill) / (1.0 - skill)

    def judge(self, tasks, begin, end, own):
        """The product of the odds of a task's labels.

        ``own``: what the task counted, if its labels are to be left out of the skills; or 0.
        """
        for a in range(self.classes):
            self.product[a] = 1.0
            self.votes[a] = 0.0
        if own != 0.0:
            for z in range(begin, end):
                self.votes[tasks.labels[z]] += 1.0
        for z in range(begin, end):
            i = tasks.workers[z]
            x = tasks.labels[z]
            odds = self.odds(i, x, end - begin, own)
            if self.powers.rho.shape[0] or self.powers.least > 0.0:
                odds = pow(odds, self.powers.of(tasks, begin, end, i))
            self.product[x] *= odds
            if (z - begin) % 8 == 7:
                rescale(self.product)

    # All workers -----------------------------------------------------------------------------

    def renew(
        self, workers: cython.Py_ssize_t, unit: cython.double, scratch: cython.double[:, ::1]
    ):
        """Read what all workers share. ``scratch`` has space for three numbers per worker."""
        K = self.classes
        h = H * unit
        total: cython.double = 0.0
        with cython.nogil:
            self.workers = workers
            self.unit = unit
            for a in range(K):
                total += self.sums.shares[a]
            self.V = 1.0
            for a in range(K):
                self.f[a] = (self.sums.shares[a] + h) / (total + K * h)
                self.V -= self.f[a] * self.f[a]
            self.find_groups(scratch)
            self.surplus = self.met = self.all_met = 0.0
            for i in range(workers):
                found = self.read(i, 0, 1, 0.0)
                scratch[i, 0] = found.R / found.V
                scratch[i, 1] = found.N
                self.all_met += found.met
                if self.is_inside(i):
                    self.surplus += scratch[i, 0]
                    self.met += found.met
            self.find_mean()
            self.find_evidence(scratch)
            self.find_spread(scratch)

    def find_groups(self, scratch):
        """The main group of workers who share tasks: the largest, the first of equals."""
        for i in range(self.workers):
            scratch[i, 2] = 0
        for i in range(self.workers):
            if self.sums.rows[i, MET] > 0.0:
                scratch[find(self.sums.groups, i), 2] += 1
        self.groups = self.main = self.met_workers = 0
        for root in range(self.workers):
            if scratch[root, 2] > 0.0:
                self.groups += 1
                if scratch[root, 2] > scratch[self.main, 2]:
                    self.main = root
        if self.groups:
            self.met_workers = cython.cast(cython.Py_ssize_t, scratch[self.main, 2])

    def find_mean(self):
        """ψ̄ = √((T ΣR/Σmet + H ψ0²)/(T + H)): products of skills are measured, so it is closed."""
        expected = (self.classes * ACCURACY - 1.0) / (self.classes - 1.0)
        tasks = self.sums.total[1] / self.unit
        square: cython.double = tasks * self.surplus / self.met if self.met > 0.0 else 0.0
        square = (square + H * expected * expected) / (tasks + H)
        self.mean = max(sqrt(max(square, 0.0)), FLOOR)

    def find_evidence(self, scratch):
        """How far agreement differs from that of guessers, of whom R² is met/(K − 1) on average.

        As a whole or worker by worker, whichever says more: with as many adversaries as honest
        workers agreement and disagreement cancel out.
        """
        beyond: cython.double = 0.0
        guesses: cython.double = 0.0
        for i in range(self.workers):
            guessed = self.unit * self.sums.rows[i, MET] / (self.classes - 1.0)
            beyond += scratch[i, 0] * scratch[i, 0] - guessed
            guesses += guessed * guessed
        self.evidence = 0.0
        if self.met > 0.0:
            guessed = 2.0 * self.unit * self.met / (self.classes - 1.0)
            self.evidence = max(self.surplus / sqrt(guessed), beyond / sqrt(2.0 * guesses))

    def find_spread(self, scratch):
        """τ²: weighted moments of R/(met ψ̄) about ψ̄ beyond their noise, and what is expected.

        The two count by their precisions: the moments' is that of their own error, the expected
        value's that of so many workers whose skills were known. Also the confusions' strength.
        """
        precision = SPREAD_WORTH / (2.0 * SPREAD * SPREAD)
        weights: cython.double = 0.0
        moments: cython.double = 0.0
        errors: cython.double = 0.0
        answers: cython.double = 0.0
        noises: cython.double = 0.0
        for i in range(self.workers):
            scratch[i, 2] = -1.0
            c = self.sums.rows[i, MET] * self.mean
            if not c > 0.0:
                continue
            noise: cython.double = self.noise(self.sums.rows[i, MET], self.sums.rows[i, MET2])
            noise *= self.unit / (c * c)
            scratch[i, 2] = noise
            weight = 1.0 / ((noise + 0.1) * (noise + 0.1))
            weights += weight
            moments += weight * ((scratch[i, 0] / c - self.mean) ** 2 - noise)
            answers += scratch[i, 1]
            noises += scratch[i, 1] * scratch[i, 1] * noise
        self.spread = SPREAD
        self.strength = MOST_STRENGTH
        if not weights > 0.0:
            return
        found = moments / weights
        for i in range(self.workers):
            noise = scratch[i, 2]
            if noise >= 0.0:
                weight = 1.0 / ((noise + 0.1) * (noise + 0.1))
                noise += min(max(found, 0.0), 0.02)
                errors += 2.0 * weight * weight * noise * noise
        weight = weights * weights / max(errors, 1e-12)  # nobody errs: no noise at all
        self.spread = (weight * found + precision * SPREAD) / (weight + precision)
        self.spread = min(max(self.spread, LEAST), 1.0)
        if answers > 0.0:
            self.strength = noises / answers / self.unit / self.spread / 2.0
            self.strength = min(max(self.strength, H), MOST_STRENGTH)


@cython.final
@cython.cclass
class TeacherVotes(Scoring):
    """Scores by the teacher alone: its odds, and ``lean`` times how frequent a class is."""

    def __init__(self, sums: AgreementRows, teacher: Teacher, lean: cython.double):
        Scoring.__init__(self, sums)
        self.teacher = teacher
        self.lean = lean

    def meet_worker(self):
        """One more worker is known to the teacher."""
        self.sums.workers += 1
        self.teacher.workers = self.sums.workers

    def score(self, tasks, begin, end, own, scores, t):
        """Σ log odds of the labels for a class + lean·log f; or the votes."""
        if self.fell_back:
            count(tasks, begin, end, scores, t)
            return
        self.teacher.powers.least = self.least
        self.teacher.powers.own = own
        self.teacher.judge(tasks, begin, end, own)
        self.teacher.powers.least = 0.0
        for a in range(self.teacher.classes):
            scores[t, a] = log(max(self.teacher.product[a], 1e-300))
            scores[t, a] += self.lean * log(self.teacher.f[a])
