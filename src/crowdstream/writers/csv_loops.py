# cython: language_level=3
# cython: infer_types=True
"""Compiled loop: columns of numbers and text → rows of CSV, as polars writes them.

Knows addresses and bytes only; they are not checked, callers make sure that they may be read.
Uncompiled there are no addresses to read from: `COMPILED` says so, and callers do without.
"""

from __future__ import annotations

import cython

COMPILED = cython.compiled

if cython.compiled:
    from cython.cimports.libc.math import rint
    from cython.cimports.libc.string import memcpy
else:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()

TEXT, SHARE, NUMBER, FLAG = range(4)
"""Kinds of columns: views of text as Arrow lays it out, numbers from 0 to 1 (float64), whole
numbers from 0 on (int64), true or false (one byte)."""

ODD = -1
"""What `format_rows` returns for rows that need a closer look."""

LOW = cython.declare(cython.ulonglong, 0xFFFFFFFF)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def zero_bytes(word: cython.ulonglong) -> cython.ulonglong:
    """Set a high bit if any byte is zero."""
    ones: cython.ulonglong = 0x0101010101010101
    high: cython.ulonglong = 0x8080808080808080
    return (word - ones) & ~word & high


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def needs_quotes(word: cython.ulonglong, separator: cython.ulonglong) -> cython.ulonglong:
    """Return nonzero if one of eight bytes is a separator, a quote or the end of a line."""
    ones: cython.ulonglong = 0x0101010101010101
    found = zero_bytes(word ^ (ones * separator)) | zero_bytes(word ^ (ones * 34))
    return found | zero_bytes(word ^ (ones * 10)) | zero_bytes(word ^ (ones * 13))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def put_text(
    out: cython.p_uchar,
    view: cython.p_ulonglong,
    buffers: cython.p_ulonglong,
    separator: cython.ulonglong,
    odd: cython.p_ulonglong,
) -> cython.p_uchar:
    """Copy a text; ``odd`` becomes nonzero if it is empty or would need quotes."""
    head = view[0]
    tail = view[1]
    size: cython.Py_ssize_t = head & LOW
    word: cython.ulonglong = (head >> 32) | (tail << 32)
    rest: cython.ulonglong = tail >> 32
    if size <= 12:  # zeros follow the text
        memcpy(out, cython.address(word), 8)
        memcpy(out + 8, cython.address(rest), 4)
        odd[0] |= needs_quotes(word, separator) | needs_quotes(rest, separator) | (size == 0)
        return out + size
    text = cython.cast(cython.p_uchar, buffers[tail & LOW]) + (tail >> 32)
    memcpy(out, text, size)
    done: cython.Py_ssize_t = 0
    while done < size:
        if done + 8 > size:
            done = size - 8
        memcpy(cython.address(word), text + done, 8)
        odd[0] |= needs_quotes(word, separator)
        done += 8
    return out + size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def put_share(out: cython.p_uchar, value: cython.double, odd: cython.p_ulonglong) -> cython.p_uchar:
    """Write a number from 0 to 1 with six decimals at most, ties to even, as short as can be."""
    if not 0.0 <= value <= 1.0:
        odd[0] |= 1
        return out
    left: cython.longlong = cython.cast(cython.longlong, rint(value * 1e6))
    if 0 < left < 10:  # polars has exponents from here on
        out[0] = 48 + left
        out[1] = b"e"
        out[2] = b"-"
        out[3] = b"6"
        return out + 4
    whole: cython.uchar = left == 1000000
    out[0] = 48 + whole
    out[1] = b"."
    left -= whole * 1000000
    for k in range(7, 1, -1):
        out[k] = 48 + left % 10
        left //= 10
    size: cython.Py_ssize_t = 8
    while size > 3 and out[size - 1] == 48:
        size -= 1
    return out + size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def put_number(
    out: cython.p_uchar, value: cython.longlong, odd: cython.p_ulonglong
) -> cython.p_uchar:
    """Write a whole number from 0 on."""
    if value < 0:
        odd[0] |= 1
        return out
    size: cython.Py_ssize_t = 1
    most: cython.longlong = value // 10
    while most:
        most //= 10
        size += 1
    for k in range(size - 1, -1, -1):
        out[k] = 48 + value % 10
        value //= 10
    return out + size


def format_rows(
    kinds: cython.const[cython.uchar][::1],
    columns: cython.const[cython.ulonglong][::1],
    buffers: cython.const[cython.ulonglong][::1],
    rows: cython.longlong[::1],
    separator: cython.uchar,
    out: cython.uchar[::1],
):
    """Write the rows from ``rows[0]`` up to ``rows[1]``; return the bytes written, or `ODD`.

    ``columns``: addresses of their data; ``buffers``: addresses of the lists of buffers that text
    lies in. ``out`` must have room.
    """
    number: cython.Py_ssize_t = kinds.shape[0]
    first: cython.longlong = rows[0]
    last: cython.longlong = rows[1]
    base: cython.p_uchar = cython.address(out[0])
    at: cython.p_uchar = base
    odd: cython.ulonglong = 0
    place: cython.size_t
    text: cython.size_t = TEXT
    share: cython.size_t = SHARE
    whole: cython.size_t = NUMBER
    with cython.nogil:
        for row in range(first, last):
            for k in range(number):
                place = columns[k]
                if kinds[k] == text:
                    at = put_text(
                        at,
                        cython.cast(cython.p_ulonglong, place) + 2 * row,
                        cython.cast(cython.p_ulonglong, cython.cast(cython.size_t, buffers[k])),
                        separator,
                        cython.address(odd),
                    )
                elif kinds[k] == share:
                    at = put_share(
                        at, cython.cast(cython.p_double, place)[row], cython.address(odd)
                    )
                elif kinds[k] == whole:
                    at = put_number(
                        at, cython.cast(cython.p_longlong, place)[row], cython.address(odd)
                    )
                elif cython.cast(cython.p_uchar, place)[row]:
                    memcpy(at, b"true", 4)
                    at += 4
                else:
                    memcpy(at, b"false", 5)
                    at += 5
                at[0] = separator
                at += 1
            (at - 1)[0] = b"\n"
            if odd:
                break
    return ODD if odd else at - base
