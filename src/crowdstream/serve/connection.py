"""HTTP/1.1 on one connection: bytes become requests within limits, answers go out in their order.

httptools parses. A request is an `Exchange` (``exchanges.py``); one is answered at a time. Whoever
sends too much, too slowly or what is not HTTP is told so and hung up on.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import httptools

from crowdstream.serve.problems import ProblemError, mistake

if TYPE_CHECKING:
    from crowdstream.serve.exchanges import Exchange
    from crowdstream.serve.front import Front

UNACKNOWLEDGED = 30_000
"""Milliseconds after which a peer that acknowledges nothing is taken to be gone."""

SLICE = 16 << 10
"""Bytes that are parsed before other connections have their turn: the worst that fits in (chunks of
one byte) takes about 1 ms."""

DRAINED = 64 << 10
"""Bytes of a refused body that are read and dropped, so that the connection can go on."""

LINGER_SECONDS, LINGER_BYTES = 2.0, 1 << 20
"""Limits of seconds and bytes read and dropped after the last answer: a socket that is closed with
unread bytes resets the connection, and the client may never see the answer."""

log = logging.getLogger("crowdstream.serve")

STATUS_LINES = {one.value: f"HTTP/1.1 {one.value} {one.phrase}\r\n".encode() for one in HTTPStatus}


class Connection(asyncio.Protocol):
    """One client's connection."""

    transport: asyncio.Transport

    def __init__(self, front: Front) -> None:
        self.front, self.limits = front, front.limits
        self.peer = self.version = ""
        self.deadline = math.inf
        """Return when the client is too slow, by the loop's clock."""
        self.stalled = math.inf
        """Return when it has taken nothing of its answer for too long, which holds memory."""
        self.closed = False
        """Nothing more is taken from it."""
        self.writable = asyncio.Event()
        self.writable.set()
        self._parser = httptools.HttpRequestParser(self)
        self._rest = b""
        self._paused = self._held = self._advancing = self._parsing = False
        self._waiting: deque[Exchange] = deque()
        self._active: Exchange | None = None
        self._incoming: Exchange | None = None
        self._problem: ProblemError | None = None
        self._url, self._headers = b"", list[tuple[bytes, bytes]]()
        self._in_head = True
        self._head_bytes = self._head_count = 0
        self._run = 0
        """Bytes since the last that was of use: of a head, chunk extensions or trailers."""
        self._useful = False
        self._left = 0
        """Bytes of the body that are still to come, where its length was given."""
        self._dropped = 0

    # The transport -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connects."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        peer, raw = transport.get_extra_info("peername"), transport.get_extra_info("socket")
        self.peer = str(peer[0]) if isinstance(peer, tuple) else ""
        if raw is not None and raw.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED)
        self.front.connections.add(self)
        if len(self.front.connections) > self.limits.connections:
            self.refuse(ProblemError(503, "too many connections", headers={"Retry-After": "5"}))
        else:
            self.deadline = self.front.now() + self.limits.header_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.front.connections.discard(self)
        self.closed, self.deadline, self._rest = True, math.inf, b""
        self.stalled = math.inf
        self.writable.set()
        self._waiting.clear()
        if self._active is not None:
            self._active.gone()
        self.front.look_for_the_end()

    def pause_writing(self) -> None:
        """The client takes its answer slowly."""
        self.writable.clear()
        self.stalled = self.front.now() + self.limits.idle_seconds

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        self.writable.set()
        self.stalled = math.inf
        self._advance()
        self._go_on()

    def data_received(self, data: bytes) -> None:
        """Something came."""
        if self.closed:
            self._dropped += len(data)
            self._pause()
        elif self._rest:
            self._rest += data
        elif len(data) <= max(SLICE, self._left):
            self._parse(data)
        else:
            self._rest = data
            self._go_on()

    def _go_on(self) -> None:
        """Parse a slice of what has come, unless requests before it wait."""
        if self._parsing:  # a request that was answered at once; the rest comes after it
            return
        if self._rest and not (self.closed or self._waiting or self._held):
            size = max(SLICE, self._left)
            part, self._rest = self._rest[:size], self._rest[size:]
            self._parse(part)
            if self._rest:
                self.front.loop.call_soon(self._go_on)
        self._pause()

    def _pause(self) -> None:
        """Read from the socket only what can be taken."""
        if self.closed:
            wanted = self._dropped > LINGER_BYTES
        else:
            wanted = bool(self._rest or self._waiting or self._held)
        if wanted != self._paused and not self.transport.is_closing():
            self._paused = wanted
            if wanted:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def _parse(self, data: bytes) -> None:
        if self.deadline == math.inf or (self._in_head and not self._run):
            self.deadline = self.front.now() + self.limits.header_seconds
        self._useful = False
        self._parsing = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # what follows is another protocol, which is not spoken
            self._rest = b""
        except httptools.HttpParserError as error:
            if self.closed:  # refused within this slice
                return
            if self._problem is None and isinstance(error, httptools.HttpParserCallbackError):
                log.error("a request failed", exc_info=error.__context__)
                self._problem = mistake()
            self.refuse(self._problem or ProblemError(400, "this is not HTTP/1.1"))
            return
        finally:
            self._parsing = False
        self._run = 0 if self._useful else self._run + len(data)
        if self._run > self.limits.header_bytes + SLICE:
            self.refuse(self._too_large())
        elif self._waiting:
            self._pause()

    def hold(self, held: bool) -> None:
        """Take no more of a body, or go on."""
        if held != self._held:
            self._held = held
            self.deadline = self.front.now() + self.limits.body_seconds
            self._go_on()

    # The parser --------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        self._useful = self._in_head = True
        self._url, self._headers = b"", []
        self._head_bytes = self._head_count = 0

    def on_url(self, url: bytes) -> None:
        """Some of its address."""
        self._url += url
        self._count(len(url), 0)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or, after a body in chunks, a trailer, which nobody asked for."""
        self._count(len(name) + len(value), 1)
        if self._in_head:
            self._headers.append((name.lower(), value))

    def _count(self, size: int, number: int) -> None:
        self._head_bytes += size
        self._head_count += number
        limits = self.limits
        if self._head_bytes > limits.header_bytes or self._head_count > limits.headers:
            self._problem = self._too_large()
            raise self._problem

    def _too_large(self) -> ProblemError:
        limits = self.limits
        detail = f"expected at most {limits.headers} headers of {limits.header_bytes:,} bytes"
        return ProblemError(431, detail)

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._useful, self._in_head = True, False
        if self.closed:
            return
        parser = self._parser
        self.version = parser.get_http_version()
        keep = self.version == "1.1" and parser.should_keep_alive()
        keep = keep and not parser.should_upgrade()
        try:
            made = self.front.exchange(self, parser.get_method(), self._url, self._headers, keep)
        except ProblemError as error:
            self._problem = error
            raise
        self._left = made.length
        self._incoming = made
        self.deadline = self.front.now() + self.limits.body_seconds
        self._waiting.append(made)
        self._advance()

    def on_body(self, body: bytes) -> None:
        """Some of its body is there."""
        self._useful = True
        self._left -= len(body)
        if self._incoming is not None and not self._incoming.done:
            self._incoming.take(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._useful = self._in_head = True
        self._left = self._head_bytes = 0
        self.deadline = math.inf
        made, self._incoming = self._incoming, None
        if made is None:
            return
        if made.done:
            self._idle()
        else:
            made.end()

    # Exchanges ---------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Begin to answer the next request; a loop, as many may be refused at once."""
        if self._advancing:
            return
        self._advancing = True
        # Answers to a client that reads none would pile up.
        while (
            self._active is None
            and self._waiting
            and self.writable.is_set()
            and not self.transport.is_closing()
        ):
            self._active = self._waiting.popleft()
            self._active.start()
        self._advancing = False

    def goes_on(self, made: Exchange) -> bool:
        """Return True if the connection can be used after an exchange."""
        ends = made is not self._incoming or (not made.chunked and self._left <= DRAINED)
        return made.keep_alive and ends and not self.front.stopping

    def finished(self, made: Exchange) -> None:
        """An exchange has written its answer, which said whether the connection goes on."""
        self._active = None
        if not made.keep_alive or self.front.stopping:
            self._hang_up(linger=made.lingers or made is self._incoming)
            return
        self._advance()
        self._idle()
        self._held = False
        self._go_on()

    def _idle(self) -> None:
        """Wait for the next request, if none is on its way."""
        if self.is_idle() and self._incoming is None and self.deadline == math.inf:
            self.deadline = self.front.now() + self.limits.idle_seconds

    def is_idle(self) -> bool:
        """Return True if nothing is being answered."""
        return self._active is None and not self._waiting

    def write_head(self, status: int, headers: list[tuple[bytes, bytes]], keep: bool) -> bytes:
        """Return the head of an answer."""
        parts = [STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status, self.front.date]
        for name, value in headers:
            parts += (name, b": ", value, b"\r\n")
        if not keep:
            parts.append(b"connection: close\r\n")
        parts.append(b"\r\n")
        return b"".join(parts)

    def answer(
        self, made: Exchange, status: int, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Write a whole answer."""
        made.done = True
        made.keep_alive = self.goes_on(made)
        headers.append((b"content-length", b"%d" % len(body)))
        self.front.note(made, status)  # who has the answer finds it in the log
        if not self.transport.is_closing():
            self.transport.write(self.write_head(status, headers, made.keep_alive) + body)
        self.finished(made)

    # The end -----------------------------------------------------------------------------------

    def too_slow(self) -> None:
        """End a connection whose expected bytes did not come in time."""
        self.deadline = math.inf
        if self.closed:
            self.transport.abort()
        elif self._held or self._waiting:  # it is we who are slow
            self.deadline = self.front.now() + self.limits.body_seconds
        elif self._incoming is not None:
            self.refuse(ProblemError(408, "the body did not come in time"))
        elif self._run or self._head_bytes:
            self.refuse(ProblemError(408, "the headers did not come in time"))
        else:
            self.transport.close()

    def refuse(self, error: ProblemError) -> None:
        """Say why, after what is still to be answered, and hang up."""
        made, self._incoming = self._incoming, None
        self._rest = b""
        if made is not None and (made.done or made.started):
            self.transport.abort()  # a part of an answer must not look like a whole one
            return
        if made is not None and made is self._active:
            self._active = None
            made.gone()
        elif made is not None:
            self._waiting.remove(made)
        self._waiting.append(self.front.refusal(self, error))
        self.deadline = math.inf
        self.closed = True
        self._pause()
        self._advance()

    def stop(self) -> None:
        """Close, after what is being answered."""
        if self.is_idle() and self._incoming is None:
            self.transport.close()

    def _hang_up(self, *, linger: bool) -> None:
        """Close once the client has what was written; if it still sends, drop that for a while."""
        self.closed, self._rest = True, b""
        self._waiting.clear()
        if self.transport.is_closing():
            return
        if not linger:
            self.transport.close()
            return
        self.deadline = self.front.now() + LINGER_SECONDS
        self._pause()
        if self.transport.can_write_eof():
            self.transport.write_eof()
