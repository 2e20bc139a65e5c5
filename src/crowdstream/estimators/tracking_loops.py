# cython: language_level=3
"""Compiled loops of `Tracking`: skills that change, each horizon believed as far as it foresees.

A label y is judged by the posterior π of its task's *other* labels. With θ its worker's skill,

    P(y) = (1 + θ h)/K,  h = K π(y) − 1,  and  E h = θ e,  e = K Σ_a π(a)² − 1,

so that B = Σ h over C = Σ e estimates θ without knowing any truth. A bank keeps B and C at several
horizons j; an answer leaves ``keep[j]`` of what was before. Arrays only; letters as in
docs/how-it-works.md.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import exp, log, sqrt
else:
    from math import exp, log, sqrt

    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()

# Shared by all workers, in `total`.
SKILL = cython.declare(cython.Py_ssize_t, 0)  # Σ h
EXPOSURE = cython.declare(cython.Py_ssize_t, 1)  # Σ e
NOISE = cython.declare(cython.Py_ssize_t, 2)  # Σ (h − ψ̄ e)²
TASKS = cython.declare(cython.Py_ssize_t, 3)  # with labels
GOLD = cython.declare(cython.Py_ssize_t, 4)  # Σ h on tasks of known truth
GOLD2 = cython.declare(cython.Py_ssize_t, 5)  # Σ h² on them

# Of each horizon, in `crowd`.
SPREAD = cython.declare(cython.Py_ssize_t, 0)  # Σ (h − ψ̄ e)(B_j − ψ̄ C_j)
PAIRS = cython.declare(cython.Py_ssize_t, 1)  # Σ e C_j
BELIEF = cython.declare(cython.Py_ssize_t, 2)  # how far the whole crowd believes it
TOLD = cython.declare(cython.Py_ssize_t, 3)  # Π (1 + θ_ij h) over the labels of the task at hand

H = cython.declare(cython.double, 4.0)  # answers or tasks that every prior is worth
ACCURACY = cython.declare(cython.double, 0.7)  # expected of a worker before any data
FLOOR = cython.declare(cython.double, 0.1)  # of the crowd's mean skill: zero would be absorbing
KAPPA = cython.declare(cython.double, 50.0)  # pairs of answers that the prior of τ² is worth
LEAST = cython.declare(cython.double, 2.0)  # answers that the crowd's mean is worth, at least
MOST = cython.declare(cython.double, 100.0)  # and at most
TOP = cython.declare(cython.double, 0.98)  # nobody is taken to be better
BOTTOM = cython.declare(cython.double, -0.9)  # over K − 1: nor worse
SWITCH = cython.declare(cython.double, 0.02)  # chance, an answer, that another horizon is best now
CROWD_SWITCH = cython.declare(cython.double, 0.001)  # the same for the whole crowd, a task
MEMORY = cython.declare(cython.double, 0.999)  # what a task leaves of the crowd's sums
MIRRORED = cython.declare(cython.double, 3.0)  # standard errors of Σ h below 0: upside down
RARE = cython.declare(cython.double, 1e-3)  # no label is taken for less likely, times K
LARGE = cython.declare(cython.double, 1e100)  # products are scaled down beyond it
NEVER = cython.declare(cython.double, -1e300)  # score of a class that nobody has named yet


@cython.cclass
class Bank:
    """The sums of all workers at all horizons.

    ``rows``: of each worker B, then C, then the weights of the horizons, one number per horizon
    each. ``named``: classes that were learnt so far; ``classes``, ``mean`` and ``prior`` are those
    of the task at hand: K, ψ̄ and the answers that ψ̄ is worth beside each horizon's own.
    """

    rows: cython.double[:, ::1]
    crowd: cython.double[:, ::1]
    total: cython.double[::1]
    keep: cython.double[::1]
    prior: cython.double[::1]
    odds: cython.double[::1]
    horizons: cython.Py_ssize_t
    classes: cython.Py_ssize_t
    named = cython.declare(cython.Py_ssize_t, visibility="public")
    mean = cython.declare(cython.double, visibility="readonly")

    def __init__(self, rows, crowd, total, keep, prior, odds):
        self.rows = rows
        self.crowd = crowd
        self.total = total
        self.keep = keep
        self.prior = prior
        self.odds = odds
        self.horizons = keep.shape[0]
        self.named = 0
        self.prepare(2)

    # Reading ---------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_mean(self) -> cython.void:
        """ψ̄ = (T ΣB/ΣC + H ψ0)/(T + H), not below a floor."""
        K: cython.double = self.classes
        expected: cython.double = (K * ACCURACY - 1.0) / (K - 1.0)
        found: cython.double = 0
        # A task with one label tells nothing.
        tasks: cython.double = max(min(self.total[TASKS], self.total[EXPOSURE]), 0.0)
        if tasks > 0.0:
            found = tasks * self.total[SKILL] / self.total[EXPOSURE]
        self.mean = min(max((found + H * expected) / (tasks + H), FLOOR), 1.0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_priors(self) -> cython.void:
        """k_j = noise/τ_j², τ_j² = Σ (h − ψ̄ e)(B_j − ψ̄ C_j)/Σ e C_j: what answers foretell."""
        j: cython.Py_ssize_t
        spread: cython.double
        noise: cython.double = (self.total[NOISE] + H) / (self.total[EXPOSURE] + H)
        for j in range(self.horizons):
            spread = max(self.crowd[SPREAD, j], 0.0) + KAPPA * noise / H
            spread /= self.crowd[PAIRS, j] + KAPPA
            self.prior[j] = min(max(noise / spread, LEAST), MOST)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def set_classes(self, classes: cython.Py_ssize_t) -> cython.void:
        """Labels are of so many classes: read what all workers share."""
        self.classes = max(classes, 2)
        self.find_mean()
        self.find_priors()

    def prepare(self, classes: cython.Py_ssize_t):
        """Read what all workers share, for labels of so many classes."""
        self.set_classes(classes)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skill(self, i: cython.Py_ssize_t) -> cython.double:
        """θ_i = Σ_j w_ij θ_ij, θ_ij = (B_ij + k_j ψ̄)/(C_ij + k_j); of a stranger ψ̄."""
        j: cython.Py_ssize_t
        J: cython.Py_ssize_t = self.horizons
        found: cython.double = 0
        if i >= self.rows.shape[0] or not self.rows[i, 2 * J - 1] > 0.0:
            return self.mean
        for j in range(J):
            found += (
                self.rows[i, 2 * J + j]
                * (self.rows[i, j] + self.prior[j] * self.mean)
                / (self.rows[i, J + j] + self.prior[j])
            )
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def ratio(self, i: cython.Py_ssize_t) -> cython.double:
        """The odds of a vote: s (K − 1)/(1 − s) with s = 1/K + (1 − 1/K) θ."""
        K: cython.double = self.classes
        theta: cython.double = min(max(self.skill(i), BOTTOM / (K - 1.0)), TOP)
        return (1.0 + (K - 1.0) * theta) / (1.0 - theta)

    def fill_skills(self, out: cython.double[::1]):
        """Every worker's skill."""
        i: cython.Py_ssize_t
        for i in range(out.shape[0]):
            out[i] = self.skill(i)

    def fill_weights(self, out: cython.double[::1]):
        """The weight of every worker's vote."""
        i: cython.Py_ssize_t
        for i in range(out.shape[0]):
            out[i] = log(self.ratio(i))

    def score(
        self,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        scores: cython.double[:, ::1],
    ):
        """Scores of tasks by the weights of their workers, as last prepared."""
        t: cython.Py_ssize_t
        z: cython.Py_ssize_t
        a: cython.Py_ssize_t
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                for a in range(scores.shape[1]):
                    scores[t, a] = 0.0
                for z in range(starts[t], starts[t + 1]):
                    scores[t, labels[z]] += log(self.ratio(workers[z]))

    # Learning --------------------------------------------------------------------------------

    def follow(
        self,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        work: cython.double[:, ::1],
        majority: cython.bint,
        scores: cython.double[:, ::1],
    ):
        """Score each task by those before it (or count its votes), then learn it.

        ``scores`` has a row per task, or none; ``work`` two rows with room for the labels of any
        task. Classes that no task has named yet, by their numbers, score `NEVER`.
        """
        t: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        end: cython.Py_ssize_t
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                begin = starts[t]
                end = starts[t + 1]
                self.meet(labels, begin, end, -1)
                self.weigh(workers, begin, end, work)
                if scores.shape[0]:
                    self.decide(labels, begin, end, work, majority, scores, t)
                truth = truths[t] if truths.shape[0] else -1
                if truth >= self.classes:
                    self.meet(labels, begin, end, truth)
                    self.weigh(workers, begin, end, work)
                self.named = max(self.named, truth + 1)
                self.learn(workers, labels, begin, end, truth, work)

    def take_back(
        self,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        work: cython.double[:, ::1],
    ):
        """Take tasks back by today's judgement; how far horizons are believed is left as it is."""
        t: cython.Py_ssize_t
        z: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                truth = truths[t] if truths.shape[0] else -1
                self.meet(labels, starts[t], starts[t + 1], truth)
                self.weigh(workers, starts[t], starts[t + 1], work)
                self.judge(labels, starts[t], starts[t + 1], truth, work)
                for z in range(starts[t], starts[t + 1]):
                    if truth >= 0 or starts[t + 1] > starts[t] + 1:
                        self.subtract(workers[z], work[0, z - starts[t]], work[1, z - starts[t]])
                if starts[t + 1] > starts[t]:
                    self.total[TASKS] = max(self.total[TASKS] - 1.0, 0.0)
                    for z in range(GOLD):
                        self.total[z] /= MEMORY

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def meet(
        self,
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
    ) -> cython.void:
        """The classes named so far include this task's."""
        z: cython.Py_ssize_t
        self.named = max(self.named, truth + 1)
        for z in range(begin, end):
            self.named = max(self.named, labels[z] + 1)
        self.set_classes(self.named)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh(
        self,
        workers: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        work: cython.double[:, ::1],
    ) -> cython.void:
        """Of each label the odds and the weight of its vote."""
        z: cython.Py_ssize_t
        for z in range(begin, end):
            work[0, z - begin] = self.ratio(workers[z])
            work[1, z - begin] = log(work[0, z - begin])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def decide(
        self,
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        work: cython.double[:, ::1],
        majority: cython.bint,
        scores: cython.double[:, ::1],
        t: cython.Py_ssize_t,
    ) -> cython.void:
        """The sum of the weights for each class; or log(1 + votes)."""
        z: cython.Py_ssize_t
        a: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        for a in range(scores.shape[1]):
            scores[t, a] = 0.0
        for z in range(begin, end):
            scores[t, labels[z]] += 1.0 if majority else work[1, z - begin]
        for a in range(scores.shape[1]):
            if a >= K:
                scores[t, a] = NEVER
            elif majority:
                scores[t, a] = log(1.0 + scores[t, a])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def judge(
        self,
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        work: cython.double[:, ::1],
    ) -> cython.void:
        """Odds and weight of each label → h and e of it, by the other labels or by the truth.

        Classes are taken to be equally frequent, so that what is often said does not pass for what
        is often true.
        """
        z: cython.Py_ssize_t
        a: cython.Py_ssize_t
        K: cython.double = self.classes
        best: cython.double = 0
        total: cython.double = 0
        squares: cython.double = 0
        own: cython.double
        others: cython.double
        if truth >= 0:
            for z in range(begin, end):
                work[0, z - begin] = K - 1.0 if labels[z] == truth else -1.0
                work[1, z - begin] = K - 1.0
            return
        for a in range(self.classes):
            self.odds[a] = 0.0
        for z in range(begin, end):
            self.odds[labels[z]] += work[1, z - begin]
        best = self.odds[0]
        for a in range(1, self.classes):
            best = max(best, self.odds[a])
        for a in range(self.classes):
            self.odds[a] = exp(self.odds[a] - best)
            total += self.odds[a]
            squares += self.odds[a] * self.odds[a]
        for z in range(begin, end):
            own = self.odds[labels[z]]
            others = own / work[0, z - begin]
            best = 1.0 / (total - own + others)  # of the others' odds the sum, inverted
            work[0, z - begin] = K * others * best - 1.0
            work[1, z - begin] = max(
                K * (squares - own * own + others * others) * best * best - 1.0, 0.0
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def learn(
        self,
        workers: cython.int[::1],
        labels: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        work: cython.double[:, ::1],
    ) -> cython.void:
        """Judge a task's labels and add them to their workers' sums, then to the crowd's."""
        z: cython.Py_ssize_t
        off: cython.double
        skill: cython.double = 0
        exposure: cython.double = 0
        noise: cython.double = 0
        if begin == end:
            return
        self.judge(labels, begin, end, truth, work)
        if truth >= 0 or end > begin + 1:  # a label alone tells nothing
            for z in range(end - begin):
                off = work[0, z] - self.mean * work[1, z]
                skill += work[0, z]
                exposure += work[1, z]
                noise += off * off
                self.add(workers[begin + z], work[0, z], work[1, z], off)
            self.compare_horizons()
        self.total[SKILL] = MEMORY * self.total[SKILL] + skill
        self.total[EXPOSURE] = MEMORY * self.total[EXPOSURE] + exposure
        self.total[NOISE] = MEMORY * self.total[NOISE] + noise
        self.total[TASKS] = MEMORY * self.total[TASKS] + 1.0
        if truth >= 0:
            self.total[GOLD] *= MEMORY
            self.total[GOLD2] *= MEMORY
            for z in range(end - begin):
                self.total[GOLD] += work[0, z]
                self.total[GOLD2] += work[0, z] * work[0, z]
        self.mirror_if_wrong()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def mirror_if_wrong(self) -> cython.void:
        """θ → −θ for everybody where most workers contradict what was learnt.

        Two classes taken for one another fit the labels as well; only that most workers are better
        than chance tells a crowd from its mirror image, unless known truths say that they are not.
        """
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        if self.total[SKILL] >= -MIRRORED * sqrt(self.total[NOISE]):
            return
        if self.total[GOLD] < -MIRRORED * sqrt(self.total[GOLD2]):
            return
        self.total[SKILL] = -self.total[SKILL]
        for i in range(self.rows.shape[0]):
            for j in range(self.horizons):
                self.rows[i, j] = -self.rows[i, j]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add(
        self,
        i: cython.Py_ssize_t,
        h: cython.double,
        e: cython.double,
        off: cython.double,
    ) -> cython.void:
        """w_ij ∝ w_ij (1 + θ_ij h), with a little of the crowd's weights; then B and C.

        The share of the crowd's is that of Herbster and Warmuth's fixed share (Tracking the best
        expert, 1998): no horizon is ever given up.
        """
        j: cython.Py_ssize_t
        J: cython.Py_ssize_t = self.horizons
        B: cython.double
        C: cython.double
        told: cython.double
        most: cython.double = 0
        total: cython.double = 0
        if not self.rows[i, 2 * J - 1] > 0.0:
            for j in range(J):
                self.rows[i, 2 * J + j] = self.crowd[BELIEF, j]
        for j in range(J):
            B = self.rows[i, j]
            C = self.rows[i, J + j]
            told = 1.0 + h * (B + self.prior[j] * self.mean) / (C + self.prior[j])
            told = max(told, RARE)
            self.rows[i, 2 * J + j] *= told
            total += self.rows[i, 2 * J + j]
            self.crowd[TOLD, j] *= told
            most = max(most, self.crowd[TOLD, j])
            self.crowd[SPREAD, j] += off * (B - self.mean * C)
            self.crowd[PAIRS, j] += e * C
            self.rows[i, j] = self.keep[j] * B + h
            self.rows[i, J + j] = self.keep[j] * C + e
        if most > LARGE or most < 1.0 / LARGE:
            for j in range(J):
                self.crowd[TOLD, j] /= most
        total = (1.0 - SWITCH) / total
        for j in range(J):
            self.rows[i, 2 * J + j] = (
                total * self.rows[i, 2 * J + j] + SWITCH * self.crowd[BELIEF, j]
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def compare_horizons(self) -> cython.void:
        """The same for the whole crowd, after a task: belief ∝ belief · Π (1 + θ_ij h)."""
        j: cython.Py_ssize_t
        J: cython.Py_ssize_t = self.horizons
        most: cython.double = 0
        total: cython.double = 0
        for j in range(J):
            most = max(most, self.crowd[TOLD, j])
        for j in range(J):
            self.crowd[BELIEF, j] *= self.crowd[TOLD, j] / most
            self.crowd[TOLD, j] = 1.0
            self.crowd[SPREAD, j] *= MEMORY
            self.crowd[PAIRS, j] *= MEMORY
            total += self.crowd[BELIEF, j]
        total = (1.0 - CROWD_SWITCH) / total
        for j in range(J):
            self.crowd[BELIEF, j] = total * self.crowd[BELIEF, j] + CROWD_SWITCH / J

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def subtract(self, i: cython.Py_ssize_t, h: cython.double, e: cython.double) -> cython.void:
        """Undo `add`, as if the label were its worker's last."""
        j: cython.Py_ssize_t
        J: cython.Py_ssize_t = self.horizons
        off: cython.double = h - self.mean * e
        for j in range(J):
            self.rows[i, j] = (self.rows[i, j] - h) / self.keep[j]
            self.rows[i, J + j] = (self.rows[i, J + j] - e) / self.keep[j]
            if not self.rows[i, J + j] > 0.0:
                self.rows[i, j] = self.rows[i, J + j] = 0.0
        self.total[SKILL] -= h
        self.total[EXPOSURE] = max(self.total[EXPOSURE] - e, 0.0)
        self.total[NOISE] = max(self.total[NOISE] - off * off, 0.0)
