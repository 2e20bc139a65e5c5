"""CSV and TSV without quotes, whole files: bytes → codes, no string made on the way.

Most files of labels are of this kind, and most of the time goes into reading them. Whatever is not
plain is left to `delimited`: quotes, blank lines, rows of another length, missing ids.
"""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from typing import IO, TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from crowdstream.labels.columns import Column, Columns, Runs
from crowdstream.labels.words import (
    Bytes,
    Codes,
    Ints,
    Table,
    grown,
    mixed,
    new_table,
    peek,
    word_of,
)

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

NEWLINE, RETURN = 10, 13
_EACH = np.uint64(0x0101010101010101)
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
_NEWLINES = np.uint64(NEWLINE * 0x0101010101010101)

DONE, GROW, ODD = range(3)
TASK, WORKER, LABEL = range(3)
ROWS, RUNS, HEADS, LAST, AT, WANT = range(6)
"""Places in the state of `read_rows`: rows, runs and bytes of heads so far, where the last head
begins, where the next row does, how long the text is that found no room."""


def read_plain(
    data: str | bytes, separator: str, places: tuple[int, int, int], fields: int, skip: int
) -> Columns | None:
    """The columns at three places of a file (its path or bytes), or None if it is not plain.

    ``fields`` is how many each row must have, ``skip`` how many bytes the header takes.
    """
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
    table = new_table()
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
                data, stop, separator, places, fields, table, heads, workers, labels, starts, state
            )
            if status != GROW:
                break
            table = grown(table, int(state[WANT]))
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


@intrinsic
def _trailing_zeros(_context, word):  # type: ignore[no-untyped-def]
    def count(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), count


@njit(cache=True, nogil=True, inline="always")
def _where(word: np.uint64, byte: np.uint64) -> np.uint64:
    """The highest bit of each of eight bytes that is the given one (repeated in all eight)."""
    apart = word ^ byte
    return ~(((apart & _LOW) + _LOW) | apart | _LOW)


@njit(cache=True, nogil=True)
def read_rows(
    data: Bytes,
    stop: int,
    separator: int,
    places: tuple[int, int, int],
    fields: int,
    table: Table,
    heads: Bytes,
    workers: Codes,
    labels: Codes,
    starts: Ints,
    state: Ints,
) -> int:
    """Whole rows up to ``stop``: codes of workers and labels, and each run's task once."""
    slots, hashes, kinds, code_of, lengths, begins, arena, used = table
    last_slot = np.uint64(slots.size - 1)
    base, heads_base = np.uint64(data.ctypes.data), np.uint64(heads.ctypes.data)
    at_task, at_worker, at_label = places
    separators = np.uint64(separator) * _EACH
    row, runs, filled, last = state[:4]
    task = task_size = worker = worker_size = label = label_size = 0
    last_size = filled - last - 1 if runs else 0
    last_one = word_of(heads_base + np.uint64(last), 0, last_size)
    last_two = word_of(heads_base + np.uint64(last), 8, last_size)
    at = state[AT]
    while at < stop:
        begin = at
        for place in range(fields):
            k = begin
            found = np.uint64(0)
            while True:
                word = peek(base + np.uint64(k))
                found = _where(word, separators) | _where(word, _NEWLINES)
                if found:
                    break
                k += 8
            k += np.int64(_trailing_zeros(found) >> np.uint64(3))  # type: ignore[call-arg]
            size = k - begin
            if (data[k] == NEWLINE) != (place == fields - 1):
                return ODD
            if place == fields - 1 and size > 0 and data[k - 1] == RETURN:
                size -= 1
            if place == at_task:
                task, task_size = begin, size
            elif place == at_worker:
                worker, worker_size = begin, size
            elif place == at_label:
                label, label_size = begin, size
            begin = k + 1
        if task_size == 0 or worker_size == 0:
            return ODD
        for kind in (WORKER, LABEL):
            where = base + np.uint64(worker if kind == WORKER else label)
            size = worker_size if kind == WORKER else label_size
            if size == 0:
                labels[row] = -1
                continue
            full = max((size + 7) >> 3, 2)
            one, two = word_of(where, 0, size), word_of(where, 8, size)
            hashed = mixed(mixed(np.uint64(size + (kind << 40)), one), two)
            for j in range(2, full):
                hashed = mixed(hashed, word_of(where, 8 * j, size))
            slot = hashed & last_slot
            entry = slots[slot]
            while entry >= 0:
                text = begins[entry]
                if hashes[entry] == hashed and lengths[entry] == size and kinds[entry] == kind:
                    same = arena[text] == one and arena[text + 1] == two
                    for j in range(2, full):
                        same &= arena[text + j] == word_of(where, 8 * j, size)
                    if same:
                        break
                slot = (slot + np.uint64(1)) & last_slot
                entry = slots[slot]
            if entry < 0:
                entry, text = used[0], used[1]
                if entry == hashes.size or text + full > arena.size:
                    state[ROWS], state[RUNS], state[HEADS], state[LAST] = (
                        row,
                        runs,
                        filled,
                        last,
                    )
                    state[AT], state[WANT] = at, size
                    return GROW
                for j in range(full):
                    arena[text + j] = word_of(where, 8 * j, size)
                slots[slot] = entry
                hashes[entry] = hashed
                lengths[entry] = size
                begins[entry] = text
                kinds[entry] = kind
                code_of[entry] = used[1 + kind]
                used[0] += 1
                used[1] += full
                used[1 + kind] += 1
            if kind == WORKER:
                workers[row] = code_of[entry]
            else:
                labels[row] = code_of[entry]
        here = base + np.uint64(task)
        one, two = word_of(here, 0, task_size), word_of(here, 8, task_size)
        same = task_size == last_size and one == last_one and two == last_two
        if same and task_size > 16:
            there = heads_base + np.uint64(last)
            for done in range(16, task_size, 8):
                same &= word_of(here, done, task_size) == word_of(there, done, task_size)
        if not same:
            last_size, last_one, last_two = task_size, one, two
            starts[runs] = row
            runs += 1
            last = filled
            for j in range(task_size):
                heads[last + j] = data[task + j]
            heads[last + task_size] = NEWLINE
            filled = last + task_size + 1
        row += 1
        at = begin
    state[:4] = row, runs, filled, last
    return DONE
