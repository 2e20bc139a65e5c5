# cython: language_level=3
# cython: infer_types=True
"""Adding judged labels to the sums behind intervals. Knows nothing of limits and levels.

Changing it changes the bits of every interval and what saved sums mean (their columns are in
`rows`). Types are in interval_loops.pxd.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.monitoring.rows import *
else:
    from crowdstream.monitoring.judging_loops import JudgedSums
    from crowdstream.monitoring.rows import *

COARSE = 402653184.0
"""1.5 · 2²⁸: the numbers near it that have 52 bits after the first are multiples of 2⁻²⁴."""


def rounded(x):
    """The nearest multiple of 2⁻²⁴, for |x| < 2²⁷: what labels add is the same in any order."""
    return (x + COARSE) - COARSE  # calls of rint took a quarter of the loop's time


class IntervalSums(JudgedSums):
    """Sums of judged labels, one row per worker, and the tasks of known truth."""

    def __init__(self, rows, doubts, total):
        self.rows = rows
        self.doubts = doubts
        self.total = total
        self.fetched = 0.0

    def fetch(self, tasks, first, last):
        """Read the sums of many workers before they are needed."""
        if self.rows.shape[0] <= MANY:
            return
        found: cython.double = 0.0
        for z in range(tasks.starts[first], tasks.starts[last]):
            i = tasks.workers[z]
            found += self.rows[i, B] + self.rows[i, GOLD] + self.doubts[i, ANSWERED]
        self.fetched = found

    def count_task(self, judge, tasks, t, weight):
        """Σg, Σg²; of tasks of known truth, how many the labels would have decided wrongly.

        And of every label how many of the task's others are not for the winner.
        """
        self.total[WEIGHT] += weight
        self.total[WEIGHT2] += weight * weight if weight > 0.0 else -weight * weight
        begin = tasks.starts[t]
        end = tasks.starts[t + 1]
        if end == begin:
            return
        winner = judge.winner()
        if tasks.truth(t) >= 0:
            sign = 1.0 if weight > 0.0 else -1.0
            self.total[KNOWN] += sign
            if winner != tasks.truth(t):
                self.total[WRONG] += sign
        against = 0.0
        for z in range(begin, end):
            if tasks.labels[z] != winner:
                against += 1.0
        others = end - begin - 1.0
        agreed = 1.0  # of a label that is alone
        opposed = 1.0
        if others > 0.0:
            agreed = rounded(against / others)
            opposed = rounded((against - 1.0) / others)
        for z in range(begin, end):
            i = tasks.workers[z]
            self.doubts[i, ANSWERED] += weight
            if tasks.labels[z] == winner:
                self.doubts[i, AGREED] += weight * agreed
            else:
                self.doubts[i, AGAINST] += weight * opposed

    def add_task(self, judge, tasks, t, weight):
        """B += g h, C += g e₂, and the parts of the variance of B − θ C, V + θ F − θ² D."""
        begin = tasks.starts[t]
        truth = tasks.truth(t)
        squared = weight * weight if weight > 0.0 else -weight * weight
        for z in range(begin, tasks.starts[t + 1]):
            i = tasks.workers[z]
            e2 = rounded(judge.e2[z - begin])
            self.rows[i, B] += weight * rounded(judge.h[z - begin])
            self.rows[i, C] += weight * e2
            self.rows[i, V] += squared * e2
            self.rows[i, F] += squared * rounded(judge.e3[z - begin])
            self.rows[i, D] += squared * rounded(e2 * e2)
            if truth >= 0:
                self.rows[i, GOLD] += 1.0 if weight > 0.0 else -1.0


class SlopeSums(JudgedSums):
    """The slopes of the likelihood by the skills of a small crowd.

    ``pull`` and ``info`` are ``Σ s + J θ`` and ``J = Σ s sᵀ``, s being the score of a task at the
    skills θ known then: every task adds a parabola to the log-likelihood, whose top is
    ``J⁻¹ pull``.
    """

    def __init__(self, pull, info):
        self.pull = pull
        self.info = info

    def add_task(self, judge, tasks, t, weight):
        """s = h/(1 + θ h); J += g s sᵀ (above the diagonal), pull += g (s + s ⟨s, θ⟩)."""
        begin = tasks.starts[t]
        end = tasks.starts[t + 1]
        along = 0.0
        for z in range(begin, end):
            s = judge.h[z - begin]
            s /= 1.0 + judge.skill(tasks.workers[z]) * s
            judge.each[z - begin] = s
            along += s * judge.skill(tasks.workers[z])
        for z in range(begin, end):
            i = tasks.workers[z]
            s = judge.each[z - begin]
            self.pull[i] += weight * rounded(s * (1.0 + along))
            for y in range(z, end):
                j = tasks.workers[y]
                both = weight * rounded(s * judge.each[y - begin])
                if i < j:
                    self.info[i, j] += both
                else:
                    self.info[j, i] += both
