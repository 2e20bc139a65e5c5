"""`Scorer`: a way to score tasks, prepared once. A score is log-odds up to a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.models import scoring_loops
from crowdstream.sums.agreement import AgreementSums

Floats = NDArray[np.float64]

NOTHING: Floats = np.empty(0)

CELLS = 1 << 20
"""Scores that are in memory at once, per thread."""

Score: TypeAlias = Callable[[LabelBatch, Floats], None]
"""What fills one row of scores per task."""


class Scorer(NamedTuple):
    """A way to score tasks, prepared once.

    ``score`` fills one row of scores per task; ``rho`` is the correlation of errors within a task
    by which confidence is discounted; ``calibrate`` corrects confidences by known truths.
    """

    score: Score
    identified: bool
    rho: float = 0.0
    calibrate: Callable[[Floats], Floats] | None = None


@dataclass(frozen=True, eq=False)
class WeightedVotes:
    """Scores by one weight per worker and one more for workers unknown, beside a class's prior."""

    weights: Floats
    prior: Floats

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        scoring_loops.add_weights(batch.coded, self.weights, self.prior, scores)


class TableVotes:
    """Scores by a table per worker, ``logs[i, x, a]`` for saying x where a is true, and a prior.

    Where families are declared, labels count to the power that ``rho`` gives them in theirs.
    """

    def __init__(self, logs: Floats, prior: Floats, family: Codes, rho: Floats) -> None:
        self._made_of = logs, prior, family, rho
        self._powers: scoring_loops.FamilyPowers | None = None
        if rho.size:
            sums = AgreementSums(rho.size)
            sums.make_room(family.size, 2)
            sums.declare(family, 0)
            self._powers = scoring_loops.FamilyPowers(sums.loops, rho)

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        tasks, powers = batch.coded, NOTHING
        if self._powers is not None:
            powers = np.ones(batch.workers.size)
            self._powers.fill(tasks, powers)
        scoring_loops.add_logs(tasks, powers, *self._made_of[:2], scores)

    def __reduce__(self) -> tuple[type, tuple[Floats, Floats, Codes, Floats]]:
        return TableVotes, self._made_of
