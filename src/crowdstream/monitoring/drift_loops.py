# cython: language_level=3
# cython: infer_types=True
"""Page's cumulative sums: likelihood ratios for a change of skill. Knows nothing of estimators.

Changing it changes which alarms are raised and what saved rows mean (their columns are in
`columns`). Types are in drift_loops.pxd.
"""

import cython  # noqa: I001  (sorting would put each column on a line of its own)

from crowdstream.monitoring.columns import (
    AFTER, ANSWERS, BEFORE, DIRECTION, DOWN, EVIDENCE, HIGH, LEAST_SPREAD, LIMIT, LOW, MOST_SKILL,
    REF_B, REF_C, REF_D, REF_N, SEEN, SETTLED_IN, TINY, UP, WORKER,
)  # fmt: skip

if not cython.compiled:
    from math import log, sqrt

    from crowdstream.monitoring.judging_loops import JudgedSums

SHIFT = 0.6
"""Change of skill that the alarm looks for: with two classes, error rate 0.1 → 0.4."""

WORSE, BETTER = 601.8450378720822, 8103.083927575384
"""Likelihood ratios e^6.4 and e^9 that raise an alarm (measured: about one false alarm in 10⁴
answers); that a worker improved can wait."""

LEEWAY = 0.7
"""Standard errors of the known skill that do not count as a change."""

REFERENCE = 4.0
"""Answers that the crowd's mean is worth in what is known of a worker: few, because a worker who
has changed once must not be measured by what others are."""

REFRESH = 8
"""Answers after which the limits of the known skill are computed again: a power of two."""


class DriftSums(JudgedSums):
    """Two likelihood ratios per worker, and the alarms they raised.

    ``events``: the latest alarms, the oldest overwritten first; ``count``: alarms raised and tasks
    seen so far.
    """

    def __init__(self, rows, events, count):
        self.rows = rows
        self.events = events
        self.count = count

    def count_task(self, judge, tasks, t, weight):
        """One more task seen."""
        self.count[1] += 1.0

    def add_label(self, judge, i, at):
        """W ← max(1, W (1 + θ₁ h)/(1 + θ₀ h)), θ₀ the known skill with leeway, θ₁ = θ₀ ∓ SHIFT."""
        h = judge.h[at]
        self.rows[i, REF_B] += h
        self.rows[i, REF_C] += judge.e2[at]
        self.rows[i, REF_D] += judge.e2[at] * judge.e2[at]
        self.rows[i, REF_N] += 1.0
        if self.rows[i, REF_N] <= SETTLED_IN:
            return
        answers = cython.cast(cython.Py_ssize_t, self.rows[i, REF_N])
        if self.rows[i, LOW] == self.rows[i, HIGH] or answers & (REFRESH - 1) == 0:
            self.set_limits(judge, i)
        low = self.rows[i, LOW]
        high = self.rows[i, HIGH]
        self.move(i, DOWN, (1.0 + max(low - SHIFT, -MOST_SKILL) * h) / (1.0 + low * h))
        self.move(i, UP, (1.0 + min(high + SHIFT, MOST_SKILL) * h) / (1.0 + high * h))
        if self.rows[i, DOWN] >= self.rows[i, LIMIT]:
            self.alarm(judge, i, DOWN)
        elif self.rows[i, UP] >= BETTER:
            self.alarm(judge, i, UP)

    def known(self, judge, i):
        """The known skill of a worker: (Σh + 4 μ)/(Σe₂ + 4)."""
        mean = judge.skills[judge.skills.shape[0] - 1]
        return (self.rows[i, REF_B] + REFERENCE * mean) / (self.rows[i, REF_C] + REFERENCE)

    def set_limits(self, judge, i):
        """Limits of the known skill, ∓ 0.7 √((1 − θ² Σe₂²/Σe₂)/(Σe₂ + 4)).

        Where answers tell less, e₂ is small, alarms are rarer and may come sooner.
        """
        size = self.rows[i, REF_C]
        skill = self.known(judge, i)
        spread = 1.0 - skill * skill * self.rows[i, REF_D] / max(size, TINY)
        doubt = LEEWAY * sqrt(max(spread, LEAST_SPREAD) / (size + REFERENCE))
        mean = size / self.rows[i, REF_N]
        self.rows[i, LOW] = max(skill - doubt, -MOST_SKILL)
        self.rows[i, HIGH] = min(skill + doubt, MOST_SKILL)
        self.rows[i, LIMIT] = max(WORSE * mean * mean, 2.0)

    def move(self, i, way, ratio):
        """Update the likelihood ratio of one direction; where it falls below 1 it starts again."""
        self.rows[i, way] *= ratio
        if self.rows[i, way] > 1.0:
            return
        self.rows[i, way] = 1.0
        self.rows[i, way + 1] = self.rows[i, REF_B]
        self.rows[i, way + 2] = self.rows[i, REF_C]
        self.rows[i, way + 3] = self.rows[i, REF_N]

    def alarm(self, judge, i, way):
        """Record the alarm, and get to know the worker anew from the next answer on.

        The answers that raised the alarm are left out: the alarm itself has selected them.
        """
        at = cython.cast(cython.Py_ssize_t, self.count[0]) % self.events.shape[0]
        skill = self.known(judge, i)
        size = self.rows[i, REF_C] - self.rows[i, way + 2]
        after = (self.rows[i, REF_B] - self.rows[i, way + 1] + 2.0 * skill) / (size + 2.0)
        self.events[at, SEEN] = self.count[1]
        self.events[at, WORKER] = i
        self.events[at, DIRECTION] = 1.0 if way == UP else -1.0
        self.events[at, BEFORE] = skill
        self.events[at, AFTER] = after
        self.events[at, EVIDENCE] = log(self.rows[i, way])
        self.events[at, ANSWERS] = self.rows[i, REF_N] - self.rows[i, way + 3]
        self.count[0] += 1.0
        for k in range(self.rows.shape[1]):
            self.rows[i, k] = 0.0
