"""Records of a check against gold. Knows nothing of how they were found."""

from __future__ import annotations

import msgspec

from crowdstream.labels import ClassLabel, TaskId, WorkerId


class Rate(msgspec.Struct, frozen=True):
    """A share from 0 to 1 with its 95 % interval."""

    value: float
    low: float
    high: float


class ClassCheck(msgspec.Struct, frozen=True):
    """One decided class: decisions for it before and with the gold, those checked, those right."""

    label: ClassLabel
    decided: int
    decided_with_gold: int
    checked: int
    right: int
    right_rate: Rate | None


class Mistake(msgspec.Struct, frozen=True):
    """Decisions checked that were for one class where another is true."""

    decided: ClassLabel
    truth: ClassLabel
    tasks: int


class Flip(msgspec.Struct, frozen=True):
    """A decision on a task that was not checked, and that the gold changed."""

    task: TaskId
    before: ClassLabel | None
    after: ClassLabel | None
    confidence: float


class WorkerShift(msgspec.Struct, frozen=True):
    """A worker's error rate before and with the gold."""

    worker: WorkerId
    answers: float
    before: float
    after: float


class Settled(msgspec.Struct, frozen=True):
    """Settled decisions against gold, and whether they keep their promise.

    ``promised`` is the share that may be wrong at most; ``wrong`` the share of all settled
    decisions estimated to be. ``kept`` is ``None`` where too few were checked to tell.
    """

    decided: int
    checked: int
    promised: float
    wrong: Rate | None
    kept: bool | None


class GoldCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a check of decisions against gold, and what gold changes.

    Attributes
    ----------
    tasks, checked, blank
        Decided tasks; rows with a usable answer; rows left blank.
    right, right_rate
        Decisions checked that were right. Plans favour doubt: this is not the whole set's rate.
    stratified
        Whether the answers came with their strata; otherwise they are taken for a simple random
        sample.
    error_rate
        The share of the whole set's decisions that are wrong, made without gold.
    error_with_gold
        The same where gold is given, estimated by telling an estimator four fifths of the gold and
        asking it for the rest.
    expected_error
        The share that the crowd's own confidence expects to be wrong.
    confidence_before, confidence_after
        Mean confidence of the tasks that were not checked, without and with gold.
    flips, flipped
        How many decisions on other tasks the gold changed, and the surest of those.
    classes, mistakes, workers
        Class by class; which class was taken for which; the workers whose error rate moved most.
    settled
        Whether settled decisions keep their promise.
    warnings
        What was left out, and what is in doubt.
    more_gold
        In one sentence, whether more gold is worth having.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(9, 200, p=0.3, per_task=5)
    >>> found = cs.gold_check(made.labels(), made.truths().head(40))
    >>> found.checked, found.stratified
    (40, False)
    """

    tasks: int
    checked: int
    blank: int
    right: int
    right_rate: Rate
    stratified: bool
    error_rate: Rate
    error_with_gold: Rate
    expected_error: Rate
    confidence_before: float | None
    confidence_after: float | None
    flips: int
    flipped: list[Flip]
    classes: list[ClassCheck]
    mistakes: list[Mistake]
    workers: list[WorkerShift]
    settled: Settled
    warnings: list[str]
    more_gold: str
