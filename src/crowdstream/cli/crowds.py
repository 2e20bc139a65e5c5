"""From options to an estimator, and states in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from crowdstream.cli.tables import read_families
from crowdstream.errors import InputError, StateError, check_number

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator

METHODS = ("adaptive", "agreement", "centred", "streaming-ds", "majority")


class Recipe:
    """The estimator that the options ask for: checked at once, made later.

    ``watch``: whether a method that need not watch its labellers does, for their intervals;
    adaptive always does, majority never.
    """

    def __init__(
        self,
        method: str,
        forget: str | None,
        answer_rate: float | None,
        seed: int,
        *,
        families: str | None = None,
        watch: bool = False,
    ) -> None:
        if method not in METHODS:
            raise InputError("--method", " or ".join(METHODS), repr(method))
        if method == "majority" and forget is not None:
            raise InputError("--forget", "a method that learns", "majority, which does not")
        if method != "agreement" and answer_rate is not None:
            raise InputError("--answer-rate", "--method agreement", method)
        if method != "adaptive" and families is not None:
            raise InputError("--families", "--method adaptive", method)
        if answer_rate is not None:
            check_number("--answer-rate", answer_rate, 0.0, 1.0, open_low=True)
        check_number("--seed", seed, 0, 2**64 - 1, whole=True)
        self.method = method
        self.forgetting = _forgetting(method, forget)
        self.answer_rate = answer_rate
        self.seed = seed
        self.families = None if families is None else read_families(families)
        self.watch = watch

    def make(self) -> Estimator:
        """Load the estimators and make one."""
        from crowdstream import estimators

        if self.method == "majority":
            return estimators.MajorityVote(seed=self.seed)
        if self.method == "adaptive":
            return estimators.Adaptive(
                forgetting=self.forgetting, seed=self.seed, families=self.families
            )
        rate = cast("float", self.forgetting)
        if self.method == "agreement":
            return estimators.AgreementBased(
                answer_rate=self.answer_rate, forgetting=rate, seed=self.seed, watch=self.watch
            )
        centred = self.method == "centred"
        kind = estimators.CentredAgreement if centred else estimators.StreamingDawidSkene
        return kind(forgetting=rate, seed=self.seed, watch=self.watch)

    def strangers(self, crowd: Estimator) -> int:
        """How many labellers of the families a crowd has not met."""
        return len(self.families.keys() - set(crowd.workers_)) if self.families else 0


def _forgetting(method: str, forget: str | None) -> float | Literal["auto"]:
    """The rate at which ``--forget`` lets tasks fade."""
    if forget is None:
        return 0.0
    if forget == "auto":
        if method != "adaptive":
            raise InputError("--forget auto", "--method adaptive", method)
        return "auto"
    try:
        tasks = float(forget)
    except ValueError:
        raise InputError("--forget", "a number of tasks, or auto", repr(forget)) from None
    check_number("--forget", tasks, 1.0, 1e15, open_low=True)
    return 1.0 / tasks


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
