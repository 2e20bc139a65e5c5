"""`Agreement`: the paper's fixed point, and what the product adds to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdstream.errors import AnswerRateInDoubt
from crowdstream.labels.batch import LabelBatch
from crowdstream.models.fallback import BY_GOLD, MAJORITY, REASONS
from crowdstream.models.fixed_point_loops import FixedPoint
from crowdstream.models.model import Flags, Floats, Model, WorkerReading
from crowdstream.models.scorer import Scorer, WeightedVotes

SHRINKAGE = 10.0
"""Pseudo-answers at the crowd's mean that every worker has at least, and pseudo-tasks at the usual
accuracy that the crowd has. Five to twenty did alike on real crowds; without them a worker of one
answer outvotes one of a thousand."""

CLIP = 0.02
"""Nobody counts as more accurate than 98 %. From 0.01 to 0.1 the errors on real crowds hardly
depend on it; the paper's tables were made with 0.05."""

FEW = 64
"""Tasks up to which the fixed point goes along as they are learnt; with more of them it is quicker
to read all workers anew."""

DOUBT = 4.0
"""Standard errors by which the answers may differ from the answer rate that was given."""


class Solution(NamedTuple):
    """What the sums say: θ and the weight of every worker, the mean θ, who was solved for.

    ``shares``: whether the fixed point had a part in it, or known truths alone. ``weights`` has one
    more, that of a worker who is unknown.
    """

    reason: str
    shares: bool
    theta: Floats
    weights: Floats
    mean: float
    solved: Flags
    apart: Flags


class Agreement(Model):
    """Weighs workers by the paper's fixed point, which goes along with every label."""

    def __init__(
        self, answer_rate: float | None, memory: float | None, shrinkage: float, clip: float
    ) -> None:
        super().__init__(memory)
        self.answer_rate = answer_rate
        self.clip = clip
        self.params = answer_rate or 0.0, memory or 0.0, shrinkage, clip
        self._fixed = FixedPoint(self.sums.loops, *self.params)

    @property
    def scoring(self) -> FixedPoint:
        """The fixed point, which knows what the newest task counts and what classes there are."""
        self._fixed.unit, self._fixed.named = self.unit, self.named
        return self._fixed

    def learn(self, batch: LabelBatch, sign: int = 1) -> None:
        """Learn tasks in order, or take them back."""
        if sign < 0 or len(batch) > FEW:
            super().learn(batch, sign)
            return
        for first, last in self._parts(batch):
            weight, growth = self.scale.weight(self.clock), self.scale.growth
            self.scoring.learn_all(batch.part(first, last).coded, weight, growth)
            self.clock += last - first
        self._changed()

    def score_open(self, batch: LabelBatch, own: float, scores: Floats) -> Scorer:
        """Score an open task, its own labels and truth left out."""
        self._fixed.truth = int(batch.truths[0]) if own and batch.truths.size else -1
        found = super().score_open(batch, own, scores)
        self._fixed.truth = -1
        return found

    def score_one(self, task: LabelBatch, scores: Floats) -> Scorer | None:
        """Score one task that was not learnt."""
        self.scoring.ask(task.coded, task.labels.size, 0.0, scores)
        return self.scored()

    # What is known ---------------------------------------------------------------------------

    def _solve(self) -> Solution:
        """Error rates from agreements, or why there are none."""
        fixed, n = self.scoring, self.sums.workers
        fixed.renew()
        theta, weights = np.empty(n), np.empty(n + 1)
        solved, apart = np.empty(n, np.uint8), np.empty(n, np.uint8)
        fixed.fill(theta, weights, solved, apart)
        reason = REASONS[fixed.reason] if fixed.fell_back else ""
        flags = solved.astype(np.bool_), apart.astype(np.bool_)
        return Solution(reason, fixed.by_shares, theta, weights, fixed.mean, *flags)

    def scorer(self) -> Scorer:
        """By the fixed point of the sums as they are."""
        found = self._solve()
        if found.reason:
            return MAJORITY
        return Scorer(WeightedVotes(found.weights, np.zeros(self.sums.classes)), identified=True)

    def identify(self) -> tuple[bool, str]:
        """Return whether the labels so far determine the error rates, and if not, why."""
        found = self._solve()
        if not found.reason and not found.shares:
            return True, BY_GOLD
        return not found.reason, found.reason

    def skills(self) -> Floats:
        """Return how much better than chance each worker is."""
        return self._solve().theta

    @property
    def mean_skill(self) -> float:
        """The skill of a worker about whom nothing is known."""
        return self._solve().mean

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
        found, edge = self._solve(), self.clip
        errors = (1 - found.theta) * (1 - 1 / self.sums.classes)
        return WorkerReading(
            errors=np.clip(errors, edge, 1 - edge),
            weigh=lambda: found.weights[:-1],
            solved=found.solved,
            apart=found.apart,
        )
