# cython: language_level=3
# cython: infer_types=True
"""Labels judged by the other labels of their task. Knows workers and classes by their codes only.

A label y of a worker with skill θ is judged by the posterior π of its task's *other* labels:
``P(y) = (1 + θ h)/K`` with ``h = K π(y) − 1``. So ``Σh`` estimates ``θ Σe₂`` without bias, where
``e_r = Σ_k (K π(k) − 1)^r / K``, with a known variance; and ``s = h/(1 + θ h)`` is the derivative
of the task's log-likelihood by θ. `Judge` finds h, e₂ and e₃; `JudgedSums` adds them up. Classes
are taken to be equally frequent: where errors are alike for all classes that leaves the sums
without bias, and a label that is given often does not pass for a class that is often true.

Changing it changes the bits of every interval, alarm and trend, and the time of a monitored stream
(benchmarks/core.py), but no saved format. Types are in judging_loops.pxd.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.monitoring.rows import MANY, MOST_SKILL
else:
    from math import pow  # noqa: A004

    from crowdstream.monitoring.rows import MANY, MOST_SKILL

LARGE = 1e60
"""Products of odds are scaled down beyond it."""

NEXT = 64
"""Tasks whose workers' sums are fetched at once."""


class Judge:
    """Finds h, e₂ and e₃ of every label of a task, by the skills of the workers.

    ``skills`` ends with the mean, which stands for workers not known when skills were read.
    ``family``: numbers of declared families, −1 for none, or empty: a worker is not judged by
    members of its own family, and the members on one task count together as one. ``per_label``
    (4 × labels) and ``per_class`` (2 × classes) are scratch arrays. ``least``: the lowest skill.
    """

    def __init__(self, skills, family, per_label, per_class):
        self.skills = skills
        self.odds = skills.copy()
        self.family = family
        self.h, self.e2, self.e3, self.each = per_label
        self.like, self.rest = per_class
        self.classes = per_class.shape[1]
        self.fetched = 0.0
        self.least = -MOST_SKILL / (self.classes - 1.0)
        for i in range(self.skills.shape[0]):
            skill: cython.double = max(self.skills[i], self.least)
            skill = min(skill, MOST_SKILL)
            self.skills[i] = skill
            self.odds[i] = (1.0 + (self.classes - 1.0) * skill) / (1.0 - skill)

    def skill(self, i):
        """Skill of worker i, or the mean."""
        last = self.skills.shape[0] - 1
        return self.skills[i if i < last else last]

    def family_of(self, i):
        """Number of worker i's family, or −1."""
        return self.family[i] if self.family.shape[0] else -1

    def multiply(self, y, odds):
        """One more vote for class y."""
        self.like[y] *= odds
        if self.like[y] > LARGE:
            for k in range(self.classes):
                self.like[k] /= LARGE

    def fetch(self, tasks, first, last):
        """Read the odds of many workers before they are needed, see `JudgedSums.fetch`."""
        known = self.odds.shape[0] - 1
        if known <= MANY:
            return
        found: cython.double = 0.0
        for z in range(tasks.starts[first], tasks.starts[last]):
            found += self.odds[min(cython.cast(cython.Py_ssize_t, tasks.workers[z]), known)]
        self.fetched = found

    def start(self, tasks, t):
        """No votes yet; the odds of each vote to come, to the power 1/s for s family members."""
        begin = tasks.starts[t]
        end = tasks.starts[t + 1]
        last = self.odds.shape[0] - 1
        for k in range(self.classes):
            self.like[k] = 1.0
        for z in range(begin, end):
            i = tasks.workers[z]
            self.each[z - begin] = self.odds[i if i < last else last]
            family = self.family_of(i)
            if family >= 0:
                members = 0.0
                for y in range(begin, end):
                    if self.family[tasks.workers[y]] == family:
                        members += 1.0
                self.each[z - begin] = pow(self.each[z - begin], 1.0 / members)

    def measure(self, at, y):
        """h = K π(y) − 1, e₂ = K Σπ² − 1, e₃ = K² Σπ³ − 3K Σπ² + 2, with π ∝ ``rest``."""
        K = self.classes
        total = 0.0
        squares = 0.0
        cubes = 0.0
        for k in range(K):
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

    def leave_out_family(self, tasks, begin, end, z):
        """Divide the votes of label z's family among ``begin:end`` out of ``rest``."""
        family = self.family_of(tasks.workers[z])
        if family >= 0:
            for y in range(begin, end):
                if y != z and self.family[tasks.workers[y]] == family:
                    self.rest[tasks.labels[y]] /= self.each[y - begin]

    def by_truth(self, tasks, t):
        """Judge labels by the known truth: π is certain."""
        begin = tasks.starts[t]
        for k in range(self.classes):
            self.rest[k] = 0.0
        self.rest[tasks.truth(t)] = 1.0
        for z in range(begin, tasks.starts[t + 1]):
            self.measure(z - begin, tasks.labels[z])

    def multiply_all(self, tasks, t):
        """The votes of all labels of a task."""
        begin = tasks.starts[t]
        self.start(tasks, t)
        for z in range(begin, tasks.starts[t + 1]):
            self.multiply(tasks.labels[z], self.each[z - begin])

    def by_others(self, tasks, t):
        """Judge every label by all others: the product of all odds, its own divided out."""
        begin = tasks.starts[t]
        end = tasks.starts[t + 1]
        self.multiply_all(tasks, t)
        if self.classes == 2 and not self.family.shape[0]:
            self.by_others_of_two(tasks, t)
            return
        for z in range(begin, end):
            for k in range(self.classes):
                self.rest[k] = self.like[k]
            self.rest[tasks.labels[z]] /= self.each[z - begin]
            self.leave_out_family(tasks, begin, end, z)
            self.measure(z - begin, tasks.labels[z])

    def by_others_of_two(self, tasks, t):
        """Judge a task of two classes, where h says all: e₂ = h² and e₃ = 0."""
        begin = tasks.starts[t]
        for z in range(begin, tasks.starts[t + 1]):
            at = z - begin
            y = tasks.labels[z]
            against = self.like[1 - y] * self.each[at]
            h = (self.like[y] - against) / (self.like[y] + against)
            self.h[at] = h
            self.e2[at] = h * h
            self.e3[at] = 0.0

    def winner(self):
        """The class that the votes counted last make likeliest."""
        best: cython.Py_ssize_t = 0
        for k in range(1, self.classes):
            if self.like[k] > self.like[best]:
                best = k
        return best

    def by_those_before(self, tasks, t):
        """Judge every label by those before it: h − θ e₂ is then a martingale under any stopping.

        The second label judges the first: whether there is one does not depend on the first.
        """
        begin = tasks.starts[t]
        end = tasks.starts[t + 1]
        self.start(tasks, t)
        for z in range(begin, end):
            for k in range(self.classes):
                self.rest[k] = self.like[k]
            if z == begin and end > begin + 1:
                self.rest[tasks.labels[z + 1]] *= self.each[1]
                self.leave_out_family(tasks, begin, begin + 2, z)
            else:
                self.leave_out_family(tasks, begin, z, z)
            self.measure(z - begin, tasks.labels[z])
            self.multiply(tasks.labels[z], self.each[z - begin])

    def judge(self, tasks, t, in_order):
        """Judge a task's labels, by its truth if that is known; false if nothing can judge them.

        Counts all votes in any case.
        """
        size = tasks.starts[t + 1] - tasks.starts[t]
        if tasks.truth(t) >= 0 or size < 2:
            self.multiply_all(tasks, t)
            if tasks.truth(t) < 0:
                return False
            self.by_truth(tasks, t)
            return size > 0
        if in_order:
            self.by_those_before(tasks, t)
        else:
            self.by_others(tasks, t)
        return True


