"""How much of what one may send: sizes, rates, times. All can be set. Knows no routes."""

from __future__ import annotations

import time
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from crowdstream.defaults import BODY_SECONDS, CONNECTIONS, HEADER_SECONDS, MAX_BODY, RATE
from crowdstream.serve.problems import ProblemError


class Limits(msgspec.Struct, frozen=True):
    """What is allowed."""

    body: int = MAX_BODY
    """Bytes of a request's body, also after it is unpacked."""
    rate: float = RATE
    """Requests a second of one token."""
    connections: int = CONNECTIONS
    """Connections at a time."""
    listeners: int = 200
    """Of those, listeners to `/events`."""
    header_seconds: float = HEADER_SECONDS
    """Seconds in which a request's headers have to come."""
    body_seconds: float = BODY_SECONDS
    """Seconds in which its body has to come."""
    idle_seconds: float = 75.0
    """Seconds that a connection may be silent between requests."""


async def read_body(
    headers: dict[bytes, bytes], receive: Callable[[], Awaitable[Any]], most: int
) -> bytes:
    """A request's body, unpacked; 413 as soon as it is too long."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > most:
        raise too_long(most)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        parts, size = [body], len(body)
        while message.get("more_body"):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ProblemError(400, "the connection closed before the body had come")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise too_long(most)
        body = b"".join(parts)
    if len(body) > most:
        raise too_long(most)
    if message["type"] == "http.disconnect":
        raise ProblemError(400, "the connection closed before the body had come")
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding == b"gzip":
        return unpacked(body, most)
    if encoding not in (b"identity", b""):
        shown = encoding.decode("latin-1")
        raise ProblemError(415, "Content-Encoding: expected gzip or none", got=shown)
    return body


def unpacked(body: bytes, most: int) -> bytes:
    """A gzip body unpacked, never more than ``most`` bytes of it.

    >>> import gzip
    >>> unpacked(gzip.compress(b"hello"), 5)
    b'hello'
    """
    machine = zlib.decompressobj(31)
    try:
        data = machine.decompress(body, most + 1)
    except zlib.error:
        raise ProblemError(400, "the body is not gzip", path="$", expected="gzip") from None
    if len(data) > most:
        raise too_long(most)
    if not machine.eof:
        raise ProblemError(400, "the gzip body is cut short", path="$", expected="gzip")
    return data


def too_long(most: int) -> ProblemError:
    """413."""
    return ProblemError(413, f"the body is longer than {most:,} bytes: send it in parts")


class Rates:
    """Token buckets: each name may have ``rate`` a second, and as many at once.

    >>> rates = Rates(2.0)
    >>> [rates.take("ann", now=0.0) for _ in range(3)]
    [0.0, 0.0, 0.5]
    """

    most_names = 10_000

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, now: float | None = None) -> float:
        """Take one; returns the seconds to wait if there is none."""
        now = time.monotonic() if now is None else now
        left, at = self._buckets.get(name, (self.rate, now))
        left = min(left + (now - at) * self.rate, max(self.rate, 1.0))
        if left < 1.0:
            self._buckets[name] = left, now
            return (1.0 - left) / self.rate
        if name not in self._buckets and len(self._buckets) >= self.most_names:
            self._buckets.popitem(last=False)
        self._buckets[name] = left - 1.0, now
        return 0.0

    def check(self, name: str) -> None:
        """Take one; 429 if there is none."""
        if wait := self.take(name):
            seconds = str(max(round(wait), 1))
            raise ProblemError(429, "too many requests", headers={"Retry-After": seconds})
