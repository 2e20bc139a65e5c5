# cython: language_level=3
# cython: infer_types=True
"""Page's cumulative sums: likelihood ratios for a change of skill. Knows nothing of estimators.

How high a ratio must rise to be told from noise is learnt from how it usually rises: where tasks
come in groups, or errors depend on the class, it swings more than independent answers would have
it. Changing this changes which alarms are raised and what saved rows mean (their columns are in
`columns`). Types are in drift_loops.pxd.
"""

import cython  # noqa: I001  (sorting would put each column on a line of its own)

from crowdstream.monitoring.columns import (
    AFTER, ANSWERS, BEFORE, BEGUN, DIRECTION, DOWN, ENDED, EVIDENCE, EXCESS, HIGH, LEAST_SPREAD,
    LEVELS, LOW, MOST_SKILL, REF_B, REF_C, REF_D, REF_N, SEEN, SETTLED_IN, TINY,
    UP, WORKER,
)  # fmt: skip

if not cython.compiled:
    from math import exp, log, sqrt

    from crowdstream.monitoring.judging_loops import JudgedSums

SHIFT = 0.6
"""Change of skill that the alarm looks for: with two classes, error rate 0.1 → 0.4."""

LOWEST = 2.0
"""Nats above which swings are counted; then twice, four and eight times this. Low levels are met
often, only high ones tell the few long swings from the many short."""

LOWEST_RATIO, HIGHEST_RATIO = 7.38905609893065, 1e300
"""The lowest level as a ratio, e²: logarithms are taken above it only, where they are needed. And
the highest that is kept."""

WORSE, BETTER = 1e-4, 2e-5
"""False alarms per answer that are allowed, by the swings so far; that a worker improved can
wait."""

USUAL = 0.015
"""Swings above the lowest level per answer, of simulated workers who do not change and answer
independently (0.011 to 0.025): what is expected until there are some to count."""

PRIOR = 10.0
"""Swings that this expectation counts for at each level: the standard error of a mean excess is
then a third of it at most."""

LEAST_CHANGE = 0.15
"""Change of skill that is worth an alarm, a quarter of the one it looks for: with two classes, an
error rate of 0.1 → 0.175."""

LEEWAY = 0.7
"""Standard errors of the known skill that do not count as a change."""

REFERENCE = 4.0
"""Answers that the crowd's mean is worth in what is known of a worker: few, because a worker who
has changed once must not be measured by what others are."""

REFRESH = 8
"""Answers after which the limits of the known skill are computed again: a power of two."""


