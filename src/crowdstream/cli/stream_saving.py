"""The state file of a stream, saved at once or not at all.

The order makes it safe to be killed at any moment: first the decisions are on the disk, then the
state that says so, under another name, then it takes the place of the one before. Knows nothing of
labels.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.cli.stream_output import Output
from crowdstream.cli.stream_position import Bookmark
from crowdstream.cli.terminal import say
from crowdstream.errors import StateError

if TYPE_CHECKING:
    from crowdstream.stream.stream import Stream

SHARE = 10
"""Times as long as a save took that at least go by before the next: a large state costs at most a
tenth of the time."""


class StateFile:
    """Saves a stream with its bookmark, now and then and in the end.

    Parameters
    ----------
    path
        Where to.
    period
        Seconds between two saves.
    engine, output
        What is saved, and the output it speaks of.
    read
        Makes a bookmark of how far the input was read.
    """

    def __init__(
        self,
        path: str,
        period: float,
        engine: Stream,
        output: Output,
        read: Callable[[], Bookmark],
    ) -> None:
        self.path = path
        self.period = period
        self.engine = engine
        self.output = output
        self.read = read
        self._due = time.monotonic() + period
        self._saved: tuple[Bookmark, int] | None = None
        self._warned = False

    def save_if_due(self) -> None:
        """Save if it is time to. If it cannot be done, say so once and try again later."""
        begun = time.monotonic()
        if begun < self._due:
            return
        try:
            self.save()
        except (OSError, StateError) as error:
            if not self._warned:
                reason = getattr(error, "strerror", None) or str(error)
                say(f"{self.path}: not saved ({reason}); going on, to try again", "yellow")
            self._warned = True
        ended = time.monotonic()
        self._due = ended + max(self.period, SHARE * (ended - begun))

    def save(self) -> None:
        """Save, if anything has changed since the last time."""
        mark = self.read()
        self.output.remember(mark)
        now = mark, self.engine.counts.closed
        if now == self._saved:
            return
        self.output.make_durable()
        self.engine.bookmark = mark.to_bytes()
        replace_durably(self.path, self.engine.to_bytes())
        self._saved = now


def replace_durably(path: str, data: bytes) -> None:
    """Put a file in the place of another, on the disk; its name beside it is always the same.

    So a process that is killed leaves at most one such file, which the next one overwrites.
    """
    target = Path(path).resolve()
    beside = target.with_name(f".{target.name}.new")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise StateError(f"{path}: cannot be written: {error.strerror}") from None
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
