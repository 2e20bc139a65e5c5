"""`Scrub`: reads the folder of a running server again and again, slowly, and tells of damage.

Disks go bad where nobody looks. It reads records in slices, few bytes a second, beside the engine;
at the end of each pass SQLite looks at the pages, a table's worth of reading at a time.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from contextlib import closing

from crowdstream.errors import CrowdstreamError
from crowdstream.serve.checking import Damage, Examination, check_files
from crowdstream.serve.engine import Engine
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.store import Reader

FIRST = 60.0
"""Seconds after a start before the first pass: a start has read what decisions depend on."""

PERIOD = 86_400.0
"""Seconds between two passes."""

RATE = 4e6
"""Bytes a second that are read: a hundredth of what a disk gives."""

log = logging.getLogger("crowdstream.serve")


class _Stopped(Exception):  # noqa: N818
    """The server stops."""


class Scrub:
    """A thread that looks for damage.

    Parameters
    ----------
    engine
        Is told what was found.
    first, period
        Seconds before the first pass, and between two.
    """

    def __init__(self, engine: Engine, *, first: float = FIRST, period: float = PERIOD) -> None:
        self._engine, self._first, self._period = engine, first, period
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="scrub", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin."""
        self._loop = loop
        self._thread.start()

    async def stop(self) -> None:
        """End."""
        self._stopping.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        wait = self._first
        while not self._stopping.wait(wait):
            wait = self._period
            try:
                self._pass()
            except _Stopped:
                return
            except (CrowdstreamError, sqlite3.Error) as error:
                self._tell(Damage("the database", str(error)))

    def _pass(self) -> None:
        folder = self._engine.store.folder
        with closing(Reader(folder)) as reader:
            look = Examination(reader)
            for found in (check_files(folder), look.records(self._pause), look.structure()):
                for damage in found:
                    self._tell(damage)

    def _pause(self, size: int) -> None:
        if self._stopping.wait(size / RATE):
            raise _Stopped

    def _tell(self, damage: Damage) -> None:
        """Tell the engine, between two groups, and wait until it knows."""
        assert self._loop is not None
        project = damage.name if damage.vital else ""
        asking = self._engine.look(project, lambda: self._engine.found(str(damage), project))
        try:
            asyncio.run_coroutine_threadsafe(asking, self._loop).result(60.0)
        except (ProblemError, RuntimeError, TimeoutError):
            log.error("damage: %s", damage)  # the server stops
