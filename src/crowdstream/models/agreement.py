"""`Agreement`: the paper's fixed point, and what the product adds to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdstream.errors import AnswerRateInDoubt
from crowdstream.labels.batch import LabelBatch
from crowdstream.models import fixed_point_loops as fixed_point
from crowdstream.models.fallback import (
    AT_CHANCE,
    BY_GOLD,
    MAJORITY,
    TOO_FEW,
    Meetings,
    why_not,
)
from crowdstream.models.model import Flags, Floats, Model, Use, WorkerReading
from crowdstream.models.scorer import Scorer, WeightedVotes
from crowdstream.models.scoring_loops import Scoring
from crowdstream.sums.agreement import AgreementSums

SHRINKAGE = 10.0
"""Pseudo-answers at the crowd's mean that every worker has at least, and pseudo-tasks at `PRIOR`
that the crowd has. Five to twenty did alike on real crowds; without them a worker of one answer
outvotes one of a thousand."""

PRIOR = 0.7
"""Accuracy of a worker nobody has seen yet."""

CLIP = 0.02
"""Nobody counts as more accurate than 98 %. From 0.01 to 0.1 the errors on real crowds hardly
depend on it; the paper's tables were made with 0.05."""

CERTAIN = 1e9
"""The weight of a worker who is never (−: always) wrong, where the paper's is infinite: it outvotes
everybody, and against another such worker the others decide."""

ALIKE = 1e12
"""Pseudo-answers where nothing distinguishes the workers: all weigh the same."""

GOLD = 5.0
"""How many answers' agreement one answer on a task of known truth is worth."""

DOUBT = 4.0
"""Standard errors by which the answers may differ from the answer rate that was given."""


class Solution(NamedTuple):
    """What the sums say: θ and the weight of every worker, the mean θ, who was solved for.

    ``shares``: whether the fixed point had a part in it, or known truths alone.
    """

    reason: str
    shares: bool
    theta: Floats
    weights: Floats
    mean: float
    solved: Flags
    apart: Flags


