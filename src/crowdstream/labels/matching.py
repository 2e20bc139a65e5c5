"""True labels ↔ the tasks and classes of labels: by name, else by spelling. Counts what matched.

Knows nothing of files or estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.label import ClassLabel, TaskId, shorten
from crowdstream.labels.spelling import may_differ, normal_series, normalise

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = 3
"""Tasks that are named where some do not match."""


class NameIndex:
    """Names found by their text or, where only one name has it, by their normal form.

    >>> index = NameIndex(["yes", "no", 3])
    >>> index.find("YES "), index.find("3.0"), index.find("nope")
    ('yes', 3, None)
    """

    def __init__(self, names: Iterable[ClassLabel] = ()) -> None:
        self._exact: dict[str, ClassLabel] = {}
        self._normal: dict[str, ClassLabel | None] = {}
        self._new: list[str] = []  # normal forms take time: made when one is looked for
        self.add(names)

    def add(self, names: Iterable[ClassLabel]) -> None:
        """Know these names too."""
        for name in names:
            text = str(name)
            if text not in self._exact:
                self._exact[text] = name
                self._new.append(text)

    def some(self, most: int) -> list[str]:
        """The first names, so many at most."""
        return list(self._exact)[:most]

    def find(self, text: object) -> ClassLabel | None:
        """The name that is meant; None if there is none, or several that differ in spelling."""
        given = str(text)
        if given in self._exact:
            return self._exact[given]
        for name in self._new:
            form = normalise(name)
            self._normal[form] = None if form in self._normal else self._exact[name]
        self._new.clear()
        return self._normal.get(normalise(given))


class TruthMatcher:
    """True labels of tasks, given out for the tasks that there are, a batch at a time or at once.

    Parameters
    ----------
    truths
        Task → class.

    Examples
    --------
    >>> import polars as pl
    >>> matcher = TruthMatcher({"T1": "YES", "t9": "no"})
    >>> matcher.match(pl.Series(["t1", "t2"]), ["yes", "no"])
    {'t1': 'yes'}
    >>> matcher.matched, matcher.tasks, matcher.unmatched()
    (1, 2, ['t9'])
    """

    def __init__(self, truths: Mapping[TaskId, ClassLabel]) -> None:
        self._given = list(truths.values())
        self._names = list(truths)
        self._matched = np.zeros(len(truths), np.bool_)
        self._frame: pl.DataFrame | None = None
        self._classes = NameIndex()
        self.respelt: dict[str, str] = {}
        """Tasks that were found by their spelling: as they were given → as they are."""

    @property
    def tasks(self) -> int:
        """Number of tasks with truths."""
        return len(self._names)

    @property
    def matched(self) -> int:
        """Number of tasks with truths that have come up."""
        return int(self._matched.sum())

    def unmatched(self, most: int = EXAMPLES) -> list[str]:
        """Tasks that have not come up, so many at most."""
        return [str(self._names[k]) for k in np.flatnonzero(~self._matched)[:most].tolist()]

    def names_matched(self) -> list[str]:
        """Tasks that have come up."""
        return [str(self._names[k]) for k in np.flatnonzero(self._matched).tolist()]

    def new_classes(self) -> list[ClassLabel]:
        """Classes that no label has had so far, in any spelling."""
        return [each for each in dict.fromkeys(self._given) if self._classes.find(each) is None]

    @property
    def odd(self) -> int:
        """Number of tasks that have come up whose true class no label has had."""
        new = set(self.new_classes())
        return sum(self._given[k] in new for k in np.flatnonzero(self._matched).tolist())

    def match(
        self, tasks: pl.Series, classes: Iterable[ClassLabel], *, strict: bool = False
    ) -> dict[TaskId, ClassLabel]:
        """The truths of these tasks, in the names that tasks and classes have.

        ``strict``: without those whose class no label has had.
        """
        import polars as pl

        self._classes.add(classes)
        if self._frame is None:
            names = pl.Series([str(name) for name in self._names], dtype=pl.String)
            self._frame = pl.DataFrame({"name": names, "normal": normal_series(names)})
            self._frame = self._frame.with_row_index("place")
        there = pl.DataFrame({"task": tasks, "name": tasks.cast(pl.String)})
        there = there.drop_nulls().unique("name", keep="first", maintain_order=True)
        found = self._frame.join(there, on="name", maintain_order="right").select("place", "task")
        rest = self._frame.filter(~self._frame["place"].is_in(found["place"].implode()))
        if rest.height and (may_differ(rest["name"]) or may_differ(there["name"])):
            found = pl.concat([found, self._by_spelling(rest, there, found)])
        known = {each: self._classes.find(each) for each in dict.fromkeys(self._given)}
        truths: dict[TaskId, ClassLabel] = {}
        for place, task in found.iter_rows():
            self._matched[place] = True
            label = known[self._given[place]]
            if label is not None or not strict:
                truths[task] = self._given[place] if label is None else label
        return truths

    def _by_spelling(
        self, rest: pl.DataFrame, there: pl.DataFrame, found: pl.DataFrame
    ) -> pl.DataFrame:
        """The tasks that have the same normal form, if only one has it, and no truth yet."""
        free = there.filter(~there["task"].is_in(found["task"].implode()))
        free = free.with_columns(normal=normal_series(free["name"]))
        free = free.filter(~free["normal"].is_duplicated())
        rest = rest.unique("normal", keep="first", maintain_order=True)
        more = rest.join(free, on="normal", maintain_order="left")
        self.respelt |= dict(more.select("name", "name_right").iter_rows())
        return more.select("place", "task")

    def check(self, where: str, example: object = None) -> None:
        """Refuse truths of which none has come up, or none in a class that a label has had.

        ``example``: a task that has come up.
        """
        if self.tasks and not self.matched:
            such = "" if example is None else f", such as {shorten(example)}"
            named = ", ".join(map(shorten, self.unmatched()))
            found = f"none in common of {self.tasks:,}: {named}"
            raise InputError(where, f"tasks that have labels{such}", found)
        if self.tasks and self.odd == self.matched:
            there = self._classes.some(EXAMPLES)
            such = f", such as {', '.join(map(shorten, there))}" if there else ""
            named = ", ".join(map(shorten, self.new_classes()[:EXAMPLES]))
            raise InputError(where, f"classes that workers have given{such}", f"only {named}")


def in_kind_of(
    truths: Mapping[TaskId, ClassLabel], tasks: Iterable[TaskId]
) -> Mapping[TaskId, ClassLabel]:
    """Truths whose tasks are numbers where these tasks are text, or the other way round, as theirs.

    Files give text where tables may give numbers: "7" and 7 are the same task.

    >>> in_kind_of({7: "spam", "t8": "ham"}, ["7", "t8"])
    {7: 'spam', 't8': 'ham', '7': 'spam'}
    """
    first = next((task for task in tasks if task is not None), None)
    if first is None:
        return truths
    others = {task: label for task, label in truths.items() if type(task) is not type(first)}
    if not others:
        return truths
    more: dict[TaskId, ClassLabel] = {}
    for task, label in others.items():
        if isinstance(first, str):
            more[str(task)] = label
        elif str(task).isdecimal() and str(int(task)) == task:
            more[int(task)] = label
    return {**truths, **{task: label for task, label in more.items() if task not in truths}}
