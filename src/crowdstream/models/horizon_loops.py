# cython: language_level=3
# cython: infer_types=True
"""Skills that change, at several horizons, each believed as far as it foresees.

A label y is judged by the posterior π of its task's *other* labels. With θ its worker's skill,

    P(y) = (1 + θ h)/K,  h = K π(y) − 1,  and  E h = θ e,  e = K Σ_a π(a)² − 1,

so that B = Σ h over C = Σ e estimates θ without knowing any truth. B and C are kept at several
horizons j; an answer leaves ``keep[j]`` of what was before. Arrays only; letters as in
docs/how-it-works.md. Changing it changes what `Adaptive` decides where workers change, and what it
saves; benchmarks/core.py times it.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.models.scoring_loops import FamilyPowers
    from cython.cimports.crowdstream.sums.rows import ACCURACY, FLOOR, LARGE
    from cython.cimports.libc.math import exp, log, pow, sqrt  # noqa: A004
else:
    from math import exp, log, pow, sqrt  # noqa: A004

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.models.scoring_loops import FamilyPowers
    from crowdstream.sums.rows import ACCURACY, FLOOR, LARGE

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
FORESEEN = cython.declare(cython.Py_ssize_t, 3)  # Π (1 + θ_ij h) over this task's labels

H = cython.declare(cython.double, 4.0)  # answers or tasks that every prior is worth
KAPPA = cython.declare(cython.double, 50.0)  # pairs of answers that the prior of τ² is worth
LEAST = cython.declare(cython.double, 2.0)  # answers that the crowd's mean is worth, at least
MOST = cython.declare(cython.double, 1e4)  # and at most: equals must not look as if they changed
TOP = cython.declare(cython.double, 0.98)  # nobody is taken to be better
BOTTOM = cython.declare(cython.double, -0.9)  # over K − 1: nor worse
SWITCH = cython.declare(cython.double, 0.02)  # chance, an answer, that another horizon is best now
CROWD_SWITCH = cython.declare(cython.double, 0.001)  # the same for the whole crowd, a task
MEMORY = cython.declare(cython.double, 0.999)  # what a task leaves of the crowd's sums
MIRRORED = cython.declare(cython.double, 3.0)  # standard errors of Σ h below 0: upside down
RARE = cython.declare(cython.double, 1e-3)  # no label is taken for less likely, times K


@cython.final
@cython.cclass
class Horizons:
    """The sums of all workers at all horizons.

    ``rows``: of each worker B, then C, then the weights of the horizons, one number per horizon
    each. ``classes``: K. ``mean`` and ``prior`` are those of the task at hand: ψ̄ and the answers
    that ψ̄ is worth beside each horizon's own; ``work`` has two rows with space for its labels,
    ``odds`` a number per class. Of the task learnt last, ``mixed`` is log P of its labels by all
    horizons as far as each is believed, ``lasting`` by the one that never forgets.
    """

    def __init__(self, powers: FamilyPowers, crowd, total, keep, prior):
        self.powers = powers
        self.crowd = crowd
        self.total = total
        self.keep = keep
        self.prior = prior
        self.horizons = keep.shape[0]
        self.classes = 2
        self.mean = self.mixed = self.lasting = 0.0

    def bind(self, rows, odds, work, room):
        """Work on these arrays from now on; ``odds`` has space for the classes, and no more.

        ``room``: what binds larger ones, with rows for so many workers and work for so many labels.
        """
        self.rows = rows
        self.odds = odds
        self.work = work
        self.room = room
        self.classes = odds.shape[0]

    # Reading ---------------------------------------------------------------------------------

    def find_mean(self):
        """ψ̄ = (T ΣB/ΣC + H ψ0)/(T + H), not below a floor."""
        expected = (self.classes * ACCURACY - 1.0) / (self.classes - 1.0)
        # A task with one label says nothing.
        tasks = max(min(self.total[TASKS], self.total[EXPOSURE]), 0.0)
        found = tasks * self.total[SKILL] / self.total[EXPOSURE] if tasks > 0.0 else 0.0
        self.mean = min(max((found + H * expected) / (tasks + H), FLOOR), 1.0)

    def find_priors(self):
        """k_j = noise/τ_j², τ_j² = Σ (h − ψ̄ e)(B_j − ψ̄ C_j)/Σ e C_j: what answers foretell."""
        noise = (self.total[NOISE] + H) / (self.total[EXPOSURE] + H)
        for j in range(self.horizons):
            spread = max(self.crowd[SPREAD, j], 0.0) + KAPPA * noise / H
            found = spread / (self.crowd[PAIRS, j] + KAPPA)
            self.prior[j] = min(max(noise / found, LEAST), MOST)

    def renew(self):
        """Read what all workers share."""
        self.find_mean()
        self.find_priors()

    def prepare(self):
        """`renew`, for Python."""
        self.renew()

    def skill(self, i):
        """θ_i = Σ_j w_ij θ_ij, θ_ij = (B_ij + k_j ψ̄)/(C_ij + k_j); of an unknown worker ψ̄."""
        J = self.horizons
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

    def ratio(self, i):
        """The odds of a vote: s (K − 1)/(1 − s) with s = 1/K + (1 − 1/K) θ."""
        K = self.classes
        theta = min(max(self.skill(i), BOTTOM / (K - 1.0)), TOP)
        return (1.0 + (K - 1.0) * theta) / (1.0 - theta)

    def fill_skills(self, out: cython.double[::1]):
        """Every worker's skill."""
        for i in range(out.shape[0]):
            out[i] = self.skill(i)

    # One by one ------------------------------------------------------------------------------

    def odds_of(self, tasks, begin, end, i):
        """`ratio` of a worker's vote, to the power that its family leaves it."""
        found = self.ratio(i)
        if self.powers.rho.shape[0] or self.powers.least > 0.0:
            return pow(found, self.powers.of(tasks, begin, end, i))
        return found

    def score(self, tasks, begin, end, scores, t):
        """The sum of the weights for each class, which an open task's own labels are not in."""
        self.renew()
        for a in range(scores.shape[1]):
            scores[t, a] = 0.0
        for z in range(begin, end):
            scores[t, tasks.labels[z]] += log(self.odds_of(tasks, begin, end, tasks.workers[z]))

    def learn(self, tasks, begin, end, truth):
        """Judge a task's labels, and add them to the sums at each horizon."""
        self.mixed = self.lasting = 0.0
        if end > begin:
            self.meet(tasks, begin, end)
            self.study(tasks, begin, end, truth)

    def make_room(self, workers, labels):
        """Have rows for so many workers, and space to work on so many labels."""
        with cython.gil:
            self.room(workers, labels)

    def take_back(self, tasks: Tasks):
        """Take tasks back by today's judgement; how far horizons are believed is left as it is."""
        with cython.nogil:
            for t in range(tasks.size):
                begin = tasks.starts[t]
                end = tasks.starts[t + 1]
                truth = tasks.truth(t)
                self.meet(tasks, begin, end)
                self.judge(tasks, begin, end, truth)
                for z in range(begin, end):
                    if truth >= 0 or end > begin + 1:
                        self.subtract(
                            tasks.workers[z], self.work[0, z - begin], self.work[1, z - begin]
                        )
                if end > begin:
                    self.total[TASKS] = max(self.total[TASKS] - 1.0, 0.0)
                    for k in range(GOLD):
                        self.total[k] /= MEMORY

    # One task --------------------------------------------------------------------------------

    def meet(self, tasks, begin, end):
        """Of each label the odds and the weight, as readings are now; there is room for all."""
        last: cython.Py_ssize_t = -1
        for z in range(begin, end):
            last = max(last, tasks.workers[z])
        if last >= self.rows.shape[0] or end - begin > self.work.shape[1]:
            self.make_room(last + 1, end - begin)
        self.renew()
        for z in range(begin, end):
            self.work[0, z - begin] = self.odds_of(tasks, begin, end, tasks.workers[z])
            self.work[1, z - begin] = log(self.work[0, z - begin])

    def judge(self, tasks, begin, end, truth):
        """Odds and weight of each label → h and e of it, by the other labels or by the truth.

        Classes are taken to be equally frequent, so that what is often said does not pass for what
        is often true.
        """
        K: cython.double = self.classes
        total: cython.double = 0
        squares: cython.double = 0
        if truth >= 0:
            for z in range(begin, end):
                self.work[0, z - begin] = K - 1.0 if tasks.labels[z] == truth else -1.0
                self.work[1, z - begin] = K - 1.0
            return
        for a in range(self.classes):
            self.odds[a] = 0.0
        for z in range(begin, end):
            self.odds[tasks.labels[z]] += self.work[1, z - begin]
        best: cython.double = self.odds[0]
        for a in range(1, self.classes):
            best = max(best, self.odds[a])
        for a in range(self.classes):
            self.odds[a] = exp(self.odds[a] - best)
            total += self.odds[a]
            squares += self.odds[a] * self.odds[a]
        for z in range(begin, end):
            own = self.odds[tasks.labels[z]]
            others = own / self.work[0, z - begin]
            per = 1.0 / (total - own + others)  # one over the sum of the others' odds
            self.work[0, z - begin] = K * others * per - 1.0
            self.work[1, z - begin] = max(
                K * (squares - own * own + others * others) * per * per - 1.0, 0.0
            )

    def study(self, tasks, begin, end, truth):
        """Judge a task's labels and add them to their workers' sums, then to the crowd's."""
        skill: cython.double = 0
        exposure: cython.double = 0
        noise: cython.double = 0
        self.judge(tasks, begin, end, truth)
        if truth >= 0 or end > begin + 1:  # a label alone says nothing
            for z in range(end - begin):
                off = self.work[0, z] - self.mean * self.work[1, z]
                skill += self.work[0, z]
                exposure += self.work[1, z]
                noise += off * off
                self.add_label(tasks.workers[begin + z], self.work[0, z], self.work[1, z], off)
            self.compare_horizons()
        self.total[SKILL] = MEMORY * self.total[SKILL] + skill
        self.total[EXPOSURE] = MEMORY * self.total[EXPOSURE] + exposure
        self.total[NOISE] = MEMORY * self.total[NOISE] + noise
        self.total[TASKS] = MEMORY * self.total[TASKS] + 1.0
        if truth >= 0:
            self.total[GOLD] *= MEMORY
            self.total[GOLD2] *= MEMORY
            for z in range(end - begin):
                self.total[GOLD] += self.work[0, z]
                self.total[GOLD2] += self.work[0, z] * self.work[0, z]
        self.mirror_if_wrong()

    def mirror_if_wrong(self):
        """θ → −θ for everybody where most workers contradict what was learnt.

        Two classes taken for one another fit the labels as well; only that most workers are better
        than chance tells a crowd from its mirror image, unless known truths say that they are not.
        """
        if self.total[SKILL] >= -MIRRORED * sqrt(self.total[NOISE]):
            return
        if self.total[GOLD] < -MIRRORED * sqrt(self.total[GOLD2]):
            return
        self.total[SKILL] = -self.total[SKILL]
        for i in range(self.rows.shape[0]):
            for j in range(self.horizons):
                self.rows[i, j] = -self.rows[i, j]

    # One label -------------------------------------------------------------------------------

    def add_label(self, i, h, e, off):
        """w_ij ∝ w_ij (1 + θ_ij h), with a little of the crowd's weights; then B and C.

        The share of the crowd's is that of Herbster and Warmuth's fixed share (Tracking the best
        expert, 1998): no horizon is ever given up.
        """
        J = self.horizons
        most: cython.double = 0
        total: cython.double = 0
        foreseen: cython.double = 1
        if not self.rows[i, 2 * J - 1] > 0.0:
            for j in range(J):
                self.rows[i, 2 * J + j] = self.crowd[BELIEF, j]
        for j in range(J):
            B = self.rows[i, j]
            C = self.rows[i, J + j]
            chance = 1.0 + h * (B + self.prior[j] * self.mean) / (C + self.prior[j])
            foreseen = max(chance, RARE)
            self.rows[i, 2 * J + j] *= foreseen
            total += self.rows[i, 2 * J + j]
            self.crowd[FORESEEN, j] *= foreseen
            most = max(most, self.crowd[FORESEEN, j])
            self.crowd[SPREAD, j] += off * (B - self.mean * C)
            self.crowd[PAIRS, j] += e * C
            self.rows[i, j] = self.keep[j] * B + h
            self.rows[i, J + j] = self.keep[j] * C + e
        self.mixed += log(total / self.classes)
        self.lasting += log(foreseen / self.classes)
        if most > LARGE or most < 1.0 / LARGE:
            for j in range(J):
                self.crowd[FORESEEN, j] /= most
        scale = (1.0 - SWITCH) / total
        for j in range(J):
            self.rows[i, 2 * J + j] = (
                scale * self.rows[i, 2 * J + j] + SWITCH * self.crowd[BELIEF, j]
            )

    def compare_horizons(self):
        """The same for the whole crowd, after a task: belief ∝ belief · Π (1 + θ_ij h)."""
        J = self.horizons
        most: cython.double = 0
        total: cython.double = 0
        for j in range(J):
            most = max(most, self.crowd[FORESEEN, j])
        for j in range(J):
            self.crowd[BELIEF, j] *= self.crowd[FORESEEN, j] / most
            self.crowd[FORESEEN, j] = 1.0
            self.crowd[SPREAD, j] *= MEMORY
            self.crowd[PAIRS, j] *= MEMORY
            total += self.crowd[BELIEF, j]
        scale = (1.0 - CROWD_SWITCH) / total
        for j in range(J):
            self.crowd[BELIEF, j] = scale * self.crowd[BELIEF, j] + CROWD_SWITCH / J

    def subtract(self, i, h, e):
        """Undo `add`, as if the label were its worker's last."""
        J = self.horizons
        off = h - self.mean * e
        for j in range(J):
            self.rows[i, j] = (self.rows[i, j] - h) / self.keep[j]
            self.rows[i, J + j] = (self.rows[i, J + j] - e) / self.keep[j]
            if not self.rows[i, J + j] > 0.0:
                self.rows[i, j] = self.rows[i, J + j] = 0.0
        self.total[SKILL] -= h
        self.total[EXPOSURE] = max(self.total[EXPOSURE] - e, 0.0)
        self.total[NOISE] = max(self.total[NOISE] - off * off, 0.0)
