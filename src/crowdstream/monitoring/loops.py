# cython: language_level=3
"""Compiled loops of this room: labels judged by the other labels of their task. Arrays only.

A label y of a worker with skill θ is judged by the posterior π of its task's *other* labels:
``P(y) = (1 + θ h_y)/K`` with ``h_y = K π(y) − 1``. So ``Σ h`` estimates ``θ Σ e₂`` without a bias,
``e_r = Σ_k h_k^r / K``, with a known variance; and ``s = h/(1 + θ h)`` is the derivative of the
task's log-likelihood by θ. `Judge` finds h, e₂ and e₃; the others keep sums of them. Classes are
taken to be equally frequent: where errors are alike for all classes that leaves the sums without
a bias, and what is often said does not pass for what is often true.

Knows workers and classes by their codes, and nothing of estimators.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import log, pow, sqrt  # noqa: A004
else:
    from math import log, pow, sqrt  # noqa: A004

MOST_SKILL = cython.declare(cython.double, 0.98)  # nobody is taken to be better, nor worse
LARGE = cython.declare(cython.double, 1e60)  # products of odds are scaled down beyond it
TINY = cython.declare(cython.double, 1e-12)

# A worker's sums for intervals: Σg h, Σg e₂, Σg² e₂, Σg² e₃, Σg² e₂², answers of known truth.
B = cython.declare(cython.Py_ssize_t, 0)
C = cython.declare(cython.Py_ssize_t, 1)
V = cython.declare(cython.Py_ssize_t, 2)
F = cython.declare(cython.Py_ssize_t, 3)
D = cython.declare(cython.Py_ssize_t, 4)
GOLD = cython.declare(cython.Py_ssize_t, 5)

# Shared: Σg and Σg² over tasks, tasks of known truth, how many of those the labels had wrong.
WEIGHT = cython.declare(cython.Py_ssize_t, 0)
WEIGHT2 = cython.declare(cython.Py_ssize_t, 1)
TOLD = cython.declare(cython.Py_ssize_t, 2)
WRONG = cython.declare(cython.Py_ssize_t, 3)


@cython.cclass
class Judge:
    """Finds h, e₂ and e₃ of a task's labels, by the skills its workers are known to have.

    ``skills``: of the first workers; the others have the ``mean``. ``family``: numbers of declared
    families, −1 for none, or empty: a worker is not judged by its kin, and members of one family on
    a task count together as one. Found values are in ``h``, ``e2``, ``e3``, one per label.
    """

    skills: cython.double[::1]
    odds: cython.double[::1]
    family: cython.int[::1]
    h: cython.double[::1]
    e2: cython.double[::1]
    e3: cython.double[::1]
    like: cython.double[::1]
    rest: cython.double[::1]
    each: cython.double[::1]
    classes: cython.Py_ssize_t

    def __init__(
        self,
        skills: cython.double[::1],
        family,
        room,
        like: cython.double[::1],
        rest,
    ):
        """``skills`` has one more than the workers known: the mean. ``room`` is 4 × labels."""
        i: cython.Py_ssize_t
        K: cython.double = like.shape[0]
        self.classes = like.shape[0]
        self.skills = skills
        self.odds = skills.copy()
        with cython.nogil:
            for i in range(skills.shape[0]):
                skills[i] = min(max(skills[i], -MOST_SKILL / (K - 1.0)), MOST_SKILL)
                self.odds[i] = (1.0 + (K - 1.0) * skills[i]) / (1.0 - skills[i])
        self.family = family
        self.like = like
        self.rest = rest
        self.make_room(room)

    def make_room(self, room):
        """Room for the labels of one task: four rows, a column per label."""
        self.h = room[0]
        self.e2 = room[1]
        self.e3 = room[2]
        self.each = room[3]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skill(self, i: cython.Py_ssize_t) -> cython.double:
        """Of a worker; the mean, which stands last, of one not known when skills were read."""
        last: cython.Py_ssize_t = self.skills.shape[0] - 1
        return self.skills[i if i < last else last]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def multiply(self, y: cython.Py_ssize_t, odds: cython.double) -> cython.void:
        """One vote more for class y."""
        k: cython.Py_ssize_t
        self.like[y] *= odds
        if self.like[y] > LARGE:
            for k in range(self.classes):
                self.like[k] /= LARGE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh(
        self, workers: cython.int[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        """The odds of every vote; s members of one family count 1/s each."""
        z: cython.Py_ssize_t
        y: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.odds.shape[0] - 1
        kind: cython.Py_ssize_t
        kin: cython.double
        for z in range(begin, end):
            self.each[z - begin] = self.odds[workers[z] if workers[z] < last else last]
            kind = self.family[workers[z]] if self.family.shape[0] else -1
            if kind >= 0:
                kin = 0.0
                for y in range(begin, end):
                    if self.family[workers[y]] == kind:
                        kin += 1.0
                self.each[z - begin] = pow(self.each[z - begin], 1.0 / kin)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def measure(self, at: cython.Py_ssize_t, y: cython.Py_ssize_t) -> cython.void:
        """h_y = K π(y) − 1, e₂ = K Σπ² − 1, e₃ = K² Σπ³ − 3K Σπ² + 2, π ∝ ``rest``."""
        k: cython.Py_ssize_t
        K: cython.double = self.classes
        x: cython.double
        total: cython.double = 0
        squares: cython.double = 0
        cubes: cython.double = 0
        for k in range(self.classes):
            x = self.rest[k]
            total += x
            squares += x * x
            cubes += x * x * x
        total = 1.0 / total
        squares *= total * total
        cubes *= total * total * total
        self.h[at] = K * self.rest[y] * total - 1.0
        self.e2[at] = max(K * squares - 1.0, 0.0)
        self.e3[at] = K * K * cubes - 3.0 * K * squares + 2.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def without_kin(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        z: cython.Py_ssize_t,
    ) -> cython.void:
        """Take the votes of label z's kin among ``begin:last`` out of ``rest``."""
        y: cython.Py_ssize_t
        kind: cython.Py_ssize_t = self.family[workers[z]] if self.family.shape[0] else -1
        if kind < 0:
            return
        for y in range(begin, last):
            if y != z and self.family[workers[y]] == kind:
                self.rest[labels[y]] /= self.each[y - begin]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def by_truth(
        self,
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
    ) -> cython.void:
        """Judge labels by the truth: π is certain."""
        k: cython.Py_ssize_t
        z: cython.Py_ssize_t
        for k in range(self.classes):
            self.rest[k] = 1.0 if k == truth else 0.0
        for z in range(begin, end):
            self.measure(z - begin, labels[z])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def by_others(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.void:
        """Judge every label by all others: the product of all odds, its own divided out."""
        k: cython.Py_ssize_t
        z: cython.Py_ssize_t
        for k in range(self.classes):
            self.like[k] = 1.0
        self.weigh(workers, begin, end)
        for z in range(begin, end):
            self.multiply(labels[z], self.each[z - begin])
        for z in range(begin, end):
            for k in range(self.classes):
                self.rest[k] = self.like[k]
            self.rest[labels[z]] /= self.each[z - begin]
            self.without_kin(workers, labels, begin, end, z)
            self.measure(z - begin, labels[z])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def by_those_before(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.void:
        """Judge every label by those before it: h − θ e₂ is then a martingale under any stopping.

        Whether there is a second label does not hang on what the first said: it judges the first.
        """
        k: cython.Py_ssize_t
        z: cython.Py_ssize_t
        for k in range(self.classes):
            self.like[k] = 1.0
        self.weigh(workers, begin, end)
        for z in range(begin, end):
            for k in range(self.classes):
                self.rest[k] = self.like[k]
            if z == begin and end > begin + 1:
                self.rest[labels[z + 1]] *= self.each[1]
                self.without_kin(workers, labels, begin, begin + 2, z)
            else:
                self.without_kin(workers, labels, begin, z, z)
            self.measure(z - begin, labels[z])
            self.multiply(labels[z], self.each[z - begin])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def judge(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        in_order: cython.bint,
    ) -> cython.void:
        """By the truth if it is known, by those before if the order matters, or by all others."""
        if truth >= 0:
            self.by_truth(labels, begin, end, truth)
        elif in_order:
            self.by_those_before(workers, labels, begin, end)
        else:
            self.by_others(workers, labels, begin, end)


# Intervals -----------------------------------------------------------------------------------


@cython.cclass
class IntervalSums:
    """Leave-one-out sums per worker; of a small crowd also the likelihood's slopes.

    ``rows``: B, C, V, F, D and answers of known truth. ``pull`` and ``info`` (room for the first
    workers of a small crowd) are ``Σ s + J θ`` and ``J = Σ s sᵀ``, s the score of a task at the
    skills θ known then: every task adds a parabola to the log-likelihood, and its top is
    ``J⁻¹ pull``.
    """

    rows: cython.double[:, ::1]
    pull: cython.double[::1]
    info: cython.double[:, ::1]
    total: cython.double[::1]

    def __init__(self, rows, pull, info, total):
        self.rows = rows
        self.pull = pull
        self.info = info
        self.total = total

    def add(
        self,
        judge: Judge,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        weight: cython.double,
        growth: cython.double,
        in_order: cython.bint,
    ):
        """Add tasks to the rows (``weight`` above 0) or take them away.

        Each counts ``growth`` times the last.
        """
        t: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        end: cython.Py_ssize_t
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                begin = starts[t]
                end = starts[t + 1]
                truth = truths[t] if truths.shape[0] else -1
                if truth >= 0 and end > begin:
                    self.add_told(judge, workers, labels, begin, end, truth, weight)
                if end > begin + (0 if truth >= 0 else 1):
                    judge.judge(workers, labels, begin, end, truth, in_order)
                    self.add_rows(judge, workers, begin, end, truth, weight)
                self.total[WEIGHT] += weight
                self.total[WEIGHT2] += weight * weight if weight > 0.0 else -weight * weight
                weight *= growth

    def add_slopes(
        self,
        judge: Judge,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        weight: cython.double,
        growth: cython.double,
    ):
        """Add tasks to the likelihood's slopes, or take them away.

        A likelihood does not depend on who stopped asking or why: every label is judged by all
        others.
        """
        t: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        end: cython.Py_ssize_t
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                begin = starts[t]
                end = starts[t + 1]
                truth = truths[t] if truths.shape[0] else -1
                if end > begin + (0 if truth >= 0 else 1):
                    judge.judge(workers, labels, begin, end, truth, False)
                    self.add_slope(judge, workers, begin, end, weight)
                weight *= growth

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_told(
        self,
        judge: Judge,
        workers: cython.int[::1],
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        weight: cython.double,
    ) -> cython.void:
        """A task of known truth: would the labels have decided it wrongly?"""
        k: cython.Py_ssize_t
        best: cython.Py_ssize_t = 0
        sign: cython.double = 1.0 if weight > 0.0 else -1.0
        judge.by_others(workers, labels, begin, end)
        for k in range(1, judge.classes):
            if judge.like[k] > judge.like[best]:
                best = k
        self.total[TOLD] += sign
        if best != truth:
            self.total[WRONG] += sign

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_rows(
        self,
        judge: Judge,
        workers: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        weight: cython.double,
    ) -> cython.void:
        """B += g h, C += g e₂, and what the variance of B − θ C, V + θ F − θ² D, consists of."""
        z: cython.Py_ssize_t
        i: cython.Py_ssize_t
        e2: cython.double
        squared: cython.double = weight * weight if weight > 0.0 else -weight * weight
        for z in range(begin, end):
            i = workers[z]
            e2 = judge.e2[z - begin]
            self.rows[i, B] += weight * judge.h[z - begin]
            self.rows[i, C] += weight * e2
            self.rows[i, V] += squared * e2
            self.rows[i, F] += squared * judge.e3[z - begin]
            self.rows[i, D] += squared * e2 * e2
            if truth >= 0:
                self.rows[i, GOLD] += 1.0 if weight > 0.0 else -1.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_slope(
        self,
        judge: Judge,
        workers: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        weight: cython.double,
    ) -> cython.void:
        """s = h/(1 + θ h); J += g s sᵀ (above the diagonal), pull += g (s + s ⟨s, θ⟩)."""
        y: cython.Py_ssize_t
        z: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        s: cython.double
        along: cython.double = 0
        for z in range(begin, end):
            s = judge.h[z - begin]
            s /= 1.0 + judge.skill(workers[z]) * s
            judge.each[z - begin] = s
            along += s * judge.skill(workers[z])
        for z in range(begin, end):
            i = workers[z]
            s = weight * judge.each[z - begin]
            self.pull[i] += s * (1.0 + along)
            for y in range(z, end):
                j = workers[y]
                if i < j:
                    self.info[i, j] += s * judge.each[y - begin]
                else:
                    self.info[j, i] += s * judge.each[y - begin]


# Drift ---------------------------------------------------------------------------------------

# A worker's row: what it was known by (Σh, Σe₂, Σe₂², answers), the limits of the skill known, the
# ratio at which there is an alarm, and for either direction the likelihood ratio and what the
# worker was known by when it last was 1.
REF_B = cython.declare(cython.Py_ssize_t, 0)
REF_C = cython.declare(cython.Py_ssize_t, 1)
REF_D = cython.declare(cython.Py_ssize_t, 2)
REF_N = cython.declare(cython.Py_ssize_t, 3)
LOW = cython.declare(cython.Py_ssize_t, 4)
HIGH = cython.declare(cython.Py_ssize_t, 5)
LIMIT = cython.declare(cython.Py_ssize_t, 6)
UP = cython.declare(cython.Py_ssize_t, 7)  # then B, C, N
DOWN = cython.declare(cython.Py_ssize_t, 11)  # then B, C, N

SHIFT = cython.declare(cython.double, 0.6)
# Change of skill that the alarm looks for: with two classes, error rate 0.1 → 0.4.
WORSE = cython.declare(cython.double, 601.8450378720822)
BETTER = cython.declare(cython.double, 8103.083927575384)
# Likelihood ratios e^6.4 and e^9 at which there is an alarm (measured: about one false alarm in 10⁴
# answers); that somebody improved can wait.
LEEWAY = cython.declare(cython.double, 0.7)  # standard errors that do not count as a change
LEAST_SPREAD = cython.declare(cython.double, 0.05)  # of an answer's variance: nobody is perfect
REFERENCE = cython.declare(cython.double, 4.0)
# Answers that the crowd's mean is worth in what was known of a worker: who has changed once must
# not be measured by what others are.
REFRESH = cython.declare(cython.Py_ssize_t, 8)  # answers after which limits are looked up anew
SETTLED_IN = cython.declare(cython.double, 50.0)  # answers before there can be an alarm


@cython.cclass
class DriftSums:
    """Page's cumulative sums: two likelihood ratios per worker, and the alarms they raised.

    ``events``: the latest alarms (tasks seen, worker, direction, skill before and after, evidence,
    answers since it began), written in turn; ``count``: alarms so far, tasks seen so far.
    """

    rows: cython.double[:, ::1]
    events: cython.double[:, ::1]
    count: cython.double[::1]

    def __init__(self, rows, events, count):
        self.rows = rows
        self.events = events
        self.count = count

    def add(
        self,
        judge: Judge,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        in_order: cython.bint,
    ):
        """Follow tasks in order."""
        t: cython.Py_ssize_t
        z: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        end: cython.Py_ssize_t
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                begin = starts[t]
                end = starts[t + 1]
                truth = truths[t] if truths.shape[0] else -1
                self.count[1] += 1.0
                if end > begin + (0 if truth >= 0 else 1):
                    judge.judge(workers, labels, begin, end, truth, in_order)
                    for z in range(begin, end):
                        self.follow(judge, workers[z], z - begin)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def follow(self, judge: Judge, i: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.void:
        """W ← max(1, W (1 + θ₁ h)/(1 + θ₀ h)), θ₀ the skill known with leeway, θ₁ = θ₀ ∓ SHIFT."""
        h: cython.double = judge.h[at]
        low: cython.double
        high: cython.double
        self.rows[i, REF_B] += h
        self.rows[i, REF_C] += judge.e2[at]
        self.rows[i, REF_D] += judge.e2[at] * judge.e2[at]
        self.rows[i, REF_N] += 1.0
        if self.rows[i, REF_N] <= SETTLED_IN:
            return
        if (
            self.rows[i, LOW] == self.rows[i, HIGH]
            or cython.cast(cython.Py_ssize_t, self.rows[i, REF_N]) % REFRESH == 0
        ):
            self.look_up(judge, i)
        low = self.rows[i, LOW]
        high = self.rows[i, HIGH]
        self.move(i, DOWN, (1.0 + max(low - SHIFT, -MOST_SKILL) * h) / (1.0 + low * h))
        self.move(i, UP, (1.0 + min(high + SHIFT, MOST_SKILL) * h) / (1.0 + high * h))
        if self.rows[i, DOWN] >= self.rows[i, LIMIT]:
            self.alarm(judge, i, DOWN)
        elif self.rows[i, UP] >= BETTER:
            self.alarm(judge, i, UP)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def known(self, judge: Judge, i: cython.Py_ssize_t) -> cython.double:
        """The skill by which a worker was known: (Σh + 4 μ)/(Σe₂ + 4)."""
        mean: cython.double = judge.skills[judge.skills.shape[0] - 1]
        return (self.rows[i, REF_B] + REFERENCE * mean) / (self.rows[i, REF_C] + REFERENCE)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def look_up(self, judge: Judge, i: cython.Py_ssize_t) -> cython.void:
        """Limits of the skill known, ∓ 0.7 √((1 − θ² Σe₂²/Σe₂)/(Σe₂ + 4)).

        Where an answer tells less, e₂ is small, alarms are rarer and may come sooner.
        """
        C: cython.double = self.rows[i, REF_C]
        skill: cython.double = self.known(judge, i)
        spread: cython.double = 1.0 - skill * skill * self.rows[i, REF_D] / max(C, TINY)
        doubt: cython.double = LEEWAY * sqrt(max(spread, LEAST_SPREAD) / (C + REFERENCE))
        tells: cython.double = C / self.rows[i, REF_N]
        self.rows[i, LOW] = max(skill - doubt, -MOST_SKILL)
        self.rows[i, HIGH] = min(skill + doubt, MOST_SKILL)
        self.rows[i, LIMIT] = max(WORSE * tells * tells, 2.0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def move(
        self, i: cython.Py_ssize_t, way: cython.Py_ssize_t, ratio: cython.double
    ) -> cython.void:
        """One direction's likelihood ratio; where it falls below 1 it begins anew."""
        self.rows[i, way] *= ratio
        if self.rows[i, way] > 1.0:
            return
        self.rows[i, way] = 1.0
        self.rows[i, way + 1] = self.rows[i, REF_B]
        self.rows[i, way + 2] = self.rows[i, REF_C]
        self.rows[i, way + 3] = self.rows[i, REF_N]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def alarm(self, judge: Judge, i: cython.Py_ssize_t, way: cython.Py_ssize_t) -> cython.void:
        """Note the alarm, and get to know the worker anew.

        From the next answer on: those that raised the alarm were picked by it.
        """
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.count[0]) % self.events.shape[0]
        skill: cython.double = self.known(judge, i)
        since: cython.double = self.rows[i, REF_C] - self.rows[i, way + 2]
        self.events[at, 0] = self.count[1]
        self.events[at, 1] = i
        self.events[at, 2] = 1.0 if way == UP else -1.0
        self.events[at, 3] = skill
        self.events[at, 4] = (self.rows[i, REF_B] - self.rows[i, way + 1] + 2.0 * skill) / (
            since + 2.0
        )
        self.events[at, 5] = log(self.rows[i, way])
        self.events[at, 6] = self.rows[i, REF_N] - self.rows[i, way + 3]
        self.count[0] += 1.0
        for k in range(self.rows.shape[1]):
            self.rows[i, k] = 0.0


# Trends --------------------------------------------------------------------------------------

# A worker's row: Σh, Σe₂ and answers of the point to come, answers that make one, points so far.
NEXT_B = cython.declare(cython.Py_ssize_t, 0)
NEXT_C = cython.declare(cython.Py_ssize_t, 1)
NEXT_N = cython.declare(cython.Py_ssize_t, 2)
STRIDE = cython.declare(cython.Py_ssize_t, 3)
POINTS = cython.declare(cython.Py_ssize_t, 4)

SHORTEST = cython.declare(cython.double, 8.0)  # answers of a worker's first points


@cython.cclass
class TrendSums:
    """Of every worker some points, each Σh and Σe₂ over as many answers, and up to which task.

    When there is no room for more, neighbours are added up. ``count``: tasks seen.
    """

    rows: cython.double[:, ::1]
    points: cython.double[:, :, ::1]
    count: cython.double[::1]

    def __init__(self, rows, points, count):
        self.rows = rows
        self.points = points
        self.count = count

    def add(
        self,
        judge: Judge,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        in_order: cython.bint,
    ):
        """Follow tasks in order."""
        t: cython.Py_ssize_t
        z: cython.Py_ssize_t
        i: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        end: cython.Py_ssize_t
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                begin = starts[t]
                end = starts[t + 1]
                truth = truths[t] if truths.shape[0] else -1
                self.count[0] += 1.0
                if end <= begin + (0 if truth >= 0 else 1):
                    continue
                judge.judge(workers, labels, begin, end, truth, in_order)
                for z in range(begin, end):
                    i = workers[z]
                    self.rows[i, NEXT_B] += judge.h[z - begin]
                    self.rows[i, NEXT_C] += judge.e2[z - begin]
                    self.rows[i, NEXT_N] += 1.0
                    if self.rows[i, NEXT_N] >= max(self.rows[i, STRIDE], SHORTEST):
                        self.plot(i)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def plot(self, i: cython.Py_ssize_t) -> cython.void:
        """Finish a point; where there is no room, halve the points and go on with this one."""
        k: cython.Py_ssize_t
        most: cython.Py_ssize_t = self.points.shape[1]
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.rows[i, POINTS])
        self.rows[i, STRIDE] = max(self.rows[i, STRIDE], SHORTEST)
        if at == most:
            for k in range(most // 2):
                self.points[i, k, 0] = self.points[i, 2 * k, 0] + self.points[i, 2 * k + 1, 0]
                self.points[i, k, 1] = self.points[i, 2 * k, 1] + self.points[i, 2 * k + 1, 1]
                self.points[i, k, 2] = self.points[i, 2 * k + 1, 2]
            self.rows[i, STRIDE] *= 2.0
            self.rows[i, POINTS] = most // 2
            return
        self.points[i, at, 0] = self.rows[i, NEXT_B]
        self.points[i, at, 1] = self.rows[i, NEXT_C]
        self.points[i, at, 2] = self.count[0]
        self.rows[i, POINTS] += 1.0
        for k in range(3):
            self.rows[i, k] = 0.0


# Pairs ---------------------------------------------------------------------------------------

MANY = cython.declare(cython.Py_ssize_t, 64)  # labels of a task that are compared pair by pair


def add_pairs(
    starts: cython.longlong[::1],
    workers: cython.int[::1],
    labels: cython.int[::1],
    slots: cython.int[::1],
    met: cython.double[:, ::1],
    same: cython.double[:, ::1],
    some: cython.longlong[::1],
    weight: cython.double,
    growth: cython.double,
    most: cython.Py_ssize_t,
):
    """met[i, j] += g and, where both said the same, same[i, j] += g; above the diagonal.

    Of every task the first ``most`` labels whose workers have a slot are compared. ``some`` is
    room for that many.
    """
    t: cython.Py_ssize_t
    y: cython.Py_ssize_t
    z: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    found: cython.Py_ssize_t
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            found = 0
            for z in range(starts[t], starts[t + 1]):
                if found == most:
                    break
                if slots[workers[z]] >= 0:
                    some[found] = z
                    found += 1
            for y in range(found):
                for z in range(y + 1, found):
                    i = slots[workers[some[y]]]
                    j = slots[workers[some[z]]]
                    if i > j:
                        i, j = j, i
                    met[i, j] += weight
                    if labels[some[y]] == labels[some[z]]:
                        same[i, j] += weight
            weight *= growth


# Difficulty ----------------------------------------------------------------------------------


def strengths(
    starts: cython.longlong[::1],
    workers: cython.int[::1],
    labels: cython.int[::1],
    skills: cython.double[::1],
    grid: cython.double[::1],
    like: cython.double[:, ::1],
    out: cython.double[:, ::1],
):
    """P(labels | g) up to a constant, g how much of its workers' skill a task lets through.

    ``P(labels | k, g) = Π (1 + g θ_i (K·1{y_i = k} − 1))/K``, averaged over the classes k.
    ``skills`` has the mean last, for strangers; ``like`` is room, grid × classes.
    """
    t: cython.Py_ssize_t
    z: cython.Py_ssize_t
    g: cython.Py_ssize_t
    k: cython.Py_ssize_t
    K: cython.Py_ssize_t = like.shape[1]
    last: cython.Py_ssize_t = skills.shape[0] - 1
    x: cython.double
    most: cython.double
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            for g in range(grid.shape[0]):
                for k in range(K):
                    like[g, k] = 1.0
            for z in range(starts[t], starts[t + 1]):
                most = 0.0
                for g in range(grid.shape[0]):
                    x = grid[g] * skills[workers[z] if workers[z] < last else last]
                    for k in range(K):
                        like[g, k] *= 1.0 + (K - 1.0) * x if k == labels[z] else 1.0 - x
                        most = max(most, like[g, k])
                if most < 1.0 / LARGE or most > LARGE:
                    for g in range(grid.shape[0]):
                        for k in range(K):
                            like[g, k] /= most
            for g in range(grid.shape[0]):
                out[t, g] = 0.0
                for k in range(K):
                    out[t, g] += like[g, k]
