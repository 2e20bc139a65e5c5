"""A request and its answer: labels go straight to the engine, all else to the ASGI application.

Half of what a post of one label costs would be the framework; its other requests are rare.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from crowdstream.serve.labels import labels_job
from crowdstream.serve.limits import check_length, too_long, unpacked_body
from crowdstream.serve.problems import ProblemError, mistake

if TYPE_CHECKING:
    from crowdstream.serve.connection import Connection
    from crowdstream.serve.server import Server

Headers = list[tuple[bytes, bytes]]
App = Callable[[Any, Any, Any], Awaitable[None]]

BUFFERED = 64 << 10
"""Bytes of a body that wait for a route to take them; no more is read until it has."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
FINE = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that no header may have: a line end would begin another header."""


class Exchange:
    """A request, and what answers it.

    ``length``: of its body, where it is said. ``started``: some of the answer is written; ``done``:
    all of it. ``lingers``: what the client still sends is dropped for a while before hanging up.
    """

    lingers = False

    def __init__(self, way: Connection, headers: Headers, keep_alive: bool) -> None:
        self.way, self.headers, self.keep_alive = way, headers, keep_alive
        self.found = dict(headers)
        given = self.found.get(b"content-length", b"0")
        self.length = int(given) if given.isdigit() else 0
        self.chunked = b"transfer-encoding" in self.found
        self.started = self.done = False
        self.method = self.path = self.token = ""
        self.begun = way.front.now()

    def start(self) -> None:
        """Begin to answer: those before it are answered."""

    def take(self, body: bytes) -> None:
        """Take some of its body."""

    def end(self) -> None:
        """Its body is all there."""

    def gone(self) -> None:
        """The client is gone, or gets no answer."""

    def expects(self) -> bool:
        """Return True if the client waits to be told to send its body."""
        return self.found.get(b"expect", b"").lower() == b"100-continue"


class Refusal(Exchange):
    """The last answer on a connection, to what is no request."""

    lingers = True

    def __init__(self, way: Connection, error: ProblemError) -> None:
        super().__init__(way, [], keep_alive=False)
        self.error = error

    def start(self) -> None:
        """Say why."""
        self.way.answer(self, self.error.status, self.error.raw_headers(), self.error.body())


class LabelPost(Exchange):
    """A post of labels: who sends it is looked at before its body is taken."""

    def __init__(self, way: Connection, headers: Headers, keep_alive: bool, path: str, query: bytes,
                 project: str) -> None:  # fmt: skip
        super().__init__(way, headers, keep_alive)
        self.method, self.path, self.query, self.project = "POST", path, query, project
        self._body = bytearray()
        self._active = self._whole = False

    @property
    def _server(self) -> Server:
        return self.way.front.server

    def start(self) -> None:
        """Let it in, or not."""
        self._active = True
        try:
            server = self._server
            server.check_ready()
            self._token = server.access.require("POST", self.headers, "label", self.project)
            self.token = self._token.id
            server.rates.check(self.token)
            check_length(self.found, server.limits.body)
        except ProblemError as error:
            self.tell(error)
            return
        if self._whole:
            self._hand_over()
        elif self.expects():
            self.way.transport.write(CONTINUE)

    def take(self, body: bytes) -> None:
        """Take some of its body."""
        self._body += body
        if len(self._body) > self._server.limits.body:
            if self._active:
                self._body = bytearray()
                self.tell(too_long(self._server.limits.body))
            else:
                self.way.hold(True)

    def end(self) -> None:
        """Its body is all there."""
        self._whole = True
        if self._active:
            self._hand_over()

    def gone(self) -> None:
        """The client is gone: what the engine has is taken all the same."""
        self.done = True

    def _hand_over(self) -> None:
        server = self._server
        try:
            body = unpacked_body(self.found, bytes(self._body), server.limits.body)
            self._body = bytearray()
            job = labels_job(self._token, self.path, self.query, self.found, body)
            job.tell = self.tell
            server.engine.put(job)
        except ProblemError as error:
            self.tell(error)

    def tell(self, answer: bytes | Exception) -> None:
        """Answer with what the engine says."""
        if self.done:
            return
        if isinstance(answer, bytes):
            self.way.answer(self, 200, FINE.copy(), answer)
            return
        error = answer if isinstance(answer, ProblemError) else mistake()
        headers = [*error.raw_headers(), FINE[1]]
        self.way.answer(self, error.status, headers, error.body())


class AsgiRequest(Exchange):
    """Any other request, as ASGI has it."""

    def __init__(self, way: Connection, scope: dict[str, Any], keep_alive: bool) -> None:
        super().__init__(way, scope["headers"], keep_alive)
        self.scope = scope
        self.method, self.path = scope["method"], scope["path"]
        self._body = bytearray()
        self._whole = self._told = self._gone = self._chunks = False
        self._waits_for_word = self.expects()
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Begin its task."""
        self.way.front.spawn(self._run())

    async def _run(self) -> None:
        await self.way.front.app(self.scope, self._receive, self._send)
        if not self.done and not self._gone:  # part of an answer must not look like a whole one
            self.done = True
            self.way.transport.abort()

    def take(self, body: bytes) -> None:
        """Take some of its body."""
        self._body += body
        if len(self._body) > BUFFERED:
            self.way.hold(True)
        self._wake.set()

    def end(self) -> None:
        """Its body is all there."""
        self._whole = True
        self._wake.set()

    def gone(self) -> None:
        """The client is gone."""
        self._gone = True
        self._wake.set()

    async def _receive(self) -> dict[str, Any]:
        if self._waits_for_word and not self._gone:
            self._waits_for_word = False
            self.way.transport.write(CONTINUE)
        while not (self._gone or self.done):
            if self._body or (self._whole and not self._told):
                body, self._body = bytes(self._body), bytearray()
                self._told = self._whole
                self.way.hold(False)
                return {"type": "http.request", "body": body, "more_body": not self._whole}
            self._wake.clear()
            await self._wake.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if not self.way.writable.is_set():
            await self.way.writable.wait()
        if self._gone or self.done:
            return
        if message["type"] == "http.response.start":
            self.status, self._to_send = message["status"], list(message["headers"])
            self._token_from_scope()
        elif not self.started and not message.get("more_body"):
            headers = [(k, v) for k, v in self._checked() if k != b"content-length"]
            if self.method == "HEAD" or self.status in (204, 304):
                self._finish_empty()
            else:
                self.way.answer(self, self.status, headers, message.get("body", b""))
        else:
            self._part(message.get("body", b""), bool(message.get("more_body")))

    def _token_from_scope(self) -> None:
        token = self.scope.get("crowdstream.token")
        self.token = "" if token is None else token.id

    def _checked(self) -> Headers:
        for name, value in self._to_send:
            if UNFIT.search(name) or UNFIT.search(value):
                raise ValueError(f"no header may have this: {name!r}: {value!r}")
        return self._to_send

    def _finish_empty(self) -> None:
        """Write an answer that has no body, whatever its headers say of one."""
        self.done, self.keep_alive = True, self.way.goes_on(self)
        self.way.transport.write(self.way.write_head(self.status, self._checked(), self.keep_alive))
        self.way.front.note(self, self.status)
        self.way.finished(self)

    def _part(self, body: bytes, more: bool) -> None:
        """Write an answer in parts; those whose length is not said in chunks."""
        transport, sent = self.way.transport, []
        if not self.started:
            self.started = True
            headers = self._checked()
            self._chunks = not any(name == b"content-length" for name, _ in headers)
            self._chunks = self._chunks and self.scope["http_version"] == "1.1"
            self.keep_alive = self.way.goes_on(self)
            if self._chunks:
                headers = [*headers, (b"transfer-encoding", b"chunked")]
            sent.append(self.way.write_head(self.status, headers, self.keep_alive))
        if body and self.method != "HEAD":
            sent.append(b"%x\r\n%b\r\n" % (len(body), body) if self._chunks else body)
        if not more and self._chunks and self.method != "HEAD":
            sent.append(b"0\r\n\r\n")
        transport.write(b"".join(sent))
        if not more:
            self.done = True
            self.way.front.note(self, self.status)
            self.way.finished(self)
