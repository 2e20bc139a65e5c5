"""`Intervals`: how sure the error rates are. Knows nothing of what decides a task.

Crowds of more than 32 workers: with h and e_r of a label against the posterior of its task's other
labels (see `judging_loops`), ``B = Σh`` has mean ``θ C`` and variance ``V + θ F − θ² D``, so the
limits of θ are the roots of a parabola, from the first answer on.

Smaller crowds: there a posterior depends on few skills, each of which depends on the worker in
question. So all skills are fitted together by maximum likelihood; the inverse of its information
``J = Σ s sᵀ``, s the score of a task, is their covariance, which accounts for the others' skills
being uncertain too. The latest 2,000 tasks are kept as they came; of earlier ones the score and its
square at the skills found then (`interval_loops.SlopeSums`). A likelihood does not depend on the
rule by which somebody stopped asking.

That holds for workers who err independently. Errors that the crowd makes together are invisible to
it, so an allowance is added for what agreement cannot see (`Intervals._allowances`), as far as
errors were found to be correlated; known truths bound it instead, once there are enough. Tasks that
fool most of the crowd look like tasks of another class: only known truths can tell them.

Chance and joint errors are two unknowns. Both at their worst together is rarer than either, so
their distances from the estimate are added as squares (MOVER, as `metrics.expected` has it). A
worker's own answers to tasks of known truth need no model: from `ENOUGH` on their binomial interval
(Wilson, 1927) is the widest that is reported, see `Intervals._held_to_gold`.
"""

from __future__ import annotations  # noqa: I001  (each column would be on a line of its own)

from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import LEVEL
from crowdstream.estimators.estimator import Estimator
from crowdstream.serialization import Packed
from crowdstream.models.passes import ChooseTasks, Pass, TaskTable
from crowdstream.models.teacher import error_rates
from crowdstream.metrics import wilson
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.rows import (
    AGAINST, AGREED, ANSWERED, GOLD, KNOWN, LEAST_SPREAD, MOST_SKILL, STOPS, TINY, WEIGHT, WEIGHT2,
    WRONG, B, C, D, F, V,
)  # fmt: skip
from crowdstream.monitoring.interval_loops import IntervalSums, SlopeSums
from crowdstream.monitoring.judged_pass import JudgeTasks
from crowdstream.monitoring.judging_loops import JudgedSums
from crowdstream.monitoring.recent_tasks import RecentTasks
from crowdstream.monitoring.worker_sums import Floats, ForgettingSums, Shapes, mirrored

SMALL = 32
"""Largest crowd whose skills are fitted together. In crowds of 50 and more the error in one skill
moves the others' too little to be seen (coverage 0.935 to 0.97 without the joint fit)."""

KEPT = 2000
"""Tasks of a small crowd that are kept as they came: the fit is exact up to there. Of tables with
more tasks the fit sees a sample of this size; then all are added up at the skills found, and once
more at those that this gives: at 100,000 tasks 240 intervals covered 0.91 with the sample's alone,
960 intervals 0.94 so."""

ROUNDS, STILL = 20, 1e-4
"""Most rounds of the fit, and the step that ends it: a hundredth of a standard error."""

ENOUGH = 20
"""Tasks of known truth from which on they bound how often the crowd is wrong together, and answers
to such tasks from which on a worker's interval is at most as wide as Wilson's from these."""

CAUTION = 1.25
"""Times the others' doubt that is allowed for where workers err together: all of it, and a quarter
for crowds worse than those at hand. On 18 real sets the intervals covered 0.97 of the workers at a
mean width of 0.37; with 1 instead 0.94 at 0.32."""

Z95 = NormalDist().inv_cdf((1.0 + LEVEL) / 2.0)
"""Standard errors that a worker's gold answers must be off the estimate to contradict it. The same
for intervals of every level, so that an error rate does not depend on the level asked for."""

AGREEMENT, DOUBT, BY_GOLD = "agreement", "agreement-with-doubt", "gold"
"""Evidence behind an interval: agreement of workers who err independently as far as is known; the
same with an allowance for errors they make together; truths that were given."""

H = 8.0
"""Answers at the mean by which a stream's own skills are shrunk, like all priors of estimators."""

PRIOR = 2.0
"""Pseudo-answers without information in the joint fit: one shared task is no certainty."""

SMALL_SAMPLE = 2.0
"""Variances of the joint fit are raised by 1 + this/answers."""


