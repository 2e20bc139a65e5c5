"""Decisions on a scale: where classes have an order, the middle of the posterior decides.

Reads tables of probabilities; knows neither estimators nor labels one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import MIN_LABELS, SETTLE, SettleRule
from crowdstream.errors import InputError
from crowdstream.labels import ArrowTable, ClassLabel, in_kind, kind_of
from crowdstream.labels.scale import scale_of
from crowdstream.labels.tables import select_columns

if TYPE_CHECKING:
    import polars as pl

HALF = 0.5 - 1e-12
"""Half of the probability, but for rounding."""


def weighted_medians(chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first class of each row at which half of the probability is reached.

    >>> weighted_medians(np.array([[0.4, 0.2, 0.4], [0.6, 0.1, 0.3]])).tolist()
    [1, 0]
    """
    sums = np.cumsum(chances, axis=1)
    found: NDArray[np.int64] = (sums >= HALF * sums[:, -1:]).argmax(axis=1)
    return found


def ordinal_decisions(
    decisions: ArrowTable,
    probabilities: ArrowTable,
    order: Sequence[ClassLabel] | None = None,
    *,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
) -> Any:
    """Decisions by the weighted median of the posterior, for classes that have an order.

    The most probable class is the best guess if all mistakes are alike. On a scale they are not:
    the median is the decision whose expected distance from the truth is least. Where it is another
    class than was decided, its probability becomes the confidence, and the margin is its lead over
    the most probable other class, which may be negative.

    Parameters
    ----------
    decisions
        What an estimator decided: the table of `fit_predict`.
    probabilities
        The probability of each class for the same tasks: the table of `predict_proba_many`.
    order
        The classes from one end of the scale to the other. Not needed where they are numbers.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.

    Returns
    -------
    The decisions, in the kind of table they came.

    Examples
    --------
    >>> import crowdstream as cs
    >>> rows = [("t1", who, stars) for who, stars in zip("abcde", (1, 1, 3, 4, 5))]
    >>> crowd = cs.MajorityVote()
    >>> decisions = crowd.fit_predict(rows)
    >>> decisions["label"].to_list()
    [1]
    >>> ordinal_decisions(decisions, crowd.predict_proba_many(rows))["label"].to_list()
    [3]
    """
    import polars as pl

    rule = SettleRule.checked(settle, min_labels)
    decided = select_columns(decisions, lambda header: header)
    table = select_columns(probabilities, lambda header: header)
    task, *names = table.columns
    if not decided["task"].cast(pl.String).equals(table[task].cast(pl.String)):
        raise InputError("probabilities", "the same tasks as the decisions, in order", "others")
    classes = [name for name in scale_of(names, order) if name in names]
    if not classes:
        return decisions
    found = _by_median(decided, table.select(classes), rule)
    return in_kind(found, kind_of(decisions))


def _by_median(decided: pl.DataFrame, table: pl.DataFrame, rule: SettleRule) -> pl.DataFrame:
    """The decisions, with those changed where the median is another class.

    ``table``: the probabilities alone, its columns in the order of the scale.
    """
    import polars as pl

    chances = table.to_numpy(writable=True)
    middle, rows = weighted_medians(chances), np.arange(len(chances))
    scale = pl.Series("label", table.columns, pl.String)
    label = scale.cast(decided.schema["label"], strict=False).gather(pl.Series(middle))
    changed = (label != decided["label"]).fill_null(False)  # a task without labels stays undecided
    confidence = chances[rows, middle]
    chances[rows, middle] = -1.0
    lead = confidence - np.maximum(chances.max(axis=1), 0.0)
    sure = np.zeros(len(rows), np.bool_)
    if rule.confidence is not None:
        enough = decided["votes"].to_numpy() >= rule.min_labels
        sure = (confidence >= rule.confidence) & enough
    columns = (label, confidence, lead, sure)
    return decided.with_columns(
        pl.when(changed).then(pl.Series(new)).otherwise(decided[name]).alias(name)
        for name, new in zip(("label", "confidence", "margin", "settled"), columns, strict=True)
    )
