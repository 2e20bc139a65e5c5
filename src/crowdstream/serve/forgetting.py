"""Delete a project, a task or a worker: as if its labels had never been sent.

A project's log is played again without them, under a new number; then the project goes by that
number, in one commit; then what the old number has is swept away. Killed before that commit the
project is as it was, after it as it is to be; a start sweeps up the rest. Labels go on meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from crowdstream.serve import log_events
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import Project
from crowdstream.serve.store import MOST_CLOSED, Changes, ProjectRow, Reader
from crowdstream.serve.wire import Deleted, Settings

if TYPE_CHECKING:
    from crowdstream.serve.engine import Engine

AT_ONCE = 2_000
"""Labels that are played again and written at once."""

AGAIN = 0.02
"""Seconds until the next try where labels come in just now."""

TRUNCATIONS = 50
"""Times that it is tried to empty the log of writes, which others may read."""


class Gone(NamedTuple):
    """Options of what to delete."""

    task: str | None = None
    worker: str | None = None

    def without(self, event: log_events.Event) -> tuple[log_events.Event | None, int]:
        """Return what is left of an event, if something is, and how much of it goes."""
        match event:
            case log_events.Labels(at, rows, _) | log_events.Late(at, rows):
                kept = [row for row in rows if row[0] != self.task and row[1] != self.worker]
                lost = len(rows) - len(kept)
                if lost and kept:
                    kind = (
                        log_events.Labels
                        if isinstance(event, log_events.Labels)
                        else log_events.Late
                    )
                    return kind(at, kept), lost
            case log_events.Retract(_, task, worker):
                lost = int(task == self.task or worker == self.worker)
                kept = []
            case log_events.Gold(_, task) | log_events.Close(_, task):
                lost, kept = int(task == self.task), []
            case log_events.Offer(at, tasks):
                left = [task for task in tasks if task != self.task]
                lost, kept = len(tasks) - len(left), []
                if lost and left:
                    return log_events.Offer(at, left), lost
            case _:
                lost = 0
        return (None if lost else event), lost


class Old(NamedTuple):
    """A project's log: who reads it, and the project's number."""

    reader: Reader
    number: int


class Anew:
    """A project that is made anew, of what is left of another's log.

    Parameters
    ----------
    old
        The other's log.
    project
        It, with nothing learnt.
    gone
        What is left out.
    """

    def __init__(self, old: Old, project: Project, gone: Gone) -> None:
        self.old, self.project, self.gone = old, project, gone
        self.done = self.deleted = 0

    def pieces(self) -> Iterator[Changes]:
        """Yield the text to be written, piece by piece, up to where the log ends now."""
        size = 0
        at = time.time()
        for seq, packed in self.old.reader.log_after(self.old.number, self.done):
            self.done = seq
            for event in log_events.unpack(packed):
                at = event.at
                left, lost = self.gone.without(event)
                self.deleted += lost
                if left is not None:
                    self.project.again(left)
                size += len(left.rows) if isinstance(left, log_events.Labels) else 1
            if size >= AT_ONCE:
                yield self._changes(at)
                size = 0
        if size:
            yield self._changes(at)

    def _changes(self, at: float) -> Changes:
        project = self.project
        events = log_events.pack(project.events) if project.events else b""
        return Changes(project.id, at, events, list(project.closed.values()))


async def forget(engine: Engine, name: str, gone: Gone) -> Deleted:
    """Delete a task or a worker of a project; answers once nothing of it is in the folder."""
    async with engine.deleting:  # who asks again after a timeout waits for the first
        return await _forget(engine, name, gone)


async def _forget(engine: Engine, name: str, gone: Gone) -> Deleted:
    store = engine.store

    def begin() -> int:
        old = engine.project(name).id
        if store.dropped(old):
            detail = (
                "part of the labels was not kept (--keep-labels), so what they taught cannot be "
                "taken back: delete the project"
            )
            raise ProblemError(409, detail)
        return old

    with closing(Reader(store.folder)) as reader:
        old = await engine.ask(begin)
        if not await asyncio.to_thread(_is_there, reader, old, gone):
            what = f"task {gone.task!r}" if gone.worker is None else f"worker {gone.worker!r}"
            raise ProblemError(404, f"no {what} in project {name!r}")
        number = await engine.ask(store.begin_anew)
        try:
            made = await _made_anew(engine, name, Old(reader, old), number, gone)
        finally:
            await engine.ask(partial(store.end_anew, number))
    await _swept(engine)
    return Deleted(made.deleted)


def _is_there(reader: Reader, project: int, gone: Gone) -> bool:
    """True if there is something to delete."""
    needle = log_events.needle(gone.task if gone.worker is None else gone.worker)  # type: ignore[arg-type]
    return any(
        gone.without(event)[1]
        for packed in reader.log_of(project, needle)
        for event in log_events.unpack(packed)
    )


async def _made_anew(engine: Engine, name: str, old: Old, number: int, gone: Gone) -> Anew:
    """Make a project anew and let it take the other's place."""
    row = await engine.ask(lambda: _row_of(engine.project(name)))
    made = Anew(old, _first(row._replace(id=number), engine), gone)
    while True:
        pieces = made.pieces()
        while (changes := await asyncio.to_thread(next, pieces, None)) is not None:
            rows = await engine.ask(partial(engine.store.commit, [changes]))
            made.project.written(rows[number], MOST_CLOSED)
        if await engine.ask(partial(_exchange, engine, name, made)):
            return made
        await asyncio.sleep(AGAIN)


def _row_of(project: Project) -> ProjectRow:
    settings = msgspec.msgpack.encode(project.settings)
    return ProjectRow(project.id, project.name, settings, project.created)


def _first(row: ProjectRow, engine: Engine) -> Project:
    settings = msgspec.msgpack.decode(row.settings, type=Settings)
    return Project(row.id, row.name, settings, row.created, engine.store.closed_tasks)


def _exchange(engine: Engine, name: str, made: Anew) -> bool:
    """Let the project be the one made anew; false if it is in use or has labels since."""
    project, old = engine.project(name), made.old.number
    if engine.is_lent(name) or engine.store.last_of(old) > made.done:
        return False
    engine.store.exchange(old, made.project.id, made.gone.task, made.gone.worker)
    made.project.version += project.version + 1
    engine.replace(name, made.project)
    return True


async def forget_project(engine: Engine, name: str) -> Deleted:
    """Delete a project; answers once nothing of it is in the folder."""

    def remove() -> int | None:
        project = engine.project(name)
        if engine.is_lent(name):
            return None
        engine.store.remove_project(project.id)
        engine.replace(name, None)
        return project.stream.counts.labels

    async with engine.deleting:
        while (labels := await engine.ask(remove)) is None:
            await asyncio.sleep(AGAIN)
        await _swept(engine)
    return Deleted(labels)


async def _swept(engine: Engine) -> None:
    """Sweep up what is left of what was deleted."""
    sweep: Callable[[], bool] = engine.store.sweep
    while await engine.ask(sweep):
        pass
    for _ in range(TRUNCATIONS):
        if not await engine.ask(engine.store.truncate):
            return
        await asyncio.sleep(AGAIN)
