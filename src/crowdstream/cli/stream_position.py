"""Position of a stream: `Bookmark`, kept in its state. Knows nothing of labels or decisions.

Of the input it says how much was read, of the output how much was written when the state was
saved; fingerprints tell the same files from others. A run that goes on begins there.
"""

from __future__ import annotations

import hashlib
import os

import msgspec

from crowdstream.errors import StateError

WINDOW = 1 << 16
"""Bytes at the beginning and before the end of what a fingerprint is of: files of any length are
recognised in a millisecond, and a file that was replaced, cut or edited near either end is not."""

BINARY: int = getattr(os, "O_BINARY", 0)
"""Flag for files opened by their descriptor: without it Windows rewrites line ends."""

PIPE = ""
"""The name of an input or output that is no regular file, and so cannot be gone back in."""


class Bookmark(msgspec.Struct, kw_only=True):
    """Position in the input and in the output.

    ``source``: the input file, or nothing for a pipe; ``rows`` (lines) and ``offset`` (bytes) read
    of it, their ``crc`` and, of a file, their ``mark``; ``ended``: whether the last line had its
    line end. ``format`` and ``header`` were found in lines that are not read again. ``output`` is
    the file of decisions, ``length`` and ``output_mark`` what was in it. ``pending``: decisions
    that were made and not delivered. ``question``: the one that the labels are of, if named.
    """

    source: str | None = None
    rows: int = 0
    offset: int = 0
    crc: int = 0
    mark: bytes = b""
    ended: bool = True
    format: str | None = None
    header: list[str] | None = None
    output: str | None = None
    length: int = 0
    output_mark: bytes = b""
    pending: list[bytes] = []
    question: str | None = None

    def to_bytes(self) -> bytes:
        """As `crowdstream.Stream.bookmark` keeps it."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def of(cls, data: bytes) -> Bookmark:
        """Decode what `to_bytes` gave; empty bytes are the beginning.

        >>> Bookmark.of(Bookmark(rows=3).to_bytes()).rows
        3
        """
        if not data:
            return cls()
        try:
            return msgspec.msgpack.decode(data, type=cls)
        except msgspec.MsgspecError as error:
            raise StateError(f"its bookmark was not made by crowdstream stream: {error}") from None


def mark_of(descriptor: int, length: int) -> bytes:
    """Hash the beginning and the end of an open file's first ``length`` bytes, and the length."""
    found = hashlib.blake2b(length.to_bytes(8, "little"), digest_size=16)
    first = min(length, WINDOW)
    found.update(_read(descriptor, first, 0))
    last = min(length - first, WINDOW)
    found.update(_read(descriptor, last, length - last))
    return found.digest()


def _read_at(descriptor: int, size: int, at: int) -> bytes:
    """Read at a place of a file; where it is read or written next stays."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, at)
    before = os.lseek(descriptor, 0, os.SEEK_CUR)  # on Windows
    try:
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.read(descriptor, size)
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


def _read(descriptor: int, size: int, at: int) -> bytes:
    """So many bytes at a place of a file, or those that there are."""
    parts = []
    while size > 0:
        part = _read_at(descriptor, size, at)
        if not part:
            break
        parts.append(part)
        size, at = size - len(part), at + len(part)
    return b"".join(parts)
