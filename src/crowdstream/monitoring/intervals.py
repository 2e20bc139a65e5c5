"""`Intervals`: how sure the error rates are. Sums of labels judged by the others on their task.

Crowds of more than 32 workers: with ``h`` and ``e_r`` of a label against the posterior of its
task's other labels (see `loops`), ``B = Σh`` has mean ``θ C`` and variance ``V + θ F − θ² D``, so
the limits of θ are the roots of a parabola, from the first answer on.

Smaller crowds: there a posterior leans on few skills, each of which leans on the worker in
question. So all skills are fitted together by maximum likelihood; the inverse of its information
``J = Σ s sᵀ``, s the score of a task, is their covariance, which counts that the others' skills
are not known either. The latest 2,000 tasks are kept as they came; of earlier ones the score and
its square at the skills found then (`loops.IntervalSums`). A likelihood does not depend on the
rule by which somebody stopped asking.

Holds for workers who err independently. Errors that the crowd makes together are invisible to
it; known truths bound them. Knows nothing of what decides a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.base import Estimator
from crowdstream.estimators.observer import Packed
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.metrics import wilson
from crowdstream.monitoring import loops
from crowdstream.monitoring.recent_tasks import RecentTasks
from crowdstream.monitoring.worker_sums import FadingSums, judge_by, memory_of, mirrored

Floats = NDArray[np.float64]

B, C, V, F, D, GOLD = range(6)
"""Columns of a worker's row; formulas in `loops`."""

WEIGHT, WEIGHT2, TOLD, WRONG, STOPS = range(5)
"""Places in the totals: Σg and Σg² over tasks, tasks of known truth, those decided wrongly, and
whether tasks were judged in order."""

SMALL = 32
"""Workers up to whom all skills are fitted together. In crowds of 50 and more the error in one
skill moves the others' too little to be seen (coverage 0.935 to 0.97 without the joint fit)."""

KEPT = 2000
"""Tasks of a small crowd that are kept as they came: the fit is exact up to there. Of tables with
more tasks the fit sees a sample of so many; then all are added up at the skills found, and once
more at those that this gives: at 100,000 tasks 240 intervals covered 0.91 with the sample's alone,
960 intervals 0.94 so."""

ROUNDS, STILL = 20, 1e-4
"""Rounds of the fit at most, and a step that ends it: a hundredth of a standard error."""

ENOUGH = 20
"""Tasks of known truth from which on they bound how often the crowd is wrong together."""

H = 8.0
"""Answers at the mean by which a stream's own skills are shrunk, as all priors of estimators."""

PRIOR = 2.0
"""Pseudo-answers of no opinion in the joint fit: one shared task is no certainty."""

SMALL_SAMPLE = 2.0
"""Variances of the joint fit are raised by 1 + this/answers."""

LEAST_SPREAD = 0.05
"""Of an answer's variance, as a share of e₂: nobody is known to be perfect."""

MOST_SKILL = 0.98
"""Nobody is taken to be better in the fit; who reaches it may be perfect."""

TINY = 1e-12


class Fit(NamedTuple):
    """Skills and their variances."""

    skill: Floats
    variance: Floats


