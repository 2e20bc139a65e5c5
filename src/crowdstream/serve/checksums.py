"""Checksums of stored records, and chains of them. Knows no database.

BLAKE2b finds any change of a record but for one in 2**64. In a chain each record's checksum covers
the checksum of the one before it, so that a record that is missing or moved is found as well.
"""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import msgspec

SIZE = 16
"""Bytes of a checksum."""

_encode = msgspec.msgpack.Encoder().encode


def checksum(*values: object) -> bytes:
    """Return the checksum of some values: numbers, text, bytes, None.

    >>> checksum(1, "a", b"b").hex()
    'c48faf06787f330f03611feab23ae88c'
    >>> checksum(1, "ab", b"") == checksum(1, "a", b"b")
    False
    """
    return hashlib.blake2b(_encode(values), digest_size=SIZE).digest()


def stored(value: object) -> object:
    """Return a number as SQLite gives it back from a column of reals: NaN is stored as NULL."""
    if isinstance(value, (int, float)):
        return None if math.isnan(value) else float(value)
    return value


class Chain(NamedTuple):
    """Chain of records: their number, the checksum before the first and that of the last.

    >>> chain = Chain().add("first").add("second")
    >>> chain.records, chain.last == checksum(checksum(b"", "first"), "second")
    (2, True)
    """

    records: int = 0
    base: bytes = b""
    last: bytes = b""

    def add(self, *values: object) -> Chain:
        """Return the chain with a record more; ``last`` is the record's checksum."""
        return Chain(self.records + 1, self.base, checksum(self.last, *values))

    def drop(self, records: int, last: bytes) -> Chain:
        """Return the chain without its first records, the last of which has this checksum."""
        return Chain(self.records - records, last, self.last)


class Head(msgspec.Struct, array_like=True):
    """The ends of a project's chains: its log and its closed tasks."""

    log: Chain = Chain()
    closed: Chain = Chain()


class Counts(msgspec.Struct, array_like=True):
    """Counts of a folder: commits, and the numbers given last."""

    commits: int = 0
    seq: int = 0
    closed: int = 0
    projects: int = 0
