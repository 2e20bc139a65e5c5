"""Connections: how many, and how long a request may take to come. uvicorn's own has no such limits.

A client that sends its headers or body too slowly, or nothing at all, is hung up on; so is one that
does not take what it is sent.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crowdstream.serve.limits import Limits
from crowdstream.serve.problems import CONTENT_TYPE, ProblemError
from crowdstream.serve.small_posts import SmallPost, SmallPosts

UNACKNOWLEDGED = 30_000
"""Milliseconds after which a peer that acknowledges nothing is taken to be gone."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection, within limits."""

    limits: ClassVar[Limits] = Limits()
    posts: ClassVar[SmallPosts | None] = None
    _post: SmallPost | None = None
    _expects = ""
    _timer: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody connects."""
        super().connection_made(transport)
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "too many connections")
            return
        self._expects = "headers"
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something came: if a request is still incomplete, its time runs."""
        if self._refused:
            return
        before = self._expects
        super().data_received(data)
        if self._expects != before:
            self._unwatch()
        if self._expects and self._timer is None:
            self._watch()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._expects = "headers"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its headers are there."""
        self._expects = "body"
        posts, free = self.posts, self.cycle is None or self.cycle.response_complete
        method = self.parser.get_method()
        if posts is None or not free or not posts.is_small(method, self.url, self.headers):
            super().on_headers_complete()
            return
        keep = self.parser.get_http_version() == "1.1" and self.parser.should_keep_alive()
        self._post = SmallPost(keep)
        self.cycle = self._post  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        """Some of its body is there."""
        if self._post is None:
            super().on_body(body)
        else:
            self._post.body += body

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._expects = ""
        if self._post is None or self.posts is None:
            super().on_message_complete()
            return
        post, self._post = self._post, None
        self.posts.take(self, post)

    def _watch(self) -> None:
        limits = self.limits
        seconds = limits.header_seconds if self._expects == "headers" else limits.body_seconds
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._expects == "headers":
            self._refuse(408, "the headers did not come in time")
        elif self.cycle is not None and not self.cycle.response_started:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._refuse(408, "the body did not come in time")
        else:
            self.transport.close()

    def _refuse(self, status: int, detail: str) -> None:
        """Say why, and hang up."""
        self._refused = True
        error = ProblemError(status, detail)
        body = error.body()
        head = (
            f"HTTP/1.1 {status} {error.problem.title}\r\ncontent-type: {CONTENT_TYPE}\r\n"
            f"content-length: {len(body)}\r\nretry-after: 5\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def protocol_with(limits: Limits, posts: SmallPosts | None = None) -> type[Any]:
    """The protocol with other limits than usual."""
    return type("LimitedProtocol", (GuardedProtocol,), {"limits": limits, "posts": posts})
