"""`HeadFile`: how many commits a folder has had, beside its database.

SQLite takes the end of its write-ahead log for what a power cut has left of a commit, so damage in
that file hides all commits after it, silently. This file knows how many there were. It is written
after each commit and never flushed by itself: it may be behind the database, never ahead of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from crowdstream.serve.checksums import checksum

FILE = "crowdstream.head"

WIDTH = 8
"""Bytes of the number."""


class HeadFile:
    """The file, open for writing."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(folder / FILE, flags, 0o600)

    def write(self, commits: int) -> None:
        """Note how many commits there are now."""
        number = commits.to_bytes(WIDTH, "little")
        data = number + checksum(number)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_head(folder: Path) -> int | None:
    """Return how many commits there were; 0 if there is no file, None if it is damaged."""
    try:
        data = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return 0
    if not data:  # it was just made
        return 0
    number = data[:WIDTH]
    return int.from_bytes(number, "little") if data[WIDTH:] == checksum(number) else None