class JudgedSums:
    """Goes through tasks and has their labels judged; a kind of sums says what it adds."""

    def add(self, judge, tasks, weight, growth, in_order):
        """Add tasks, or take them away (``weight`` below 0), each ``growth`` times the last.

        ``in_order``: a label is judged by those before it, not by all others.
        """
        with cython.nogil:
            for t in range(tasks.size):
                if t % NEXT == 0:
                    judge.fetch(tasks, t, min(t + NEXT, tasks.size))
                    self.fetch(tasks, t, min(t + NEXT, tasks.size))
                judged = judge.judge(tasks, t, in_order)
                self.count_task(judge, tasks, t, weight)
                if judged:
                    self.add_task(judge, tasks, t, weight)
                weight *= growth

    def add_with(self, other, judge, tasks, in_order):
        """`add` tasks without weights to other sums as well: each label is judged once."""
        with cython.nogil:
            for t in range(tasks.size):
                judged = judge.judge(tasks, t, in_order)
                self.count_task(judge, tasks, t, 1.0)
                other.count_task(judge, tasks, t, 1.0)
                if judged:
                    self.add_task(judge, tasks, t, 1.0)
                    other.add_task(judge, tasks, t, 1.0)

    def fetch(self, tasks, first, last):
        """Read what the workers of these tasks have before it is needed, if it is not in the cache.

        So there are many waits for memory at once, not one after another: at a million workers it
        saves a third of the time.
        """

    def count_task(self, judge, tasks, t, weight):
        """Add what any task adds, whether or not its labels can be judged."""

    def add_task(self, judge, tasks, t, weight):
        """Add what the judged labels of a task say: here one by one, without weights."""
        begin = tasks.starts[t]
        for z in range(begin, tasks.starts[t + 1]):
            self.add_label(judge, tasks.workers[z], z - begin)

    def add_label(self, judge, i, at):
        """Add what worker i's label says, the task's label number ``at``."""
