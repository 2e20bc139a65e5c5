"""What looks odd about labels before anything is decided: twins, skips, lists, free text, scales.

Changes nothing and says nothing: what is found goes out as `Oddities`. Knows no estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.scale import looks_like_scale
from crowdstream.labels.spelling import find_twins, looks_like_skip, several_choices

if TYPE_CHECKING:
    import polars as pl

MOST_TASKS = 50_000
"""Task names that are looked at: some hundredths of a second at most, however long the file."""

RARE = 0.1
"""Share of the labels up to which "none" or "?" looks like no answer: as a class of its own it
would come up about as often as the others do."""

MANY = 20
"""Different labels from which they may be free text: few questions have so many answers."""

DISTINCT = 0.5
"""Share of different labels above which they look like free text: of three labels on a task two or
more would be the same if they chose from a list."""


@dataclass(frozen=True)
class Oddities:
    """What was found; empty where nothing is odd.

    ``labels``, ``workers``, ``tasks``: groups of names that differ in spelling only. ``skips``:
    labels that look like no answer, and how many there are. ``choices``: labels that hold several.
    ``columns``: columns of a wide table that look like text, and how many values they have.
    ``distinct`` of ``rows`` labels are different, if that looks like free text (0 if not).
    ``steps``: the ends of the scale that the labels look like, such as "1 to 5" ("" for none).
    """

    labels: list[list[str]] = field(default_factory=list)
    workers: list[list[str]] = field(default_factory=list)
    tasks: list[list[str]] = field(default_factory=list)
    skips: dict[str, int] = field(default_factory=dict)
    choices: list[str] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    distinct: int = 0
    rows: int = 0
    steps: str = ""
    example: str = ""


class Inspector:
    """Looks at labels, all at once or a batch at a time.

    ``wide``: whether each worker was a column.

    >>> from crowdstream.labels import code_rows
    >>> inspector = Inspector()
    >>> inspector.look(code_rows([("t1", "ann", "yes"), ("t1", "Ann", "Yes ")]))
    >>> found = inspector.found()
    >>> found.labels, found.workers, found.tasks
    ([['yes', 'Yes ']], [['ann', 'Ann']], [])
    """

    def __init__(self, *, wide: bool = False) -> None:
        self.wide = wide
        self._rows = 0
        self._known: tuple[list[str], list[str]] = [], []
        self._labels: dict[str, None] = {}
        self._workers: dict[str, None] = {}
        self._skips: dict[str, int] = {}
        self._columns: dict[str, int] = {}
        self._tasks: list[pl.Series] = []

    def know(self, workers: Iterable[str], labels: Iterable[str]) -> None:
        """Names of earlier runs, of which those to come may be twins."""
        self._known = list(workers), list(labels)

    def look(self, table: CodedLabels) -> None:
        """Take in some labels."""
        self._rows += table.height
        self._workers |= dict.fromkeys(name for name in table.workers if isinstance(name, str))
        names = [str(name) for name in table.classes]
        self._labels |= dict.fromkeys(names)
        for code, name in enumerate(names):
            if looks_like_skip(name):
                count = int((table.batch.labels == code).sum())
                self._skips[name] = self._skips.get(name, 0) + count
        if self.wide and len(names) >= MANY:
            self._look_at_columns(table)
        self._look_at_tasks(table)

    def _look_at_tasks(self, table: CodedLabels) -> None:
        import polars as pl

        left = MOST_TASKS - sum(map(len, self._tasks))
        tasks = table.batch.tasks
        if left > 0 and isinstance(tasks, pl.Series) and tasks.dtype == pl.String:
            self._tasks.append(tasks[:left])

    def _look_at_columns(self, table: CodedLabels) -> None:
        workers, labels = table.batch.workers, table.batch.labels
        given = labels >= 0
        pairs = np.unique(workers[given].astype(np.int64) * len(table.classes) + labels[given])
        distinct = np.bincount(pairs // len(table.classes), minlength=len(table.workers))
        cells = np.bincount(workers[given], minlength=len(table.workers))
        for code in np.flatnonzero((distinct >= MANY) & (distinct > DISTINCT * cells)).tolist():
            name = str(table.workers[code])
            self._columns[name] = max(int(distinct[code]), self._columns.get(name, 0))

    def found(self) -> Oddities:
        """What is odd about all that came in."""
        import polars as pl

        known_workers, known_labels = self._known
        counts = dict.fromkeys(self._labels, 0) | self._skips
        found = label_oddities(counts, self._rows, look_for_text=not self._columns)
        return replace(
            found,
            labels=_met(find_twins([*known_labels, *self._labels]), self._labels),
            workers=_met(find_twins([*known_workers, *self._workers]), self._workers),
            tasks=find_twins(pl.concat(self._tasks)) if self._tasks else [],
            columns=dict(self._columns),
        )


def _met(twins: list[list[str]], names: Mapping[str, None]) -> list[list[str]]:
    """Those groups of which a name has come up now: the others were told of earlier."""
    return [group for group in twins if any(name in names for name in group)]


def label_oddities(labels: Mapping[str, int], rows: int, *, look_for_text: bool = True) -> Oddities:
    """What is odd about labels, but for twins.

    ``labels``: how often those occur that look like no answer; 0 will do for others. ``rows``: how
    many labels there are.
    """
    distinct = len(labels)
    is_text = look_for_text and distinct >= MANY and distinct > DISTINCT * rows
    rare = {name: n for name, n in labels.items() if 0 < n <= RARE * rows}
    return Oddities(
        skips={name: n for name, n in rare.items() if looks_like_skip(name)},
        choices=several_choices(labels) if look_for_text and not is_text else [],
        distinct=distinct if is_text else 0,
        rows=rows,
        steps=looks_like_scale(labels),
        example=next(iter(labels), ""),
    )
