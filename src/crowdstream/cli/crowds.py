"""From options to an estimator, and states in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.errors import InputError, StateError
from crowdstream.labels.readers.small_tables import read_families
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator

METHODS = ("adaptive", "tracking", "agreement", "centred", "majority")

REMEMBERS = ("adaptive", "agreement", "centred")
"""Methods that can be told how many tasks to remember."""


class Recipe:
    """The estimator that the options ask for: checked at once, made later.

    ``watch``: whether monitors go along, for intervals, alarms and pairs; with majority, which
    judges nobody, none do.
    """

    def __init__(
        self,
        method: str,
        memory: str | None,
        answer_rate: float | None,
        seed: int,
        *,
        families: str | None = None,
        watch: bool = False,
    ) -> None:
        if method not in METHODS:
            raise InputError("--method", " or ".join(METHODS), repr(method))
        if method != "agreement" and answer_rate is not None:
            raise InputError("--answer-rate", "--method agreement", method)
        if method != "adaptive" and families is not None:
            raise InputError("--families", "--method adaptive", method)
        if answer_rate is not None:
            check_number("--answer-rate", answer_rate, 0.0, 1.0, open_low=True)
        check_number("--seed", seed, 0, 2**64 - 1, whole=True)
        self.method = method
        self.memory = None if memory is None else _memory(method, memory)
        self.answer_rate = answer_rate
        self.seed = seed
        self.families = None if families is None else read_families(families)
        self.watch = watch and method != "majority"

    def make(self) -> Estimator:
        """Load the estimators and make one."""
        crowd = self._make()
        if self.watch:
            from crowdstream.monitoring import monitor

            monitor(crowd)
        return crowd

    def _make(self) -> Estimator:
        from crowdstream import estimators

        if self.method == "majority":
            return estimators.MajorityVote(seed=self.seed)
        if self.method == "tracking":
            from crowdstream.estimators.tracking import Tracking

            return Tracking(seed=self.seed)
        if self.method == "agreement":
            return estimators.AgreementBased(
                answer_rate=self.answer_rate, memory=self.memory, seed=self.seed
            )
        if self.method == "centred":
            return estimators.CentredAgreement(memory=self.memory, seed=self.seed)
        return estimators.Adaptive(memory=self.memory, seed=self.seed, families=self.families)

    def strangers(self, crowd: Estimator) -> int:
        """How many workers of the families a crowd has not met."""
        return len(self.families.keys() - set(crowd.workers_)) if self.families else 0


def _memory(method: str, text: str) -> float:
    """About how many tasks ``--memory`` asks to remember."""
    if text == "auto":
        wanted = "a number of tasks, or --method tracking, which finds it out for each worker"
        raise InputError("--memory", wanted, repr(text))
    if method == "tracking":
        raise InputError("--memory", "another method", "tracking, which finds it out by itself")
    if method not in REMEMBERS:
        raise InputError("--memory", "a method that learns", f"{method}, which does not")
    try:
        tasks = float(text)
    except ValueError:
        raise InputError("--memory", "a number of tasks", repr(text)) from None
    check_number("--memory", tasks, 1.0, 1e15, open_low=True)
    return tasks


def load_crowd(path: str) -> Estimator:
    """The estimator in a state file, saved by itself or within a stream."""
    from crowdstream import monitoring  # noqa: F401  (states may have monitors along)
    from crowdstream.estimators import load
    from crowdstream.stream import Stream

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
