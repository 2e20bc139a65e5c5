"""Distance of decisions on a scale from the truth. Judges tables; knows no estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels import ArrowTable, ClassLabel, Truths
from crowdstream.labels.scale import scale_of
from crowdstream.metrics.scores import table_of, truths_of

if TYPE_CHECKING:
    import polars as pl


def mean_distance(
    decisions: ArrowTable, truth: ArrowTable | Truths, order: Sequence[ClassLabel] | None = None
) -> float:
    """Return the mean distance of decisions from the truth, for classes that have an order.

    Numbers are as far apart as their values, other classes as many steps as lie between them. A
    task without a decision counts as if the end of the scale that is farther off had been chosen.

    Parameters
    ----------
    decisions
        Table of task and label, as estimators return it.
    truth
        What is true: a table of task and label, or a mapping of one to the other.
    order
        The classes from one end of the scale to the other. Not needed where they are numbers.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({"task": ["a", "b"], "label": ["4", "2"]})
    >>> mean_distance(said, {"a": "5", "b": "2"})
    0.5
    >>> said = pl.DataFrame({"task": ["a", "b"], "label": ["low", "mid"]})
    >>> mean_distance(said, {"a": "high", "b": "mid"}, order=["low", "mid", "high"])
    1.0
    """
    import polars as pl

    truths = truths_of(truth).select(pl.col("task"), pl.col("label").cast(pl.String).alias("truth"))
    decided = table_of(decisions, "decisions", "task label")
    scored = decided.select("task", pl.col("label").cast(pl.String)).join(truths, on="task")
    if not scored.height:
        raise InputError("truth", "the truth of at least one decided task", "none of them")
    every = pl.concat([decided["label"].cast(pl.String), truths["truth"]]).drop_nulls()
    return distance_on(scale_of(every.unique(maintain_order=True), order), scored)


def distance_on(scale: Mapping[str, float], scored: pl.DataFrame) -> float:
    """`mean_distance` of the columns label and truth of a table, both text.

    Parameters
    ----------
    scale
        Where each class lies.
    scored
        What was decided and what is true.

    Examples
    --------
    >>> import polars as pl
    >>> distance_on({"1": 1.0, "5": 5.0}, pl.DataFrame({"label": ["1", None], "truth": ["5", "5"]}))
    4.0
    """
    import polars as pl

    places = [
        scored[name].replace_strict(scale, default=None, return_dtype=pl.Float64)
        for name in ("label", "truth")
    ]
    ends = min(scale.values()), max(scale.values())
    farthest = pl.DataFrame([(places[1] - end).abs().alias(str(k)) for k, end in enumerate(ends)])
    apart = (places[0] - places[1]).abs()
    found = pl.DataFrame({"apart": apart, "most": farthest.max_horizontal()})
    return float(found.select(pl.coalesce("apart", "most").mean()).item())
