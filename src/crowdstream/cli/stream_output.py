"""Decisions → a file, each exactly once, or a pipe, each at least once. Knows nothing of labels.

A file is cut back to the length that the state remembers, so nothing is in it twice. What a pipe
was given cannot be taken back; what its reader did not read is kept (``pending``) and sent first by
the next run.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
import time
from collections import deque
from typing import Protocol

from crowdstream.cli.stream_position import BINARY, PIPE, Bookmark, mark_of
from crowdstream.errors import InputError

CAPACITY = 1 << 16
"""Bytes that a pipe holds where the system does not say."""

PATIENCE = 5.0
"""Seconds that a run which ends waits for its reader to read what is in the pipe."""


class Output(Protocol):
    """Destination of decisions."""

    pending: list[bytes]
    broken: OSError | None

    def write(self, line: bytes) -> None:
        """One decision, at once."""

    def make_durable(self) -> None:
        """Make what was written survive a power failure, as far as that can be done."""

    def remember(self, mark: Bookmark) -> None:
        """Note in a bookmark what was written."""

    def end(self) -> None:
        """Nothing more will be written: find out what was delivered."""


class FileOutput:
    """Decisions are added to a regular file."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.place = os.path.realpath(path)
        self.descriptor = descriptor
        self.length = os.lseek(descriptor, 0, os.SEEK_END)
        self.pending: list[bytes] = []
        self.broken: OSError | None = None
        self._synced = self.length

    def go_on(self, found: Bookmark, state: str) -> int:
        """Cut the file back to what a state remembers; how many bytes were cut off.

        Refuses a file that does not begin with what was written, and one that the state does not
        know of: what is in it would be doubled.
        """
        if found.output != self.place:
            self._begin(found, state)
            return 0
        if self.length < found.length:
            expected = f"at least the {found.length:,} bytes that {state} remembers"
            found_here = f"{self.length:,} (put it back, or name a new file)"
            raise InputError(self.path, expected, found_here)
        if mark_of(self.descriptor, found.length) != found.output_mark:
            raise InputError(
                self.path, f"the decisions that {state} remembers", "others (name a new file)"
            )
        surplus = self.length - found.length
        if surplus:
            os.ftruncate(self.descriptor, found.length)
            os.lseek(self.descriptor, 0, os.SEEK_END)
            self.length = self._synced = found.length
        return surplus

    def _begin(self, found: Bookmark, state: str) -> None:
        """Nothing was written here before: nothing may be here, nor too much in the file before."""
        if self.length:
            raise InputError(
                self.path,
                f"an empty file, since {state} knows of no decisions in it",
                f"{self.length:,} bytes (name a new file, or the state that belongs to it)",
            )
        with contextlib.suppress(OSError):
            if found.output and os.stat(found.output).st_size > found.length:
                raise InputError(
                    self.path,
                    f"the output that {state} remembers, to be finished",
                    f"another than {found.output} (go on with that one, or move it away)",
                )

    def write(self, line: bytes) -> None:
        """One decision, at once."""
        if self.broken is None:
            try:
                _write_all(self.descriptor, line)
                self.length += len(line)
            except OSError as error:  # the next run goes on from the last state that was saved
                self.broken = error

    def make_durable(self) -> None:
        """On the disk, before the state that says so."""
        if self._synced != self.length:
            os.fsync(self.descriptor)
            self._synced = self.length

    def remember(self, mark: Bookmark) -> None:
        """Note the file's length and content."""
        mark.output, mark.length, mark.pending = self.place, self.length, list(self.pending)
        mark.output_mark = mark_of(self.descriptor, self.length)

    def end(self) -> None:
        """All is in the file."""


