"""Text of any encoding and line ends as UTF-8 with newlines, a piece at a time.

Knows nothing of what the text means.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

from crowdstream.errors import InputError
from crowdstream.labels.readers.sniffing import (
    SNIFFED,
    UNDECIDED,
    UTF_8,
    CountRoles,
    Dialect,
    cut_character,
    encoding_words,
    guess_encoding,
    sniff,
)
from crowdstream.labels.readers.sources import Readable, Source


class TextStream:
    """The text of a source in UTF-8. What it is encoded in is found out as late as it can be.

    As long as all is ASCII nothing is decided: a name with an accent may come after a million
    rows, and what came before is the same in UTF-8 and Latin-1.
    """

    def __init__(self, file: Readable, source: Source, count_roles: CountRoles) -> None:
        self.name = source.name
        self._file = file
        self._head = file.read(SNIFFED)
        self.beginning = self._head
        self.dialect = sniff(self._head, source.format, source.options, count_roles)
        self._decoder: codecs.IncrementalDecoder | None = None
        if self.dialect.encoding not in (UTF_8, UNDECIDED):
            self._decoder = codecs.getincrementaldecoder(self.dialect.encoding)()
        self._first = True

    @property
    def head(self) -> str:
        """Return how the text begins, whatever has been read of it."""
        return decode_head(self.beginning, self.dialect)

    def read(self, size: int = -1) -> bytes:
        """About so many bytes, none at the end."""
        if size < 0:
            return b"".join(iter(lambda: self.read(1 << 20), b""))
        while True:
            more = self._file.read(max(size - len(self._head), 1))
            data, self._head = self._head + more, b""
            text = self._in_utf_8(data, last=not more)
            if text or not more:
                return text

    def _in_utf_8(self, data: bytes, *, last: bool) -> bytes:
        if self.dialect.encoding == UNDECIDED and self.dialect.kind == "csv":
            data = self._decide(data, last=last)
        if self._decoder is not None:
            try:
                text = self._decoder.decode(data, final=last)
                data = text.encode()
            except UnicodeError as error:
                expected = f"text in {self.dialect.encoding}"
                raise InputError(self.name, expected, str(error)[:200]) from None
            if self._first and text:
                data, self._first = data.removeprefix(codecs.BOM_UTF8), False
        return data.replace(b"\r", b"\n") if self.dialect.returns else data

    def _decide(self, data: bytes, *, last: bool) -> bytes:
        """See whether the encoding shows by now; a character that is cut is kept for later."""
        whole = data if last else data[: len(data) - cut_character(data)]
        if not whole.isascii():
            self.dialect = decide(self.dialect, whole)
            if self.dialect.encoding != UTF_8:
                self._decoder = codecs.getincrementaldecoder(self.dialect.encoding)()
            return data
        self._head = data[len(whole) :]
        return whole


def decode_head(head: bytes, dialect: Dialect) -> str:
    """The beginning of a text; a character that is cut at its end becomes another."""
    try:
        text = head.decode(dialect.encoding, errors="replace")
    except UnicodeError:  # an encoding that cannot replace; reading on will say what is wrong
        text = head.decode("latin-1")
    return text.replace("\r", "\n") if dialect.returns else text


def decide(dialect: Dialect, data: bytes) -> Dialect:
    """Decide the encoding of text that began in ASCII, now that there is more of it."""
    found = guess_encoding(data)
    encoding = found if found in ("latin-1", "cp1252") else UTF_8
    return dialect._replace(encoding=encoding, said=(*dialect.said, *encoding_words(encoding)))


class WholeText(NamedTuple):
    """A text that is in memory, in UTF-8, and how it was read."""

    data: bytes
    dialect: Dialect


def decide_whole(data: bytes, dialect: Dialect) -> WholeText:
    """A whole text in UTF-8 whose first bytes were ASCII."""
    if dialect.encoding != UNDECIDED or data.isascii():
        return WholeText(data, dialect)
    dialect = decide(dialect, data)
    if dialect.encoding != UTF_8:
        data = data.decode(dialect.encoding).encode()
    return WholeText(data, dialect)