class Intervals(FadingSums):
    """Limits of every worker's error rate."""

    per_worker: ClassVar[dict[str, tuple[int, ...]]] = {"rows": (6,)}
    shared: ClassVar[dict[str, tuple[int, ...]]] = {
        "pull": (SMALL,),
        "info": (SMALL, SMALL),
        "total": (5,),
    }

    def __init__(self) -> None:
        self._recent = RecentTasks()
        super().__init__()

    def _bind(self) -> None:
        names = ("rows", "pull", "info", "total")
        self._sums = loops.IntervalSums(*(self.arrays[name] for name in names))

    # Seeing ----------------------------------------------------------------------------------

    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Add what tasks say of their workers, or take it away by today's skills."""
        if not crowd.weighs:
            return
        self._remember(memory_of(crowd))
        self._make_room(crowd.n_workers_)
        if in_order:
            self.arrays["total"][STOPS] = 1.0
        judge = self._judge_for(batch, crowd, sign)
        for part, weight in self._weighted(batch, sign):
            args = part.starts, part.workers, part.labels, part.truths
            self._sums.add(judge, *args, weight, self._scale.growth, in_order)
        if crowd.n_workers_ > SMALL:
            self._recent.clear()
        elif sign > 0:
            self._recent.append(batch)
            if len(self._recent) > KEPT:
                self._add_up(crowd)
        elif not self._recent.remove(batch):
            self._add_slopes(batch, crowd, crowd.skills(), -self._scale.weight(self._clock))

    def _read_skills(self, crowd: Estimator) -> Floats:
        """The estimator's; where tasks stop when they are settled, those of these sums.

        Stopping tilts agreement, and skills read from it; what is judged in order it cannot.
        """
        found = super()._read_skills(crowd)
        if self.arrays["total"][STOPS]:
            rows, unit = self.arrays["rows"][: crowd.n_workers_], H * self._unit
            b, c = rows[:, B], rows[:, C]
            found[-1] = (b.sum() + unit * found[-1]) / (c.sum() + unit)
            found[:-1] = (b + unit * found[-1]) / (c + unit)
        return found

    # The joint fit of small crowds -----------------------------------------------------------

    def _add_up(self, crowd: Estimator) -> None:
        """Of the tasks kept, keep scores and squares at the skills that fit all tasks best."""
        whole = self._recent.batch()
        first = self._scale.weight(self._clock - len(whole))
        slopes = {name: self.arrays[name].copy() for name in ("pull", "info")}
        skills = self._fit(crowd).skill
        self._add_slopes(whole, crowd, skills, first)
        if len(whole) > 2 * KEPT:  # the fit saw a sample: once more, at what all tasks say
            skills = self._solve(crowd, skills).skill
            for name, before in slopes.items():
                self.arrays[name][...] = before
            self._add_slopes(whole, crowd, skills, first)
        self._recent.clear()

    def _add_slopes(
        self, batch: LabelBatch, crowd: Estimator, skills: Floats, weight: float
    ) -> None:
        judge = judge_by(
            np.append(skills, 0.0), crowd, _classes(crowd), int(batch.sizes.max(initial=1))
        )
        args = batch.starts, batch.workers, batch.labels, batch.truths
        self._sums.add_slopes(judge, *args, weight, self._scale.growth)

    def _fit(self, crowd: Estimator) -> Fit:
        """The likeliest skills, and their variances: rounds of `_solve`; changes nothing."""
        part, weight, growth = self._sampled()
        trial = Intervals()
        trial._scale, trial._clock = self._scale, self._clock
        found = Fit(crowd.skills(), np.full(crowd.n_workers_, np.inf))
        for _ in range(ROUNDS):
            trial.arrays = {name: array.copy() for name, array in self.arrays.items()}
            trial._bind()
            largest = int(part.sizes.max(initial=1))
            judge = judge_by(np.append(found.skill, 0.0), crowd, _classes(crowd), largest)
            args = part.starts, part.workers, part.labels, part.truths
            trial._sums.add_slopes(judge, *args, weight, growth)
            before, found = found.skill, trial._solve(crowd, found.skill)
            if np.abs(found.skill - before).max(initial=0.0) < STILL:
                break
        return found

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

    def _fade(self, factor: float) -> None:
        """Variances are sums of squared weights."""
        rows, total = self.arrays["rows"], self.arrays["total"]
        rows[:, [B, C]] *= factor
        rows[:, [V, F, D]] *= factor * factor
        total[WEIGHT] *= factor
        total[WEIGHT2] *= factor * factor
        self.arrays["pull"] *= factor
        self.arrays["info"] *= factor

    # Limits ----------------------------------------------------------------------------------

    def columns(self, crowd: Estimator, level: float) -> dict[str, NDArray[np.generic] | list[str]]:
        """``error_low``, ``error_high`` and ``evidence``, what backs them."""
        if not crowd.weighs:
            return {}
        n, classes = crowd.n_workers_, _classes(crowd)
        self._make_room(n, seen=False)
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        least = -1.0 / (classes - 1.0)
        low, high = (np.clip(limit, least, 1.0) for limit in self._skill_limits(crowd, z))
        told = self.arrays["total"][TOLD]
        backed = (self.arrays["rows"][:n, GOLD] > 0) | (told >= ENOUGH)
        low = np.where((told >= ENOUGH) & (low > 0), low * self._left_by_gold(classes), low)
        worst = 1.0 - 1.0 / classes
        return {
            "error_low": np.clip((1.0 - high) * worst, 0.0, 1.0),
            "error_high": np.clip((1.0 - low) * worst, 0.0, 1.0),
            "evidence": ["gold" if gold else "agreement" for gold in backed],
        }

    def _skill_limits(self, crowd: Estimator, z: float) -> tuple[Floats, Floats]:
        n = crowd.n_workers_
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

    def _solve(self, crowd: Estimator, skills: Floats) -> Fit:
        """The joint fit: ``θ + A⁻¹ (pull − J θ)``, and A⁻¹, A being J with a prior.

        Off the diagonal J is noisy where tasks are few: it is shrunk by as much as its squares
        exceed their noise (Schäfer and Strimmer, 2005).
        """
        n = skills.size
        info, pull = mirrored(self.arrays["info"][:n, :n]), self.arrays["pull"][:n]
        total, unit = self.arrays["total"], self._unit
        answers = crowd._sums.answers / crowd._unit
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
        return Fit(np.clip(found, -MOST_SKILL / (_classes(crowd) - 1.0), MOST_SKILL), variance)

    def _left_by_gold(self, classes: int) -> float:
        """What is left of a skill if the crowd errs together as often as known truths allow."""
        told, wrong = self.arrays["total"][[TOLD, WRONG]]
        upper = float(wilson(wrong, told)[1])
        return max(1.0 - classes * upper / (classes - 1.0), 0.0)

    # Merging and saving ----------------------------------------------------------------------

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add another's sums; each part judged its labels by what it knew."""
        self._add_counts(other, names)
        self._add_clock(other)
        few = names[: other.workers]
        stops = max(self.arrays["total"][STOPS], other.arrays["total"][STOPS])
        self.arrays["rows"][few] += other.arrays["rows"][: few.size]
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


def _classes(crowd: Estimator) -> int:
    return max(len(crowd._classes), 2)


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
