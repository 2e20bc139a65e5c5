"""Small posts of labels, answered by the connection itself: half of what they cost is HTTP.

A request of a few labels that is all there needs no task, no scope and no messages: it goes from
the parser to the engine, and the answer from the engine to the socket. Everything else, and what is
sent before the answer to such a post, goes the way of all requests.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from crowdstream.serve.labels import END, START, take_small
from crowdstream.serve.problems import CONTENT_TYPE, ProblemError
from crowdstream.serve.server import Server

if TYPE_CHECKING:
    from crowdstream.serve.protocol import GuardedProtocol

SMALL = 16 << 10
"""Bytes of a body up to which a post is small."""

_START, _END = START.encode(), END.encode()
_OTHERWISE = frozenset({b"expect", b"content-encoding", b"transfer-encoding", b"upgrade"})
_FINE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n"


class SmallPost:
    """A post on its way; to uvicorn it looks like a request that is being answered."""

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.body = bytearray()
        self.response_started = self.response_complete = self.disconnected = False
        self.message_event = asyncio.Event()


class SmallPosts:
    """Takes small posts of a server's connections."""

    def __init__(self, server: Server, statuses: Counter[int]) -> None:
        self.server, self.statuses = server, statuses

    @staticmethod
    def is_small(method: bytes, url: bytes, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether a request is one, by its head."""
        if method != b"POST" or not (url.startswith(_START) and url.endswith(_END)):
            return False
        if b"%" in url or b"?" in url or b"/" in url[len(_START) : -len(_END)]:
            return False
        length = b""
        for name, value in headers:
            if name == b"content-length":
                length = value
            elif name in _OTHERWISE:
                return False
        return length.isdigit() and int(length) <= SMALL

    def take(self, way: GuardedProtocol, post: SmallPost) -> None:
        """Hand a post to the engine."""

        def tell(answer: Any) -> None:
            self._answer(way, post, answer)

        try:
            path = way.url.decode("ascii")
            take_small(self.server, path, way.headers, bytes(post.body), tell)
        except ProblemError as error:
            tell(error)

    def _answer(self, way: GuardedProtocol, post: SmallPost, answer: bytes | Exception) -> None:
        head, body, status = _FINE, answer, 200
        if isinstance(answer, Exception):
            problem = answer if isinstance(answer, ProblemError) else ProblemError(500, "a mistake")
            head, body, status = _head_of(problem), problem.body(), problem.status
        assert isinstance(body, bytes)
        self.statuses[status] += 1
        post.response_complete = True
        if post.disconnected or way.transport.is_closing():
            return
        parts = [head]
        for name, value in way.server_state.default_headers:
            parts += (name, b": ", value, b"\r\n")
        if not post.keep_alive:
            parts.append(b"connection: close\r\n")
        parts.append(b"content-length: %d\r\n\r\n" % len(body))
        parts.append(body)
        way.transport.write(b"".join(parts))
        if not post.keep_alive:
            way.transport.close()
        way.on_response_complete()


def _head_of(error: ProblemError) -> bytes:
    lines = [f"HTTP/1.1 {error.status} {error.problem.title}", f"content-type: {CONTENT_TYPE}"]
    lines += [f"{name.lower()}: {value}" for name, value in error.headers.items()]
    return "".join(f"{line}\r\n" for line in (*lines, "x-content-type-options: nosniff")).encode()
