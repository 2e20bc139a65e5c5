"""From options to an estimator, and states in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.errors import InputError, StateError, check_number

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator

METHODS = ("adaptive", "agreement", "centred", "streaming-ds", "majority")


class Recipe:
    """The estimator that the options ask for: checked at once, made later."""

    def __init__(
        self, method: str, forget: float | None, answer_rate: float | None, seed: int
    ) -> None:
        if method not in METHODS:
            raise InputError("--method", " or ".join(METHODS), repr(method))
        if method == "majority" and forget is not None:
            raise InputError("--forget", "a method that learns", "majority, which does not")
        if method != "agreement" and answer_rate is not None:
            raise InputError("--answer-rate", "--method agreement", method)
        if forget is not None:
            check_number("--forget", forget, 1.0, 1e15, open_low=True)
        if answer_rate is not None:
            check_number("--answer-rate", answer_rate, 0.0, 1.0, open_low=True)
        check_number("--seed", seed, 0, 2**64 - 1, whole=True)
        self.method = method
        self.forgetting = 0.0 if forget is None else 1.0 / forget
        self.answer_rate = answer_rate
        self.seed = seed

    def make(self) -> Estimator:
        """Load the estimators and make one."""
        from crowdstream import estimators

        if self.method == "majority":
            return estimators.MajorityVote(seed=self.seed)
        if self.method == "agreement":
            return estimators.AgreementBased(
                answer_rate=self.answer_rate, forgetting=self.forgetting, seed=self.seed
            )
        others: dict[str, Callable[..., Estimator]] = {
            "adaptive": estimators.Adaptive,
            "centred": estimators.CentredAgreement,
            "streaming-ds": estimators.StreamingDawidSkene,
        }
        return others[self.method](forgetting=self.forgetting, seed=self.seed)


def load_crowd(path: str) -> Estimator:
    """The estimator in a state file, saved by itself or within a stream."""
    from crowdstream.engine import Stream
    from crowdstream.estimators import load

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(path, "a state file that can be read", str(error)) from None
    try:
        return load(data)
    except StateError as error:
        if "found a saved stream" in str(error):
            return Stream.restore(data).crowd
        raise StateError(f"{path}: {error}") from None
