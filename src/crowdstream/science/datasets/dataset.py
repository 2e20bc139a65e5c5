"""A data set: labels, gold, and what is known of their origin."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

LABELS = ("task", "worker", "label")
"""The columns of labels.csv, by crowd-kit's names."""


GOLD = ("task", "label")
"""The columns of gold.csv."""


@dataclass(frozen=True)
class Meta:
    """What is known of a data set: where it comes from, whom to cite, what to mind."""

    title: str
    origin: str = ""
    citation: str = ""
    licence: str = ""
    notes: str = ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """The labels of a crowd and the truth, as tables of text; labels are in the source's order.

    Not every task need have a gold label, nor every gold label per task that was labelled.
    """

    name: str
    labels: pl.DataFrame
    gold: pl.DataFrame
    meta: Meta
