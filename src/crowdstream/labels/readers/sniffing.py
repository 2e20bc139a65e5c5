"""Kind of text in a file, by its first bytes: encoding, separator, line ends, JSON.

Knows nothing of rows. What the user says goes before what is found here.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import functools
import io
import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from crowdstream.labels.readers.input_options import InputOptions

SNIFFED = 64 << 10
"""Bytes that are looked at: some thousand rows, read in a tenth of a millisecond."""

UTF_8 = "utf-8"

UNDECIDED = "ascii"
"""All so far is ASCII: UTF-8 and Latin-1 alike."""

MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Marks that some programs put before text, the longer ones of a kind first."""

SEPARATORS = (",", ";", "\t", "|")
"""Separators of cells in files called .csv, the likeliest first."""

SEPARATOR_WORDS = {",": "comma-separated", "\t": "tab-separated"}

ENCODING_WORDS = {"latin-1": "Latin-1", "cp1252": "Windows-1252"}

TITLES = 30
"""Rows among which a header is looked for, as in `header_rows`."""

NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Control characters that text does not have."""

NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
"""Bytes that stand for nothing in Windows-1252."""

CUT = re.compile(rb"(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})\Z")
"""The beginning of a character of UTF-8 that takes more bytes."""

CountRoles = Callable[[Sequence[str]], int]
"""Function that counts the wanted columns in a header."""


class Dialect(NamedTuple):
    """Way to read a text; ``said``: what was found out that is not the usual.

    ``kind`` is csv, jsonl or array (of JSON objects); ``returns``: lines end in carriage returns.
    """

    kind: str
    encoding: str = UNDECIDED
    separator: str = ","
    returns: bool = False
    said: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """True if readers can take the bytes as they are."""
        return self.encoding in (UTF_8, UNDECIDED) and not self.returns

    def note(self, name: str) -> str | None:
        """Return a note on how a file was read, if it was not the usual way."""
        return f"{name}: read as {', '.join(self.said)}" if self.said else None


def sniff(head: bytes, kind: str, options: InputOptions, count_roles: CountRoles) -> Dialect:
    r"""Find how a text is to be read, by its beginning.

    Parameters
    ----------
    head
        Its first bytes.
    kind
        csv, tsv, jsonl, or text if either is possible.
    options
        What the user says of it.
    count_roles
        How many of the columns that are looked for a header has.

    Examples
    --------
    >>> head = "task;worker;label\r1;zoé;5,0\r".encode("latin-1")
    >>> dialect = sniff(head, "csv", InputOptions(), lambda header: "task" in header)
    >>> dialect.note("labels.csv")
    'labels.csv: read as ;-separated, Latin-1, \\r line ends'
    """
    guessed = options.encoding is None
    whole = head[: len(head) - cut_character(head)] if len(head) >= SNIFFED else head
    encoding = guess_encoding(whole) if options.encoding is None else as_utf_8(options.encoding)
    try:
        text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    except UnicodeError:  # an encoding that cannot replace; reading on will say what is wrong
        text = head.decode("latin-1")
    start = text.lstrip()
    named = encoding_words(encoding) if guessed else ()
    if kind == "jsonl" or (kind == "text" and re.match(r"\{|\[\s*[{\]]", start)):
        if guessed and encoding in ENCODING_WORDS:  # JSON is Unicode; other bytes are bad rows
            encoding, named = UTF_8, ()
        return Dialect("array" if start.startswith("[") else "jsonl", encoding, said=named)
    returns = _ends_in_return(text)
    separator = options.separator
    said: list[str] = []
    if separator is None:
        separator = "\t" if kind == "tsv" else guess_separator(text, count_roles, options)
        if kind != "tsv" and separator != ",":
            said.append(SEPARATOR_WORDS.get(separator, f"{separator}-separated"))
    said += named
    if returns:
        said.append(r"\r line ends")
    return Dialect("csv", encoding, separator, returns, tuple(said))


def as_utf_8(encoding: str) -> str:
    """UTF-8, and what is part of it, by the one name that readers know."""
    name = codecs.lookup(encoding).name
    return UTF_8 if name in ("utf-8", "utf-8-sig", "ascii") else name


def encoding_words(encoding: str) -> tuple[str, ...]:
    """Return words on an encoding that was guessed; none on the usual one."""
    if encoding in (UTF_8, UNDECIDED):
        return ()
    return (ENCODING_WORDS.get(encoding, encoding.upper().removesuffix("-LE").removesuffix("-BE")),)


def guess_encoding(data: bytes) -> str:
    """The encoding of text that is not cut within a character.

    >>> guess_encoding("é".encode()), guess_encoding("é".encode("latin-1")), guess_encoding(b"e")
    ('utf-8', 'latin-1', 'ascii')
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    if (wide := _wide_characters(data)) is not None:
        return wide
    if data.isascii():
        return UNDECIDED
    try:
        data.decode(UTF_8)
        return UTF_8
    except UnicodeDecodeError:
        return _eight_bits(data)


