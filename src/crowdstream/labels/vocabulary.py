"""Ids ↔ codes 0, 1, 2, …: a vocabulary grows at the end only, so a code once given stays valid.

Names that come as a column stay one: no Python object is made of them until somebody asks for the
code of one of them, or adds one. Knows nothing of what the ids stand for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdstream.labels.batch import Codes, Ints
from crowdstream.labels.label import ClassLabel
from crowdstream.labels.row_loops import find_codes

if TYPE_CHECKING:
    import polars as pl

UNKNOWN = -1
"""The code of what is not in a vocabulary."""

FEW = 16
"""Fewer than one part in this of what a column holds are looked for in it before they are coded: a
quarter of the time that coding all of it takes."""


def _key(value: ClassLabel) -> Hashable:
    # Python calls True and 1 equal; as labels they are two.
    return (value,) if type(value) is bool else value


class Vocabulary:
    """Values in order of first appearance, each with its place as code.

    >>> classes = Vocabulary(["spam", "ham"])
    >>> classes.add("eggs"), classes.code("ham"), classes.code("toast")
    (2, 1, -1)
    >>> list(classes)
    ['spam', 'ham', 'eggs']
    """

    # A column, or a list, or both; the table of codes is made when it is first needed.
    __slots__ = ("_codes", "_column", "_values")

    def __init__(self, values: Iterable[ClassLabel] = ()) -> None:
        self._column: pl.Series | None = None
        self._values: list[ClassLabel] | None = []
        self._codes: dict[Hashable, int] | None = {}
        for value in values:
            self.add(value)

    @classmethod
    def of_column(cls, values: pl.Series) -> Vocabulary:
        """The values of a column of strings, integers or booleans: all different, none null.

        >>> import polars as pl
        >>> Vocabulary.of_column(pl.Series(["ann", "bob"])).code("bob")
        1
        """
        self = cls()
        if len(values):
            self._column = _common_type(values)
            self._values = self._codes = None
        return self

    def __len__(self) -> int:
        return len(self._values if self._column is None else self._column)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[ClassLabel]:
        return iter(self._listed())

    def __getitem__(self, code: int) -> ClassLabel:
        if self._values is None:
            found: ClassLabel = self._column[int(code)]  # type: ignore[index]
            return found
        return self._values[code]

    def __contains__(self, value: ClassLabel) -> bool:
        return _key(value) in self._coded()

    def _listed(self) -> list[ClassLabel]:
        if self._values is None:
            assert self._column is not None
            self._values = self._column.to_list()
        return self._values

    def _coded(self) -> dict[Hashable, int]:
        if self._codes is None:
            self._codes = {_key(value): code for code, value in enumerate(self._listed())}
        return self._codes

    def code(self, value: ClassLabel) -> int:
        """The value's code, or `UNKNOWN`."""
        return self._coded().get(_key(value), UNKNOWN)

    def codes(self, values: list[Any], unknown: int = UNKNOWN) -> list[int]:
        """The codes of many values, ``unknown`` for those that are not there.

        >>> Vocabulary(["spam", True]).codes([True, 1, "spam"])
        [1, -1, 0]
        """
        return find_codes(self._coded(), values, unknown)

    def add(self, value: ClassLabel) -> int:
        """The value's code; a new value gets the next one."""
        known, values = self._coded(), self._listed()
        code = known.setdefault(_key(value), len(values))
        if code == len(values):
            values.append(value)
            self._column = None
        return code

    def add_all(self, names: Vocabulary, order: Ints | None = None) -> Codes:
        """The codes here of another's values, new ones in the order given, or in its own.

        >>> mine = Vocabulary(["ann"])
        >>> mine.add_all(Vocabulary(["bob", "ann"])).tolist(), list(mine)
        ([1, 0], ['ann', 'bob'])
        """
        if order is not None and np.array_equal(order, np.arange(len(names))):
            order = None
        size = len(names) if order is None else order.size
        column = names._column
        if not len(self):
            self._take_over(names, order)
            return np.arange(size, dtype=np.int32)
        known = self._column
        same = known is not None and column is not None and known.dtype == column.dtype
        if self._codes is None and known is not None and column is not None and same:
            return self._extend(known, column if order is None else column.gather(order))
        values = names._listed()
        if order is not None:
            values = [values[code] for code in order.tolist()]
        return np.fromiter(map(self.add, values), np.int32, size)

    def _take_over(self, names: Vocabulary, order: Ints | None) -> None:
        """Become another's values; nothing was here before."""
        if order is None:
            copy = names.copy()
            self._column, self._values, self._codes = copy._column, copy._values, copy._codes
        elif names._column is not None and order.size:
            self._column, self._values, self._codes = names._column.gather(order), None, None
        else:
            values = names._listed()
            self._values = [values[code] for code in order.tolist()]
            self._codes = None

    def _extend(self, known: pl.Series, more: pl.Series) -> Codes:
        """Add the values of a column to those of another."""
        import polars as pl

        from crowdstream.labels.text_codes import code_series

        if FEW * len(more) >= len(known):
            codes, values = code_series(pl.concat([known, more]))
            if len(values) > len(known):
                self._column, self._values = values, None
            return codes[len(known) :]
        places = known.is_in(more.implode()).arg_true()
        codes, values = code_series(pl.concat([known.gather(places), more]))
        found = len(places)
        if len(values) > found:
            self._column, self._values = pl.concat([known, values[found:]]), None
        new = np.arange(len(known), len(known) + len(values) - found)
        code_of = np.append(places.to_numpy(), new).astype(np.int32)
        return code_of[codes[found:]]

    def truncate(self, size: int) -> None:
        """Forget what was added after the first ``size`` values."""
        if not size:
            self.__init__()  # type: ignore[misc]
            return
        if self._codes is not None:
            for value in self._listed()[size:]:
                del self._codes[_key(value)]
        if self._values is not None:
            del self._values[size:]
        if self._column is not None:
            self._column = self._column.head(size)

    def copy(self) -> Vocabulary:
        """A copy that grows on its own."""
        copy = Vocabulary()
        copy._column = self._column
        copy._values = None if self._values is None else self._values.copy()
        copy._codes = None if self._codes is None else self._codes.copy()
        return copy

    def to_list(self) -> list[ClassLabel]:
        """The values in order of their codes; ``Vocabulary(values)`` is the same again."""
        return self._listed().copy()

    @property
    def held(self) -> pl.Series | None:
        """The values as the column that they are kept in; None if they are Python's objects."""
        return self._column

    def column(self, name: str) -> pl.Series:
        """The values in order of their codes as a column; those that no one type holds as text.

        >>> Vocabulary([1, 2]).column("worker").dtype, Vocabulary([1, "b"]).column("").to_list()
        (Int64, ['1', 'b'])
        """
        from crowdstream.labels.tables import value_series

        return value_series(name, self._listed() if self._column is None else self._column)


def _common_type(values: pl.Series) -> pl.Series:
    """A column of the type that its values would have as a list: integers of 64 bits."""
    import polars as pl

    if not values.dtype.is_integer():
        return values
    large = values.dtype == pl.UInt64 and int(values.max()) >= 2**63  # type: ignore[arg-type]
    return values.cast(pl.UInt64 if large else pl.Int64)
