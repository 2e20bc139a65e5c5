"""`Intervals`: how sure the error rates are. Sums of labels judged by the others on their task.

Crowds of more than 32 workers: with ``h`` and ``e_r`` of a label against the posterior of its
task's other labels (see `loops`), ``B = Σh`` has mean ``θ C`` and variance ``V + θ F − θ² D``, so
the limits of θ are the roots of a parabola, from the first answer on.

Smaller crowds: there a posterior leans on few skills, each of which leans on the worker in
question. So all skills are fitted together. Every task adds its score and the score's square to
the likelihood (`loops.IntervalSums`); the inverse of the sum is the skills' covariance, which
counts that the others' skills are not known either. A likelihood does not depend on the rule by
which somebody stopped asking.

Holds for workers who err independently. Errors that the crowd makes together are invisible to
it; known truths bound them. Knows nothing of what decides a task.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.base import Estimator
from crowdstream.estimators.worker_table import wilson
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.monitoring import loops
from crowdstream.monitoring.worker_sums import FadingSums, judge_by, memory_of, mirrored

Floats = NDArray[np.float64]

B, C, V, F, D, GOLD = range(6)
"""Columns of a worker's row; formulas in `loops`."""

WEIGHT, WEIGHT2, TOLD, WRONG = range(4)
"""Places in the totals: Σg and Σg² over tasks, tasks of known truth, those decided wrongly."""

SMALL = 32
"""Workers up to whom all skills are fitted together. In crowds of 50 and more the error in one
skill moves the others' too little to be seen (coverage 0.935 to 0.97 without the joint fit)."""

SAMPLE, ROUNDS, STILL = 4000, 12, 1e-3
"""Tasks of a table on which skills are fitted before the whole is added up, rounds of that at
most, and a step that ends it: well below the standard error at so many tasks, 0.016."""

ENOUGH = 20
"""Tasks from which on a table is worth that, and tasks of known truth from which on those bound
how often the crowd is wrong together."""

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
        "total": (4,),
    }

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
        judge = self._judge_for(batch, crowd, sign)
        small = crowd.n_workers_ <= SMALL
        if small and sign > 0 and len(batch) >= max(ENOUGH, 0.05 * self.tasks):
            self._fit_table(batch, crowd)
            judge = self._judge_for(batch, crowd, -1)
        for part, weight in self._weighted(batch, sign):
            args = part.starts, part.workers, part.labels, part.truths
            self._sums.add(judge, *args, weight, self._scale.growth, in_order, small)

    def _read_skills(self, crowd: Estimator) -> Floats:
        """Of a small crowd its own fit, else the estimator's skills."""
        found = super()._read_skills(crowd)
        n, known = crowd.n_workers_, self.skills.size - 1
        if n <= SMALL and self.tasks >= ENOUGH:
            found[:known] = self.skills[:known]
            found[:n] = self._solve(crowd, found[:n]).skill
        return found

    def _fit_table(self, batch: LabelBatch, crowd: Estimator) -> None:
        """Find skills on a sample of a table, each round judging by those found before."""
        n, classes = crowd.n_workers_, max(len(crowd.classes_), 2)
        first = max(len(batch) - int(5 * (memory_of(crowd) or len(batch))), 0)
        which = np.linspace(first, len(batch) - 1, min(len(batch) - first, SAMPLE)).astype(np.int64)
        part = LabelBatch(batch.starts, batch.workers, batch.labels, batch.truths).pick(which)
        worth = (len(batch) - first) / len(part)
        before = self.arrays
        try:
            for _ in range(ROUNDS):
                self.arrays = {name: array.copy() for name, array in before.items()}
                self._bind()
                judge = judge_by(self.skills, crowd, classes, int(part.sizes.max(initial=1)))
                args = part.starts, part.workers, part.labels, part.truths
                weight = worth * self._scale.weight(self._clock)
                self._sums.add(judge, *args, weight, 1.0, False, True)
                found = np.append(self._solve(crowd, self.skills[:n]).skill, self.skills[-1])
                moved = float(np.abs(found - self.skills).max(initial=0.0))
                self.skills = found
                if moved < STILL:
                    break
        finally:
            self.arrays = before
            self._bind()
        self._judge = None

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
        n, classes = crowd.n_workers_, max(len(crowd.classes_), 2)
        self._make_room(n)
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        low, high = self._skill_limits(crowd, z)
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
        skills = np.full(n, self.skills[-1])
        known = min(n, self.skills.size - 1)
        skills[:known] = self.skills[:known]
        skill, variance = self._solve(crowd, skills)
        # As many answers as have this variance, in the shape that this worker's answers have.
        v = np.maximum(rows[:, V], TINY)
        shape, tilt = np.where(rows[:, V] > 0, rows[:, D] / v, 1.0), rows[:, F] / v
        inner = np.clip(skill, -MOST_SKILL, MOST_SKILL)
        own = np.maximum(1.0 + tilt * inner - shape * inner**2, LEAST_SPREAD)
        alone = own * rows[:, V] / np.maximum(rows[:, C], TINY) ** 2  # with all others known
        c = own / np.maximum(variance, np.where(rows[:, C] > 0, alone, np.inf))
        low, high = score_limits(skill * c, c, c, tilt * c, shape * c, z)
        return low, np.where(skill >= MOST_SKILL, 1.0, high)  # may be perfect

    def _solve(self, crowd: Estimator, skills: Floats) -> Fit:
        """The joint fit: ``θ + A⁻¹ (pull − J θ)``, and A⁻¹, A being J with a prior.

        Off the diagonal J is noisy where tasks are few: it is shrunk by as much as its squares
        exceed their noise (Schäfer and Strimmer, 2005).
        """
        n, classes = skills.size, max(len(crowd.classes_), 2)
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
        return Fit(np.clip(found, -MOST_SKILL / (classes - 1.0), MOST_SKILL), variance)

    def _left_by_gold(self, classes: int) -> float:
        """What is left of a skill if the crowd errs together as often as known truths allow."""
        told, wrong = self.arrays["total"][[TOLD, WRONG]]
        upper = float(wilson(np.array([wrong]), np.array([told]))[1][0])
        return max(1.0 - classes * upper / (classes - 1.0), 0.0)

    # Merging --------------------------------------------------------------------------------

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add another's sums; each part judged its labels by what it knew."""
        self._add_counts(other, names)
        self._add_clock(other)
        few = names[: other.workers]
        self.arrays["rows"][few] += other.arrays["rows"][: few.size]
        self.arrays["total"] += other.arrays["total"]
        if self.workers <= SMALL:
            self.arrays["pull"][few] += other.arrays["pull"][: few.size]
            moved = np.zeros((SMALL, SMALL))
            moved[np.ix_(few, few)] = mirrored(other.arrays["info"][: few.size, : few.size])
            self.arrays["info"] += np.triu(moved)


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
