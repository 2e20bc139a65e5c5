"""Labels whose names are spelt in several ways → the same labels, one spelling each.

Names are looked at once each, rows only as codes. Knows nothing of files, estimators or options.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.labels.coded_labels import CodedLabels, merge_runs
from crowdstream.labels.coding import Table, code_rows
from crowdstream.labels.columns import ColumnNames
from crowdstream.labels.label import ClassLabel, TaskId
from crowdstream.labels.one_spelling import Spellings, spell_alike
from crowdstream.labels.spelling import normalise
from crowdstream.labels.tables import in_kind, kind_of
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

REMEMBERED = 1_000_000
"""Task names whose spelling is remembered from one batch to the next: as many as a window remembers
of the tasks that it has closed."""


class Cleaner:
    """Labels in, labels out: one spelling per name, no labels that mean none, no odd workers.

    Parameters
    ----------
    normalise
        Whether names that differ by case, blanks, Unicode form or 3 and 3.0 are the same.
    skip
        Labels that mean that there is no answer, in any spelling.
    left_out
        Workers (columns of a wide table) that are none.
    in_batches
        Whether more labels of the same tasks may come in another call.
    """

    def __init__(
        self,
        *,
        normalise: bool = False,
        skip: Iterable[str] = (),
        left_out: Iterable[str] = (),
        in_batches: bool = False,
    ) -> None:
        self.normalise = normalise
        self.in_batches = in_batches
        self.labels, self.workers, self.tasks = Spellings(), Spellings(), Spellings(REMEMBERED)
        self.skip = _normal_forms(skip)
        self.left_out = list(dict.fromkeys(left_out))
        self.skipped = 0
        self.met: set[str] = set()
        """What of ``skip`` (in normal form) and ``left_out`` there was."""

    def know(
        self,
        workers: Iterable[object],
        labels: Iterable[object],
        tasks: Iterable[object] = (),
    ) -> None:
        """Go on with the spellings of earlier runs."""
        self.workers.know(workers)
        self.labels.know(labels)
        self.tasks.know(tasks)

    def restart(self) -> None:
        """Count again from nothing: the same labels are about to come once more."""
        self.skipped = 0

    def clean(self, table: CodedLabels) -> CodedLabels:
        """The same labels, cleaned; the table that is given is not changed."""
        if self.left_out:
            table = self._without_workers(table)
        if self.skip:
            table = self._without_skips(table)
        return self._respelt(table) if self.normalise else table

    def _without_workers(self, table: CodedLabels) -> CodedLabels:
        codes = [table.workers.code(name) for name in self.left_out]
        self.met |= {name for name, code in zip(self.left_out, codes, strict=True) if code >= 0}
        batch = table.batch
        kept = ~np.isin(batch.workers, [code for code in codes if code >= 0])
        if kept.all():
            return table
        labels = batch.labels[kept]
        said = np.zeros(len(table.classes), np.bool_)
        said[labels[labels >= 0]] = True
        names: list[ClassLabel | None] = list(table.classes)
        labels, classes = _recoded(
            labels, [name if there else None for name, there in zip(names, said, strict=True)]
        )
        before = np.append(0, np.cumsum(kept))
        starts = before[batch.starts]
        left = np.flatnonzero(np.diff(starts))
        tasks = _series(batch.tasks).gather(left)
        starts, tasks = merge_runs(np.append(starts[left], starts[-1]), tasks)
        rest = LabelBatch(starts, batch.workers[kept], labels, tasks=tasks)
        return CodedLabels(rest, table.workers, classes)

    def _without_skips(self, table: CodedLabels) -> CodedLabels:
        forms = [normalise(str(name)) for name in table.classes]
        gone = [code for code, form in enumerate(forms) if form in self.skip]
        if not gone:
            return table
        self.met |= {forms[code] for code in gone}
        self.skipped += int(np.isin(table.batch.labels, gone).sum())
        names: list[ClassLabel | None] = list(table.classes)
        for code in gone:
            names[code] = None
        labels, classes = _recoded(table.batch.labels, names)
        batch = table.batch
        rest = LabelBatch(batch.starts, batch.workers, labels, tasks=batch.tasks)
        return CodedLabels(rest, table.workers, classes)

    def _respelt(self, table: CodedLabels) -> CodedLabels:
        import polars as pl

        batch = table.batch
        workers, worker_names = self._codes(batch.workers, table.workers, self.workers)
        labels, classes = self._codes(batch.labels, table.classes, self.labels, blank=None)
        starts, tasks = batch.starts, batch.tasks
        names = _series(tasks)
        if names.dtype == pl.String:
            sizes = pl.Series(batch.sizes)
            alike = self.tasks.many if self.in_batches else spell_alike
            shown = alike(names, sizes)
            if not shown.equals(names):
                starts, tasks = merge_runs(starts, shown)
        return CodedLabels(LabelBatch(starts, workers, labels, tasks=tasks), worker_names, classes)

    def _codes(
        self, codes: Codes, names: Vocabulary, spellings: Spellings, blank: str | None = ""
    ) -> tuple[Codes, Vocabulary]:
        """Codes of names in one spelling each; a name of blanks alone becomes ``blank``."""
        import polars as pl

        if not any(isinstance(name, str) for name in names):
            return codes, names
        texts = pl.Series([str(name) for name in names], dtype=pl.String)
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        shown: list[ClassLabel | None] = spellings.many(texts, pl.Series(counts)).to_list()
        if blank is None:
            shown = [None if not str(name).strip() else name for name in shown]
        return (codes, names) if shown == names.to_list() else _recoded(codes, shown)


def _normal_forms(texts: Iterable[str]) -> dict[str, str]:
    """The texts by their normal forms."""
    return {normalise(text): text for text in texts}


def _series(tasks: Sequence[TaskId] | pl.Series) -> pl.Series:
    import polars as pl

    if isinstance(tasks, pl.Series):
        return tasks
    if any(isinstance(task, str) for task in tasks):
        tasks = [None if task is None else str(task) for task in tasks]
    return pl.Series("task", tasks, None if len(tasks) else pl.String)


def _recoded(codes: Codes, names: Sequence[ClassLabel | None]) -> tuple[Codes, Vocabulary]:
    """Codes by new names, of which some may be the same; None is no name."""
    from crowdstream.labels.grouping_loops import recode

    target = Vocabulary()
    new = np.array([UNKNOWN if n is None else target.add(n) for n in names], np.int32)
    found = codes.copy()
    recode(found, new)
    return found, target


def normalise_labels(
    data: Table,
    *,
    skip: Iterable[str] = (),
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
) -> Any:
    """Labels whose tasks, workers and classes are spelt in one way each.

    Names that differ only by upper and lower case, blanks, Unicode form, or as 3 and 3.0 do, become
    one: the commonest spelling. A worker who then has several labels of one task keeps the last, as
    everywhere.

    Parameters
    ----------
    data
        A table of any kind, or rows of (task, worker, label).
    skip
        Labels that mean that there is no answer, such as ``"N/A"``, in any spelling.
    task, worker, label
        Names of the columns, where they are not the usual ones.

    Returns
    -------
    A table of task, worker and label, of the kind that came in; polars if rows came in.

    Examples
    --------
    >>> rows = [("t1", "ann", "yes"), ("T1 ", "Bob", "YES"), ("t1", "cy", "yes"), ("t1", "di", "-")]
    >>> normalise_labels(rows, skip=["-"]).rows()
    [('t1', 'ann', 'yes'), ('t1', 'Bob', 'yes'), ('t1', 'cy', 'yes'), ('t1', 'di', None)]
    """
    table = code_rows(data, ColumnNames(task, worker, label))
    return in_kind(Cleaner(normalise=True, skip=skip).clean(table).frame(), kind_of(data))
