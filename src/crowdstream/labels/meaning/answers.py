"""Cells → answers: no answer, one spelling per class, no blanks around names.

Names are looked at once each, rows only as codes. Knows nothing of columns, files or estimators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.coded_labels import CodedLabels, merge_runs
from crowdstream.labels.grouping_loops import count_codes, recode
from crowdstream.labels.label import ClassLabel
from crowdstream.labels.one_spelling import Spellings
from crowdstream.labels.spelling import find_twins, normalise
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

NO_ANSWER = frozenset({"", "na", "n/a", "null", "none", "nan", "-"})
"""Words for no answer in files, in normal form. "?", "skip" and "unsure" are not guessed:
they may be answers."""

BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Characters that `str.strip` takes away."""

MOST_TASKS = 50_000
"""Task names among which twins are looked for: some hundredths of a second at most."""


def is_no_answer(text: str) -> bool:
    """Tell whether a label means that there is none.

    >>> is_no_answer("N/A"), is_no_answer(" "), is_no_answer("unsure")
    (True, True, False)
    """
    return normalise(text) in NO_ANSWER


class AnswerCleaner:
    """Cleans labels, all at once or a batch at a time, and remembers what it did.

    Parameters
    ----------
    exact
        Whether labels that differ in spelling are different.
    keep
        Labels that are answers though they look like none, in any spelling.

    Examples
    --------
    >>> from crowdstream.labels.coded_labels import code_values
    >>> rows = [("t1", "ann", "yes"), ("t1", "bob", "YES "), ("t2", "ann", "N/A")]
    >>> cleaner = AnswerCleaner()
    >>> cleaner.clean(code_values(rows)).frame()["label"].to_list()
    ['yes', 'yes', None]
    >>> cleaner.joined(), dict(cleaner.no_answer)
    ([['yes', 'YES ']], {'N/A': 1})
    """

    def __init__(self, *, exact: bool = False, keep: Iterable[str] = ()) -> None:
        self.exact = exact
        self.keep = {normalise(label): label for label in keep}
        self.kept: set[str] = set()
        self.labels = Spellings()
        self.no_answer: Counter[str] = Counter()
        self.trimmed = 0
        self._worker_names = Vocabulary()
        self._task_names: list[pl.Series] = []

    def know(self, classes: Iterable[object]) -> None:
        """Go on with the spellings of earlier runs."""
        self.labels.know(classes)
        self.labels.given.clear()

    def restart(self) -> None:
        """Count again from nothing: the same labels are about to come once more."""
        self.no_answer.clear()
        self.trimmed = 0
        self._task_names.clear()

    def clean(self, table: CodedLabels) -> CodedLabels:
        """Return the labels cleaned; the given table is not changed."""
        table = self._trim_names(table)
        counts = np.zeros(len(table.classes), np.int64)
        count_codes(table.batch.labels, counts)
        shown = self.answers(table.classes.to_list(), counts)
        if shown != table.classes.to_list():
            table = recoded(table, shown)
        self._remember(table)
        return table

    def answers(self, labels: Sequence[ClassLabel], counts: Ints) -> list[ClassLabel | None]:
        """Different labels as they are to be counted; None for no answer.

        Parameters
        ----------
        labels
            The labels, each once.
        counts
            How often each occurs: of several spellings the commonest is shown.

        Examples
        --------
        >>> AnswerCleaner().answers(["yes", "YES ", "-"], np.array([3, 1, 1]))
        ['yes', 'yes', None]
        """
        shown = [self._answer(label) for label in labels]
        for code, label in enumerate(shown):
            if label is None:
                self.no_answer[str(labels[code])] += int(counts[code])
        return shown if self.exact else self._one_spelling(shown, counts)

    def one(self, label: str | None) -> str | None:
        """One label as it is to be counted, None for no answer."""
        if label is None:
            return None
        if self._answer(label) is None:
            self.no_answer[label] += 1
            return None
        return label if self.exact else self.labels.one(label)

    def _answer(self, label: ClassLabel) -> ClassLabel | None:
        if not isinstance(label, str):
            return label
        form = normalise(label)
        if form in self.keep:
            self.kept.add(form)
            return label
        return None if form in NO_ANSWER else label

    def _one_spelling(
        self, shown: list[ClassLabel | None], counts: Ints
    ) -> list[ClassLabel | None]:
        """Replace labels that differ in spelling only by the commonest."""
        import polars as pl

        places = [code for code, label in enumerate(shown) if isinstance(label, str)]
        if not places:
            return shown
        texts = pl.Series([shown[code] for code in places], dtype=pl.String)
        found = self.labels.many(texts, pl.Series(counts[places]))
        for code, label in zip(places, found, strict=True):
            shown[code] = label
        return shown

    def _trim_names(self, table: CodedLabels) -> CodedLabels:
        """Tasks and workers without blanks around them."""
        import polars as pl

        batch = table.batch
        codes, vocabulary = batch.workers, table.workers
        trimmed_names = _trimmed(table.workers)
        if trimmed_names is not None:
            self.trimmed += 1
            codes, vocabulary = recode_names(codes, trimmed_names)
        starts, tasks = batch.starts, batch.tasks
        if isinstance(tasks, pl.Series) and tasks.dtype == pl.String:
            padded = tasks.str.starts_with(" ") | tasks.str.ends_with(" ")
            if padded.any():
                self.trimmed += 1
                trimmed = tasks.str.strip_chars(" ")
                trimmed = trimmed.zip_with((trimmed != "").fill_null(True), tasks)
                starts, tasks = merge_runs(starts, trimmed)
        if codes is batch.workers and tasks is batch.tasks:
            return table
        return CodedLabels(
            LabelBatch(starts, codes, batch.labels, tasks=tasks),
            vocabulary,
            table.classes,
            table.origin,
            table.left_out,
        )

    def _remember(self, table: CodedLabels) -> None:
        import polars as pl

        held = table.workers.held
        if held is None:
            self._worker_names.add_all(Vocabulary(w for w in table.workers if isinstance(w, str)))
        elif held.dtype == pl.String:
            self._worker_names.add_all(table.workers)
        tasks = table.batch.tasks
        left = MOST_TASKS - sum(map(len, self._task_names))
        if left > 0 and isinstance(tasks, pl.Series) and tasks.dtype == pl.String:
            self._task_names.append(tasks[:left])

    # What was done ------------------------------------------------------------------------------

    def joined(self) -> list[list[str]]:
        """Spellings that were taken for one class, group by group, the one shown first."""
        groups: dict[str, list[str]] = {}
        for text in self.labels.given:
            groups.setdefault(normalise(text), []).append(text)
        found = []
        for form, spellings in groups.items():
            shown = self.labels.shown_as(form)
            others = [text for text in spellings if text != shown]
            if len(spellings) > 1:
                found.append([shown, *others])
        return found

    def twins(self) -> dict[str, list[list[str]]]:
        """Workers and tasks that differ in spelling only; they are kept apart."""
        import polars as pl

        tasks = pl.concat(self._task_names) if self._task_names else pl.Series([], dtype=pl.String)
        found = {"worker": find_twins(self._worker_names.column("")), "task": find_twins(tasks)}
        return {noun: groups for noun, groups in found.items() if groups}

    def unmet(self) -> list[str]:
        """Labels that were to be kept and did not occur."""
        return [label for form, label in self.keep.items() if form not in self.kept]


