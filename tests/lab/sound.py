"""What any table of decisions must be like, whatever the method and the labels."""

from __future__ import annotations

import polars as pl


def check_sound(found: pl.DataFrame, like: pl.DataFrame) -> None:
    """The columns and tasks of another method's decisions, and numbers that can be."""
    assert found.schema == like.schema
    assert found.select("task", "votes").equals(like.select("task", "votes"))
    assert found["label"].is_null().equals(found["votes"] == 0)
    sure = found["confidence"]
    assert sure.is_finite().all()
    # Rounding of a sum of exponentials.
    assert sure.is_between(0, 1 + 1e-12).all()
    assert (found["margin"].is_between(0, 1 + 1e-12) & (found["margin"] <= sure)).all()
    assert found["settled"].equals((sure >= 0.95) & (found["votes"] >= 2))
