"""`/events`: what changes in a project, pushed to whoever listens (server-sent events).

A feed reads its project at most four times a second, and only while somebody listens. A listener is
sent what has changed since it was last sent something: one that is slow gets the latest state, and
nothing is queued for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from crowdstream.decisions.decision import Decision
from crowdstream.serve.engine import Engine
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.server import Endpoint, Server, server_of
from crowdstream.serve.wire import Change, WorkerRow
from crowdstream.serve.workers import rows_of

PERIOD = 0.25
"""Seconds between two changes at least."""

HEARTBEAT = 15.0
"""Seconds of silence after which something is sent, so that nobody in between hangs up."""

RETRY = 2000
"""Milliseconds after which a browser that was cut off comes back."""

CHANGED_WORKERS = 50
"""Workers in one change at most: those with the most new answers."""

WORKERS_EVERY = 1.0
"""Seconds between two looks at the workers."""

READY_FAST = 0.05
"""Seconds that a table of workers may take to read for changes of it to be sent: a page asks for
larger ones itself."""


class Feed:
    """What is known of a project, and since which version each part of it."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        self.epoch = secrets.token_hex(4)
        self.version = 0
        self.listeners = 0
        self.changed = asyncio.Event()
        self._overview: dict[str, tuple[int, object]] = {}
        self._decisions: list[tuple[int, Decision]] = []
        self._workers: dict[str, tuple[int, WorkerRow]] = {}
        self._seen = self._number = -1
        self._looked = 0.0
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While somebody listens the project is read."""
        self.listeners += 1
        try:
            if self._task is None or self._task.done():
                await self.read()
                self._task = asyncio.create_task(self._run())
            yield
        finally:
            self.listeners -= 1

    async def _run(self) -> None:
        while self.listeners:
            await asyncio.sleep(PERIOD)
            with contextlib.suppress(ProblemError):
                await self.read()

    async def read(self) -> None:
        """Read the project, and wake the listeners if something has changed."""
        number, overview, recent, workers = await self.engine.look(self.name, self._ask)
        if number != self._number:  # made anew, without what was deleted: so is what is told of it
            self._number, self.epoch = number, secrets.token_hex(4)
            self._overview, self._decisions, self._workers = {}, [], {}
        version = self.version + 1
        for key, value in overview.items():
            if key != "at" and self._overview.get(key, (0, None))[1] != value:
                self._overview[key] = version, value
                self.version = version
        for number, decision in recent:
            self._decisions.append((version, decision))
            self._seen, self.version = number, version
        del self._decisions[:-50]
        for row in workers:
            before = self._workers.get(row.worker)
            if before is None or before[1] != row:
                self._workers.pop(row.worker, None)
                self._workers[row.worker] = version, row
                self.version = version
        while len(self._workers) > 4 * CHANGED_WORKERS:
            del self._workers[next(iter(self._workers))]
        if self.version == version:
            self.changed.set()
            self.changed = asyncio.Event()

    def _ask(self) -> tuple[int, dict[str, Any], list[tuple[int, Decision]], list[WorkerRow]]:
        """In the engine's thread: the project's numbers, new decisions, workers who changed."""
        project, readings = self.engine.project(self.name), self.engine.readings(self.name)
        overview = msgspec.to_builtins(readings.overview())
        seen = self._seen if project.id == self._number else -1
        recent = [(number, one) for number, one in project.recent if number > seen]
        workers: list[WorkerRow] = []
        if time.monotonic() >= self._looked + WORKERS_EVERY:
            begun = time.monotonic()
            table = readings.workers().sort("answers", descending=True).head(CHANGED_WORKERS)
            workers = rows_of(table)
            slow = time.monotonic() - begun > READY_FAST
            self._looked = time.monotonic() + (60.0 if slow else 0.0)
        return project.id, overview, recent, workers

    def since(self, version: int) -> Change:
        """What has changed after a version; everything, after 0."""
        overview = {key: value for key, (at, value) in self._overview.items() if at > version}
        decisions: Any = [decision for at, decision in self._decisions if at > version]
        workers = [row for at, row in self._workers.values() if at > version]
        return Change(overview, decisions, workers[-CHANGED_WORKERS:])


class Feeds:
    """The feeds of a server, one per project."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._feeds: dict[str, Feed] = {}

    @property
    def listeners(self) -> int:
        """How many listen."""
        return sum(feed.listeners for feed in self._feeds.values())

    async def feed(self, name: str) -> Feed:
        """The feed of a project."""
        if name not in self._feeds:
            await self.server.engine.ask(lambda: self.server.engine.project(name))
            self._feeds.setdefault(name, Feed(self.server.engine, name))
        return self._feeds[name]


class Stream(Response):
    """An answer that goes on until somebody hangs up or the server stops."""

    media_type = "text/event-stream"

    def __init__(self, feed: Feed, server: Server, last_id: str) -> None:
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self.feed, self.server = feed, server
        epoch, _, version = last_id.rpartition("-")
        known = epoch == feed.epoch and version.isdecimal()
        self.version = int(version) if known else None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Send what changes."""
        headers = self.raw_headers
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.create_task(_hung_up(receive))
        stopping = asyncio.create_task(self.server.stopping.wait())
        try:
            async with self.feed.listening():
                await self._listen(send, gone, stopping)
        except ProblemError:  # the server is stopping
            pass
        finally:
            gone.cancel()
            stopping.cancel()
        await send({"type": "http.response.body", "body": b""})

    async def _listen(
        self, send: Send, gone: asyncio.Task[None], stopping: asyncio.Task[Any]
    ) -> None:
        feed = self.feed
        await send(_part(f"retry: {RETRY}\n\n".encode()))
        if self.version is None or self.version > feed.version:
            await send(_part(self._event("state", feed.since(0))))
        elif self.version < feed.version:
            await send(_part(self._event("change", feed.since(self.version))))
        self.version = feed.version
        while True:
            waiting = asyncio.create_task(feed.changed.wait())
            done, _ = await asyncio.wait(
                {gone, stopping, waiting}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED
            )
            waiting.cancel()
            if gone in done or stopping in done:
                return
            if feed.version == self.version:
                await send(_part(b": still here\n\n"))
                continue
            change, self.version = feed.since(self.version), feed.version
            await send(_part(self._event("change", change)))

    def _event(self, name: str, change: Change) -> bytes:
        event_id = f"{self.feed.epoch}-{self.feed.version}".encode()
        data = msgspec.json.encode(change)
        return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), event_id, data)


def _part(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _hung_up(receive: Callable[[], Awaitable[Any]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def listen(request: Request) -> Response:
    """What changes in a project, as server-sent events."""
    server = server_of(request)
    feeds: Feeds = request.app.state.feeds
    if feeds.listeners >= server.limits.listeners:
        raise ProblemError(503, "too many listeners", headers={"Retry-After": "10"})
    feed = await feeds.feed(request.path_params["project"])
    return Stream(feed, server, request.headers.get("last-event-id", ""))


ENDPOINTS = (
    Endpoint("GET", "/v1/projects/{project}/events", listen, "read",
             "What changes, as server-sent events: `state` with everything, then `change` with "
             "what is new, at most four a second. Last-Event-ID goes on from there.",
             gives=Change, tag="events", kinds=("text/event-stream",)),
)  # fmt: skip
