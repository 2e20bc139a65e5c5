"""Constructor arguments: checked once, then as the compiled loops read them."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.estimators.kernels import RULES
from crowdstream.estimators.votes import Ties


def check_ties(ties: object, seed: object) -> None:
    """Refuse what is not a way to break ties."""
    if ties not in ("coin", "lowest"):
        raise InputError("ties", "'coin' or 'lowest'", repr(ties))
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise InputError("seed", "an integer from 0 to 2**64 - 1", repr(seed))


@functools.lru_cache
def rules(
    *,
    method: int,
    ties: Ties,
    seed: int,
    answer_rate: float | None = None,
    forgetting: float = 0.0,
    shrinkage: float = 0.0,
    prior: float = 0.5,
    clip: float = 0.0,
) -> NDArray[np.void]:
    """One record of `kernels.RULES`, made once for the same arguments."""
    fade = float(-np.log1p(-forgetting))
    return np.array(
        [(method, answer_rate or 0.0, fade, shrinkage, prior, clip, ties == "coin", seed)], RULES
    )
