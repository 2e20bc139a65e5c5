"""`AgreementBased`: the paper's AB, and what the product adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import Votes
from crowdstream.errors import AnswerRateInDoubt
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.fallback import BY_GOLD, MAJORITY, REASONS, majority
from crowdstream.estimators.fixed_point_loops import FixedPoint
from crowdstream.estimators.open_tasks import OpenTask
from crowdstream.estimators.parameters import Ties
from crowdstream.estimators.state import Identifiability
from crowdstream.estimators.teacher import WeightedVotes
from crowdstream.estimators.votes import CELLS, Scorer, choose
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.labels import UNKNOWN, Vocabulary
from crowdstream.labels.batch import LabelBatch
from crowdstream.sums.agreement import AgreementSums
from crowdstream.validation import Check, number

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SHRINKAGE = 10.0
"""Pseudo-answers at the crowd's mean that every worker has at least, and pseudo-tasks at `PRIOR`
that the crowd has. Five to twenty did alike on real crowds; without them a worker of one answer
outvotes one of a thousand."""

CLIP = 0.02
"""Nobody counts as more accurate than 98 %. From 0.01 to 0.1 the errors on real crowds hardly
depend on it; the paper's tables were made with 0.05."""

FEW = 64
"""Tasks up to which the fixed point goes along as they are learnt; with more of them it is quicker
to read all workers anew."""

NO_SCORES: Floats = np.empty((0, 2))

WEIGHED = Scorer(majority, identified=True)
"""How tasks were scored whose scores are there already."""

DOUBT = 4.0
"""Standard errors by which the answers may differ from the answer rate that was given."""


class Made(NamedTuple):
    """A fixed point, of which sums it is, and with which parameters it was made."""

    sums: AgreementSums
    params: tuple[float, float, float, float]
    fixed: FixedPoint


class Solution(NamedTuple):
    """What the sums say: θ and the weight of every worker, the mean θ, who was solved for.

    ``weights`` has one more, of a worker who is unknown. ``shares``: whether the fixed point had a
    part in it, or known truths alone.
    """

    reason: str
    shares: bool
    theta: Floats
    weights: Floats
    mean: float
    solved: Flags
    apart: Flags