def cut_character(data: bytes) -> int:
    """Count the bytes at the end that are the beginning of a character of UTF-8.

    >>> cut_character("zoé".encode()), cut_character("zoé".encode()[:-1])
    (0, 1)
    """
    found = CUT.search(data, max(len(data) - 3, 0))
    return 0 if found is None else len(found[0])


def _wide_characters(data: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of plain letters is zero."""
    data = data[:SNIFFED]
    if data.count(0) < 4:  # too little to tell
        return None
    even, odd = (data[k::2].count(0) / max(len(data[k::2]), 1) for k in (0, 1))
    if odd > 0.3 and even < 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > 0.3 and odd < 0.05 else None


def _eight_bits(data: bytes) -> str:
    """Find the encoding of bytes that are not all UTF-8: Latin-1, Windows-1252, broken UTF-8."""
    if NOT_TEXT.search(data):
        return UTF_8
    text = data.decode(UTF_8, errors="surrogateescape")
    wrong = len(re.findall("[\udc80-\udcff]", text))
    right = len(re.findall("[^\x00-\x7f\udc80-\udcff]", text))
    if wrong <= right:
        return UTF_8
    if re.search(rb"[\x80-\x9f]", data):
        return UTF_8 if NOT_WINDOWS.search(data) else "cp1252"
    return "latin-1"


def guess_separator(
    text: str,
    count_roles: CountRoles,
    options: InputOptions = InputOptions(),  # noqa: B008 a tuple
) -> str:
    r"""The separator with which the header has most of the columns looked for; else most columns.

    Titles may stand above the header, so it is looked for in some rows if it is not the first.

    >>> guess_separator("task;gold\n1;spam, they say\n", lambda header: "gold" in header)
    ';'
    >>> guess_separator("Truth, by us\ntask;gold\n", lambda header: "gold" in header)
    ';'
    """
    if options.columns is not None:  # then their number is known
        count_roles = functools.partial(_has_width, len(options.columns))
    skipped = (options.header_row or 1) - 1
    scores = [_best_header(text, each, count_roles, skipped, 1) for each in SEPARATORS]
    if max(scores)[0] < 2 and not skipped:
        scores = [_best_header(text, each, count_roles, 0, TITLES) for each in SEPARATORS]
    best = max(scores)
    # A comma is not given up for more columns alone.
    usual = scores[0][0] == best[0] and scores[0][1] > 1
    return "," if usual else SEPARATORS[scores.index(best)]


def _has_width(width: int, cells: Sequence[str]) -> int:
    return int(len(cells) == width)


def _best_header(
    text: str, separator: str, count_roles: CountRoles, skipped: int, most: int
) -> tuple[int, int]:
    """Return how many of the columns looked for the best of some rows has, and how many in all.

    A row that has none of them counts only if it is the first.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    best = (0, 0)
    with contextlib.suppress(csv.Error):
        for k, row in enumerate(itertools.islice(rows, skipped, skipped + most)):
            roles = count_roles(row)
            if roles or not k:
                best = max(best, (roles, len(row) if len(row) > 1 else 0))
    return best


def _ends_in_return(text: str) -> bool:
    r"""Return True if the first line ends in a return that no newline follows."""
    found = re.search("\r\n|\r|\n", re.sub('"[^"]*"', "", text))
    return found is not None and found[0] == "\r" and found.end() > 1
