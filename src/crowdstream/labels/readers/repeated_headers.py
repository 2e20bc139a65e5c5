"""Rows that repeat the header, as in files that were put together by ``cat``: left out, and said.

Knows rows in codes; nothing of files.
"""

from __future__ import annotations

import numpy as np

from crowdstream.labels.batch import Ints
from crowdstream.labels.coded_labels import CodedLabels, code_frame
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_rows import Layout
from crowdstream.labels.vocabulary import UNKNOWN


class RepeatedHeaders:
    """Leaves out the rows of a file that repeat its header, piece by piece."""

    def __init__(self, layout: Layout, bad: BadRows, name: str) -> None:
        self.layout = layout
        self._bad = bad
        self._name = name
        self._before = 0
        self._repeated: list[int] = []

    def drop(self, coded: CodedLabels, *, last: bool) -> CodedLabels:
        """A piece without such rows; after the last piece they are said."""
        rows = self._rows(coded)
        self._repeated += (rows + self._before + 1).tolist()
        self._before += coded.height
        if last:
            self.note()
        if not rows.size:
            return coded
        import polars as pl

        kept = np.ones(coded.height, np.bool_)
        kept[rows] = False
        return code_frame(coded.frame().filter(pl.Series(kept)))  # the names go, too

    def are_in(self, coded: CodedLabels) -> bool:
        """Return whether some row repeats the header."""
        return bool(self._rows(coded).size)

    def note(self) -> None:
        """Say which rows were left out; all have been read."""
        note_repeated(self._repeated, self._bad, self._name)

    def sees(self, row: list[str]) -> bool:
        """Tell whether a row that is read by itself repeats the header."""
        self._before += 1
        if row != self.layout.header:
            return False
        self._repeated.append(self._before)
        return True

    def _rows(self, coded: CodedLabels) -> Ints:
        """Return the rows that repeat the header. Mostly a look at the classes is enough."""
        nothing = np.empty(0, np.int64)
        task, worker, label = (self.layout.header[place] for place in self.layout.places)
        # Classes first: they are few, and no table of the workers' codes is made if that is all.
        said = coded.classes.code(label)
        by = UNKNOWN if said == UNKNOWN else coded.workers.code(worker)
        if by == UNKNOWN:
            return nothing
        batch = coded.batch
        rows = np.flatnonzero((batch.labels == said) & (batch.workers == by))
        runs = np.searchsorted(batch.starts, rows, side="right") - 1
        same = [batch.tasks[int(run)] == task for run in runs]
        return rows[np.array(same, np.bool_)]


def note_repeated(rows: list[int], bad: BadRows, name: str) -> None:
    """Say which rows were left out.

    >>> bad = BadRows()
    >>> note_repeated([5001, 10002], bad, "labels.csv")
    >>> bad.notes
    ['labels.csv: row 5,001 repeats the header and so does 1 more, left out']
    """
    if not rows:
        return
    more = len(rows) - 1
    others = f" and so {'does' if more == 1 else 'do'} {more:,} more" if more else ""
    bad.note(f"{name}: row {rows[0]:,} repeats the header{others}, left out")
