"""`gold_check`: what the answers of an expert say of the decisions, and what they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import SETTLE, SETTLE_RANGE
from crowdstream.estimators import Estimator
from crowdstream.gold_plan.advice import more_gold
from crowdstream.gold_plan.deciding import Fit, Labels, as_polars
from crowdstream.gold_plan.filled import Filled, read_filled
from crowdstream.gold_plan.report import (
    ClassCheck,
    Flip,
    GoldCheck,
    Mistake,
    Rate,
    Settled,
    WorkerShift,
)
from crowdstream.gold_plan.strata import stratified_share, sum_by
from crowdstream.labels import ClassLabel, Table, TaskId, Truths
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.metrics import expected_errors, wilson
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

Bools = NDArray[np.bool_]

SHOWN = 5
"""Changed decisions and moved workers that are reported."""

MOVED = 0.005
"""Least change of an error rate that is reported: less would show as nothing."""

ANSWERS = 10
"""Answers that a worker must have given to be reported: the error rate of fewer is hearsay (they
are flagged "few_answers")."""


def gold_check(
    data: Table,
    filled: Truths,
    *,
    crowd: Estimator | None = None,
    settle: float = SETTLE,
    also: Iterable[ClassLabel] = (),
    **meaning: Unpack[TableMeaning],
) -> GoldCheck:
    """Check decisions against an expert's answers, and show what the answers change.

    Decides the labels without the gold and with it. If the answers come with the strata of
    `gold_needed`, the share of wrong decisions in the whole set is estimated without bias; if not,
    the tasks are taken for a simple random sample.

    Parameters
    ----------
    data, **meaning
        The labels, as for `Estimator.fit`.
    filled
        The table of `gold_needed`, filled in as far as you like, or the path of its file; or any
        true labels. Rows that cannot be used are named in ``warnings``.
    crowd
        The estimator to decide with, ``Adaptive()`` unless given. It is not changed.
    settle
        Confidence from which a decision is settled.
    also
        Classes that an answer may name though no worker has.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(9, 400, p=0.3, per_task=5)
    >>> plan = cs.gold_needed(made.labels(), 40).drop("gold")
    >>> filled = plan.join(made.truths().select("task", gold="label"), on="task")
    >>> found = cs.gold_check(made.labels(), filled)
    >>> found.checked, found.stratified
    (40, True)
    >>> found.error_rate.low < 0.15 < found.error_rate.high
    True
    """
    check_number("settle", settle, *SETTLE_RANGE)
    labels = Labels(data, crowd, meaning, settle)
    before = labels.fit()
    decided = before.decisions.drop_nulls("label")
    answers = read_filled(filled, decided["task"].to_list(), [*before.crowd.classes_, *also])
    gold = {answer.task: answer.gold for answer in answers.answers}
    after = labels.fit(gold)
    crossed = labels.cross_fit(gold)
    right = _right(decided, answers)
    error = _whole_set(answers, ~right, decided.height)
    settled = _settled(decided, answers, right, settle)
    flips = _flips(before, after, list(gold))
    with_gold = _whole_set(answers, ~_right(crossed, answers), decided.height)
    confidences = _mean_confidences(before, after, list(gold))
    expected = expected_errors(decided)
    return GoldCheck(
        tasks=decided.height,
        checked=right.size,
        blank=answers.blank,
        right=int(right.sum()),
        right_rate=_wilson(int(right.sum()), right.size),
        stratified=answers.stratified,
        error_rate=error,
        error_with_gold=with_gold,
        expected_error=Rate(*(number / decided.height for number in expected)),
        confidence_before=confidences[0],
        confidence_after=confidences[1],
        flips=flips.height,
        flipped=[Flip(*row) for row in flips.head(SHOWN).iter_rows()],
        classes=_classes(decided, after, answers, right),
        mistakes=_mistakes(decided, answers),
        workers=_workers(before, after),
        settled=settled,
        warnings=[*answers.notes, *_doubts(before)],
        more_gold=more_gold(with_gold, right.size, settled, flips.height, decided.height),
    )


def _right(decisions: pl.DataFrame, answers: Filled) -> Bools:
    """Return whether each checked task is decided as the answer says."""
    tasks = [answer.task for answer in answers.answers]
    said = _labels_of(decisions, tasks)
    return np.array([said.get(answer.task) == answer.gold for answer in answers.answers])


def _labels_of(decisions: pl.DataFrame, tasks: list[TaskId]) -> dict[TaskId, ClassLabel]:
    import polars as pl

    some = decisions.filter(pl.col("task").is_in(tasks))
    return dict(some.select("task", "label").iter_rows())


def _wilson(hits: int, of: int) -> Rate:
    low, high = wilson(hits, of)
    return Rate(hits / of, max(float(low), 0.0), min(float(high), 1.0))


def _whole_set(answers: Filled, wrong: Bools, tasks: int, among: Bools | None = None) -> Rate:
    """The share of wrong decisions in the whole set, or ``among`` those like some of the answers.

    Of the latter a stratum has as large a share as of the answers in it. Answers without strata
    are one.
    """
    among = np.ones(wrong.size, np.bool_) if among is None else among
    planned = _planned(answers)
    kept = [answer for answer, good in zip(answers.answers, planned, strict=True) if good]
    sizes = np.array([answer.stratum_tasks or tasks for answer in kept], float)
    _, place = np.unique([answer.stratum for answer in kept], return_inverse=True)
    wrong, among = wrong[planned], among[planned]
    answered = np.bincount(place)
    checked = np.bincount(place[among], minlength=answered.size)
    found = np.bincount(place[among & wrong], minlength=answered.size)
    like = sum_by(place, sizes) / answered * checked / answered
    return Rate(*stratified_share(like, checked, found))


def _planned(answers: Filled) -> Bools:
    """Mask the answers that stand for a stratum; all of them where no answer has one."""
    return np.array([answer.stratum >= 0 or not answers.stratified for answer in answers.answers])


def _settled(decided: pl.DataFrame, answers: Filled, right: Bools, settle: float) -> Settled:
    """Not kept if surely more are wrong than promised; kept if surely not more than twice that."""
    tasks = set(decided.filter("settled")["task"])
    sure = np.array([answer.task in tasks for answer in answers.answers])
    promised = 1.0 - settle
    if not (sure & _planned(answers)).any():
        return Settled(len(tasks), 0, promised, None, None)
    wrong = _whole_set(answers, ~right, decided.height, sure)
    kept = False if wrong.low > promised else True if wrong.high <= 2 * promised else None
    return Settled(len(tasks), int(sure.sum()), promised, wrong, kept)


def _flips(before: Fit, after: Fit, checked: list[TaskId]) -> pl.DataFrame:
    """Tasks that were not checked and are decided otherwise now, the surest first."""
    import polars as pl

    told = after.decisions.select("task", after="label", confidence="confidence")
    both = before.decisions.select("task", before="label").join(told, on="task")
    changed = pl.col("before").ne_missing(pl.col("after")) & ~pl.col("task").is_in(checked)
    return both.filter(changed).sort("confidence", descending=True, maintain_order=True)


def _mean_confidences(
    before: Fit, after: Fit, checked: list[TaskId]
) -> tuple[float | None, float | None]:
    import polars as pl

    def mean(fit: Fit) -> float | None:
        others = fit.decisions.drop_nulls("label").filter(~pl.col("task").is_in(checked))
        return float(others["confidence"].to_numpy().mean()) if others.height else None

    return mean(before), mean(after)


def _classes(decided: pl.DataFrame, after: Fit, answers: Filled, right: Bools) -> list[ClassCheck]:
    """The classes, most decided first, that were decided, now or before."""
    counts = dict(decided["label"].value_counts().iter_rows())
    told = dict(after.decisions["label"].drop_nulls().value_counts().iter_rows())
    said = _labels_of(decided, [answer.task for answer in answers.answers])
    hits: dict[ClassLabel, list[bool]] = {}
    for answer, good in zip(answers.answers, right, strict=True):
        hits.setdefault(said[answer.task], []).append(bool(good))
    found = []
    for name in sorted({*counts, *told}, key=lambda name: (-counts.get(name, 0), str(name))):
        seen = hits.get(name, [])
        rate = _wilson(sum(seen), len(seen)) if seen else None
        found.append(
            ClassCheck(name, counts.get(name, 0), told.get(name, 0), len(seen), sum(seen), rate)
        )
    return found


def _mistakes(decided: pl.DataFrame, answers: Filled) -> list[Mistake]:
    """Count mistakes by decided and true class, the most frequent first."""
    said = _labels_of(decided, [answer.task for answer in answers.answers])
    pairs = Counter((said[answer.task], answer.gold) for answer in answers.answers)
    return [Mistake(one, two, count) for (one, two), count in pairs.most_common() if one != two]


def _workers(before: Fit, after: Fit) -> list[WorkerShift]:
    """List the workers whose error rate moved most, among those with enough answers."""
    import polars as pl

    told = as_polars(after.crowd.workers()).select("worker", after="error_rate")
    known = as_polars(before.crowd.workers()).select("worker", "answers", before="error_rate")
    both = (
        known.join(told, on="worker")
        .drop_nulls()
        .with_columns(moved=(pl.col("after") - pl.col("before")).abs())
    )
    enough = (pl.col("moved") >= MOVED) & (pl.col("answers") >= ANSWERS)
    most = both.filter(enough).sort("moved", descending=True, maintain_order=True).head(SHOWN)
    return [WorkerShift(*row) for row in most.drop("moved").iter_rows()]


def _doubts(before: Fit) -> list[str]:
    crowd = before.crowd
    if not crowd.weighs_ or crowd.identifiable_:
        return []
    return [f"not identifiable: {crowd.identifiable_.reason}; fell back to majority vote"]
