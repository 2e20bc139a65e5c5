"""Decisions with a known truth → how many are wrong, whatever the coin said."""

from __future__ import annotations

import polars as pl

from crowdstream.errors import InputError


def expected_error(
    decisions: pl.DataFrame,
    gold: pl.DataFrame,
    *,
    heads: pl.DataFrame | None = None,
    classes: int | None = None,
) -> float:
    """The share of tasks decided wrongly, of those with gold; a tie counts in expectation.

    A tie of two classes counts ½. Of more, a decision by coin counts as it fell, unless heads were
    counted: ``heads`` are then the labels, of the tied tasks at least, which tell among which
    classes the coin chose. ``classes`` is how many there are, if the decisions do not show it.

    >>> fell = pl.DataFrame({"task": ["a", "b"], "label": ["x", "y"], "margin": [0.9, 0.0]})
    >>> expected_error(fell, pl.DataFrame({"task": ["a", "b"], "label": ["x", "x"]}))
    0.25
    >>> labels = pl.DataFrame({"task": ["b"] * 3, "worker": ["u", "v", "w"], "label": list("xyz")})
    >>> gold = pl.DataFrame({"task": ["b"], "label": ["x"]})
    >>> round(expected_error(fell, gold, heads=labels), 3)
    0.667
    """
    scored = decisions.join(gold.select("task", gold="label"), on="task")
    if not scored.height:
        raise InputError("gold", "the truth of at least one decided task", "none of them")
    wrong = (pl.col("label") != pl.col("gold")).fill_null(True).cast(pl.Float64)
    if heads is not None:
        scored = scored.join(_level(heads), on="task", how="left")
        found = pl.col("level").list.contains(pl.col("gold")) / pl.col("level").list.len()
        wrong = pl.when(pl.col("level").list.len() > 1).then(1 - found).otherwise(wrong)
    else:
        known = classes or pl.concat([decisions["label"], gold["label"]]).drop_nulls().n_unique()
        if known <= 2:
            tied = (pl.col("margin") == 0) & pl.col("label").is_not_null()
            wrong = pl.when(tied).then(0.5).otherwise(wrong)
    return float(scored.select(wrong.mean()).item())


def _level(labels: pl.DataFrame) -> pl.DataFrame:
    """The classes with the most votes of each task, one vote a worker, the last."""
    votes = (
        labels.unique(["task", "worker"], keep="last", maintain_order=True)
        .drop_nulls("label")
        .group_by("task", "label")
        .len()
    )
    most = votes.filter(pl.col("len") == pl.col("len").max().over("task"))
    return most.group_by("task").agg(level="label")