def _trimmed(names: Vocabulary) -> list[ClassLabel] | None:
    """Names without blanks around them; None if there are none around, or nothing else in one."""
    import polars as pl

    held = names.held
    if held is not None:
        if held.dtype != pl.String:
            return None
        trimmed = held.str.strip_chars(BLANKS)
        if not (trimmed != held).any() or (trimmed == "").any():
            return None
        return trimmed.to_list()
    found = [name.strip() if isinstance(name, str) else name for name in names]
    return found if found != names.to_list() and all(found) else None


def recoded(table: CodedLabels, names: Sequence[ClassLabel | None]) -> CodedLabels:
    """Return the labels under new names, of which some may be equal; None is no answer."""
    labels, classes = recode_names(table.batch.labels, names)
    batch = LabelBatch(table.batch.starts, table.batch.workers, labels, tasks=table.batch.tasks)
    return CodedLabels(batch, table.workers, classes, table.origin, table.left_out)


def recode_names(codes: Codes, names: Sequence[ClassLabel | None]) -> tuple[Codes, Vocabulary]:
    """Codes by new names, of which some may be the same; None is no name."""
    target = Vocabulary()
    new = np.array([UNKNOWN if n is None else target.add(n) for n in names], np.int32)
    found = codes.copy()
    recode(found, new)
    return found, target
