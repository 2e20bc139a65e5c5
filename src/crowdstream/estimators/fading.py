"""What estimators share whose choices are how fast to forget and how to break ties."""

from __future__ import annotations

import numpy as np

from crowdstream.errors import check_number
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.settings import check_ties
from crowdstream.estimators.votes import Ties


class Fading(Estimator):
    """An estimator of four arguments."""

    forgetting: float

    def __init__(
        self,
        forgetting: float = 0.0,
        ties: Ties = "coin",
        seed: int = 0,
        watch: bool = False,
    ) -> None:
        self.forgetting = forgetting
        self.ties = ties
        self.seed = seed
        self.watch = watch
        check_number("forgetting", forgetting, 0.0, 0.999)
        check_ties(ties, seed)

    @property
    def _fade(self) -> float:
        """How much more a task weighs than the one before, in logarithms."""
        return float(-np.log1p(-self.forgetting))
