"""Text → codes 0, 1, 2, … in order of first appearance: a hash table in compiled loops.

Text is looked at eight bytes at a time, where it lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from crowdstream.labels.arrow import text_chunks

if TYPE_CHECKING:
    import polars as pl

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

SHORT = 12
"""Bytes of text that a view of Arrow's holds itself."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


class Table(NamedTuple):
    """What is known so far. Text ``e`` is ``arena[begins[e]:]``, padded with zeros to full words,
    two at least.

    Several columns can share a table: ``kinds`` tells whose text it is, and ``codes`` count from 0
    in each. ``used`` holds how many texts there are, how many words of the arena they take, and
    from the third place on how many texts each column has.
    """

    slots: Codes
    hashes: Words
    kinds: Codes
    codes: Codes
    lengths: Codes
    begins: Ints
    arena: Words
    used: Ints

    def values(self, kind: int) -> list[str]:
        """The texts of a column by code; an error of Unicode where one is not UTF-8."""
        found = []
        for entry in np.flatnonzero(self.kinds[: self.used[0]] == kind).tolist():
            begin, length = int(self.begins[entry]), int(self.lengths[entry])
            words = self.arena[begin : begin + -(-length // 8)]
            found.append(words.tobytes()[:length].decode())
        return found


def new_table(slots: int = 1 << 12, arena: int = 1 << 12) -> Table:
    """Room for half as many texts as slots."""
    room = slots // 2
    return Table(
        np.full(slots, -1, np.int32),
        np.empty(room, np.uint64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(arena, np.uint64),
        np.zeros(4, np.int64),
    )


def grown(table: Table, length: int) -> Table:
    """The same with twice the room, and some more for a text so long."""
    bigger = new_table(2 * table.slots.size, 2 * table.arena.size + length)
    for old, new in zip(table[1:], bigger[1:], strict=True):
        np.asarray(new)[: np.asarray(old).size] = old
    _fill_slots(bigger.slots, bigger.hashes, int(table.used[0]))
    return bigger


@njit(cache=True, nogil=True)
def _fill_slots(slots: Codes, hashes: Words, texts: int) -> None:
    last = np.uint64(slots.size - 1)
    for entry in range(texts):
        slot = hashes[entry] & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = entry


@intrinsic
def _load(_context, address):  # type: ignore[no-untyped-def]
    def load(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        found = builder.load(place)
        found.align = 1
        return found

    return types.uint64(types.uint64), load


@njit(cache=True, nogil=True, inline="always")
def peek(address: np.uint64) -> np.uint64:
    """The eight bytes at an address, which must be ours to read."""
    return np.uint64(_load(address))  # type: ignore[call-arg]


@njit(cache=True, nogil=True, inline="always")
def word_of(address: np.uint64, done: int, length: int) -> np.uint64:
    """Eight bytes of a text from ``done`` on, zeros after its end; seven past it may be read."""
    left = length - done
    if left >= 8:
        return peek(address + np.uint64(done))
    if left <= 0:
        return np.uint64(0)
    return peek(address + np.uint64(done)) & ((np.uint64(1) << np.uint64(8 * left)) - np.uint64(1))


@njit(cache=True, nogil=True, inline="always")
def mixed(state: np.uint64, word: np.uint64) -> np.uint64:
    """One step of the hash."""
    state = (state ^ word) * _MIX
    return state ^ (state >> _SHIFT)


@njit(cache=True, nogil=True)
def code_chunk(
    views: Words,
    buffers: Words,
    valid: np.uint64,
    first_bit: int,
    row: int,
    table: Table,
    codes: Codes,
    firsts: Ints,
    before: int,
) -> int:
    """Code the rows of a chunk from ``row`` on; how far it got before the table was full.

    ``codes`` are the chunk's; ``firsts`` take the row in which each code came up first, counted
    from the start of the column, of which ``before`` rows precede the chunk. Nulls are −1.
    """
    slots, hashes, kinds, code_of, lengths, begins, arena, used = table
    last = np.uint64(slots.size - 1)
    for k in range(row, codes.size):
        if valid:
            bit = first_bit + k
            word = peek(valid + np.uint64(bit // 64 * 8))
            if not (word >> np.uint64(bit % 64)) & np.uint64(1):
                codes[k] = -1
                continue
        head, tail = views[2 * k], views[2 * k + 1]
        length = np.int64(head & np.uint64(0xFFFFFFFF))
        size = (length + 7) >> 3 if length > 16 else 2
        if length <= SHORT:
            address = np.uint64(0)
            one, two = (head >> np.uint64(32)) | (tail << np.uint64(32)), tail >> np.uint64(32)
        else:
            address = buffers[tail & np.uint64(0xFFFFFFFF)] + (tail >> np.uint64(32))
            one, two = peek(address), _long_word(address, 8, length)
        state = mixed(mixed(np.uint64(length), one), two)
        for j in range(2, size):
            state = mixed(state, _long_word(address, 8 * j, length))
        slot = state & last
        entry = slots[slot]
        while entry >= 0:
            begin = begins[entry]
            if hashes[entry] == state and lengths[entry] == length:
                same = arena[begin] == one and arena[begin + 1] == two
                for j in range(2, size):
                    same &= arena[begin + j] == _long_word(address, 8 * j, length)
                if same:
                    break
            slot = (slot + np.uint64(1)) & last
            entry = slots[slot]
        if entry < 0:
            entry = used[0]
            begin = used[1]
            if entry == hashes.size or begin + size > arena.size:
                return k
            arena[begin], arena[begin + 1] = one, two
            for j in range(2, size):
                arena[begin + j] = _long_word(address, 8 * j, length)
            slots[slot] = entry
            hashes[entry] = state
            lengths[entry] = length
            begins[entry] = begin
            kinds[entry] = 0
            code_of[entry] = entry
            used[0] += 1
            used[1] += size
            firsts[entry] = before + k
        codes[k] = entry
    return codes.size


@njit(cache=True, nogil=True, inline="always")
def _long_word(address: np.uint64, done: int, length: np.int64) -> np.uint64:
    """As `word_of`, for text of more than 8 bytes, of which nothing outside is read."""
    left = length - done
    if left >= 8:
        return peek(address + np.uint64(done))
    return peek(address + np.uint64(length - 8)) >> np.uint64(8 * (8 - left))


@njit(cache=True, nogil=True)
def run_starts(views: Words, buffers: Words, before: int, starts: Ints) -> int:
    """Rows of a chunk that differ from the one before (the first always), and how many."""
    runs = 0
    for k in range(views.size // 2):
        same = k > 0 and views[2 * k] == views[2 * k - 2]
        if same and views[2 * k + 1] != views[2 * k - 1]:
            length = np.int64(views[2 * k] & np.uint64(0xFFFFFFFF))
            same = length > SHORT
            if same:
                here, there = views[2 * k + 1], views[2 * k - 1]
                one = buffers[here & np.uint64(0xFFFFFFFF)] + (here >> np.uint64(32))
                two = buffers[there & np.uint64(0xFFFFFFFF)] + (there >> np.uint64(32))
                for done in range(0, length, 8):
                    if _long_word(one, done, length) != _long_word(two, done, length):
                        same = False
                        break
        if not same:
            starts[runs] = before + k
            runs += 1
    return runs


def code_text(series: pl.Series) -> tuple[Codes, Ints]:
    """A column of strings in codes, −1 for null, and the rows where each code came up first."""
    codes = np.empty(len(series), np.int32)
    firsts = np.empty(len(series), np.int64)  # memory is taken as it is filled
    table = new_table()
    before = 0
    with text_chunks(series) as chunks:
        for views, buffers, valid, first_bit in chunks:
            here = codes[before : before + views.size // 2]
            row = 0
            while True:
                row = code_chunk(
                    views, buffers, np.uint64(valid), first_bit, row, table, here, firsts, before
                )
                if row == here.size:
                    break
                table = grown(table, int(views[2 * row] & 0xFFFFFFFF))
            before += here.size
    return codes, firsts[: table.used[0]]


def find_runs(series: pl.Series) -> Ints:
    """Rows of a column of strings, none null, whose value is not that of the row before."""
    starts = np.empty(len(series), np.int64)
    runs = before = 0
    with text_chunks(series) as chunks:
        for views, buffers, _, _ in chunks:
            found = run_starts(views, buffers, before, starts[runs:])
            if before and found and series[before] == series[before - 1]:
                starts[runs : runs + found - 1] = starts[runs + 1 : runs + found].copy()
                found -= 1
            runs += found
            before += views.size // 2
    return starts[:runs]
