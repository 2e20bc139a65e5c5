"""Scores of decisions and confidences against the truth: error rate, calibration, Brier.

Judges tables of decisions, in any kind of table; knows neither estimators nor streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdstream.errors import InputError
from crowdstream.labels import ArrowTable, Truths, read_truths, shorten
from crowdstream.labels.gold import truth_table
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

BINS = 10
"""Bins of equal width, as in most of the literature."""

Z95 = 1.959964
"""Standard errors on either side of a 95 % interval of a normal distribution."""


def wilson(hits: ArrayLike, of: ArrayLike, z: float = Z95) -> tuple[Floats, Floats]:
    """Wilson's interval of a share.

    Parameters
    ----------
    hits, of
        How many out of how many: numbers, or arrays of them. Counts need not be whole.
    z
        Standard errors on either side; the default gives 95 %.

    Examples
    --------
    >>> low, high = wilson([1, 10], [10, 10])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.02, 0.72], [0.4, 1.0])
    """
    total = np.maximum(np.asarray(of, float), 1e-9)
    p = np.asarray(hits, float) / total
    middle, half = (
        p + z * z / (2 * total),
        z * np.sqrt(p * (1 - p) / total + (z / (2 * total)) ** 2),
    )
    low, high = (middle - half) / (1 + z * z / total), (middle + half) / (1 + z * z / total)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)  # rounding leaves 0 by 1e-17


def error_rate(
    decisions: ArrowTable,
    truth: ArrowTable | Truths,
    *,
    labels: ArrowTable | None = None,
    classes: int | None = None,
) -> float:
    """The share of tasks decided wrongly, of those whose truth is known; ties count in expectation.

    A tie between two classes counts ½. Among more, a decision by coin counts as the coin fell,
    unless it was a majority vote and its labels are given.

    Parameters
    ----------
    decisions
        Table of task, label and margin, as estimators return it.
    truth
        What is true: a table of task and label, or a mapping of one to the other.
    labels
        The labels (task, worker, label) that a majority vote was taken on, of the tied tasks at
        least: they say among how many classes the coin chose.
    classes
        How many classes there are, if the decisions do not show it.

    Examples
    --------
    >>> import polars as pl
    >>> fell = pl.DataFrame({"task": ["a", "b"], "label": ["x", "y"], "margin": [0.9, 0.0]})
    >>> error_rate(fell, pl.DataFrame({"task": ["a", "b"], "label": ["x", "x"]}))
    0.25
    >>> votes = pl.DataFrame({"task": ["b"] * 3, "worker": ["u", "v", "w"], "label": list("xyz")})
    >>> truth = pl.DataFrame({"task": ["b"], "label": ["x"]})
    >>> round(error_rate(fell, truth, labels=votes), 3)
    0.667
    """
    import polars as pl

    decided, truths = table_of(decisions, "decisions", "task label margin"), truths_of(truth)
    scored = decided.join(truths.select("task", truth="label"), on="task")
    if not scored.height:
        raise InputError("truth", "the truth of at least one decided task", "none of them")
    wrong = (pl.col("label") != pl.col("truth")).fill_null(True).cast(pl.Float64)
    if labels is not None:
        scored = scored.join(
            _tied_classes(table_of(labels, "labels", "task worker label")), on="task", how="left"
        )
        found = pl.col("tied").list.contains(pl.col("truth")) / pl.col("tied").list.len()
        wrong = pl.when(pl.col("tied").list.len() > 1).then(1 - found).otherwise(wrong)
    else:
        known = classes or pl.concat([decided["label"], truths["label"]]).drop_nulls().n_unique()
        if known <= 2:
            tied = (pl.col("margin") == 0) & pl.col("label").is_not_null()
            wrong = pl.when(tied).then(0.5).otherwise(wrong)
    return float(scored.select(wrong.mean()).item())


def reliability(
    decisions: ArrowTable, truth: ArrowTable | Truths, bins: int = BINS
) -> pl.DataFrame:
    """Tabulate how often decisions of similar confidence are right, one row per non-empty bin.

    Parameters
    ----------
    decisions
        Table of task, label and confidence, as estimators return it.
    truth
        Table of task and label: what is true. Tasks without a truth are left out.
    bins
        Bins of equal width from 0 to 1.

    Examples
    --------
    >>> import polars as pl
    >>> said = {"task": [1, 2, 3], "label": ["x", "y", "x"], "confidence": [0.91, 0.93, 0.55]}
    >>> truth = pl.DataFrame({"task": [1, 2, 3], "label": ["x", "x", "x"]})
    >>> reliability(pl.DataFrame(said), truth).select("tasks", "confidence", "accuracy").rows()
    [(1, 0.55, 1.0), (2, 0.92, 0.5)]
    """
    import polars as pl

    check_number("bins", bins, 1, 10_000, whole=True)
    place = (pl.col("confidence") * bins).floor().clip(0, bins - 1).cast(pl.Int64)
    return (
        scored_tasks(decisions, truth)
        .group_by(place.alias("bin"))
        .agg(
            pl.len().alias("tasks"),
            pl.col("confidence").mean(),
            pl.col("right").mean().alias("accuracy"),
        )
        .sort("bin")
        .select(
            (pl.col("bin") / bins).alias("low"),
            ((pl.col("bin") + 1) / bins).alias("high"),
            "tasks",
            "confidence",
            "accuracy",
        )
    )


def calibration_error(decisions: ArrowTable, truth: ArrowTable | Truths, bins: int = BINS) -> float:
    """The expected calibration error: how far confidence and accuracy are apart, bin by bin.

    Parameters
    ----------
    decisions, truth, bins
        As for `reliability`.

    Examples
    --------
    >>> import polars as pl
    >>> said = {"task": [1, 2, 3], "label": ["x", "y", "x"], "confidence": [0.9, 0.9, 0.5]}
    >>> truth = pl.DataFrame({"task": [1, 2, 3], "label": ["x", "x", "x"]})
    >>> round(calibration_error(pl.DataFrame(said), truth), 4)
    0.4333
    """
    table = reliability(decisions, truth, bins)
    gaps = (table["confidence"] - table["accuracy"]).abs().to_numpy()
    return float(np.average(gaps, weights=table["tasks"].to_numpy()))


def brier(decisions: ArrowTable, truth: ArrowTable | Truths) -> float:
    """The mean squared distance between confidence and being right: 0 is best, a coin has 0.25.

    Parameters
    ----------
    decisions, truth
        As for `reliability`.

    Examples
    --------
    >>> import polars as pl
    >>> said = {"task": [1, 2], "label": ["x", "y"], "confidence": [0.9, 0.5]}
    >>> truth = pl.DataFrame({"task": [1, 2], "label": ["x", "x"]})
    >>> round(brier(pl.DataFrame(said), truth), 4)
    0.13
    """
    scored = scored_tasks(decisions, truth)
    return float(((scored["confidence"] - scored["right"]) ** 2).to_numpy().mean())


def table_of(table: object, name: str, columns: str) -> pl.DataFrame:
    """A table of any kind with these columns."""
    import polars as pl

    if not isinstance(table, ArrowTable):
        raise InputError(name, f"a table of {columns.replace(' ', ', ')}", shorten(table))
    found = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
    missing = [column for column in columns.split() if column not in found.columns]
    if missing:
        shown = ", ".join(found.columns) or "no columns"
        raise InputError(name, f"columns {columns.replace(' ', ', ')}", shown)
    return found


def truths_of(truth: ArrowTable | Truths) -> pl.DataFrame:
    """Truths as a table of task and label: they may be all that `gold=` may be."""
    import polars as pl

    if isinstance(truth, pl.DataFrame) and {"task", "label"} <= set(truth.columns):
        return truth
    return truth_table(read_truths(truth))


def scored_tasks(decisions: ArrowTable, truth: ArrowTable | Truths) -> pl.DataFrame:
    """Task, confidence, and 1 where the label is right: the decided tasks with a known truth."""
    import polars as pl

    truths = truths_of(truth).select("task", truth="label")
    decided = table_of(decisions, "decisions", "task label confidence")
    scored = decided.drop_nulls("label").join(truths, on="task")
    if not scored.height:
        raise InputError("truth", "the truth of at least one decided task", "none of them")
    right = (pl.col("label").cast(pl.String) == pl.col("truth").cast(pl.String)).cast(pl.Float64)
    return scored.select("task", "confidence", right.alias("right"))


def _tied_classes(labels: pl.DataFrame) -> pl.DataFrame:
    """The classes with the most votes of each task; of a worker's labels the last counts."""
    import polars as pl

    votes = (
        labels.unique(["task", "worker"], keep="last", maintain_order=True)
        .drop_nulls("label")
        .group_by("task", "label")
        .len()
    )
    most = votes.filter(pl.col("len") == pl.col("len").max().over("task"))
    return most.group_by("task").agg(tied="label")
