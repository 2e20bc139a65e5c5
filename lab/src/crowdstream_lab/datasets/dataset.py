"""A data set: labels, gold, and what is known of their origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

LABELS = ("task", "worker", "label")
"""The columns of labels.csv, by crowd-kit's names."""


GOLD = ("task", "label")
"""The columns of gold.csv."""


@dataclass(frozen=True)
class Meta:
    """Facts on a data set: where it comes from, whom to cite, what to mind.

    Parameters
    ----------
    title
        What the tasks are.
    origin
        The address it comes from.
    citation
        The paper to cite.
    licence
        Under what licence it is given.
    notes
        What to mind when using it.

    Examples
    --------
    >>> Meta("Is it a bird?", licence="MIT").licence
    'MIT'
    """

    title: str
    origin: str = ""
    citation: str = ""
    licence: str = ""
    notes: str = ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """The labels of a crowd and the truth, as tables of text; labels are in the source's order.

    Not every task need have a gold label, nor every gold label per task that was labelled.

    Parameters
    ----------
    name
        What it is called, as in `load`.
    labels
        A table of text with the columns task, worker and label.
    gold
        A table of text with the columns task and label: the truth, one row per task.
    meta
        What is known of its origin.
    scale
        Where each class lies on a scale, if the classes have an order.

    Examples
    --------
    >>> labels = pl.DataFrame({"task": ["t", "t"], "worker": ["w1", "w2"], "label": ["a", "b"]})
    >>> gold = pl.DataFrame({"task": ["t"], "label": ["a"]})
    >>> Dataset("mine", labels, gold, Meta("Mine")).labels.height
    2
    """

    name: str
    labels: pl.DataFrame
    gold: pl.DataFrame
    meta: Meta
    scale: Mapping[str, float] | None = None
