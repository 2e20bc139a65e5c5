"""Where rows of CSV go as they are read: bytes → codes, no string made on the way.

What both ways of reading CSV share: which fields hold what, and arrays for the compiled loop. Knows
nothing of files, nor of what to do with an odd row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.arrow_loops import TextViews
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.text_codes import TextCodes, text_room
from crowdstream.labels.text_loops import FULL, RowReader
from crowdstream.labels.vocabulary import Vocabulary

Bytes = NDArray[np.uint8]

PADDING = 64
"""Bytes past the end of a text that may be read."""
WORKER, LABEL = range(2)
"""Kinds of text in a table of texts."""


class Layout(NamedTuple):
    """The fields of a row, and which of them hold task, worker and label.

    Where a row is more than a label (`Roles.plain`), ``columns`` are the fields to be kept, by
    their names, and ``places`` those that must have a value.
    """

    separator: str
    header: list[str]
    places: tuple[int, ...]
    columns: tuple[str, ...] = ()

    @property
    def shortest(self) -> int:
        """Bytes of the shortest row: a letter each for task and worker, separators, newline."""
        return len(self.header) + 2

    @staticmethod
    def find(header: list[str], separator: str, shaper: Shaper) -> Layout:
        """The fields by the names of their columns."""
        roles = shaper.look_at(header)
        if roles.plain:
            names = (roles.task, str(roles.worker), roles.labels[0])
            return Layout(separator, header, tuple(map(header.index, names)))
        needed = [name for name in (roles.task, roles.worker) if name is not None]
        places = tuple(map(header.index, needed))
        return Layout(separator, header, places, tuple(shaper.needed(header)))


class RowCodes:
    """Rows in codes; ``codes``: arrays for those of workers and labels, if they are there already.

    ``size`` is how many bytes will be read at most. Memory is taken only as it is filled.
    ``spread``: whether the rows of a task are far apart. Then tasks are coded too, and `finish` is
    not to be called.
    """

    def __init__(
        self,
        layout: Layout,
        size: int,
        codes: tuple[Codes, Codes] | None = None,
        *,
        spread: bool = False,
    ) -> None:
        rows = size // layout.shortest + 1
        self.codes = codes or (np.empty(rows, np.int32), np.empty(rows, np.int32))
        self._starts, self._views = np.empty(rows, np.int64), np.empty(2 * rows, np.uint64)
        self._names = np.empty(text_room(size), np.uint8)
        self._table = TextCodes()
        task, worker, label = layout.places
        self.reader = RowReader(
            ord(layout.separator),
            (task, worker, label),
            len(layout.header),
            self.codes,
            (self._starts, self._views, self._names),
            np.empty(size + PADDING, np.uint8),
        )
        self.tasks: Codes = np.empty(rows if spread else 0, np.int32)
        self.task_names = TextCodes()
        self._spread = spread

    def read(self, data: Bytes, begin: int, stop: int, *, quoted: bool = True) -> int:
        """Read rows from ``begin`` to ``stop``, behind a newline: `DONE`, or `ODD` at one.

        ``quoted``: whether there may be quotes.
        """
        self.reader.at = begin
        while True:
            if self._spread:
                self.reader.code_tasks(self.tasks, self.task_names.texts)
            status = self.reader.read(data, stop, self._table.texts, quoted)
            if status != FULL:
                return status
            full = self.task_names if self.reader.full_of_tasks else self._table
            full.grow(self.reader.wanted)

    def one_run(self) -> CodedLabels:
        """What was read, as if all of it were of one task."""
        rows = self.reader.rows
        batch = LabelBatch(
            np.array([0, rows]), self.codes[0][:rows], self.codes[1][:rows], tasks=[""]
        )
        return CodedLabels(batch, *self._vocabularies())

    def _vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        workers, classes = self._table.column(WORKER), self._table.column(LABEL)
        return Vocabulary.of_column(workers), Vocabulary(classes)

    def finish(self) -> CodedLabels:
        """What was read."""
        import polars as pl

        rows, runs = self.reader.rows, self.reader.runs
        names = TextViews(self._views[: 2 * runs], self._names[: self.reader.filled])
        batch = LabelBatch(
            np.append(self._starts[:runs], rows),
            self.codes[0][:rows],
            self.codes[1][:rows],
            tasks=pl.Series(names),
        )
        return CodedLabels(batch, *self._vocabularies())
