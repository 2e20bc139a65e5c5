"""`normalise_labels`: a table whose names are spelt in several ways → one spelling each.

What files get without asking, for tables that are in Python already. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

from crowdstream.labels.coding import Table, interpret
from crowdstream.labels.meaning.answers import NO_ANSWER
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.one_spelling import spell_alike
from crowdstream.labels.spelling import normal_series, normalise
from crowdstream.labels.tables import in_kind, kind_of

if TYPE_CHECKING:
    import polars as pl


def normalise_labels(
    data: Table, *, skip: Iterable[str] = (), **meaning: Unpack[TableMeaning]
) -> Any:
    """Spell tasks, workers and classes in one way each, and make null what is no answer.

    Names that differ only by upper and lower case, blanks, Unicode form, or as 3 and 3.0 do, become
    one: the commonest spelling. A worker who then has several labels of one task keeps the last, as
    everywhere.

    Parameters
    ----------
    data
        A table of any kind, or rows of (task, worker, label).
    skip
        Labels that mean that there is no answer, in any spelling, beside NA, N/A, null, none, nan
        and -.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Returns
    -------
    A table of task, worker and label, of the kind that came in; polars if rows came in.

    Examples
    --------
    >>> rows = [("t1", "ann", "yes"), ("T1 ", "Bob", "YES"), ("t1", "cy", "yes"), ("t1", "di", "-")]
    >>> normalise_labels(rows).rows()
    [('t1', 'ann', 'yes'), ('t1', 'Bob', 'yes'), ('t1', 'cy', 'yes'), ('t1', 'di', None)]
    """
    import polars as pl

    meaning.setdefault("as_classes", True)
    question = interpret(data, **meaning).only("data", "question= names one")
    table = question.table.frame()
    none = NO_ANSWER | {normalise(label) for label in skip}
    if table["label"].dtype == pl.String:
        gone = normal_series(table["label"]).is_in(list(none)).fill_null(False)
        table = table.with_columns(pl.when(~gone).then(pl.col("label")).alias("label"))
    spelt = [_spelt(column) if column.dtype == pl.String else column for column in table]
    return in_kind(pl.DataFrame(spelt), kind_of(data))


def _spelt(names: pl.Series) -> pl.Series:
    """A column in one spelling per name."""
    import polars as pl

    ones = pl.Series([1]).new_from_index(0, len(names))
    return spell_alike(names, ones).alias(names.name)
