"""The labels of files, as readers hand them over and as they are understood.

Knows `RawLabels` and `Interpreter`, so that tests of readers need not.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from crowdstream.labels import CodedLabels, ColumnNames
from crowdstream.labels.coded_labels import code_frame
from crowdstream.labels.meaning.interpreting import Interpreter, RawLabels
from crowdstream.labels.meaning.kinds import LabelHints
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.readers import BadRows, read_all
from crowdstream.labels.readers.sources import Source

ROLES = ["task", "worker", "label"]


def shaper(names: ColumnNames = ColumnNames(), where: str = "labels.csv") -> Shaper:  # noqa: B008
    """Return what readers need to know of columns."""
    return Shaper(names, where)


def coded(labels: CodedLabels | pl.DataFrame) -> CodedLabels:
    """Return labels in codes, as they were written."""
    if isinstance(labels, CodedLabels):
        return labels
    return code_frame(labels.select(ROLES))


def rows_of(raws: Iterable[RawLabels]) -> pl.DataFrame:
    """Return task, worker and label as they were written, with nothing cleaned or left out."""
    tables = [coded(raw.labels).frame() for raw in raws]
    return pl.concat([table for table in tables if table.height] or tables[:1])


def labels_of(
    sources: list[Source],
    names: ColumnNames = ColumnNames(),  # noqa: B008 a tuple
    bad: BadRows | None = None,
    hints: LabelHints = LabelHints(),  # noqa: B008
) -> CodedLabels:
    """Return the labels of the one question of some files, as the command line understands them."""
    raws = read_all(sources, names, bad or BadRows())
    meaning = Interpreter(names, hints, where=sources[0].name).whole(raws)
    return meaning.only(sources[0].name, "--question NAME").table
