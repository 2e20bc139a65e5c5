"""Ids ↔ codes 0, 1, 2, …: a vocabulary grows at the end only, so a code once given stays valid.

Knows nothing of what the ids stand for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from crowdstream.labels.label import ClassLabel
from crowdstream.labels.row_loops import find_codes

UNKNOWN = -1
"""The code of what is not in a vocabulary."""


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

    __slots__ = ("_codes", "_values")

    def __init__(self, values: Iterable[ClassLabel] = ()) -> None:
        self._values: list[ClassLabel] = []
        self._codes: dict[Hashable, int] = {}
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[ClassLabel]:
        return iter(self._values)

    def __getitem__(self, code: int) -> ClassLabel:
        return self._values[code]

    def __contains__(self, value: ClassLabel) -> bool:
        return _key(value) in self._codes

    def code(self, value: ClassLabel) -> int:
        """The value's code, or `UNKNOWN`."""
        return self._codes.get(_key(value), UNKNOWN)

    def codes(self, values: list[Any], unknown: int = UNKNOWN) -> list[int]:
        """The codes of many values, ``unknown`` for those that are not there.

        >>> Vocabulary(["spam", True]).codes([True, 1, "spam"])
        [1, -1, 0]
        """
        return find_codes(self._codes, values, unknown)

    def add(self, value: ClassLabel) -> int:
        """The value's code; a new value gets the next one."""
        code = self._codes.setdefault(_key(value), len(self._values))
        if code == len(self._values):
            self._values.append(value)
        return code

    def truncate(self, size: int) -> None:
        """Forget what was added after the first ``size`` values."""
        for value in self._values[size:]:
            del self._codes[_key(value)]
        del self._values[size:]

    def copy(self) -> Vocabulary:
        """A copy that grows on its own."""
        copy = Vocabulary()
        copy._values = self._values.copy()
        copy._codes = self._codes.copy()
        return copy

    def to_list(self) -> list[ClassLabel]:
        """The values in order of their codes; ``Vocabulary(values)`` is the same again."""
        return self._values.copy()
