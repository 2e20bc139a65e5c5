"""The pieces that packages built on crowdstream may import, beside its public names.

A method that decides in its own way needs what comes before it (labels as numbers) and what comes
after it (scores as decisions), so that it takes the tables that ours take and gives the table that
ours give: `code_labels` and `decide_by_scores`. ``crowdstream-lab`` has forty such methods. The
other names are the types and numbers of these two, and what checks parameters and prints names.
They stand here because the modules they come from may move. Pages and charts have
`crowdstream.theme`, commands `crowdstream.cli.extension`, simulated crowds
`crowdstream.simulation`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions.decision import SettleRule, Votes, decision_table
from crowdstream.decisions.ties import Ties, class_keys
from crowdstream.decisions.votes import TieRule, choose
from crowdstream.defaults import MIN_LABELS, SETTLE
from crowdstream.estimators.parameters import Families
from crowdstream.labels import UNKNOWN, Table, Vocabulary, code_rows, code_table
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.tables import value_series
from crowdstream.metrics.distance import distance_on
from crowdstream.plain_text import chart_names, printable, shortened
from crowdstream.sums.rows import TIE
from crowdstream.validation import SEED, Check, Parameters, check_number, number, one_of

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "SEED",
    "SETTLE",
    "TIE",
    "UNKNOWN",
    "Check",
    "Families",
    "LabelBatch",
    "LabelCodes",
    "Parameters",
    "Table",
    "Ties",
    "Vocabulary",
    "chart_names",
    "check_number",
    "code_labels",
    "decide_by_scores",
    "distance_on",
    "number",
    "one_of",
    "printable",
    "shortened",
    "value_series",
]


class LabelCodes(NamedTuple):
    """Labels as numbers, and the names that the numbers stand for.

    Parameters
    ----------
    batch
        The labels, those of a task together: ``tasks`` (names), ``sizes`` (labels of each task),
        ``workers`` and ``labels`` (codes, one per label).
    workers, classes
        The names in order of their codes.

    Examples
    --------
    >>> code_labels([("t1", "ann", "spam")]).classes.to_list()
    ['spam']
    """

    batch: LabelBatch
    workers: Vocabulary
    classes: Vocabulary


def code_labels(data: Table) -> LabelCodes:
    """Turn any table or rows of labels into numbers.

    Of several labels of a worker on a task the last counts, and every label is taken for a class.

    Parameters
    ----------
    data
        Whatever an estimator's ``fit`` takes.

    Examples
    --------
    >>> coded = code_labels([("t1", "ann", "spam"), ("t2", "ann", "ham"), ("t1", "bob", "spam")])
    >>> coded.batch.sizes.tolist(), coded.batch.workers.tolist(), coded.batch.labels.tolist()
    ([2, 1], [0, 1, 0], [0, 0, 1])
    """
    workers, classes = Vocabulary(), Vocabulary()
    rows = replace(code_rows(data, as_classes=True), origin=None)
    batch, _ = code_table(rows, workers, classes)
    return LabelCodes(batch, workers, classes)


def decide_by_scores(
    batch: LabelBatch,
    classes: Vocabulary,
    scores: NDArray[np.float64],
    *,
    seed: int = 0,
    settle: float | None = SETTLE,
) -> pl.DataFrame:
    """Decide tasks by a score for each class, with ties broken as our estimators break them.

    Parameters
    ----------
    batch
        The labels; their tasks are decided in this order.
    classes
        The names of the classes.
    scores
        One row per task, one column per class: log-odds up to a constant.
    seed
        Random seed of the coin for ties, which also depends on the task's name.
    settle
        Confidence from which a decision counts as settled; None settles nothing.

    Returns
    -------
    polars.DataFrame
        The columns that `crowdstream.Estimator.fit_predict` gives.

    Examples
    --------
    >>> batch, _, classes = code_labels([("t1", "ann", "spam"), ("t2", "ann", "ham")])
    >>> scores = np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> decide_by_scores(batch, classes, scores)["label"].to_list()
    ['spam', 'ham']
    """
    rule = SettleRule.checked(settle, MIN_LABELS)
    votes = Votes.room(len(batch))
    ties = TieRule(class_keys(classes, "coin"), True, seed)
    choose(batch, np.ascontiguousarray(scores), votes, len(classes), ties, 0.0)
    return decision_table(batch, votes, classes, rule)
