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
from crowdstream.labels.label import ClassLabel, TaskId
from crowdstream.labels.spelling import (
    may_differ,
    normal_series,
    normalise,
    tidy,
    tidy_series,
)
from crowdstream.labels.tables import ColumnNames, in_kind, kind_of
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

REMEMBERED = 1_000_000
"""Task names whose spelling is remembered from one batch to the next: as many as a window remembers
of the tasks that it has closed."""


class Spellings:
    """One spelling for all that is the same in normal form: the commonest of those that came first.

    ``most``: how many are remembered; the oldest are forgotten first. ``given`` and ``shown`` count
    the spellings that came in and those that went out.

    >>> spellings = Spellings()
    >>> [spellings.one(text) for text in ("Yes ", "yes", "no")]
    ['Yes', 'Yes', 'no']
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.given: dict[str, None] = {}
        self._known: dict[str, str] = {}

    @property
    def shown(self) -> int:
        """How many different things there are."""
        return len(self._known)

    def know(self, names: Iterable[object]) -> None:
        """Go on with these spellings, those of an earlier run."""
        for name in names:
            self.one(str(name))

    def one(self, text: str) -> str:
        """The spelling of one text."""
        if self.most is None:
            self.given.setdefault(text)
        found = self._known.setdefault(normalise(text), tidy(text) or text)
        self._forget()
        return found

    def many(self, names: pl.Series, counts: pl.Series) -> pl.Series:
        """The spellings of many texts, of which each occurs so often; they are remembered."""
        import polars as pl

        table = _forms(names, counts)
        best = _commonest(table)
        if self.most is None:
            self.given |= dict.fromkeys(names.drop_nulls())
        pairs = best.iter_rows()
        chosen = [self._known.setdefault(normal, tidied) for normal, tidied in pairs]
        best = best.with_columns(shown=pl.Series(chosen, dtype=pl.String))
        self._forget()
        return table.join(best, on="normal", how="left", maintain_order="left")["shown"]

    def _forget(self) -> None:
        while self.most is not None and len(self._known) > self.most:
            del self._known[next(iter(self._known))]


def spell_alike(names: pl.Series, counts: pl.Series) -> pl.Series:
    """Texts in one spelling each, where all there are come at once: nothing is remembered."""
    import polars as pl

    if not may_differ(names):
        return names
    table = _forms(names, counts)
    if table["tidied"].n_unique() == table["normal"].n_unique():
        return table["tidied"]
    ways = table.select("normal", "tidied").unique()
    twins = ways.filter(ways["normal"].is_duplicated()).select("normal").unique()
    best = _commonest(table.join(twins, on="normal", how="semi", maintain_order="left"))
    found = table.join(best, on="normal", how="left", maintain_order="left")
    return found.select(pl.coalesce("shown", "tidied")).to_series()


def _forms(names: pl.Series, counts: pl.Series) -> pl.DataFrame:
    """Texts in normal form and tidied, and how often each occurs."""
    import polars as pl

    tidied = tidy_series(names)
    tidied = tidied.zip_with((tidied != "").fill_null(True), names)  # blanks stay what they are
    return pl.DataFrame({"normal": normal_series(names), "tidied": tidied, "count": counts})


def _commonest(forms: pl.DataFrame) -> pl.DataFrame:
    """Of each normal form the commonest spelling, the first of equals."""
    import polars as pl

    return (
        forms.group_by("normal", "tidied", maintain_order=True)
        .agg(pl.col("count").sum())
        .sort("count", descending=True, maintain_order=True)
        .unique("normal", keep="first", maintain_order=True)
        .drop_nulls("normal")
        .select("normal", shown="tidied")
    )


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
