"""CSV and TSV without quotes, whole files: bytes → codes, no string made on the way.

Most files of labels are of this kind, and most of the time goes into reading them. Whatever is not
plain is left to `delimited`: quotes, blank lines, rows of another length, missing ids. So is
everything where the loops are not compiled.
"""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from typing import IO, TYPE_CHECKING

import numpy as np

from crowdstream.labels.columns import Column, Columns, Runs
from crowdstream.labels.text_loops import AT, GROW, HEADS, ODD, ROWS, RUNS, WANT, read_rows
from crowdstream.labels.words import QUICK, Bytes, Codes, Table

if TYPE_CHECKING:
    import polars as pl

PIECE = 1 << 20
"""Bytes read at a time: they stay in the cache while they are looked at."""
PADDING = 8
"""Bytes past the end of a text that may be read."""
SMALL = 16 << 20
"""A file of fewer bytes is not worth a second thread."""

MANY = 1 << 16
"""Bytes of text from which on polars is quicker to cut it into lines."""

ROWS_AT_ONCE = 256
"""Rows that are read before their workers are looked up: enough for the processor to look up
several at a time, few enough that what was read is still at hand."""

NEWLINE = 10
WORKER, LABEL = range(2)
"""Kinds of text in a table."""


def read_plain(
    data: str | bytes, separator: str, places: tuple[int, int, int], fields: int, skip: int
) -> Columns | None:
    """The columns at three places of a file (its path or bytes), or None if it is not plain.

    ``fields`` is how many each row must have, ``skip`` how many bytes the header takes.
    """
    if not QUICK:
        return None
    size = len(data) if isinstance(data, bytes) else os.path.getsize(data)
    parts = 1 if size < SMALL else (os.cpu_count() or 1)
    cuts = [skip + (size - skip) * k // parts for k in range(parts + 1)]
    # A row takes a letter each for task and worker, its separators and its newline. Memory is taken
    # only as it is filled.
    shortest = fields + 2
    room = (
        np.empty(size // shortest + parts, np.int32),
        np.empty(size // shortest + parts, np.int32),
    )

    def part(k: int) -> Columns | None:
        at = cuts[k] // shortest + k
        here = room[0][at:], room[1][at:]
        inside = cuts[k] > skip
        with io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb") as file:
            return _read_part(
                file, cuts[k], cuts[k + 1], inside, ord(separator), places, fields, *here
            )

    with ThreadPoolExecutor(parts) as pool:
        found = [columns for columns in pool.map(part, range(parts)) if columns is not None]
    return Columns.concat(found, into=room) if len(found) == parts else None


def _read_part(
    file: IO[bytes],
    begin: int,
    end: int,
    inside: bool,
    separator: int,
    places: tuple[int, int, int],
    fields: int,
    workers: Codes,
    labels: Codes,
) -> Columns | None:
    """The rows that begin in a part of a file."""
    if inside:  # a row that began before is another part's
        file.seek(begin - 1)
        begin += len(file.readline()) - 1
    file.seek(begin)
    starts = np.empty(max(end - begin, 0) // (fields + 2) + 1, np.int64)
    heads = np.empty(max(end - begin, 0) + PIECE + PADDING, np.uint8)
    room = bytearray(PIECE + PADDING)
    spots = np.empty((ROWS_AT_ONCE, 2), np.int64)
    table = Table()
    state = np.zeros(6, np.int64)
    rest = 0
    while begin < end:
        got = file.readinto(memoryview(room)[rest : min(PIECE, rest + end - begin)])  # type: ignore[attr-defined]
        begin += got
        filled = rest + got
        if begin >= end and room[filled - 1] != NEWLINE:  # the last row goes on beyond the part
            tail = file.readline().removesuffix(b"\n") + b"\n"
            if len(tail) > PIECE:
                return None
            room[filled:] = tail + bytes(PIECE + PADDING)
            filled += len(tail)
        elif not got:
            return None  # a row longer than a piece, or a file that shrank meanwhile
        stop = room.rfind(b"\n", 0, filled) + 1
        returns = room.count(b"\r", 0, stop)
        if returns and returns != room.count(b"\r\n", 0, stop):
            return None
        if room.find(b'"', 0, stop) >= 0:
            return None
        data = np.frombuffer(room, np.uint8)
        state[AT] = 0
        while True:
            status = read_rows(
                data,
                stop,
                separator,
                *places,
                fields,
                table.texts,
                spots,
                heads,
                workers,
                labels,
                starts,
                state,
            )
            if status != GROW:
                break
            table.grow(int(state[WANT]))
        if status == ODD:
            return None
        rest = filled - stop
        del data  # so that the room may change
        room[:rest] = room[stop:filled]
    rows, runs = int(state[ROWS]), int(state[RUNS])
    try:
        return Columns(
            Runs(starts[:runs], _lines(heads[: state[HEADS]], chr(separator))),
            Column(workers[:rows], table.values(WORKER)),
            Column(labels[:rows], table.values(LABEL)),
        )
    except UnicodeDecodeError:
        return None


def _lines(heads: Bytes, separator: str) -> list[str] | pl.Series:
    """Texts that end in a newline each and hold no separator."""
    if heads.size < MANY:
        return heads.tobytes().decode().split("\n")[:-1]
    import polars as pl

    try:
        table = pl.read_csv(
            heads.tobytes(),
            has_header=False,
            separator=separator,
            quote_char=None,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError as error:
        raise UnicodeDecodeError("utf-8", b"", 0, 0, str(error)) from None
    return table.to_series()