class DriftSums(JudgedSums):
    """Two likelihood ratios per worker, how those of all swing, and the alarms they raised.

    ``swings``: see `columns`, one row per level for the better, then for the worse; ``rung``:
    alarms for the better and for the worse, and the sum of their heights. ``events``: the latest
    alarms, the oldest overwritten first; ``count``: alarms raised, answers that could have raised
    one, and tasks seen so far.
    """

    def __init__(self, rows, swings, rung, events, count):
        self.rows = rows
        self.swings = swings
        self.rung = rung
        self.events = events
        self.count = count

    def count_task(self, judge, tasks, t, weight):
        """One more task seen."""
        self.count[2] += 1.0

    def add_label(self, judge, i, at):
        """W ← max(1, W (1 + θ₁ h)/(1 + θ₀ h)), θ₀ the known skill, θ₁ = θ₀ ∓ SHIFT."""
        h = judge.h[at]
        self.rows[i, REF_B] += h
        self.rows[i, REF_C] += judge.e2[at]
        self.rows[i, REF_D] += judge.e2[at] * judge.e2[at]
        self.rows[i, REF_N] += 1.0
        if self.rows[i, REF_N] <= SETTLED_IN:
            return
        self.count[1] += 1.0
        answers = cython.cast(cython.Py_ssize_t, self.rows[i, REF_N])
        if self.rows[i, LOW] == self.rows[i, HIGH] or answers & (REFRESH - 1) == 0:
            self.set_limits(judge, i)
        low = self.rows[i, LOW]
        high = self.rows[i, HIGH]
        least: cython.double = -MOST_SKILL / (judge.classes - 1.0)
        self.move(i, DOWN, (1.0 + max(low - SHIFT, least) * h) / (1.0 + low * h))
        self.move(i, UP, (1.0 + min(high + SHIFT, MOST_SKILL) * h) / (1.0 + high * h))
        if self.rows[i, DOWN] > LOWEST_RATIO and self.is_unusual(i, DOWN):
            self.alarm(judge, i, DOWN)
        elif self.rows[i, UP] > LOWEST_RATIO and self.is_unusual(i, UP):
            self.alarm(judge, i, UP)

    def is_unusual(self, i, way):
        """Whether a swing above `LOWEST` is higher than all workers' get at the rate allowed.

        Above a level L their heights have about an exponential tail of mean φ, 1 if answers are
        independent; with r of them per answer, ``L + φ log(r/a)`` is exceeded a times per answer.
        φ is Σ excess/ended, the likeliest mean where alarms cut some off. The level by which the
        swing is least unusual has its say; the mean height of the alarms so far is one more.
        """
        height = log(self.rows[i, way])
        allowed: cython.double = BETTER if way == UP else WORSE
        answers = self.count[1] + PRIOR / USUAL
        side = 0 if way == UP else 1
        first = side * LEVELS
        level: cython.double = LOWEST
        mean: cython.double = 1.0
        for j in range(LEVELS):
            rate = (self.swings[first + j, BEGUN] + PRIOR * exp(LOWEST - level)) / answers
            if rate <= allowed:
                break
            mean = (self.swings[first + j, EXCESS] + PRIOR) / (
                self.swings[first + j, ENDED] + PRIOR
            )
            if height < level + mean * log(rate / allowed):
                return False
            level *= 2.0
        rung = self.rung[side, 0]
        if rung > allowed * answers:
            return height >= self.rung[side, 1] / rung + mean * log(rung / (allowed * answers))
        return True

    def known(self, judge, i):
        """The known skill of a worker: (Σh + 4 μ)/(Σe₂ + 4)."""
        mean = judge.skills[judge.skills.shape[0] - 1]
        return (self.rows[i, REF_B] + REFERENCE * mean) / (self.rows[i, REF_C] + REFERENCE)

    def set_limits(self, judge, i):
        """Limits of the known skill, ∓ 0.7 √((1 − θ² Σe₂²/Σe₂)/(Σe₂ + 4))."""
        size = self.rows[i, REF_C]
        skill = self.known(judge, i)
        spread = 1.0 - skill * skill * self.rows[i, REF_D] / max(size, TINY)
        doubt = LEEWAY * sqrt(max(spread, LEAST_SPREAD) / (size + REFERENCE))
        least: cython.double = -MOST_SKILL / (judge.classes - 1.0)
        self.rows[i, LOW] = min(max(skill - doubt, least), MOST_SKILL)
        self.rows[i, HIGH] = max(min(skill + doubt, MOST_SKILL), least)

    def move(self, i, way, ratio):
        """Multiply the ratio of one direction; where it falls below 1 it starts again."""
        now = self.rows[i, way] * ratio
        if now > 1.0:
            self.rows[i, way] = min(now, HIGHEST_RATIO)
            if now > self.rows[i, way + 4]:
                if now > LOWEST_RATIO:
                    self.begin_swing(way, log(max(self.rows[i, way + 4], 1.0)), log(now))
                self.rows[i, way + 4] = self.rows[i, way]
            return
        if self.rows[i, way + 4] > LOWEST_RATIO:
            self.end_swing(i, way, 1.0)
        self.rows[i, way] = 1.0
        self.rows[i, way + 1] = self.rows[i, REF_B]
        self.rows[i, way + 2] = self.rows[i, REF_C]
        self.rows[i, way + 3] = self.rows[i, REF_N]
        self.rows[i, way + 4] = 1.0

    def begin_swing(self, way, before, now):
        """Count a swing at the levels that it rises above for the first time."""
        first = 0 if way == UP else LEVELS
        level: cython.double = LOWEST
        for j in range(LEVELS):
            if before <= level < now:
                self.swings[first + j, BEGUN] += 1.0
            level *= 2.0

    def end_swing(self, i, way, whole):
        """Count how high a swing got that is over; ``whole``: 0 if an alarm cut it off."""
        first = 0 if way == UP else LEVELS
        height = log(self.rows[i, way + 4])
        level: cython.double = LOWEST
        for j in range(LEVELS):
            if height > level:
                self.swings[first + j, ENDED] += whole
                self.swings[first + j, EXCESS] += height - level
            level *= 2.0

    def alarm(self, judge, i, way):
        """Record the alarm, and get to know the worker anew from the next answer on.

        The answers that raised the alarm are left out: the alarm itself has selected them. If they
        hardly differ from all answers, the worker was never known otherwise: nothing is recorded.
        """
        before = self.known(judge, i)
        size = self.rows[i, REF_C] - self.rows[i, way + 2]
        after = (self.rows[i, REF_B] - self.rows[i, way + 1] + 2.0 * before) / (size + 2.0)
        self.rung[0 if way == UP else 1, 0] += 1.0
        self.rung[0 if way == UP else 1, 1] += log(self.rows[i, way])
        self.end_swing(i, way, 0.0)
        change = after - before if way == UP else before - after
        if change >= LEAST_CHANGE:
            self.record(i, way, before, after)
        for k in range(self.rows.shape[1]):
            self.rows[i, k] = 0.0

    def record(self, i, way, before, after):
        """Keep an alarm among the latest."""
        at = cython.cast(cython.Py_ssize_t, self.count[0]) % self.events.shape[0]
        self.events[at, SEEN] = self.count[2]
        self.events[at, WORKER] = i
        self.events[at, DIRECTION] = 1.0 if way == UP else -1.0
        self.events[at, BEFORE] = before
        self.events[at, AFTER] = after
        self.events[at, EVIDENCE] = log(self.rows[i, way])
        self.events[at, ANSWERS] = self.rows[i, REF_N] - self.rows[i, way + 3]
        self.count[0] += 1.0
