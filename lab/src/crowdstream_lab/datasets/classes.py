"""Data sets with fewer classes: the paper's merges into two, and any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from crowdstream import InputError
from crowdstream_lab.datasets.dataset import Dataset

MERGES: Mapping[str, Mapping[str, str]] = {
    "dog": {"1": "+1", "2": "+1", "3": "-1", "4": "-1"},
    "web": {"1": "+1", "2": "+1", "3": "+1", "4": "-1", "5": "-1"},
}
"""The paper's two classes for its sets that have more. Web's are what gives its Table 2 (majority
errs on 0.143); the rule it prints, ℓ ≤ L/2, would be {1, 2} against {3, 4, 5} (0.110)."""


def binary(dataset: Dataset) -> Dataset:
    """The set with two classes, as the paper has it; one that has no more is left as it is.

    Parameters
    ----------
    dataset
        The set to give two classes; of more than two, only those of the paper.

    Examples
    --------
    >>> from crowdstream_lab.datasets import Meta
    >>> labels = pl.DataFrame({"task": ["t"], "worker": ["w1"], "label": ["3"]})
    >>> gold = pl.DataFrame({"task": ["t"], "label": ["5"]})
    >>> two = binary(Dataset("web", labels, gold, Meta("Web")))
    >>> two.labels["label"].item(), two.gold["label"].item()
    ('+1', '-1')
    """
    if dataset.name in MERGES:
        return merge(dataset, MERGES[dataset.name])
    classes = dataset.labels["label"].drop_nulls().unique().sort()
    if len(classes) > 2:
        where = f"data set {dataset.name!r}"
        known = ", ".join(MERGES)
        expected = f"two classes, or a set the paper merges ({known}); use merge for others"
        raise InputError(where, expected, f"{len(classes)}: {', '.join(classes)}")
    return dataset


def merge(dataset: Dataset, classes: Mapping[str, str]) -> Dataset:
    """The set with its classes renamed, in labels and gold; those not mentioned stay.

    Parameters
    ----------
    dataset
        The set whose classes to rename.
    classes
        Old names of classes → new ones.

    Examples
    --------
    >>> from crowdstream_lab.datasets import Meta
    >>> labels = pl.DataFrame({"task": ["t", "t"], "worker": ["w1", "w2"], "label": ["a", "b"]})
    >>> gold = pl.DataFrame({"task": ["t"], "label": ["c"]})
    >>> merged = merge(Dataset("mine", labels, gold, Meta("Mine")), {"a": "x", "b": "x"})
    >>> merged.labels["label"].to_list(), merged.gold["label"].to_list()
    (['x', 'x'], ['c'])
    """
    renamed = pl.col("label").replace(classes)
    return replace(
        dataset,
        labels=dataset.labels.with_columns(renamed),
        gold=dataset.gold.with_columns(renamed),
    )
