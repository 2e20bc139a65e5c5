# cython: language_level=3
# cython: infer_types=True
"""Page's cumulative sums, and a second look: likelihood ratios for a change of skill.

A sum that rises too high makes a change *pending*. The answers that raised it were selected by
that, so they confirm nothing: the change is recorded once the answers that come afterwards differ
from those before it, and withdrawn if they do not. How high a ratio must rise to be told from noise
is learnt from how it usually rises: where tasks come in groups, or errors depend on the class, it
swings more than independent answers would have it. Knows nothing of estimators. Changing this
changes which alarms are raised and what saved rows mean (their columns are in `rows`). Types are in
drift_loops.pxd.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.monitoring.rows import *
else:
    from math import exp, log, sqrt

    from crowdstream.monitoring.judging_loops import JudgedSums
    from crowdstream.monitoring.rows import *

SHIFT = 0.3
"""Change of skill that the alarm looks for: with two classes, error rate 0.1 → 0.25."""

LOWEST = 2.0
"""Nats above which swings are counted; then twice, four and eight times this. Low levels are met
often, only high ones tell the few long swings from the many short."""

LOWEST_RATIO, HIGHEST_RATIO = 7.38905609893065, 1e300
"""The lowest level as a ratio, e²: logarithms are taken above it only, where they are needed. And
the highest that is kept."""

HIGHEST = 690.0
"""Nats of a ratio that is below the highest."""

WORSE, BETTER = 2e-4, 4e-5
"""Pending changes per answer that are allowed of workers who do not change, by the swings so far;
that a worker improved can wait."""

LONG = 1000.0
"""Answers from which on fewer are allowed: so many times as few as the worker has more answers.
A worker who does not change may then have 0.2 pending changes in the first thousand answers, and as
many again whenever their number has grown e-fold: few enough in a life of any length for the second
look to leave hardly any."""

USUAL = 0.006
"""Swings above the lowest level per answer, of simulated workers who do not change and answer
independently (0.003 to 0.017): what is expected until there are some to count."""

PRIOR = 10.0
"""Swings that this expectation counts for at each level: the standard error of a mean excess is
then a third of it at most."""

SURE = 5.0
"""Nats for a change, by the answers since it is pending, that confirm it; times the mean excess of
swings, 1 if answers are independent. Of changes that are none it confirms 1 in e⁵ = 150
at most."""

WITHDRAWN = 0.01
"""Likelihood ratio of these answers at which the change is withdrawn; of true changes about as many
are, and are looked for again."""

LONGEST = 1000.0
"""Answers after which a change that is not confirmed is withdrawn. Of workers known from 500
answers whose error rate rose from 0.1 to 0.25, a sixth was missed within 600 more; half were where
a ratio of 0.1 or 200 answers withdrew the change."""

APART = 4.0
"""Standard errors of the difference by which the skill in these answers must be off the skill
before: of a worker known from few answers, both are uncertain."""

LEAST_CHANGE = 0.15
"""Change of skill that is worth an alarm, half of the one it looks for: with two classes, an error
rate of 0.1 → 0.175."""

LEEWAY = 0.7
"""Standard errors of the known skill that do not count as a change."""

REFERENCE = 4.0
"""Answers that the crowd's mean is worth in what is known of a worker: few, because a worker who
has changed once must not be measured by what others are."""

REFRESH = 8
"""Answers after which the limits of the known skill are computed again: a power of two."""

SHARE = 0.5
"""Share of a worker's change that the others have made, too, at which it is the tasks that
changed."""

PENDING, OWN, SHARED = range(3)
"""Verdicts of a second look: nothing yet, a change of the worker, a change of most workers."""

LEAST_CROWD = 20.0
"""Judged answers (Σe₂) of others by which this can be told."""

AHEAD = 1.05
"""Growth in answers for which a bound of unusual ratios is found ahead: it is lower by as little as
its logarithm times a mean excess."""

BELOW = 1.0 - 1e-9
"""Times a bound, so that rounding makes no ratio pass for a usual one that is not."""


class DriftSums(JudgedSums):
    """Two likelihood ratios per worker, how those of all swing, and the alarms they raised.

    ``swings``: see `rows`, one row per level for the better, then for the worse; ``events``: the
    latest alarms, the oldest overwritten first; ``count``: see `rows`. ``near_up`` and
    ``near_down``: ratios below which no swing is unusual, for as long as no more than ``near_for``
    answers could have raised an alarm and no swing has ended.
    """

    def __init__(self, rows, swings, events, count):
        self.rows = rows
        self.swings = swings
        self.events = events
        self.count = count
        self.near_up = self.near_down = LOWEST_RATIO
        self.near_for = -1.0

    def count_task(self, judge, tasks, t, weight):
        """One more task seen."""
        self.count[TASKS] += 1.0

    def add_label(self, judge, i, at):
        """W ← max(1, W (1 + θ₁ h)/(1 + θ₀ h)), θ₀ the known skill, θ₁ = θ₀ ∓ SHIFT."""
        h = judge.h[at]
        e2 = judge.e2[at]
        n = self.rows[i, REF_N] + 1.0
        self.rows[i, REF_B] += h
        self.rows[i, REF_C] += e2
        self.rows[i, REF_D] += e2 * e2
        self.rows[i, REF_E] += judge.e3[at]
        self.rows[i, REF_N] = n
        if n <= SETTLED_IN:
            return
        self.count[LISTENED] += 1.0
        answers = cython.cast(cython.Py_ssize_t, n)
        pending: cython.bint = self.rows[i, WAY] != 0.0
        if not pending and (
            answers & (REFRESH - 1) == 0 or self.rows[i, LOW] == self.rows[i, HIGH]
        ):
            self.set_limits(judge, i)
        low = self.rows[i, LOW]
        high = self.rows[i, HIGH]
        self.count[CROWD_B] += h - 0.5 * (low + high) * e2
        self.count[CROWD_C] += e2
        down = (1.0 + max(low - SHIFT, judge.least) * h) / (1.0 + low * h)
        up = (1.0 + min(high + SHIFT, MOST_SKILL) * h) / (1.0 + high * h)
        if pending:
            way = cython.cast(cython.Py_ssize_t, self.rows[i, WAY])
            self.look(judge, i, way, down if way == DOWN else up)
            return
        if self.near_for < self.count[LISTENED]:
            self.find_near()
        if self.is_usual(i, DOWN, down, self.near_down) & self.is_usual(i, UP, up, self.near_up):
            self.go_on(i, DOWN, down)
            self.go_on(i, UP, up)
            return
        self.move(i, DOWN, down)
        self.move(i, UP, up)
        if self.rows[i, DOWN] > self.near_down and self.is_unusual(i, DOWN):
            self.suspect(judge, i, DOWN)
        elif self.rows[i, UP] > self.near_up and self.is_unusual(i, UP):
            self.suspect(judge, i, UP)

    def is_usual(self, i, way, ratio, near):
        """Return whether this ratio changes no count of swings and is far from an alarm."""
        now = self.rows[i, way] * ratio
        top = self.rows[i, way + 4]
        low: cython.bint = top <= LOWEST_RATIO
        return ((now <= LOWEST_RATIO) & low) | ((now > 1.0) & (now <= top) & (now <= near))

    def go_on(self, i, way, ratio):
        """`move` where that is so: without branches, which nobody could foresee."""
        now = self.rows[i, way] * ratio
        on: cython.Py_ssize_t = now > 1.0
        self.rows[i, way] = max(now, 1.0)
        self.rows[i, way + 4] = max(self.rows[i, way + 4] * on, self.rows[i, way])
        # Where it starts again, what it starts from: whole numbers are chosen without a branch.
        self.rows[i, way + 1] = self.rows[i, REF_B + on * (way + 1 - REF_B)]
        self.rows[i, way + 2] = self.rows[i, REF_C + on * (way + 2 - REF_C)]
        self.rows[i, way + 3] = self.rows[i, REF_N + on * (way + 3 - REF_N)]

    def find_near(self):
        """Ratios below which no swing is unusual for a while: logarithms are taken above only.

        By the lowest level, of workers of any number of answers, after as many more answers of all.
        """
        self.near_for = AHEAD * self.count[LISTENED]
        self.near_up = self.least_unusual(0, BETTER)
        self.near_down = self.least_unusual(LEVELS, WORSE)

    def least_unusual(self, first, allowed):
        """Return the lowest ratio that `is_unusual` may report before ``near_for`` answers."""
        rate = (self.swings[first, BEGUN] + PRIOR) / (self.near_for + PRIOR / USUAL)
        if rate <= allowed:
            return LOWEST_RATIO
        height = LOWEST + self.mean_excess(first) * log(rate / allowed)
        return BELOW * exp(min(height, HIGHEST))

    def is_unusual(self, i, way):
        """Return True if a swing above `LOWEST` exceeds all workers' at the rate allowed.

        Above a level L their heights have about an exponential tail of mean φ, 1 if answers are
        independent; with r of them per answer, ``L + φ log(r/a)`` is exceeded a times per answer.
        φ is Σ excess/ended, the likeliest mean where alarms cut some off. The level by which the
        swing is least unusual has its say.
        """
        height = log(self.rows[i, way])
        allowed: cython.double = BETTER if way == UP else WORSE
        allowed *= min(1.0, LONG / self.rows[i, REF_N])
        answers = self.count[LISTENED] + PRIOR / USUAL
        first = 0 if way == UP else LEVELS
        level: cython.double = LOWEST
        for j in range(LEVELS):
            rate = (self.swings[first + j, BEGUN] + PRIOR * exp(LOWEST - level)) / answers
            if rate <= allowed:
                break
            if height < level + self.mean_excess(first + j) * log(rate / allowed):
                return False
            level *= 2.0
        return True

    def mean_excess(self, j):
        """Mean by which swings rise above a level, φ."""
        return (self.swings[j, EXCESS] + PRIOR) / (self.swings[j, ENDED] + PRIOR)

    def known(self, judge, right, size):
        """The skill that answers show: (Σh + 4 μ)/(Σe₂ + 4)."""
        mean = judge.skills[judge.skills.shape[0] - 1]
        return (right + REFERENCE * mean) / (size + REFERENCE)

    def variance(self, i, skill, size):
        """Variance of a skill: (1 + (θ Σe₃ − θ² Σe₂²)/Σe₂)/Σe₂, the last Σe₂ being ``size``."""
        more = skill * (self.rows[i, REF_E] - skill * self.rows[i, REF_D])
        spread = 1.0 + more / max(self.rows[i, REF_C], TINY)
        return max(spread, LEAST_SPREAD) / max(size, TINY)

    def set_limits(self, judge, i):
        """Limits of the known skill, 0.7 standard errors from it."""
        skill = self.known(judge, self.rows[i, REF_B], self.rows[i, REF_C])
        doubt = LEEWAY * sqrt(self.variance(i, skill, self.rows[i, REF_C] + REFERENCE))
        self.rows[i, LOW] = min(max(skill - doubt, judge.least), MOST_SKILL)
        self.rows[i, HIGH] = max(min(skill + doubt, MOST_SKILL), judge.least)

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
        self.start(i, way)

    def start(self, i, way):
        """A likelihood ratio of 1 from here on."""
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
        self.near_for = -1.0
        first = 0 if way == UP else LEVELS
        height = log(self.rows[i, way + 4])
        level: cython.double = LOWEST
        for j in range(LEVELS):
            if height > level:
                self.swings[first + j, ENDED] += whole
                self.swings[first + j, EXCESS] += height - level
            level *= 2.0

    def suspect(self, judge, i, way):
        """Begin the second look: a change is pending, from the skill before its first answer."""
        self.end_swing(i, way, 0.0)
        self.rows[i, WAY] = way
        self.rows[i, LOOK] = 1.0
        self.rows[i, LOOK_B] = self.rows[i, REF_B]
        self.rows[i, LOOK_C] = self.rows[i, REF_C]
        self.rows[i, LOOK_N] = self.rows[i, REF_N]
        self.rows[i, LOOK_SEEN] = self.count[TASKS]
        self.rows[i, LOOK_CROWD_B] = self.count[CROWD_B]
        self.rows[i, LOOK_CROWD_C] = self.count[CROWD_C]
        self.set_limits(judge, i)

    def look(self, judge, i, way, ratio):
        """One more answer since a change is pending: confirm it, withdraw it, or go on."""
        now = min(self.rows[i, LOOK] * ratio, HIGHEST_RATIO)
        self.rows[i, LOOK] = now
        found = self.verdict(judge, i, way) if now > LOWEST_RATIO else PENDING
        if found != PENDING:
            self.alarm(judge, i, way, found)
        elif now < WITHDRAWN or self.rows[i, REF_N] - self.rows[i, LOOK_N] >= LONGEST:
            self.rows[i, WAY] = 0.0
            self.start(i, UP)
            self.start(i, DOWN)
            self.set_limits(judge, i)

    def before(self, judge, i):
        """The skill before the change was pending."""
        return self.known(judge, self.rows[i, LOOK_B], self.rows[i, LOOK_C])

    def after(self, i):
        """The skill in the answers since the change is pending."""
        size = self.rows[i, REF_C] - self.rows[i, LOOK_C]
        return (self.rows[i, REF_B] - self.rows[i, LOOK_B]) / max(size, TINY)

    def verdict(self, judge, i, way):
        """Judge a pending change by the answers since: unconfirmed, the worker's, or most's.

        They must be unlikely without it, on the scale of how swings usually are. And the skill in
        them must be off the skill before by `LEAST_CHANGE`, and by `APART` standard errors of the
        difference: beyond what the others have moved, or with it if they moved half as far.
        """
        first = 0 if way == UP else LEVELS
        mean: cython.double = 1.0
        for j in range(LEVELS):
            mean = max(mean, self.mean_excess(first + j))
        if log(self.rows[i, LOOK]) < SURE * mean:
            return PENDING
        before = self.before(judge, i)
        size = self.rows[i, REF_C] - self.rows[i, LOOK_C]
        sign: cython.double = 1.0 if way == UP else -1.0
        change = sign * (self.after(i) - before)
        moved: cython.double = max(sign * self.others_moved(i, size), 0.0)
        if change - moved >= self.least_change(i, before + sign * moved, size):
            return OWN
        if moved >= SHARE * change and change >= self.least_change(i, before, size):
            return SHARED
        return PENDING

    def least_change(self, i, skill, size):
        """The least change from a skill that counts, by the answers since it is pending.

        By the variance of answers at that skill, as Wilson's interval has it.
        """
        doubt = self.variance(i, skill, self.rows[i, LOOK_C] + REFERENCE)
        doubt += self.variance(i, skill, size)
        return max(LEAST_CHANGE, APART * sqrt(doubt))

    def others_moved(self, i, size):
        """Return how far the others' skill has moved since then; 0 if few have answered.

        ``size``: what of Σe₂ since then is the worker's own.
        """
        others = self.count[CROWD_C] - self.rows[i, LOOK_CROWD_C] - size
        if others < LEAST_CROWD:
            return 0.0
        known = 0.5 * (self.rows[i, LOW] + self.rows[i, HIGH])
        own = self.rows[i, REF_B] - self.rows[i, LOOK_B] - known * size
        return (self.count[CROWD_B] - self.rows[i, LOOK_CROWD_B] - own) / others

    def alarm(self, judge, i, way, found):
        """Record the change, and get to know the worker anew from the next answer on.

        The answers that confirmed it are left out: they were stopped at when they looked most like
        it. After a change that most workers share all are met anew, so that it is recorded once.
        """
        self.record(judge, i, way, found)
        first = 0 if found == SHARED else i
        end = self.rows.shape[0] if found == SHARED else i + 1
        for j in range(first, end):
            for k in range(self.rows.shape[1]):
                self.rows[j, k] = 0.0

    def record(self, judge, i, way, found):
        """Keep an alarm among the latest."""
        at = cython.cast(cython.Py_ssize_t, self.count[RAISED]) % self.events.shape[0]
        self.events[at, SEEN] = self.count[TASKS]
        self.events[at, WORKER] = i
        self.events[at, DIRECTION] = 1.0 if way == UP else -1.0
        self.events[at, BEFORE] = self.before(judge, i)
        self.events[at, AFTER] = self.after(i)
        self.events[at, EVIDENCE] = log(self.rows[i, way]) + log(self.rows[i, LOOK])
        self.events[at, ANSWERS] = self.rows[i, REF_N] - self.rows[i, way + 3]
        self.events[at, EVERYONE] = 1.0 if found == SHARED else 0.0
        self.count[RAISED] += 1.0