@dataclass(eq=False, repr=False)
class AgreementBased(Estimator):
    """Weighs each worker by how often it agrees with the others on the same tasks.

    One pass, no gold labels, memory that grows with the workers only. From each worker's
    agreements with the others follows its error rate (the paper's fixed point; see
    `crowdstream.estimators.fixed_point_loops`), from the error rate the weight of its vote, and the
    weighted vote is the likeliest class. Deciding after learning takes time O(n), as in the paper.

    Beyond the paper: any number of classes, each worker's own answer rate where none is given,
    one worker who holds most of the signal, workers with few answers, truths known in part.

    Parameters
    ----------
    answer_rate
        The probability that a worker answers a task, the same for all. Given, the paper's
        estimate is computed as printed: who was asked and did not answer should then be in the
        answers as ``None``, tasks that nobody answered too (``learn_one({})``), and
        ``shrinkage=0, clip=0`` leaves it unaltered. ``None``: each worker answers as often as it
        does.
    memory
        About how many tasks to remember, for workers who change; ``None``: all.
    shrinkage
        Pseudo-answers at the crowd's mean that every worker starts with, more of them where
        the agreements hardly distinguish the workers (empirical Bayes). 0 for none at all.
    clip
        Error rates are kept between ``clip`` and ``1 − clip``.
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes.

    Examples
    --------
    >>> crowd = AgreementBased()
    >>> for truth in ["spam", "ham", "ham", "spam"] * 25:
    ...     wrong = "ham" if truth == "spam" else "spam"
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "di": truth, "troll": wrong})
    >>> crowd.predict_one({"ann": "spam", "troll": "ham", "newcomer": "ham"})
    'spam'
    >>> crowd.workers().select("worker", "answers", "agreement").rows()[-1]
    ('troll', 100, 0.0)
    >>> bool(crowd.identifiable_)
    True

    References
    ----------
    T. Bonald and R. Combes, A Streaming Algorithm for Crowdsourced Data Classification, 2016.
    """

    answer_rate: float | None = None
    memory: float | None = None
    shrinkage: float = SHRINKAGE
    clip: float = CLIP
    ties: Ties = "coin"
    seed: int = 0
    checks: ClassVar[Mapping[str, Check]] = {
        "answer_rate": number(0.0, 1.0, open_low=True, optional=True),
        "shrinkage": number(0.0, 1e9),
        "clip": number(0.0, 0.5),
    }

    # Reading the sums ------------------------------------------------------------------------

    _made = cast("Made | None", None)

    @property
    def _fixed(self) -> FixedPoint:
        """The fixed point of the sums, ready to be asked."""
        params = self._fixed_params
        if self._made is None or self._made.sums is not self._sums or self._made.params != params:
            self._made = Made(self._sums, params, FixedPoint(self._sums.loops, *params))
        return self._at_present(self._made.fixed)

    @property
    def _fixed_params(self) -> tuple[float, float, float, float]:
        return self.answer_rate or 0.0, self.memory or 0.0, self.shrinkage, self.clip

    def _at_present(self, found: FixedPoint) -> FixedPoint:
        """Tell it what the sums do not say: what the newest task counts, what classes there are."""
        found.unit, found.named = self._unit, len(self._classes)
        return found

    def _solution(self, sums: AgreementSums | None = None) -> Solution:
        """Error rates from agreements, or why there are none."""
        if sums is None or sums is self._sums:
            sums, fixed = self._sums, self._fixed
        else:
            fixed = self._at_present(FixedPoint(sums.loops, *self._fixed_params))
        fixed.renew()
        n = sums.workers
        theta, weights = np.empty(n), np.empty(n + 1)
        solved, apart = np.empty(n, np.uint8), np.empty(n, np.uint8)
        fixed.fill(theta, weights, solved, apart)
        reason = REASONS[fixed.reason] if fixed.fell_back else ""
        flags = solved.astype(np.bool_), apart.astype(np.bool_)
        return Solution(reason, fixed.by_shares, theta, weights, fixed.mean, *flags)

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        found = self._solution(sums)
        if found.reason:
            return MAJORITY
        return Scorer(WeightedVotes(found.weights, np.zeros(max(classes, 2))), identified=True)

    def _score_one(self, batch: LabelBatch, classes: Vocabulary) -> tuple[Scorer, Floats]:
        if self._folding is None and len(classes) > max(len(self._classes), 2):
            return super()._score_one(batch, classes)
        return self._ask(batch, 0.0)

    def _score_open(self, task: OpenTask) -> tuple[Scorer, Floats]:
        if self._folding is not None:
            return super()._score_open(task)
        return self._ask(task.batch(), self._scale.weight(task.place))

    def _score_known(self, task: OpenTask) -> tuple[Scorer, Floats, int] | None:
        if self._folding is not None:
            return super()._score_known(task)
        scores, fixed, size = np.empty((1, max(self._places, 2))), self._fixed, task.size
        fixed.truth, fixed.fell_back = task.truth, False
        own = self._scale.weight(task.place)
        left = fixed.ask_known(task.batch().coded, size, own, self._least_known, scores)
        return None if left == size or fixed.fell_back else (WEIGHED, scores, left)

    def _ask(self, batch: LabelBatch, own: float) -> tuple[Scorer, Floats]:
        """Score one task; ``own``: what it counts if its labels are among the sums, else 0."""
        scores, fixed = np.empty((1, max(self._places, 2))), self._fixed
        fixed.truth = int(batch.truths[0]) if own and batch.truths.size else UNKNOWN
        fixed.ask(batch.coded, batch.labels.size, own, scores)
        return MAJORITY if fixed.fell_back else WEIGHED, scores

    # Learning --------------------------------------------------------------------------------

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        if sign > 0 and len(batch) <= FEW:
            self._go_through(batch, None)
        else:
            super()._learn(batch, sign)

    def _learn_open(self, batch: LabelBatch, sign: int, place: int) -> None:
        self._fixed.follow(batch.coded, sign * self._scale.weight(place), 1.0, NO_SCORES)

    def _follow(self, batch: LabelBatch) -> Votes:
        if self._folding is not None:
            return super()._follow(batch)
        votes = Votes.room(len(batch))
        self._go_through(batch, votes)
        return votes._replace(identified=len(batch) > 0 and not self._fixed.fell_back)

    def _go_through(self, batch: LabelBatch, votes: Votes | None) -> None:
        """Learn tasks in order, deciding each before where decisions are asked for."""
        scale, k, at = self._scale, self._sums.classes, 0
        while at < len(batch):
            room = scale.make_room(self._clock, self._arrays())
            end = min(at + min(room, max(CELLS // k, 1)), len(batch))
            part, fixed = batch.part(at, end), self._fixed
            scores = NO_SCORES if votes is None else np.empty((end - at, k))
            fixed.follow(part.coded, scale.weight(self._clock), scale.growth, scores)
            if votes is not None:
                rules = self._places, self._ties(self._classes), 0.0
                choose(part, scores, votes.part(at, end), *rules)
            self._clock += end - at
            at = end

    # What is known ---------------------------------------------------------------------------

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far determine the error rates, and if not, why."""
        found = self._solution()
        if not found.reason and not found.shares:
            return Identifiability(True, BY_GOLD)
        return Identifiability(not found.reason, found.reason)

    def _skills(self) -> Floats:
        """How much better than chance each worker is."""
        return self._solution().theta

    @property
    def mean_skill_(self) -> float:
        """The skill of a worker about whom nothing is known."""
        return self._solution().mean

    def _doubts(self, batch: LabelBatch, identified: bool) -> list[Warning]:
        doubt = self.answer_rate_in_doubt()
        found = super()._doubts(batch, identified)
        return [*found, AnswerRateInDoubt(doubt)] if doubt else found

    def answer_rate_in_doubt(self) -> str:
        """Say why the answer rate that was given looks wrong, if it does.

        A file of labels leaves out tasks that nobody answered and workers who were asked and did
        not answer: then the rate of answers in it is not the one that was given.

        Examples
        --------
        >>> crowd = AgreementBased(answer_rate=0.5)
        >>> for _ in range(100):
        ...     crowd.learn_one({"ann": 1, "bob": 1, "cy": 1})
        >>> crowd.answer_rate_in_doubt()[:48]
        'answer_rate=0.5, but workers answered 1 of the t'
        """
        sums = self._sums
        asked = sums.total[0] * sums.workers
        if self.answer_rate is None or not asked:
            return ""
        found, rate = sums.answers.sum() / asked, self.answer_rate
        error = np.sqrt(max(rate * (1 - rate), 1e-6) / (asked / self._unit))
        if abs(found - rate) <= DOUBT * error:
            return ""
        return (
            f"answer_rate={rate:g}, but workers answered {found:.3g} of the tasks given: were "
            "tasks that nobody answered left out?"
        )

    def _read(self) -> WorkerReading:
        sums, found = self._sums, self._solution()
        edge = self.clip
        return WorkerReading(
            errors=np.clip((1 - found.theta) * (1 - 1 / sums.classes), edge, 1 - edge),
            weights=found.weights[:-1],
            solved=found.solved,
            apart=found.apart,
        )
