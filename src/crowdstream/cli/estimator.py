"""From the options of ``--method`` to an estimator. Knows nothing of files of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.readers.small_tables import read_families
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.cli.options import Method
    from crowdstream.estimators import Estimator

METHODS = ("adaptive", "tracking", "agreement", "centred", "majority")

FORGETTING = ("adaptive", "agreement", "centred")
"""Methods that take ``--memory``."""


class EstimatorFactory:
    """The estimator that the options ask for: checked at once, made later.

    ``monitored``: whether monitors go along, for intervals, alarms and pairs. They never do with
    majority, which judges nobody.
    """

    def __init__(self, options: Method, *, monitored: bool = False) -> None:
        method, families = options.method, options.families
        if method not in METHODS:
            raise InputError("--method", " or ".join(METHODS), repr(method))
        if method != "agreement" and options.answer_rate is not None:
            raise InputError("--answer-rate", "--method agreement", method)
        if method != "adaptive" and families is not None:
            raise InputError("--families", "--method adaptive", method)
        if options.answer_rate is not None:
            check_number("--answer-rate", options.answer_rate, 0.0, 1.0, open_low=True)
        check_number("--seed", options.seed, 0, 2**64 - 1, whole=True)
        self.options = options
        self.memory = None if options.memory is None else _memory(method, options.memory)
        self.families = None if families is None else read_families(families, option="--families")
        self.monitored = monitored and method != "majority"

    def make(self) -> Estimator:
        """Load the estimators and make one."""
        estimator = self._make()
        self.watch(estimator)
        return estimator

    def watch(self, estimator: Estimator) -> None:
        """Let the monitors that are asked for go along from now on."""
        if self.monitored:
            from crowdstream.monitoring import monitor

            monitor(estimator)

    def _make(self) -> Estimator:
        from crowdstream import estimators
        from crowdstream.estimators.tracking import Tracking

        seed, memory = self.options.seed, self.memory
        match self.options.method:
            case "majority":
                return estimators.MajorityVote(seed=seed)
            case "tracking":
                return Tracking(seed=seed)
            case "agreement":
                rate = self.options.answer_rate
                return estimators.AgreementBased(answer_rate=rate, memory=memory, seed=seed)
            case "centred":
                return estimators.CentredAgreement(memory=memory, seed=seed)
        return estimators.Adaptive(memory=memory, seed=seed, families=self.families)

    def absent(self, estimator: Estimator) -> int:
        """How many workers of ``--families`` have given no label."""
        return len(self.families.keys() - set(estimator.workers_)) if self.families else 0


def _memory(method: str, text: str) -> float:
    """About how many tasks ``--memory`` asks to remember."""
    if text == "auto":
        expected = "a number of tasks, or --method tracking, which finds one for each worker"
        raise InputError("--memory", expected, repr(text))
    if method == "tracking":
        raise InputError("--memory", "another method", "tracking, which finds its own")
    if method not in FORGETTING:
        raise InputError("--memory", "a method that learns", f"{method}, which does not")
    try:
        tasks = float(text)
    except ValueError:
        raise InputError("--memory", "a number of tasks", repr(text)) from None
    check_number("--memory", tasks, 1.0, 1e15, open_low=True)
    return tasks
