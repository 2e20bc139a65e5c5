# cython: language_level=3
"""Compiled loops of this room: sums → readings → scores → decisions. Arrays only.

`Teacher` reads the agreement sums, `Student` reads soft confusions, `Crowd` holds both and goes
through tasks in order. The plain functions go through tables of tasks with prepared logarithms.
Formulas are those of docs/how-it-works.md, in its letters; K classes, labels x, classes a.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.sums.loops import Rows, find
    from cython.cimports.libc.math import exp, floor, log, pow, sqrt  # noqa: A004
else:
    from math import exp, floor, log, pow, sqrt  # noqa: A004

    from crowdstream.sums.loops import Rows, find

    Reading = cython.struct(
        R=cython.double,
        V=cython.double,
        met=cython.double,
        met2=cython.double,
        N=cython.double,
    )
    Errors = cython.struct(observed=cython.double, expected=cython.double)
    Pick = cython.struct(
        winner=cython.Py_ssize_t,
        confidence=cython.double,
        margin=cython.double,
        tied=cython.Py_ssize_t,
    )

# A row of the agreement sums, as crowdstream.sums.loops lays it out.
AGREE = cython.declare(cython.Py_ssize_t, 0)
MET = cython.declare(cython.Py_ssize_t, 1)
MET2 = cython.declare(cython.Py_ssize_t, 2)
HEAD = cython.declare(cython.Py_ssize_t, 5)

UNIT = cython.declare(cython.double, 16777216.0)  # soft counts are multiples of 2⁻²⁴
H = cython.declare(cython.double, 8.0)  # answers that every prior is worth
ACCURACY = cython.declare(cython.double, 0.7)  # expected of a worker before any data
FLOOR = cython.declare(cython.double, 0.1)  # of the crowd's mean skill: zero would be absorbing
CAP = cython.declare(cython.double, 0.6)  # skill beyond which a teacher's vote counts no more
LEAST = cython.declare(cython.double, 0.002)  # variance of skills: nobody is quite like everybody
SPREAD = cython.declare(cython.double, 0.05)  # variance of skills that real crowds have
SPREAD_WORTH = cython.declare(cython.double, 20.0)  # workers that this is worth
MOST = cython.declare(cython.double, 200.0)  # answers that a confusion's prior is worth at most
TIE = cython.declare(cython.double, 1e-9)  # scores this close, a vote, are a tie
CAP_SKILL = 0.6
LARGE = cython.declare(cython.double, 1e100)  # products are scaled down beyond it
GOLD = cython.declare(cython.double, 5.0)  # times that a task of known truth counts
PHI = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
MIX1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
MIX2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)


@cython.final
@cython.cclass
class Teacher:
    """One skill per worker, from agreement beyond what the workers' habits explain.

    ``f``: shares of the classes among the labels. ``mean``: the crowd's mean skill ψ̄. ``spread``:
    the variance τ² of skills. ``strength``: the answers that a confusion's prior is worth.
    ``evidence``: by how many standard errors agreement differs from that of guessers. ``met``:
    meetings of the main group of workers who share tasks (``all_met``: of everybody),
    ``met_workers`` how many of them have met anybody; ``groups``: how many groups share no task.
    ``unit``: what one task counts now, which forgetting makes grow. ``votes``: of the task that is
    being judged.
    """

    def __init__(self, sums: Rows, f, votes):
        self.sums = sums
        self.f = f
        self.votes = votes
        self.classes = f.shape[0]
        self.workers = 0
        self.unit = 1.0
        self.mean = (self.classes * ACCURACY - 1.0) / (self.classes - 1.0)
        self.spread = LEAST
        self.strength = MOST
        self.surplus = self.met = self.all_met = self.evidence = 0.0
        self.met_workers = self.groups = self.main = 0
        self.V = 1.0 - 1.0 / self.classes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read(self, i: cython.Py_ssize_t) -> Reading:
        """R_i = (agree − ⟨own, f⟩ − ⟨μ, others⟩ + met ⟨μ, f⟩)/V, μ = (said + H f)/(N + H).

        Times (N + H)/(N + H − 1), since a label takes part in the habit it is compared with. As a
        fraction, so that whoever goes on divides once.
        """
        a: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        h: cython.double = H * self.unit
        met: cython.double = self.sums.rows[i, MET]
        agree: cython.double = self.sums.rows[i, AGREE]
        said: cython.double
        N: cython.double = h
        habit: cython.double = 0
        for a in range(K):
            said = self.sums.rows[i, HEAD + a]
            agree -= self.sums.rows[i, HEAD + K + a] * self.f[a]
            N += said
            habit += (said + h * self.f[a]) * (
                met * self.f[a] - self.sums.rows[i, HEAD + 2 * K + a]
            )
        return Reading(
            agree * N + habit, self.V * (N - self.unit), met, self.sums.rows[i, MET2], N - h
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_without(
        self,
        i: cython.Py_ssize_t,
        x: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        weight: cython.double,
    ) -> Reading:
        """The same without the worker's label x on a task of m labels, its `votes`."""
        a: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        h: cython.double = H * self.unit
        less: cython.double = weight * (m - 1)
        met: cython.double = self.sums.rows[i, MET] - less
        agree: cython.double = self.sums.rows[i, AGREE] - weight * (self.votes[x] - 1)
        said: cython.double
        others: cython.double
        N: cython.double = h
        habit: cython.double = 0
        agree += less * self.f[x]
        for a in range(K):
            said = self.sums.rows[i, HEAD + a]
            others = self.sums.rows[i, HEAD + 2 * K + a] - weight * self.votes[a]
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skill_from(self, found: Reading) -> cython.double:
        """ψ_i: the precision-weighted mean of R/(met ψ̄), with its noise, and of ψ̄, with τ²."""
        c: cython.double = found.met * self.mean
        noise: cython.double = self.unit * (
            found.met / (self.classes - 1.0) + found.met2 * self.mean * self.mean
        )
        if not found.met > 0.0:
            return self.mean
        return (found.R * c * self.spread + self.mean * noise * found.V) / (
            found.V * (self.spread * c * c + noise)
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_inside(self, i: cython.Py_ssize_t) -> cython.bint:
        """Whether a worker belongs to the main group of those who share tasks."""
        if i >= self.workers:
            return False
        return self.groups < 2 or find(self.sums.groups, i) == self.main

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def odds(
        self,
        i: cython.Py_ssize_t,
        own: cython.bint,
        x: cython.Py_ssize_t,
        m: cython.Py_ssize_t,
        weight: cython.double,
    ) -> cython.double:
        """Of a vote: s (K − 1)/(1 − s) with s = 1/K + (1 − 1/K) ψ, ψ kept in [0, 0.6].

        ``own``: without the label x on a task of m labels that counted ``weight``.
        """
        skill: cython.double = self.mean
        if self.is_inside(i):
            if own:
                skill = self.skill_from(self.read_without(i, x, m, weight))
            else:
                skill = self.skill_from(self.read(i))
        skill = min(max(skill, 0.0), CAP)
        return (1.0 + (self.classes - 1.0) * skill) / (1.0 - skill)

    def renew(
        self, workers: cython.Py_ssize_t, unit: cython.double, scratch: cython.double[:, ::1]
    ):
        """Read what all workers share. ``scratch`` has room for three numbers per worker."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        found: Reading
        h: cython.double = H * unit
        total: cython.double = 0
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
                found = self.read(i)
                scratch[i, 0] = found.R / found.V
                scratch[i, 1] = found.N
                self.all_met += found.met
                if self.is_inside(i):
                    self.surplus += scratch[i, 0]
                    self.met += found.met
            self.find_mean()
            self.find_evidence(scratch)
            self.find_spread(scratch)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_groups(self, scratch: cython.double[:, ::1]) -> cython.void:
        """The main group of workers who share tasks: the largest, the first of equals."""
        i: cython.Py_ssize_t
        root: cython.Py_ssize_t
        for i in range(self.workers):
            scratch[i, 2] = 0
        for i in range(self.workers):
            if self.sums.rows[i, MET] > 0.0:
                scratch[find(self.sums.groups, i), 2] += 1
        self.groups = 0
        self.main = 0
        for root in range(self.workers):
            if scratch[root, 2] > 0.0:
                self.groups += 1
                if scratch[root, 2] > scratch[self.main, 2]:
                    self.main = root
        self.met_workers = (
            cython.cast(cython.Py_ssize_t, scratch[self.main, 2]) if self.groups else 0
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_mean(self) -> cython.void:
        """ψ̄ = √((T ΣR/Σmet + H ψ0²)/(T + H)): products of skills are measured, so it is closed."""
        K: cython.double = self.classes
        expected: cython.double = (K * ACCURACY - 1.0) / (K - 1.0)
        tasks: cython.double = self.sums.total[1] / self.unit
        square: cython.double = tasks * self.surplus / self.met if self.met > 0.0 else 0.0
        square = (square + H * expected * expected) / (tasks + H)
        self.mean = max(sqrt(max(square, 0.0)), FLOOR)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_evidence(self, scratch: cython.double[:, ::1]) -> cython.void:
        """How far agreement differs from that of guessers, of whom R² is met/(K − 1) on average.

        As a whole or worker by worker, whichever says more: with as many adversaries as honest
        workers agreement and disagreement cancel out.
        """
        i: cython.Py_ssize_t
        guessed: cython.double
        beyond: cython.double = 0
        guesses: cython.double = 0
        for i in range(self.workers):
            guessed = self.unit * self.sums.rows[i, MET] / (self.classes - 1.0)
            beyond += scratch[i, 0] * scratch[i, 0] - guessed
            guesses += guessed * guessed
        self.evidence = 0.0
        if self.met > 0.0:
            guessed = 2.0 * self.unit * self.met / (self.classes - 1.0)
            self.evidence = max(self.surplus / sqrt(guessed), beyond / sqrt(2.0 * guesses))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_spread(self, scratch: cython.double[:, ::1]) -> cython.void:
        """τ²: weighted moments of R/(met ψ̄) about ψ̄ beyond their noise, and what is expected.

        The two count by their precisions: the moments' is that of their own error, the expected
        value's that of so many workers whose skills were known. Also the confusions' strength.
        """
        i: cython.Py_ssize_t
        K: cython.double = self.classes
        c: cython.double
        noise: cython.double
        weight: cython.double
        weights: cython.double = 0
        moments: cython.double = 0
        errors: cython.double = 0
        answers: cython.double = 0
        noises: cython.double = 0
        found: cython.double
        precision: cython.double = SPREAD_WORTH / (2.0 * SPREAD * SPREAD)
        for i in range(self.workers):
            scratch[i, 2] = -1.0
            c = self.sums.rows[i, MET] * self.mean
            if not c > 0.0:
                continue
            noise = self.sums.rows[i, MET] / (K - 1.0)
            noise += self.sums.rows[i, MET2] * self.mean * self.mean
            noise *= self.unit / (c * c)
            scratch[i, 2] = noise
            weight = 1.0 / ((noise + 0.1) * (noise + 0.1))
            weights += weight
            moments += weight * ((scratch[i, 0] / c - self.mean) ** 2 - noise)
            answers += scratch[i, 1]
            noises += scratch[i, 1] * scratch[i, 1] * noise
        self.spread = SPREAD
        self.strength = MOST
        if not weights > 0.0:
            return
        found = moments / weights
        for i in range(self.workers):
            noise = scratch[i, 2]
            if noise >= 0.0:
                weight = 1.0 / ((noise + 0.1) * (noise + 0.1))
                noise += min(max(found, 0.0), 0.02)
                errors += 2.0 * weight * weight * noise * noise
        weight = weights * weights / errors
        self.spread = (weight * found + precision * SPREAD) / (weight + precision)
        self.spread = min(max(self.spread, LEAST), 1.0)
        if answers > 0.0:
            self.strength = noises / answers / self.unit / self.spread / 2.0
            self.strength = min(max(self.strength, H), MOST)

    def fill_skills(self, out: cython.double[::1]):
        """Every worker's skill; the mean of those who share no task with the main group."""
        i: cython.Py_ssize_t
        with cython.nogil:
            for i in range(out.shape[0]):
                out[i] = self.mean
                if self.is_inside(i):
                    out[i] = self.skill_from(self.read(i))
                    out[i] = min(max(out[i], -1.0 / (self.classes - 1.0)), 1.0)


@cython.final
@cython.cclass
class Student:
    """One confusion per worker, read from soft counts.

    ``counts[i, x, a]``: answers x of worker i, by how likely the class was a; ``counts[i, K, a]``
    their sum over x. ``mass[a]``: tasks, by how likely the class was a. A row's prior is the pooled
    confusion, its error odds multiplied by the worker's own ratio of observed to expected errors.
    """

    def __init__(self, counts, mass, pooled, prior):
        self.counts = counts
        self.mass = mass
        self.pooled = pooled
        self.prior = prior
        self.classes = mass.shape[0]
        self.workers = 0
        self.strength = MOST
        self.typical = 1.0

    def renew(
        self,
        workers: cython.Py_ssize_t,
        strength: cython.double,
        unit: cython.double,
        f: cython.double[::1],
    ):
        """Read what all workers share: the pooled confusion and how frequent the classes are.

        ``pooled[K, a]`` is how often class a is mistaken.
        """
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        x: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        row: cython.double
        total: cython.double = 0
        h: cython.double = H * unit
        with cython.nogil:
            self.workers = workers
            self.strength = strength * unit
            for x in range(K):
                for a in range(K):
                    self.pooled[x, a] = h * (ACCURACY if a == x else (1.0 - ACCURACY) / (K - 1.0))
            for i in range(workers):
                for x in range(K):
                    for a in range(K):
                        self.pooled[x, a] += self.counts[i, x, a]
            self.typical = 0.0
            for a in range(K):
                row = 0.0
                for x in range(K):
                    row += self.pooled[x, a]
                for x in range(K):
                    self.pooled[x, a] /= row
                self.pooled[K, a] = 1.0 - self.pooled[a, a]
                total += self.mass[a]
                self.typical += self.pooled[K, a] * self.mass[a]
            self.typical = self.typical / total if total > 0.0 else 1.0 - ACCURACY
            for a in range(K):
                self.prior[a] = (self.mass[a] + h * f[a]) / (total + h)

    def spread_strength(self, most: cython.double, unit: cython.double) -> cython.double:
        """The strength that the spread of right answers asks for, from 8 to ``most``."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        right: cython.double
        N: cython.double
        noise: cython.double
        weight: cython.double
        rights: cython.double = 0
        answers: cython.double = 0
        weights: cython.double = 0
        moments: cython.double = 0
        errors: cython.double = 0
        mean: cython.double
        var: cython.double
        with cython.nogil:
            for i in range(self.workers):
                for a in range(K):
                    rights += self.counts[i, a, a]
                    answers += self.counts[i, K, a]
            if answers > 0.0:
                mean = rights / answers
                var = mean * (1.0 - mean)
                for i in range(self.workers):
                    right = N = 0.0
                    for a in range(K):
                        right += self.counts[i, a, a]
                        N += self.counts[i, K, a]
                    if not N > unit:
                        continue
                    noise = var * unit / N
                    weight = 1.0 / ((noise + 0.02) * (noise + 0.02))
                    weights += weight
                    moments += weight * ((right / N - mean) * (right / N - mean) - noise)
                    errors += 2.0 * weight * weight * (noise + 0.005) * (noise + 0.005)
                if weights > 0.0:
                    moments = max((moments - sqrt(errors)) / weights, 1e-4)
                    most = min(max(var / moments / 2.0, H), most)
        return most

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def errors(self, i: cython.Py_ssize_t) -> Errors:
        """Observed and expected errors of a worker; their ratio is shrunk to 1."""
        a: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        observed: cython.double = self.strength * self.typical
        expected: cython.double = observed
        if i < self.workers:
            for a in range(K):
                observed += self.counts[i, K, a] - self.counts[i, a, a]
                expected += self.counts[i, K, a] * self.pooled[K, a]
        return Errors(observed, expected)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def likelihood(
        self,
        i: cython.Py_ssize_t,
        x: cython.Py_ssize_t,
        a: cython.Py_ssize_t,
        found: Errors,
    ) -> cython.double:
        """p_i(x | a): own counts and ``strength`` answers by the prior.

        Of the prior the worker errs with odds ratio·wrong/(1 − wrong); all over a common
        denominator, so that there is one division.
        """
        wrong: cython.double = self.pooled[self.classes, a]
        scale: cython.double = (1.0 - wrong) * found.expected + wrong * found.observed
        prior: cython.double
        if x == a:
            prior = (1.0 - wrong) * found.expected
        else:
            prior = self.pooled[x, a] * found.observed
        if i >= self.workers:
            return prior / scale
        return (self.counts[i, x, a] * scale + self.strength * prior) / (
            (self.counts[i, self.classes, a] + self.strength) * scale
        )

    def fill_confusions(self, out: cython.double[:, :, ::1]):
        """p_i(x | a) of all workers; the last row, if there is one more, is a stranger's."""
        i: cython.Py_ssize_t
        x: cython.Py_ssize_t
        a: cython.Py_ssize_t
        found: Errors
        with cython.nogil:
            for i in range(out.shape[0]):
                found = self.errors(i)
                for x in range(self.classes):
                    for a in range(self.classes):
                        out[i, x, a] = self.likelihood(i, x, a, found)


@cython.final
@cython.cclass
class Crowd:
    """Teacher and students together: decides tasks one after the other, and learns them.

    ``taught`` counts by the teacher's posteriors, ``swept`` by its own; ``gate`` is how far the
    swept confusions are believed (they are not read at 0). ``heads``: whether to fall back to
    majority vote. ``rho``: of each declared family the correlation of errors. ``work`` has three
    rows of K numbers.
    """

    def __init__(self, sums: Rows, teacher: Teacher, taught: Student, swept: Student, work, rho):
        self.sums = sums
        self.teacher = teacher
        self.taught = taught
        self.swept = swept
        self.work = work
        self.rho = rho
        self.classes = work.shape[1]
        self.gate = 0.0
        self.heads = True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def judge(
        self,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        own: cython.bint,
        weight: cython.double,
    ) -> cython.void:
        """Products of likelihoods: the teacher's, both students' (their priors included).

        ``own``: the task's labels are among the sums, so they are left out of them.
        """
        z: cython.Py_ssize_t
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        x: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        odds: cython.double
        one: Errors
        two: Errors
        families: cython.bint = self.rho.shape[0] > 0
        for a in range(K):
            self.work[0, a] = 1.0
            self.work[1, a] = self.taught.prior[a]
            self.work[2, a] = self.swept.prior[a]
            self.teacher.votes[a] = 0.0
        if own:
            for z in range(begin, end):
                self.teacher.votes[self.sums.what[z]] += 1.0
        for z in range(begin, end):
            i = self.sums.who[z]
            x = self.sums.what[z]
            odds = self.teacher.odds(i, own, x, end - begin, weight)
            if families and i < self.sums.family.shape[0] and self.sums.family[i] >= 0:
                self.judge_relative(begin, end, z, odds)
            else:
                self.work[0, x] *= odds
                one = self.taught.errors(i)
                for a in range(K):
                    self.work[1, a] *= self.taught.likelihood(i, x, a, one)
                if self.gate > 0.0:
                    two = self.swept.errors(i)
                    for a in range(K):
                        self.work[2, a] *= self.swept.likelihood(i, x, a, two)
            if (z - begin) % 8 == 7:
                self.rescale()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def judge_relative(
        self,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        z: cython.Py_ssize_t,
        odds: cython.double,
    ) -> cython.void:
        """One label by a member of a family: as a power of what it would be."""
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t = self.sums.who[z]
        x: cython.Py_ssize_t = self.sums.what[z]
        one: Errors = self.taught.errors(i)
        two: Errors = self.swept.errors(i)
        power: cython.double = self.kin_power(begin, end, self.sums.family[i])
        self.work[0, x] *= pow(odds, power)
        for a in range(self.classes):
            self.work[1, a] *= pow(self.taught.likelihood(i, x, a, one), power)
            self.work[2, a] *= pow(self.swept.likelihood(i, x, a, two), power)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def kin_power(
        self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t, kind: cython.Py_ssize_t
    ) -> cython.double:
        """What a vote is worth beside its kin's: 1/(1 + (s − 1) ρ), s of the family on the task."""
        z: cython.Py_ssize_t
        i: cython.Py_ssize_t
        kin: cython.double = -1.0
        for z in range(begin, end):
            i = self.sums.who[z]
            if i < self.sums.family.shape[0] and self.sums.family[i] == kind:
                kin += 1.0
        return 1.0 / (1.0 + kin * self.rho[kind])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def rescale(self) -> cython.void:
        """Keep products of odds and of probabilities within what numbers can hold."""
        a: cython.Py_ssize_t
        row: cython.Py_ssize_t
        most: cython.double
        for row in range(3):
            most = 0.0
            for a in range(self.classes):
                most = max(most, self.work[row, a])
            if most > LARGE:
                for a in range(self.classes):
                    self.work[row, a] /= LARGE
            elif most < 1.0 / LARGE:
                for a in range(self.classes):
                    self.work[row, a] *= LARGE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def score(self, out: cython.double[:, ::1], t: cython.Py_ssize_t) -> cython.void:
        """(1 − g)·(A + B)/2 + g·B_swept, in logarithms."""
        a: cython.Py_ssize_t
        g: cython.double = self.gate
        for a in range(self.classes):
            out[t, a] = log(max(self.work[0, a] * self.work[1, a], 1e-300)) / 2.0
            if g > 0.0:
                out[t, a] = (1.0 - g) * out[t, a] + g * log(max(self.work[2, a], 1e-300))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def teach(
        self,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        weight: cython.double,
    ) -> cython.void:
        """Soft counts of a task that was judged: q ∝ f·A for one student, its own for the other."""
        z: cython.Py_ssize_t
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        x: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        q: cython.double
        for a in range(K):
            if self.gate > 0.0:
                self.work[1, a] = self.work[2, a]
            else:
                self.work[1, a] = sqrt(self.work[0, a] * self.work[1, a])
            self.work[0, a] *= self.teacher.f[a]
        self.soften(0, truth, weight)
        self.soften(1, truth, weight)
        for a in range(K):
            self.taught.mass[a] += self.work[0, a]
            self.swept.mass[a] += self.work[1, a]
        for z in range(begin, end):
            i = self.sums.who[z]
            x = self.sums.what[z]
            for a in range(K):
                q = self.work[0, a]
                self.taught.counts[i, x, a] += q
                self.taught.counts[i, K, a] += q
                q = self.work[1, a]
                self.swept.counts[i, x, a] += q
                self.swept.counts[i, K, a] += q

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def soften(
        self, row: cython.Py_ssize_t, truth: cython.Py_ssize_t, weight: cython.double
    ) -> cython.void:
        """Products → what a task counts for each class: posteriors in multiples of 2⁻²⁴."""
        a: cython.Py_ssize_t
        total: cython.double = 0
        for a in range(self.classes):
            total += self.work[row, a]
        for a in range(self.classes):
            if truth < 0:
                self.work[row, a] = weight * floor(self.work[row, a] / total * UNIT + 0.5) / UNIT
            else:
                self.work[row, a] = GOLD * weight if a == truth else 0.0

    def follow(
        self,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        weight: cython.double,
        growth: cython.double,
        scores: cython.double[:, ::1],
    ):
        """Decide each task from those before it, then learn it: sums and soft counts."""
        t: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        self.sums.who = workers
        self.sums.what = labels
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                truth = truths[t] if truths.shape[0] else -1
                self.judge(starts[t], starts[t + 1], False, 0.0)
                if scores.shape[0]:
                    if self.heads:
                        count(labels, starts[t], starts[t + 1], scores, t)
                    else:
                        self.score(scores, t)
                self.sums.add_task(starts[t], starts[t + 1], truth, weight)
                if starts[t + 1] > starts[t]:
                    self.teach(starts[t], starts[t + 1], truth, weight)
                weight *= growth
        self.sums.who = self.sums.what = self.sums.nobody

    def close(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        truth: cython.Py_ssize_t,
        weight: cython.double,
        own: cython.bint,
    ):
        """Soft counts of one task; ``own``: its labels are among the sums already."""
        self.sums.who = workers
        self.sums.what = labels
        with cython.nogil:
            if workers.shape[0]:
                self.judge(0, workers.shape[0], own, weight)
                self.teach(0, workers.shape[0], truth, weight)
        self.sums.who = self.sums.what = self.sums.nobody

    def ask(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        m: cython.Py_ssize_t,
        own: cython.bint,
        weight: cython.double,
        scores: cython.double[:, ::1],
    ):
        """The scores of one task by its first m labels; with ``own``, these are left out of the
        sums."""
        self.sums.who = workers
        self.sums.what = labels
        with cython.nogil:
            self.answer(m, own, weight, scores)
        self.sums.who = self.sums.what = self.sums.nobody

    def observe(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        m: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        weight: cython.double,
        scores: cython.double[:, ::1],
    ):
        """An open task has got its m-th label: the sums learn it, then it is scored as by `ask`."""
        self.sums.who = workers
        self.sums.what = labels
        with cython.nogil:
            if m > 1:
                self.sums.add_task(0, m - 1, truth, -weight)
            self.sums.add_task(0, m, truth, weight)
            self.answer(m, True, weight, scores)
        self.sums.who = self.sums.what = self.sums.nobody

    def observe_tasks(
        self,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        weight: cython.double,
        growth: cython.double,
        rules: cython.double[::1],
        keys: cython.ulonglong[::1],
        used: cython.longlong[::1],
        why: cython.int[::1],
        scores: cython.double[:, ::1],
    ):
        """New tasks take their labels one by one, each closing as soon as it is settled or full.

        ``rules``: the confidence at which a task is settled (2: none), the least labels for that,
        the most labels a task takes, the correlation by which confidence is discounted. ``used``
        becomes the number of labels taken, ``why`` 0 (open), 1 (settled) or 2 (full).
        """
        t: cython.Py_ssize_t
        m: cython.Py_ssize_t
        most: cython.Py_ssize_t
        found: Pick
        stops: cython.bint = rules[0] <= 1.0
        self.sums.who = workers
        self.sums.what = labels
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                most = starts[t + 1] - starts[t]
                why[t] = 0
                if most >= rules[2]:
                    most = cython.cast(cython.Py_ssize_t, rules[2])
                    why[t] = 2
                m = 1 if stops else most
                while True:
                    if m > 1 and stops:
                        self.sums.add_task(starts[t], starts[t] + m - 1, -1, -weight)
                    self.sums.add_task(starts[t], starts[t] + m, -1, weight)
                    self.judge(starts[t], starts[t] + m, True, weight)
                    if self.heads:
                        count(labels, starts[t], starts[t] + m, scores, t)
                    else:
                        self.score(scores, t)
                    if stops and m >= rules[1]:
                        found = pick(
                            scores, t, m, scores.shape[1], 0.0 if self.heads else rules[3], keys,
                            False, 0,
                        )  # fmt: skip
                        if found.confidence >= rules[0]:
                            why[t] = 1
                            break
                    if m == most:
                        break
                    m += 1
                used[t] = m
                if why[t] > 0:
                    self.teach(starts[t], starts[t] + m, -1, weight)
                weight *= growth
        self.sums.who = self.sums.what = self.sums.nobody

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def answer(
        self,
        m: cython.Py_ssize_t,
        own: cython.bint,
        weight: cython.double,
        scores: cython.double[:, ::1],
    ) -> cython.void:
        """Score the task whose first m labels are at hand."""
        if self.heads:
            count(self.sums.what, 0, m, scores, 0)
        else:
            self.judge(0, m, own, weight)
            self.score(scores, 0)

    def fill_powers(
        self, starts: cython.longlong[::1], workers: cython.int[::1], out: cython.double[::1]
    ):
        """What each label is worth beside its kin's on the same task."""
        t: cython.Py_ssize_t
        z: cython.Py_ssize_t
        y: cython.Py_ssize_t
        kind: cython.Py_ssize_t
        known: cython.Py_ssize_t = self.sums.family.shape[0]
        kin: cython.double
        for t in range(starts.shape[0] - 1):
            for z in range(starts[t], starts[t + 1]):
                kind = self.sums.family[workers[z]] if workers[z] < known else -1
                kin = -1.0
                for y in range(starts[t], starts[t + 1]):
                    if workers[y] < known and self.sums.family[workers[y]] == kind:
                        kin += 1.0
                out[z] = 1.0 / (1.0 + kin * self.rho[kind]) if kind >= 0 else 1.0

    def fill_logs(self, out: cython.double[:, :, ::1], prior: cython.double[::1]):
        """What label x of worker i adds to the score of class a; the last row is a stranger's."""
        i: cython.Py_ssize_t
        x: cython.Py_ssize_t
        a: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        g: cython.double = self.gate
        vote: cython.double
        one: Errors
        two: Errors
        with cython.nogil:
            for a in range(K):
                prior[a] = (1.0 - g) / 2.0 * log(self.taught.prior[a])
                if g > 0.0:
                    prior[a] += g * log(self.swept.prior[a])
            for i in range(out.shape[0]):
                vote = log(self.teacher.odds(i, False, 0, 0, 0.0))
                one = self.taught.errors(i)
                two = self.swept.errors(i)
                for x in range(K):
                    for a in range(K):
                        out[i, x, a] = log(self.taught.likelihood(i, x, a, one))
                        if x == a:
                            out[i, x, a] += vote
                        out[i, x, a] *= (1.0 - g) / 2.0
                        if g > 0.0:
                            out[i, x, a] += g * log(self.swept.likelihood(i, x, a, two))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count(
    labels: cython.int[::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    out: cython.double[:, ::1],
    t: cython.Py_ssize_t,
) -> cython.void:
    """Majority vote: log(1 + votes), so that the posterior is (votes + 1)/(m + K)."""
    z: cython.Py_ssize_t
    a: cython.Py_ssize_t
    for a in range(out.shape[1]):
        out[t, a] = 1.0
    for z in range(begin, end):
        out[t, labels[z]] += 1.0
    for a in range(out.shape[1]):
        out[t, a] = log(out[t, a])


# Tables of tasks -----------------------------------------------------------------------------


def count_votes(
    starts: cython.longlong[::1], labels: cython.int[::1], scores: cython.double[:, ::1]
):
    """Scores of majority vote."""
    t: cython.Py_ssize_t
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            count(labels, starts[t], starts[t + 1], scores, t)


def add_weights(
    starts: cython.longlong[::1],
    workers: cython.int[::1],
    labels: cython.int[::1],
    weights: cython.double[::1],
    prior: cython.double[::1],
    scores: cython.double[:, ::1],
):
    """Scores of a vote with one weight per worker; who is beyond the weights counts as the last."""
    t: cython.Py_ssize_t
    z: cython.Py_ssize_t
    a: cython.Py_ssize_t
    last: cython.Py_ssize_t = weights.shape[0] - 1
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            for a in range(prior.shape[0]):
                scores[t, a] = prior[a]
            for z in range(starts[t], starts[t + 1]):
                scores[t, labels[z]] += weights[workers[z] if workers[z] < last else last]


def add_logs(
    starts: cython.longlong[::1],
    workers: cython.int[::1],
    labels: cython.int[::1],
    powers: cython.double[::1],
    logs: cython.double[:, :, ::1],
    prior: cython.double[::1],
    scores: cython.double[:, ::1],
):
    """Scores by ``logs[i, x, a]``; who is beyond them counts as the last, a stranger.

    ``powers``: what each label is worth beside its kin's, or nothing if all are worth 1.
    """
    t: cython.Py_ssize_t
    z: cython.Py_ssize_t
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    x: cython.Py_ssize_t
    last: cython.Py_ssize_t = logs.shape[0] - 1
    power: cython.double = 1.0
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            for a in range(prior.shape[0]):
                scores[t, a] = prior[a]
            for z in range(starts[t], starts[t + 1]):
                i = workers[z] if workers[z] < last else last
                x = labels[z]
                if powers.shape[0]:
                    power = powers[z]
                for a in range(prior.shape[0]):
                    scores[t, a] += power * logs[i, x, a]


def add_soft_counts(
    starts: cython.longlong[::1],
    workers: cython.int[::1],
    labels: cython.int[::1],
    truths: cython.int[::1],
    scores: cython.double[:, ::1],
    counts: cython.double[:, :, ::1],
    mass: cython.double[::1],
):
    """Add every task's posterior, softmax(scores), to its workers' counts; scores become them."""
    t: cython.Py_ssize_t
    z: cython.Py_ssize_t
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    x: cython.Py_ssize_t
    K: cython.Py_ssize_t = mass.shape[0]
    best: cython.double
    total: cython.double
    truth: cython.Py_ssize_t
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            if starts[t + 1] == starts[t]:
                continue
            truth = truths[t] if truths.shape[0] else -1
            best = scores[t, 0]
            for a in range(1, K):
                best = max(best, scores[t, a])
            total = 0.0
            for a in range(K):
                scores[t, a] = exp(scores[t, a] - best)
                total += scores[t, a]
            for a in range(K):
                if truth < 0:
                    scores[t, a] = floor(scores[t, a] / total * UNIT + 0.5) / UNIT
                else:
                    scores[t, a] = GOLD if a == truth else 0.0
                mass[a] += scores[t, a]
            for z in range(starts[t], starts[t + 1]):
                i = workers[z]
                x = labels[z]
                for a in range(K):
                    counts[i, x, a] += scores[t, a]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mix(value: cython.ulonglong) -> cython.ulonglong:
    """A bijection of 64 bits that scatters them (the finaliser of splitmix64)."""
    if not cython.compiled:
        value &= 0xFFFFFFFFFFFFFFFF
    value = (value ^ (value >> 30)) * MIX1
    if not cython.compiled:
        value &= 0xFFFFFFFFFFFFFFFF
    value = (value ^ (value >> 27)) * MIX2
    if not cython.compiled:
        value &= 0xFFFFFFFFFFFFFFFF
    return value ^ (value >> 31)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pick(
    scores: cython.double[:, ::1],
    t: cython.Py_ssize_t,
    m: cython.double,
    named: cython.Py_ssize_t,
    rho: cython.double,
    keys: cython.ulonglong[::1],
    tossed: cython.bint,
    coin: cython.ulonglong,
) -> Pick:
    """The winner of one task, its posterior, its lead, and how many classes are tied for it."""
    a: cython.Py_ssize_t
    best: cython.double = scores[t, 0]
    second: cython.double = -1e300
    mass: cython.double = 0
    scale: cython.double = 1.0 / (1.0 + (m - 1.0) * rho)
    close: cython.double
    margin: cython.double = 0
    tied: cython.Py_ssize_t = 0
    winner: cython.Py_ssize_t = -1
    key: cython.ulonglong
    least: cython.ulonglong = 0
    for a in range(1, named):
        best = max(best, scores[t, a])
    close = best - TIE * m
    for a in range(scores.shape[1]):
        mass += exp((scores[t, a] - best) * scale)
        if a < named and scores[t, a] >= close:
            tied += 1
            key = keys[a]
            if tossed:
                key = mix(key ^ coin)
            if winner < 0 or key < least:
                winner = a
                least = key
        else:
            second = max(second, scores[t, a])
    if tied < 2:
        margin = (1.0 - exp((second - best) * scale)) / mass
    return Pick(winner, 1.0 / mass, margin, tied)


def choose_one(
    scores: cython.double[:, ::1],
    m: cython.Py_ssize_t,
    named: cython.Py_ssize_t,
    rho: cython.double,
    keys: cython.ulonglong[::1],
    tossed: cython.bint,
    coin: cython.ulonglong,
):
    """`choose` for one task: winner, confidence, margin, how many classes are tied."""
    found: Pick
    if m == 0 or named == 0:
        return -1, 0.0, 0.0, 0
    found = pick(scores, 0, m, named, rho, keys, tossed, coin)
    return found.winner, found.confidence, found.margin, found.tied


def choose(
    starts: cython.longlong[::1],
    scores: cython.double[:, ::1],
    named: cython.Py_ssize_t,
    rho: cython.double,
    keys: cython.ulonglong[::1],
    coins: cython.ulonglong[::1],
    winners: cython.int[::1],
    confidences: cython.double[::1],
    margins: cython.double[::1],
):
    """Scores → winner (−1 without a label), its posterior, its lead; how many tasks are tied.

    The first ``named`` classes can win. Posteriors are softmax(scores/(1 + (m − 1) ρ)). A tie goes
    to the class with the least key mixed with its task's coin, or without coins with the least key.
    """
    t: cython.Py_ssize_t
    m: cython.double
    ties: cython.Py_ssize_t = 0
    found: Pick
    tossed: cython.bint = coins.shape[0] > 0
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            m = starts[t + 1] - starts[t]
            winners[t] = -1
            confidences[t] = margins[t] = 0.0
            if m == 0 or named == 0:
                continue
            found = pick(scores, t, m, named, rho, keys, tossed, coins[t] if tossed else 0)
            winners[t] = cython.cast(cython.int, found.winner)
            confidences[t] = found.confidence
            margins[t] = found.margin
            if found.tied > 1:
                ties += 1
    return ties
