"""From the options of ``--method`` to an estimator. Knows nothing of files of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from crowdstream.defaults import MEMORY_RANGE
from crowdstream.errors import InputError
from crowdstream.labels.readers.small_tables import read_families
from crowdstream.methods import check_options, make_estimator
from crowdstream.validation import check_number, one_of

if TYPE_CHECKING:
    from crowdstream.cli.options import Method
    from crowdstream.estimators import Estimator
    from crowdstream.estimators.parameters import Copying


class EstimatorFactory:
    """The estimator that the options ask for: checked at once, made later.

    ``monitored``: whether monitors go along, for intervals, alarms and pairs. They never do with a
    method that judges nobody.
    """

    def __init__(self, options: Method, *, monitored: bool = False) -> None:
        if options.memory == "auto":
            expected = "a number of tasks, or no --memory: adaptive finds out by itself who changes"
            raise InputError("--memory", expected, repr(options.memory))
        given = {
            "memory": options.memory,
            "families": options.families,
            "copies": options.copies,
            "answer_rate": options.answer_rate,
        }
        method = check_options(options.method, given, _flag)
        if options.answer_rate is not None:
            check_number("--answer-rate", options.answer_rate, 0.0, 1.0, open_low=True)
        if options.copies is not None:
            one_of("discount", "report")("--copies", options.copies)
        check_number("--seed", options.seed, 0, 2**64 - 1, whole=True)
        self.options = options
        self.memory = None if options.memory is None else _memory(options.memory)
        self.families = (
            None
            if options.families is None
            else read_families(options.families, option="--families")
        )
        self.monitored = monitored and method.monitored

    def make(self, *, over_time: bool = True) -> Estimator:
        """Load the estimators and make one; ``over_time``: tasks come in the order of time."""
        return make_estimator(
            self.options.method,
            memory=self.memory,
            families=self.families,
            copies=cast("Copying | None", self.options.copies),
            answer_rate=self.options.answer_rate,
            seed=self.options.seed,
            monitored=self.monitored,
            over_time=over_time,
            spelled=_flag,
        )

    def watch(self, estimator: Estimator, *, over_time: bool = True) -> None:
        """Let the monitors that are asked for go along from now on."""
        if self.monitored:
            from crowdstream.monitoring import monitor

            monitor(estimator, over_time=over_time)

    def absent(self, estimator: Estimator) -> int:
        """Count workers of ``--families`` who have given no label."""
        return len(self.families.keys() - set(estimator.workers_)) if self.families else 0


def _flag(option: str) -> str:
    """Spell an option as one types it.

    >>> _flag("answer_rate")
    '--answer-rate'
    """
    return f"--{option.replace('_', '-')}"


def _memory(text: str) -> float:
    """About how many tasks ``--memory`` asks to remember."""
    try:
        tasks = float(text)
    except ValueError:
        raise InputError("--memory", "a number of tasks", repr(text)) from None
    check_number("--memory", tasks, *MEMORY_RANGE, open_low=True)
    return tasks