class Slopes(NamedTuple):
    """Slopes of the likelihood, see `interval_loops.SlopeSums`."""

    pull: Floats
    info: Floats

    def copy(self) -> Slopes:
        """To be added to without changing this one."""
        return Slopes(self.pull.copy(), self.info.copy())

    def add_sums(self, others: Sequence[Floats]) -> None:
        """Add the slopes of other tasks."""
        for mine, theirs in zip(self, others, strict=True):
            mine += theirs

    def add(
        self, batch: LabelBatch, crowd: Estimator, skills: Floats, weight: float, growth: float
    ) -> None:
        """Add tasks at these skills, every label judged by all others of its task."""
        largest = int(batch.sizes.max(initial=1))
        judge = view.judge_by(np.append(skills, 0.0), crowd, largest)
        SlopeSums(*self).add(judge, batch.coded, weight, growth, False)


class Intervals(ForgettingSums):
    """Limits of every worker's error rate, for the table of workers."""

    adds_up = True
    per_worker: ClassVar[Shapes] = {"rows": (6,), "doubts": (3,)}
    shared: ClassVar[Shapes] = {"pull": (SMALL,), "info": (SMALL, SMALL), "total": (5,)}

    def __init__(self) -> None:
        self._recent = RecentTasks()
        super().__init__()

    def _bind(self) -> None:
        arrays = self.arrays
        self._sums = IntervalSums(arrays["rows"], arrays["doubts"], arrays["total"])
        self._slopes = Slopes(self.arrays["pull"], self.arrays["info"])

    def _weights(self) -> Iterator[Floats]:
        yield self.arrays["rows"][:, B:V]
        yield self.arrays["doubts"]
        yield self.arrays["total"][WEIGHT:WEIGHT2]
        yield from self._slopes

    def _squares(self) -> Iterator[Floats]:
        yield self.arrays["rows"][:, V:GOLD]
        yield self.arrays["total"][WEIGHT2:KNOWN]

    # Seeing ----------------------------------------------------------------------------------

    def patience(self, crowd: Estimator) -> int:
        """Until skills are read again, or a small crowd's tasks are added up."""
        if not crowd.weighs_:
            return 2**62
        found = super().patience(crowd)
        return found if crowd._n_met > SMALL else min(found, KEPT - len(self._recent))

    def most_workers(self, crowd: Estimator) -> int:
        """Until the crowd is no longer a small one."""
        return SMALL if crowd._n_met <= SMALL else 2**62

    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Add what tasks say about their workers, or take it away by today's skills."""
        if not crowd.weighs_:
            return
        self._remember(view.memory_of(crowd))
        self._reserve(crowd._n_met)
        if in_order:
            self.arrays["total"][STOPS] = 1.0
        judge, growth = self._judge_for(batch, crowd, sign), self._scale.growth
        for part, weight in self._weighted(batch, sign):
            self._sums.add(judge, part.coded, weight, growth, in_order)
        if crowd._n_met > SMALL:
            self._recent.clear()
        elif sign > 0:
            self._recent.append(batch)
            if len(self._recent) > KEPT:
                self._add_up(crowd)
        elif not self._recent.remove(batch):
            weight = -self._scale.weight(self._clock)
            self._slopes.add(batch, crowd, view.skills_of(crowd), weight, growth)

    def see_all(self, table: TaskTable, crowd: Estimator) -> None:
        """Learn a table in passes, if its order makes no difference."""
        self.see_more(table, crowd, view.tasks_of(crowd), False)

    def see_more(self, table: TaskTable, crowd: Estimator, tasks: int, in_order: bool) -> None:
        """Learn more tasks of a table."""
        if not crowd.weighs_:
            return
        if view.tells_order(crowd):
            super().see_more(table, crowd, tasks, in_order)
            return
        n = len(crowd._workers)
        self._reserve(n)
        if in_order:
            self.arrays["total"][STOPS] = 1.0
        if self.renewed == 0.0 or self._due(tasks, None):
            self.skills, self.renewed = self._read_skills(crowd), float(max(self.tasks + tasks, 1))
        names = "rows", "doubts", "total"
        judging = self._judging(IntervalSums, names, crowd, self.skills, in_order)
        passes: list[Pass[Any]] = [judging]
        if n <= SMALL:
            passes.append(ChooseTasks(view.seed_of(crowd), tasks=KEPT))
        judged, *chosen = table.add_up(passes)
        for name, found in zip(names, judged, strict=True):
            self.arrays[name][: len(found)] += found
        self.tasks, self._clock = self.tasks + tasks, self._clock + tasks
        if chosen:
            self._fit_more(table, crowd, chosen[0].batch, tasks)
        else:
            self._recent.clear()

    def _fit_more(self, table: TaskTable, crowd: Estimator, some: LabelBatch, tasks: int) -> None:
        """The joint fit of a small crowd to so many tasks more, of which these are some, or all."""
        if len(some) < KEPT:
            self._recent.append(some)
            if len(self._recent) > KEPT:
                self._add_up(crowd)
            return
        if len(self._recent):
            self._add_up(crowd)
        skills = self._fit(crowd, (some, tasks / len(some), 1.0))[0]
        for _ in range(2):  # the fit saw a sample: once more, at what all tasks say
            passes = [self._judging(SlopeSums, ("pull", "info"), crowd, np.append(skills, 0.0))]
            (found,) = table.add_up(passes)
            slopes = self._slopes.copy()
            slopes.add_sums(found)
            skills = self._solve(slopes, crowd, skills)[0]
        self._slopes.add_sums(found)

    def _judging(
        self,
        kind: type[JudgedSums],
        names: Sequence[str],
        crowd: Estimator,
        skills: Floats,
        in_order: bool = False,
    ) -> JudgeTasks:
        """The pass that adds judged labels to arrays of these names."""
        shapes = tuple(
            (len(crowd._workers), *self.per_worker[name])
            if name in self.per_worker
            else self.shared[name]
            for name in names
        )
        known = skills, view.family_of(crowd), view.class_count(crowd)
        return JudgeTasks(kind, shapes, *known, in_order)

    def _read_skills(self, crowd: Estimator) -> Floats:
        """The estimator's skills; where tasks stop when they are settled, those of these sums.

        Stopping biases agreement, and skills read from it, but not labels judged in order.
        """
        found = super()._read_skills(crowd)
        if self.arrays["total"][STOPS]:
            rows, unit = self.arrays["rows"][: len(crowd._workers)], H * self._unit
            b, c = rows[:, B], rows[:, C]
            found[-1] = (b.sum() + unit * found[-1]) / (c.sum() + unit)
            found[:-1] = (b + unit * found[-1]) / (c + unit)
        return found

    # The joint fit of small crowds -----------------------------------------------------------

    def _add_up(self, crowd: Estimator) -> None:
        """Replace the tasks kept by their scores and squares at the skills that fit all best."""
        whole, growth = self._recent.batch(), self._scale.growth
        first = self._scale.weight(self._clock - len(whole))
        before = self._slopes.copy()
        skills = self._fit(crowd)[0]
        self._slopes.add(whole, crowd, skills, first, growth)
        if len(whole) > 2 * KEPT:  # the fit saw a sample: once more, at what all tasks say
            skills = self._solve(self._slopes, crowd, skills)[0]
            for array, old in zip(self._slopes, before, strict=True):
                array[...] = old
            self._slopes.add(whole, crowd, skills, first, growth)
        self._recent.clear()

    def _fit(
        self, crowd: Estimator, sample: tuple[LabelBatch, float, float] | None = None
    ) -> tuple[Floats, Floats]:
        """The likeliest skills and their variances: rounds of `_solve`; changes nothing.

        ``sample``: what `_sampled` gives, unless it is to be that of the tasks kept.
        """
        part, weight, growth = sample or self._sampled()
        skills = view.skills_of(crowd)
        for _ in range(ROUNDS):
            slopes, before = self._slopes.copy(), skills
            slopes.add(part, crowd, before, weight, growth)
            skills, variances = self._solve(slopes, crowd, before)
            if np.abs(skills - before).max(initial=0.0) < STILL:
                break
        return skills, variances

    def _sampled(self) -> tuple[LabelBatch, float, float]:
        """The tasks kept, or a sample of them, with the first's weight and how it grows."""
        whole = self._recent.batch()
        size = len(whole)
        if size <= KEPT:
            return whole, self._scale.weight(self._clock - size), self._scale.growth
        first = max(size - int(5 * (self._memory or size)), 0)
        which = np.linspace(first, size - 1, min(size - first, KEPT)).astype(np.int64)
        step = (size - first) / which.size
        weight = step * self._scale.weight(self._clock - size + first)
        return whole.pick(which), weight, float(self._scale.growth**step)

    def _solve(self, slopes: Slopes, crowd: Estimator, skills: Floats) -> tuple[Floats, Floats]:
        """Skills and variances: ``θ + A⁻¹ (pull − J θ)`` and A⁻¹, A being J with a prior.

        Off the diagonal J is noisy where tasks are few: it is shrunk by as much as its squares
        exceed their noise (Schäfer and Strimmer, 2005).
        """
        n = skills.size
        info, pull = mirrored(slopes.info[:n, :n]), slopes.pull[:n]
        total, unit = self.arrays["total"], self._unit
        answers = view.answers_of(crowd)
        scale = np.sqrt(np.maximum(np.diag(info), TINY))
        share = info / np.outer(scale, scale)
        np.fill_diagonal(share, 0.0)
        shared = np.outer(answers, answers) * unit / max(total[WEIGHT], TINY)
        noise = np.where(share != 0.0, 1.0 / np.maximum(shared, 1.0), 0.0)
        kept = max(1.0 - noise.sum() / max((share**2).sum(), TINY), 0.0)
        wide = kept * info
        wide[np.diag_indices(n)] = np.diag(info) + PRIOR * unit
        inverse = np.linalg.inv(wide)
        found = skills + inverse @ (pull - info @ skills)
        ratio = total[WEIGHT2] / max(total[WEIGHT], TINY)
        variance = ratio * np.diag(inverse) * (1.0 + SMALL_SAMPLE / np.maximum(answers, 1.0))
        least = -MOST_SKILL / (view.class_count(crowd) - 1.0)
        return np.clip(found, least, MOST_SKILL), variance

    # Limits ----------------------------------------------------------------------------------

    def columns(self, crowd: Estimator, level: float) -> dict[str, NDArray[np.generic] | str]:
        """``error_rate``, ``error_low``, ``error_high``, and ``evidence``: what they rest on."""
        if not crowd.weighs_:
            return {}
        n, classes = len(crowd._workers), view.class_count(crowd)
        self._reserve(n, seen=False)
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        least = -1.0 / (classes - 1.0)
        worst, best = (np.clip(limit, least, 1.0) for limit in self._skill_limits(crowd, z))
        low, high = error_rates(best, classes), error_rates(worst, classes)
        middle = (low + high) / 2.0
        found, ways = view.estimates(crowd)
        # Errors may depend on the class, which one skill cannot tell: around its estimates too.
        shift = np.where(np.isnan(ways), 0.0, ways - middle)
        low, high = low + shift.min(axis=0, initial=0.0), high + shift.max(axis=0, initial=0.0)
        down, up, evidence = self._allowances(crowd, np.maximum(worst, 0.0), z)
        error = np.where(np.isnan(found), middle, found)
        low, high = np.minimum(low, error), np.maximum(high, error)  # a last bit
        below, above = error - low, high - error
        # Written so that no allowance leaves the limits as they are, to the bit.
        low, high = low - (np.hypot(below, down) - below), high + (np.hypot(above, up) - above)
        unknown = np.isnan(found)
        low[unknown], high[unknown] = 0.0, 1.0
        limits = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        found, low, high = self._held_to_gold(crowd, found, *limits, z)
        return {
            "error_rate": found,
            "error_low": low,
            "error_high": high,
            "evidence": evidence,
        }

    def _allowances(self, crowd: Estimator, skills: Floats, z: float) -> tuple[Floats, Floats, str]:
        """Return what joint errors of the crowd may hide, below and above; and the evidence.

        Where the crowd is wrong, a worker who voted with it has an error more than was counted, one
        who voted against it may have one less. How often it is wrong on the tasks of a worker is
        taken to be as often as the others there are against the winner, as far as errors were found
        to be correlated; with enough known truths, as often as these allow.
        """
        doubts = np.maximum(self.arrays["doubts"][: skills.size], 0.0)  # a task taken back
        answers = np.maximum(doubts[:, ANSWERED], TINY)
        agreed, against = doubts[:, AGREED] / answers, doubts[:, AGAINST] / answers
        known, wrong = self.arrays["total"][[KNOWN, WRONG]]
        if known >= ENOUGH:
            upper = float(wilson(wrong, known, z)[1])
            return np.minimum(against, upper), skills * upper, BY_GOLD
        share = CAUTION * view.doubt_of(crowd)
        down, up = share * against, share * agreed
        return down, up, DOUBT if up.any() or down.any() else AGREEMENT

    def _held_to_gold(
        self, crowd: Estimator, errors: Floats, low: Floats, high: Floats, z: float
    ) -> tuple[Floats, Floats, Floats]:
        """Error rates and limits, no wider than Wilson's where a worker has enough gold answers.

        An interval that is narrower than Wilson's stays, unless the worker's gold answers
        contradict the estimate it is around: then Wilson's holds, and the error rate is the one
        nearest to the estimate that they allow. On real sets that is nearer to the truth than
        either the estimate or the share of wrong gold answers.
        """
        answers, wrong = view.gold_record(crowd)
        enough = answers >= ENOUGH
        if not enough.any():
            return errors, low, high
        allowed = [np.clip(limit, 0.0, 1.0) for limit in wilson(wrong, answers, Z95)]
        near = np.clip(errors, *allowed)  # NaN stays NaN
        # Of a worker who changes, an estimate that follows it knows more than gold of long ago.
        shown = errors if view.follows_change(crowd) else np.where(enough, near, errors)
        lowest, highest = (np.clip(limit, 0.0, 1.0) for limit in wilson(wrong, answers, z))
        replaced = enough & ((highest - lowest < high - low) | (near != errors))
        # Where a level below 95 % leaves the error rate outside, the limits move, at their width.
        inside = np.where(np.isnan(shown), lowest, shown)
        move = np.minimum(inside - lowest, 0.0) + np.maximum(inside - highest, 0.0)
        lowest, highest = np.minimum(lowest + move, inside), np.maximum(highest + move, inside)
        return shown, np.where(replaced, lowest, low), np.where(replaced, highest, high)

    def _skill_limits(self, crowd: Estimator, z: float) -> tuple[Floats, Floats]:
        n = len(crowd._workers)
        rows = self.arrays["rows"][:n]
        if n > SMALL or not n or not self.tasks:
            b, c, v, f, d = rows[:, :GOLD].T
            return score_limits(b, c, v, f, d, z)
        skill, variance = self._fit(crowd)
        # As many answers as have this variance, in the shape that this worker's answers have.
        v = np.maximum(rows[:, V], TINY)
        shape, tilt = np.where(rows[:, V] > 0, rows[:, D] / v, 1.0), rows[:, F] / v
        inner = np.clip(skill, -MOST_SKILL, MOST_SKILL)
        own = np.maximum(1.0 + tilt * inner - shape * inner**2, LEAST_SPREAD)
        c = own / variance
        low, high = score_limits(skill * c, c, c, tilt * c, shape * c, z)
        return low, np.where(skill >= MOST_SKILL, 1.0, high)  # may be perfect

    # Merging and saving ----------------------------------------------------------------------

    def fold(self, homes: Codes) -> None:
        """The tasks kept have places for labels from now on."""
        self._recent.fold(homes)

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add another's sums; each part judged its labels by what it knew."""
        self._add_counts(other, names)
        self._add_clock(other)
        few = names[: other.workers]
        stops = max(self.arrays["total"][STOPS], other.arrays["total"][STOPS])
        for name in self.per_worker:
            self.arrays[name][few] += other.arrays[name][: few.size]
        self.arrays["total"] += other.arrays["total"]
        self.arrays["total"][STOPS] = stops
        if self.workers > SMALL:
            self._recent.clear()
            return
        self._recent.take_in(other._recent, names, classes)
        self.arrays["pull"][few] += other.arrays["pull"][: few.size]
        moved = np.zeros((SMALL, SMALL))
        moved[np.ix_(few, few)] = mirrored(other.arrays["info"][: few.size, : few.size])
        self.arrays["info"] += np.triu(moved)

    def pack(self) -> Packed:
        """All sums, and the tasks that are kept as they came."""
        return super().pack() | self._recent.pack()

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        self._recent.unpack(arrays, self.workers)


