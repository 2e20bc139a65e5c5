"""Answers to requests that may come twice: the same `Idempotency-Key`, the same answer.

Kept for a bounded time and in bounded memory; the engine saves them with what they answer. Knows
nothing of requests but the bytes.
"""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from crowdstream.serve.problems import ProblemError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

KEPT_SECONDS = 600.0
"""How long an answer is kept: clients give up much earlier."""

MOST_BYTES = 64 << 20
"""Memory that kept answers may take; the oldest go first."""

LARGE = 4096
"""Bytes of an answer beyond which it is kept compressed, to a tenth or less."""

COMPRESSION = 1
"""Level of compression: 0.5 ms for the answer to 1,000 labels."""


class Answer(msgspec.Struct, array_like=True):
    """A request by its key, what it said (as a fingerprint), and the answer.

    >>> Answer.of(b"k", b"said", 0.0, b"{}" * 10_000).to(b"said") == b"{}" * 10_000
    True
    """

    key: bytes
    said: bytes
    at: float
    body: bytes
    compressed: bool = False

    @classmethod
    def of(cls, key: bytes, said: bytes, at: float, body: bytes) -> Answer:
        """Return the answer as it is kept."""
        if len(body) <= LARGE:
            return cls(key, said, at, body)
        return cls(key, said, at, zstd.compress(body, COMPRESSION), compressed=True)

    def to(self, said: bytes) -> bytes:
        """The answer to the same request; 422 if it is another one under the same key."""
        if self.said != said:
            detail = "this Idempotency-Key was used for another request"
            raise ProblemError(422, detail, path="Idempotency-Key", expected="a new key")
        return zstd.decompress(self.body) if self.compressed else self.body


def digest(*parts: bytes) -> bytes:
    """A fingerprint of some bytes."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


class Answers:
    """The answers of the last minutes.

    >>> answers = Answers()
    >>> answers.add([Answer(b"k", b"said", 0.0, b"{}")])
    >>> answers.find(b"k", b"said", now=1.0)
    b'{}'
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Answer] = OrderedDict()
        self._bytes = 0

    def find(self, key: bytes, said: bytes, now: float) -> bytes | None:
        """The answer that was given to this key, if it was."""
        found = self._kept.get(key)
        if found is None or found.at < now - KEPT_SECONDS:
            return None
        return found.to(said)

    def add(self, answers: Iterable[Answer]) -> None:
        """Keep answers that are on the disk."""
        for answer in answers:
            self._kept[answer.key] = answer
            self._bytes += len(answer.body) + 200
        while self._kept and self._bytes > MOST_BYTES:
            self._drop()

    def forget(self, before: float) -> float:
        """Drop what is older; returns how old the oldest is that is left."""
        while self._kept and next(iter(self._kept.values())).at < before:
            self._drop()
        return next(iter(self._kept.values())).at if self._kept else before

    def _drop(self) -> None:
        _, gone = self._kept.popitem(last=False)
        self._bytes -= len(gone.body) + 200


def pack(answers: list[Answer]) -> bytes:
    """Answers as they are stored."""
    return msgspec.msgpack.encode(answers)


def unpack(data: bytes) -> list[Answer]:
    """The answers that `pack` packed."""
    return msgspec.msgpack.decode(data, type=list[Answer])
