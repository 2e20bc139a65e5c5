"""A file or a pipe → lines, each once, from where the last run stopped. Knows nothing of labels.

A file is gone on with at its byte; a pipe cannot be gone back in, so whoever feeds it is told how
many rows were read, or sends all again (``--replayed``). A line is held in memory up to a bound.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from crowdstream.cli.stream_position import BINARY, PIPE, Bookmark, mark_of
from crowdstream.errors import InputError, UsageError
from crowdstream.labels.readers.sources import standard_input

TICK = 0.2
"""Seconds without input after which signals, idle tasks and alarms are looked at."""

BLOCK = 1 << 16
"""Bytes read at a time: what a pipe holds."""

SHOWN = 200
"""Bytes of a line that is too long which are kept, to show."""

STDIN = "standard input"


class Line(NamedTuple):
    """One line: without its end, and if it was too long, its beginning only.

    ``size``: its bytes with its end; ``crc``: of all input up to there; ``ended``: whether it had
    an end, which the last line of a file may lack.
    """

    raw: bytes
    size: int
    crc: int
    ended: bool
    too_long: bool


class LineSplitter:
    """Blocks of bytes → lines, in time linear in the bytes and memory bounded by ``max_line``.

    >>> splitter = LineSplitter(max_line=10)
    >>> [line.raw for block in (b"a,", b"b\\nc,d", b"\\n") for line in splitter.split(block)]
    [b'a,b', b'c,d']
    """

    def __init__(self, max_line: int, crc: int = 0) -> None:
        self.max_line = max_line
        self.crc = crc
        self._parts: list[bytes] = []
        self._size = 0

    def split(self, block: bytes) -> Iterator[Line]:
        """The lines that end in this block; what is begun is kept."""
        *lines, rest = block.split(b"\n")
        for part in lines:
            self._add(part)
            self.crc = zlib.crc32(b"\n", self.crc)
            yield self._take(ended=True)
        self._add(rest)

    def rest(self) -> Line | None:
        """Return what is left at the end of input, as a line."""
        return self._take(ended=False) if self._size else None

    @property
    def begun(self) -> bool:
        """True if there is a line without its end."""
        return self._size > 0

    def _add(self, part: bytes) -> None:
        self.crc = zlib.crc32(part, self.crc)
        self._size += len(part)
        if self._size <= self.max_line:
            self._parts.append(part)
        elif len(self._parts) != 1 or len(self._parts[0]) > SHOWN:
            self._parts = [b"".join((*self._parts, part[:SHOWN]))[:SHOWN]]

    def _take(self, *, ended: bool) -> Line:
        raw, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        return Line(raw, size + ended, self.crc, ended, size > self.max_line)


class Source:
    """The input of a stream: a regular file, or a pipe.

    Parameters
    ----------
    path
        A file, or ``-`` for standard input.
    max_line
        Bytes that a line has at most.
    follow
        Whether to wait for more at the end of a file.
    """

    def __init__(self, path: str, max_line: int, *, follow: bool = False) -> None:
        self.path = path
        self.name = STDIN if path == "-" else path
        self.max_line = max_line
        self.descriptor = _opened(path)
        self.seekable = path != "-" and stat.S_ISREG(os.fstat(self.descriptor).st_mode)
        self.follow = follow
        if follow and not self.seekable:
            raise UsageError(f"--follow needs a file; {self.name} is followed as it is")
        self.place = os.path.realpath(path) if self.seekable else PIPE
        self.rows = self.offset = self.crc = 0
        self.ended = True
        self.skip = 0
        self._wanted: int | None = None  # the check sum of the rows that are skipped
        self._before = Bookmark()  # what holds until they were

    # Where to begin --------------------------------------------------------------------------

    def go_on(self, found: Bookmark, *, from_start: bool = False) -> bool:
        """Begin where a bookmark says; whether it is of this input."""
        self._before = found
        if found.source is None or from_start:
            return False
        if not self.seekable:
            if found.source != PIPE:
                return False
            self.rows, self.offset, self.crc = found.rows, found.offset, found.crc
            return True
        same = found.source != PIPE and self._is_read_part(found)
        if not same:
            if found.source != self.place:
                return False  # another file: from its beginning
            raise InputError(
                self.name,
                f"the file of which {found.rows:,} rows were read (name it as it is called now, "
                f"or read this one whole with --from-start)",
                "another one, or a changed one",
            )
        os.lseek(self.descriptor, found.offset, os.SEEK_SET)
        self.rows, self.offset, self.crc = found.rows, found.offset, found.crc
        self.ended = found.ended
        return True

    def _is_read_part(self, found: Bookmark) -> bool:
        """Return True if this file begins with what was read."""
        if os.fstat(self.descriptor).st_size < found.offset:
            return False
        return mark_of(self.descriptor, found.offset) == found.mark

    def replay(self, rows: int, crc: int | None = None) -> None:
        """The input begins with so many rows that were read before: leave them out.

        ``crc``: their check sum, where it is known.
        """
        self.skip, self._wanted = rows, crc
        self.rows = self.offset = self.crc = 0

    # Lines -----------------------------------------------------------------------------------

    def lines(self, stopped: Callable[[], bool]) -> Iterator[Line | None]:
        """Lines as they come; None now and then while none does."""
        splitter = LineSplitter(self.max_line, self.crc)
        for block in self._blocks(stopped):
            if block is None:
                yield None
                continue
            if not self.ended:
                block = self._after_end(block, splitter)
            yield from splitter.split(block)  # what was read is not lost to a signal
        if stopped():
            yield from self._finish(splitter)
        elif (rest := splitter.rest()) is not None:
            yield rest
        if self.skipping and not stopped():
            expected = f"{self.skip:,} rows that were read before"
            raise InputError(self.name, expected, f"{self.rows:,}")

    @property
    def skipping(self) -> bool:
        """True if the next line was read before, and is to be left out."""
        return self.rows < self.skip

    def advance(self, line: Line) -> None:
        """A line was taken, or left out."""
        if self.rows + 1 == self.skip and self._wanted not in (None, line.crc):
            expected = f"the {self.skip:,} rows that were read before, sent again"
            raise InputError(f"{self.name}, --replayed", expected, "other rows")
        self.rows += 1
        self.offset += line.size
        self.crc, self.ended = line.crc, line.ended

    def bookmark(self) -> Bookmark:
        """Return the position in the input; as before while rows are left out."""
        if self.skipping:
            return msgspec.structs.replace(self._before)
        mark = mark_of(self.descriptor, self.offset) if self.seekable else b""
        return Bookmark(
            source=self.place,
            rows=self.rows,
            offset=self.offset,
            crc=self.crc,
            mark=mark,
            ended=self.ended,
        )

    def _blocks(self, stopped: Callable[[], bool]) -> Iterator[bytes | None]:
        """Bytes as they come, up to the end of input or until stopped."""
        while not stopped():
            if not self.seekable and not select.select([self.descriptor], [], [], TICK)[0]:
                yield None
                continue
            try:
                block = os.read(self.descriptor, BLOCK)
            except OSError as error:
                closed = error.errno == errno.EBADF
                found = "it closed" if closed else str(error.strerror)
                raise InputError(self.name, "something to read", found) from None
            if block:
                yield block
            elif not self.follow:
                return
            else:
                self._check_place()
                yield None
                time.sleep(TICK)

    def _finish(self, splitter: LineSplitter) -> Iterator[Line]:
        """The line that was begun when we were stopped, if the rest of it is there.

        A file is gone on with at the beginning of that line; a pipe has given it away.
        """
        while (
            not self.seekable and splitter.begun and select.select([self.descriptor], [], [], 0)[0]
        ):
            more = os.read(self.descriptor, 1)
            if not more:
                rest = splitter.rest()
                if rest is not None:
                    yield rest
                return
            yield from splitter.split(more)

    def _after_end(self, block: bytes, splitter: LineSplitter) -> bytes:
        """The last line was taken without its end: what follows must be its end, and no more."""
        end = next((end for end in (b"\n", b"\r\n") if block.startswith(end)), b"")
        if not end:
            where = f"{self.name}, line {self.rows}"
            raise InputError(where, "a line that was complete (see --follow)", "more of it now")
        self.ended = True
        self.offset += len(end)
        self.crc = splitter.crc = zlib.crc32(end, splitter.crc)
        return block[len(end) :]

    def _check_place(self) -> None:
        """At the end of a file that is followed: is it still what its name says?"""
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            named = None
        here = os.fstat(self.descriptor)
        if here.st_size < os.lseek(self.descriptor, 0, os.SEEK_CUR):
            raise InputError(self.name, "a file that only grows", "one that was cut")
        if named is None or (named.st_dev, named.st_ino) != (here.st_dev, here.st_ino):
            raise InputError(
                self.name,
                "the file that was followed (start again with --from-start for the new one)",
                "none under this name" if named is None else "another file under its name",
            )


def _opened(path: str) -> int:
    """The input's descriptor."""
    if path == "-":
        try:
            descriptor = standard_input()
            os.read(descriptor, 0)  # what stands in for one that is closed cannot be read
        except OSError as error:
            closed = error.errno == errno.EBADF
            found = "it closed" if closed else str(error.strerror)
            raise InputError(STDIN, "labels, or a file that is named", found) from None
        return descriptor
    try:
        descriptor = os.open(path, os.O_RDONLY | BINARY)
    except OSError as error:
        raise InputError(path, "a file that can be read", str(error.strerror)) from None
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(path, "a file that can be read", "a folder")
    return descriptor