class PipeOutput:
    """Decisions go to standard output, or to a pipe by its name."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor  # None: standard output is no file of the system's
        self.pending: list[bytes] = []
        self.broken: OSError | None = None
        self._sent: deque[bytes] = deque()
        """The last decisions, of which some may be in the pipe."""
        self._held = 0
        mode = 0 if descriptor is None else os.fstat(descriptor).st_mode
        self._is_pipe = stat.S_ISFIFO(mode)
        self._capacity = _capacity(descriptor) if descriptor is not None and self._is_pipe else 0

    def write(self, line: bytes) -> None:
        """One decision, at once; if nobody takes it, it is pending."""
        if self.broken is not None:
            self.pending.append(line)
            return
        try:
            if self.descriptor is None:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
            else:
                _write_all(self.descriptor, line)
        except OSError as error:
            self.broken = error
            self.pending = [*self._unread(), line]
            return
        if self._is_pipe:
            self._sent.append(line)
            self._held += len(line)
            while self._held - len(self._sent[0]) >= self._capacity:
                self._held -= len(self._sent.popleft())

    def make_durable(self) -> None:
        """Do nothing: a pipe's reader keeps what it read."""

    def remember(self, mark: Bookmark) -> None:
        """Note what the reader has not read yet; whoever goes on from here sends it again."""
        mark.output = PIPE
        mark.pending = list(self.pending or self._unread())

    def end(self) -> None:
        """Wait for the reader, though not for ever; find out what it left unread."""
        if not self._is_pipe or self.broken is not None or self.descriptor is None:
            return
        if not hasattr(select, "poll"):  # on Windows, where nothing counts as unread either
            return
        until = time.monotonic() + PATIENCE
        watch = select.poll()
        watch.register(self.descriptor, 0)
        while self._unread() and time.monotonic() < until:
            if watch.poll(10):  # the reader has closed its end
                if self._unread():
                    self.broken = BrokenPipeError()
                    self.pending = self._unread()
                return

    def silence(self) -> None:
        """Nobody reads: nothing more is sent, and nobody complains at exit."""
        with contextlib.suppress(OSError):
            if self.descriptor is not None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.descriptor)

    def _unread(self) -> list[bytes]:
        """The decisions that are still in the pipe, if only in part."""
        left = _bytes_in(self.descriptor) if self._is_pipe else 0
        found: list[bytes] = []
        for line in reversed(self._sent):
            if left <= 0:
                break
            found.append(line)
            left -= len(line)
        return found[::-1]


def open_output(path: str | None) -> FileOutput | PipeOutput:
    """Standard output, or by its name a regular file or something like a pipe."""
    if path in (None, "-"):
        if sys.stdout is None:
            raise InputError("standard output", "somewhere to write, or --output FILE", "closed")
        sys.stdout.flush()
        try:
            descriptor = sys.stdout.fileno()
        except (OSError, ValueError):
            return PipeOutput(None)
        os.write(descriptor, b"")  # fails now, not after the first decision, if it is closed
        return PipeOutput(descriptor)
    name = str(path)
    try:
        is_file = not os.path.exists(name) or os.path.isfile(name)
        flags = os.O_RDWR | os.O_CREAT if is_file else os.O_WRONLY
        descriptor = os.open(name, flags | BINARY, 0o666)
    except OSError as error:
        expected = "a file that can be written"
        raise InputError("--output", expected, f"{name!r}: {error.strerror}") from None
    return FileOutput(name, descriptor) if is_file else PipeOutput(descriptor)


def send_pending(output: Output) -> None:
    """Send what an earlier run could not deliver; what fails again stays pending."""
    lines, output.pending = output.pending, []
    for line in lines:
        output.write(line)


def _write_all(descriptor: int, line: bytes) -> None:
    """All of a line, however little is taken at a time."""
    left = memoryview(line)
    while left:
        left = left[os.write(descriptor, left) :]


def _capacity(descriptor: int) -> int:
    """Return how many bytes a pipe holds."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return CAPACITY
    ask = getattr(fcntl, "F_GETPIPE_SZ", None)
    return CAPACITY if ask is None else fcntl.fcntl(descriptor, ask)


def _bytes_in(descriptor: int | None) -> int:
    """Return how many bytes the reader of a pipe has not read; 0 where the system cannot say."""
    try:
        import fcntl
        import termios
    except ImportError:  # on Windows: what was written counts as read
        return 0
    if descriptor is None:
        return 0
    found = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    return int.from_bytes(found, sys.byteorder)
