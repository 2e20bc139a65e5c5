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

GZIP = 31
"""Window bits by which zlib reads a gzip member with its header and checksum."""

PIECE = 4096
"""Bytes of gzip that are unpacked at once: what a member leaves of them is copied."""

MEMBERS, MEMBER_BYTES = 100, 1024
"""Members that a gzip body may have: so many, and more where a longer body is allowed. bgzip makes
one of each 64 KB; members of nothing would cost time without end."""

PACKED = (b"identity", b"gzip", b"")


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
    header_bytes: int = 32 << 10
    """Bytes of a request's head, and of what follows a body in chunks: as nginx allows."""
    headers: int = 100
    """Headers of a request."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose ``X-Forwarded-For`` is believed."""
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
    check_length(headers, most)
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ProblemError(400, "the connection closed before the body had come")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise too_long(most)
    return unpacked_body(headers, bytes(body), most)


def check_length(headers: dict[bytes, bytes], most: int) -> None:
    """413 if a request says that its body is too long; 415 if it is packed in an unknown way."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > most:
        raise too_long(most)
    if (encoding := _encoding(headers)) not in PACKED:
        shown = encoding.decode("latin-1")
        raise ProblemError(415, "Content-Encoding: expected gzip or none", got=shown)


def unpacked_body(headers: dict[bytes, bytes], body: bytes, most: int) -> bytes:
    """A whole body, unpacked if it is packed."""
    return unpacked(body, most) if _encoding(headers) == b"gzip" else body


def _encoding(headers: dict[bytes, bytes]) -> bytes:
    return headers.get(b"content-encoding", b"identity").strip().lower()


def unpacked(body: bytes, most: int) -> bytes:
    """A gzip body unpacked, never more than ``most`` bytes of it; it may have several members.

    >>> import gzip
    >>> unpacked(gzip.compress(b"hel") + gzip.compress(b"lo"), 5)
    b'hello'
    """
    found, at, members = bytearray(), 0, 0
    machine = zlib.decompressobj(GZIP)
    while at < len(body):
        if machine.eof:
            machine, members = zlib.decompressobj(GZIP), members + 1
            if members > MEMBERS + most // MEMBER_BYTES:
                raise too_long(most)
        piece = body[at : at + PIECE]
        try:
            found += machine.decompress(piece, most + 1 - len(found))
        except zlib.error:
            what = "the body is not gzip" if not members else "gzip is followed by something else"
            raise ProblemError(400, what, path="$", expected="gzip") from None
        if len(found) > most:
            raise too_long(most)
        at += len(piece) - len(machine.unused_data)
    if not machine.eof:
        raise ProblemError(400, "the gzip body is cut short", path="$", expected="gzip")
    return bytes(found)


def too_long(most: int) -> ProblemError:
    """413."""
    return ProblemError(413, f"the body is longer than {most:,} bytes: send it in parts")


class Rates:
    """Token buckets: each name may have ``rate`` a second, and as many or ``burst`` at once.

    >>> rates = Rates(2.0)
    >>> [rates.take("ann", now=0.0) for _ in range(3)]
    [0.0, 0.0, 0.5]
    """

    most_names = 10_000

    def __init__(self, rate: float, burst: float | None = None) -> None:
        self.rate = rate
        self.burst = max(rate if burst is None else burst, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, now: float | None = None) -> float:
        """Take one; returns the seconds to wait if there is none."""
        now = time.monotonic() if now is None else now
        left, at = self._buckets.get(name, (self.burst, now))
        left = min(left + (now - at) * self.rate, self.burst)
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
