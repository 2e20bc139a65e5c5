# cython: language_level=3
"""Compiled loops of this room: coded rows in any order → labels grouped by task. Arrays only.

Knows nothing of text, files or estimators. Indices are not checked: callers see to the lengths.
"""

import cython

if not cython.compiled:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()

NULL_WORKER, NULL_LABEL, REPEATED, REPLACED = range(4)
"""Places in the counts of `keep_last`."""

QUOTE = cython.declare(cython.int, 34)
NEWLINE = cython.declare(cython.int, 10)


def last_row_end(data: cython.const[cython.uchar][::1], separator: cython.int):
    """Where the last whole row of CSV ends: a quote counts only at the beginning of a field."""
    end: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t = data.shape[0]
    quoted: cython.bint = False
    begins: cython.bint = True
    byte: cython.int
    with cython.nogil:
        while k < size:
            byte = data[k]
            if quoted:
                if byte == QUOTE:
                    if k + 1 < size and data[k + 1] == QUOTE:
                        k += 1
                    else:
                        quoted = False
            elif byte == QUOTE and begins:
                quoted = True
                begins = False
            elif byte == NEWLINE:
                end = k + 1
                begins = True
            else:
                begins = byte == separator
            k += 1
    return end


def recode(codes: cython.int[::1], new: cython.const[cython.int][::1]):
    """Put ``new[code]`` for every code; −1, a null, stays."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(codes.shape[0]):
            if codes[k] >= 0:
                codes[k] = new[codes[k]]