def doubt_of_votes(crowd: Estimator) -> float | None:
    """Return the mean share of a task's other labels that are against its winner.

    None where no labels were weighted.
    """
    observer = view.find_observer(crowd, Intervals)
    if observer is None or not crowd.weighs_:
        return None
    answered, agreed, against = observer.arrays["doubts"].sum(axis=0).tolist()
    return (agreed + against) / answered if answered > 0.0 else None


def score_limits(
    b: Floats, c: Floats, v: Floats, f: Floats, d: Floats, z: float
) -> tuple[Floats, Floats]:
    """The roots θ of ``(B − θ C)² = z² (V + θ F − θ² D)``; ∓∞ where nothing is known.

    >>> low, high = score_limits(*(np.array([x]) for x in (8.0, 10.0, 10.0, 0.0, 10.0)), 1.96)
    >>> low.round(2).item(), high.round(2).item()
    (0.19, 0.96)
    """
    square, slope, level = c * c + z * z * d, 2 * b * c + z * z * f, b * b - z * z * v
    known = square > 0
    root = np.sqrt(np.maximum(slope**2 - 4 * square * level, 0.0))
    half = np.where(known, 2 * square, 1.0)
    low = np.where(known, (slope - root) / half, -np.inf)
    high = np.where(known, (slope + root) / half, np.inf)
    return low, high
