"""The way in: connections become exchanges, and each exchange goes where it is answered."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import time
from collections.abc import Coroutine
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools

from crowdstream.serve.connection import Connection
from crowdstream.serve.exchanges import App, AsgiRequest, Exchange, Headers, LabelPost, Refusal
from crowdstream.serve.forwarded import Proxies
from crowdstream.serve.labels import project_of
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.server import Server

SWEEP = 0.25
"""Seconds between two looks for connections that are too slow: one timer for all costs less than
one a request."""

access_log = logging.getLogger("crowdstream.access")


class Front:
    """All connections of a server, and what they have in common."""

    def __init__(self, server: Server, app: App, loop: asyncio.AbstractEventLoop) -> None:
        self.server, self.app, self.loop = server, app, loop
        self.limits = server.limits
        self.now = loop.time
        self.connections: set[Connection] = set()
        self.stopping = False
        self.date = b""
        self._proxies = Proxies(server.limits.proxies)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._access = access_log.isEnabledFor(logging.INFO)
        self._sweep()

    def _sweep(self) -> None:
        """Hang up on who is too slow, and note the date."""
        now = self.now()
        for one in [one for one in self.connections if one.deadline < now]:
            one.too_slow()
        for one in [one for one in self.connections if one.stalled < now]:
            one.transport.abort()
        self.date = b"date: %b\r\n" % email.utils.formatdate(time.time(), usegmt=True).encode()
        self.loop.call_later(SWEEP, self._sweep)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def exchange(
        self, way: Connection, method: bytes, url: bytes, headers: Headers, keep_alive: bool
    ) -> Exchange:
        """Make the exchange of a request by its head."""
        target, query = split(url)
        path = unquote_to_bytes(target).decode("utf-8", "replace")
        if method == b"POST" and (project := project_of(path)) is not None:
            return LabelPost(way, headers, keep_alive, path, query, project)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1" if way.version == "1.1" else "1.0",
            "method": method.decode("ascii"),
            "scheme": "http",
            "path": path,
            "raw_path": target,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": (self.client(way, headers), 0),
            "server": None,
            "state": {},
        }
        return AsgiRequest(way, scope, keep_alive)

    def refusal(self, way: Connection, error: ProblemError) -> Exchange:
        """Make the last answer on a connection."""
        return Refusal(way, error)

    def client(self, way: Connection, headers: Headers) -> str:
        """Return the address that a request comes from."""
        return self._proxies.client(way.peer, headers)

    def note(self, made: Exchange, status: int) -> None:
        """An exchange is answered."""
        seconds = self.now() - made.begun
        traffic = self.server.traffic
        traffic.add("labels" if isinstance(made, LabelPost) else "other", status, seconds)
        if self._access or status in (401, 403) or status >= 500:
            client = self.client(made.way, made.headers)
            traffic.log(made.method, made.path, status, seconds, client, made.token)

    # The end -----------------------------------------------------------------------------------

    async def stop(self, patience: float, hurry: asyncio.Event) -> None:
        """Answer what has come, and close; not all of it if there is a hurry."""
        self.stopping = True
        for one in list(self.connections):
            one.stop()
        self.look_for_the_end()
        waits = [self.loop.create_task(one.wait()) for one in (self._ended, hurry)]
        await asyncio.wait(waits, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        for one in list(self.connections):
            one.transport.abort()
        for task in (*waits, *self._tasks):
            task.cancel()

    def look_for_the_end(self) -> None:
        """A connection is gone: perhaps it was the last."""
        if self.stopping and not self.connections:
            self._ended.set()


def split(url: bytes) -> tuple[bytes, bytes]:
    """Return path and query of a request's address; 400 if it has none.

    >>> split(b"/a/b?c=d#e"), split(b"http://host/a?b")
    ((b'/a/b', b'c=d'), (b'/a', b'b'))
    """
    if url.startswith(b"/"):
        path, _, query = url.partition(b"#")[0].partition(b"?")
        return path, query
    try:
        found = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        found = None
    if found is None or not (found.path or b"").startswith(b"/"):
        raise ProblemError(400, "expected an address that begins with /")
    return found.path, found.query or b""
