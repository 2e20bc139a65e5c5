"""Fingerprints of the inputs that were learnt, so that none is learnt twice unnoticed.

Knows nothing of what the bytes say.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from crowdstream.plain_text import shortened

CHUNK = 1 << 20
"""Bytes read at a time."""

NAME_LENGTH = 200
"""Characters of an input's name that are kept."""

BEGINNING = 1024
"""Bytes from which on what was learnt is recognised as the beginning of something longer: less may
be no more than a header."""


class LearntInput(msgspec.Struct, frozen=True):
    """A file, or what came from a pipe, that was learnt: its name, length, digest and the day.

    Examples
    --------
    >>> Fingerprint().learnt("labels.csv").name
    'labels.csv'
    """

    name: str
    size: int
    digest: bytes
    day: str


class Fingerprint:
    """The digest of an input, taken while it is read; notices what was learnt before.

    Parameters
    ----------
    known
        What was learnt before.

    Examples
    --------
    >>> first = Fingerprint()
    >>> first.update(b"x" * 2000)
    >>> second = Fingerprint([first.learnt("may.csv")])
    >>> second.update(b"x" * 2000 + b"more")
    >>> second.begins_with.name, second.known_as is None
    ('may.csv', True)
    """

    def __init__(self, known: Iterable[LearntInput] = ()) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.size = 0
        self._known = {(one.size, one.digest): one for one in known}
        self._stops = sorted({one.size for one in self._known.values() if one.size >= BEGINNING})
        self.begins_with: LearntInput | None = None
        """The longest input learnt before that this one begins with, if there is any."""

    def update(self, data: bytes) -> None:
        """Take in what comes next."""
        view = memoryview(data)
        while self._stops and self._stops[0] < self.size + len(view):
            cut = self._stops.pop(0) - self.size
            self._hash.update(view[:cut])
            self.size += cut
            view = view[cut:]
            self.begins_with = self.known_as or self.begins_with
        self._hash.update(view)
        self.size += len(view)

    @property
    def known_as(self) -> LearntInput | None:
        """Return the earlier input that equals all that came so far, if any."""
        return self._known.get((self.size, self._hash.digest()))

    def learnt(self, name: str) -> LearntInput:
        """As it is kept: learnt today."""
        day = datetime.date.today().isoformat()
        return LearntInput(shortened(name, NAME_LENGTH), self.size, self._hash.digest(), day)


def fingerprint(path: str | Path, known: Iterable[LearntInput] = ()) -> Fingerprint:
    """The fingerprint of a file.

    Parameters
    ----------
    path
        The file.
    known
        What was learnt before.

    Examples
    --------
    >>> fingerprint(__file__).size > 1000
    True
    """
    found = Fingerprint(known)
    with open(path, "rb") as file:
        while data := file.read(CHUNK):
            found.update(data)
    return found