class Agreement(Model):
    """Weighs workers by the paper's fixed point."""

    in_loop = False

    def __init__(
        self, answer_rate: float | None, memory: float | None, shrinkage: float, clip: float
    ) -> None:
        super().__init__(memory)
        self._memory = memory or 0.0
        self.answer_rate = answer_rate
        self.shrinkage = shrinkage
        self.clip = clip
        self._votes = Scoring(self.sums.loops)

    @property
    def scoring(self) -> Scoring:
        """What adds labels to the sums."""
        return self._votes

    def follow(self, batch: LabelBatch, scored: LabelBatch, use: Use) -> None:
        """Score each task by those before it, then learn it."""
        for t in range(len(batch)):
            scores = np.empty((1, self.sums.classes))
            scorer = self.scorer()
            scorer.score(scored.part(t, t + 1), scores)
            use(t, t + 1, scores, scorer)
            self.learn(batch.part(t, t + 1))

    def score_open(self, batch: LabelBatch, own: float, scores: Floats) -> Scorer:
        """Score an open task, its own labels left out."""
        sums = self.sums.without(batch, own) if own else self.sums
        scorer = self._scorer(sums)
        scorer.score(batch, scores)
        return scorer

    def scorer(self) -> Scorer:
        """By the fixed point of the sums as they are."""
        return self._scorer(self.sums)

    def _scorer(self, sums: AgreementSums) -> Scorer:
        found = self._solve(sums)
        if found.reason:
            return MAJORITY
        weights = np.append(found.weights, self._weights(np.array([found.mean]), sums.classes))
        return Scorer(WeightedVotes(weights, np.zeros(sums.classes)), identified=True)

    def _solve(self, sums: AgreementSums) -> Solution:
        """Error rates from agreements, or why there are none."""
        n, k = sums.workers, sums.classes
        nobody = np.zeros(n, np.bool_)
        start = (k * PRIOR - 1) / (k - 1)
        found = Solution("", False, np.full(n, start), np.ones(n), start, nobody, nobody)
        inside = sums.groups == sums.main_group
        reason = self._why_not(sums, inside)
        if not reason:
            agreement = self._agreement(sums)
            shares = np.empty(n)
            status, scale = fixed_point.solve(
                agreement, self.answer_rate is None, shares, np.empty(1)
            )
            if status == fixed_point.SOLVED:
                return self._solved(sums, shares, scale, inside)
            reason = "the agreements have no solution"
            if status == fixed_point.FLAT:
                reason = AT_CHANCE
        if self.answer_rate is None and sums.known.any():
            return self._with_gold(sums, found, 0.0)._replace(solved=sums.known > 0)
        return found._replace(reason=reason)

    def _why_not(self, sums: AgreementSums, inside: Flags) -> str:
        """Why the fixed point need not be asked, if so."""
        if self.answer_rate is not None:
            return TOO_FEW if sums.workers < 3 else ""
        met = sums.met
        guessed = self.unit * met / (sums.classes - 1)  # R² of guessers, on average
        beyond = (self._agreement(sums) ** 2 - guessed).sum()
        error = max(float(np.sqrt(2 * (guessed**2).sum())), 1e-300)
        workers = int((inside & (met > 0)).sum())
        found = Meetings(met[inside].sum(), met.sum(), workers, beyond / error)
        return why_not(found, self.named)

    def _agreement(self, sums: AgreementSums) -> Floats:
        """R_i = Σ (K·1{agree} − 1)/(K − 1) over the others met; by the paper's (5) if α is known.

        There â_i = A_i/(α² (n − 1) t) with A_i the agreements, so R_i = (K A_i/α² − t (n − 1)) /
        (K − 1).
        """
        agree, met, k = sums.agree, sums.met, sums.classes
        if self.answer_rate is not None:
            agree = agree / self.answer_rate**2
            met = np.full(sums.workers, self._tasks(sums) * (sums.workers - 1))
        return np.asarray((k * agree - met) / (k - 1))

    def _tasks(self, sums: AgreementSums) -> float:
        """t of the paper. Its forgetting starts from â = 0, as if 1/β tasks of no agreement came
        before."""
        return float(sums.total[0]) if not self.forgets else self.unit * self._memory

    def _solved(self, sums: AgreementSums, shares: Floats, scale: float, inside: Flags) -> Solution:
        unit, k = self.unit, sums.classes
        answers = sums.answers / unit
        if self.answer_rate is not None:
            # p̂ = ½ + (n/4)(√δ − √v), as in the paper: θ = share/√(u t).
            theta = shares / np.sqrt(scale * self._tasks(sums))
            mean = float(theta.sum()) / sums.workers
            inside = np.ones(sums.workers, np.bool_)
        else:
            # N θ = share √(T/(u κ)), κ = T Σ m(m − 1)/((Σ m)² − Σ N²).
            spread = sums.answers.sum() ** 2 - (sums.answers**2).sum()
            signal = np.sqrt(spread / (scale * sums.met.sum()))
            mean = 2 * signal / sums.answers.sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                theta = np.where(answers > 0, shares * signal / sums.answers, 0.0)
        tasks, start = sums.total[1] / unit, (k * PRIOR - 1) / (k - 1)
        strength = 0.0
        if self.shrinkage > 0:
            mean = (tasks * min(mean, 1.0) + self.shrinkage * start) / (tasks + self.shrinkage)
            strength = max(self.shrinkage, self._alike(sums, theta, mean))
            counted = np.where(inside, answers, 0.0)
            theta = (counted * theta + strength * mean) / (counted + strength)
        elif self.answer_rate is None:
            theta = np.where(inside & (answers > 0), theta, mean)
        solved = inside | (sums.known > 0)
        found = Solution("", True, theta, theta, float(mean), solved, ~inside & ~solved)
        return self._with_gold(sums, found, strength)

    def _alike(self, sums: AgreementSums, theta: Floats, mean: float) -> float:
        """Answers that the mean is worth to each worker, by how much workers differ.

        θ̂ of worker i has the noise (met/(K − 1) + met2 ψ̄²)/(met ψ̄)²; the variance between
        workers is what is more, less one standard error of itself.
        """
        unit, k = self.unit, sums.classes
        some = sums.met > 0
        met, met2, answers = (
            sums.met[some] / unit,
            sums.met2[some] / unit,
            sums.answers[some] / unit,
        )
        centre = max(mean, 0.1)
        noise = (met / (k - 1) + met2 * centre**2) / (met * centre) ** 2
        weight = (noise + 0.1) ** -2.0
        between = weight * ((theta[some] - mean) ** 2 - noise)
        error = np.sqrt((2 * (weight * (noise + 0.02)) ** 2).sum())
        variance = float((between.sum() - error) / weight.sum())
        strength = float((answers**2 * noise).sum() / answers.sum())
        return min(strength / variance, ALIKE) if variance > 0 else ALIKE

    def _with_gold(self, sums: AgreementSums, found: Solution, strength: float) -> Solution:
        """Answers on tasks of known truth count `GOLD`-fold; then weights by equation (1)."""
        unit, k = self.unit, sums.classes
        known = sums.known / unit
        direct = (k * sums.right / unit - known) / (k - 1)
        before = sums.answers / unit + max(strength, self.shrinkage)
        before = np.where(found.solved & (sums.met > 0), before, self.shrinkage)
        with np.errstate(divide="ignore", invalid="ignore"):
            mixed = (before * found.theta + GOLD * direct) / (before + GOLD * known)
        theta = np.where(known > 0, mixed, found.theta)
        return found._replace(theta=theta, weights=self._weights(theta, k))

    def _weights(self, theta: Floats, classes: int) -> Floats:
        """log(s (K − 1)/(1 − s)) with the accuracy s = 1 − p; equation (1) for two classes."""
        error = (1 - theta) * (1 - 1 / classes)
        error = np.clip(error, self.clip, 1 - self.clip)
        with np.errstate(divide="ignore"):
            weights = np.log((1 - error) * (classes - 1)) - np.log(error)
        weights = np.where(error <= 0.0, CERTAIN, weights)
        return np.where(error >= 1.0, -CERTAIN, weights)

    # What is known ---------------------------------------------------------------------------

    def identify(self) -> tuple[bool, str]:
        """Whether the labels so far determine the error rates, and if not, why."""
        found = self._solve(self.sums)
        if not found.reason and not found.shares:
            return True, BY_GOLD
        return not found.reason, found.reason

    def skills(self) -> Floats:
        """How much better than chance each worker is."""
        return self._solve(self.sums).theta

    @property
    def mean_skill(self) -> float:
        """The skill of a worker about whom nothing is known."""
        return self._solve(self.sums).mean

    def doubts(self) -> list[Warning]:
        """That the answer rate given looks wrong, if it does."""
        doubt = self.answer_rate_in_doubt()
        return [AnswerRateInDoubt(doubt)] if doubt else []

    def answer_rate_in_doubt(self) -> str:
        """Say why the answer rate that was given looks wrong, if it does."""
        sums = self.sums
        asked = sums.total[0] * sums.workers
        if self.answer_rate is None or not asked:
            return ""
        found, rate = sums.answers.sum() / asked, self.answer_rate
        error = np.sqrt(max(rate * (1 - rate), 1e-6) / (asked / self.unit))
        if abs(found - rate) <= DOUBT * error:
            return ""
        return (
            f"answer_rate={rate:g}, but workers answered {found:.3g} of the tasks given: were "
            "tasks that nobody answered left out?"
        )

    def read(self) -> WorkerReading:
        """Error rates and weights by the fixed point."""
        sums, found = self.sums, self._solve(self.sums)
        edge = self.clip
        return WorkerReading(
            errors=np.clip((1 - found.theta) * (1 - 1 / sums.classes), edge, 1 - edge),
            weights=found.weights,
            solved=found.solved,
            apart=found.apart,
        )
