# cython: language_level=3
"""Rows of names → columns → codes, one Python object after another, compiled.

Knows nothing of what the names stand for. Changing it changes nothing that is saved;
benchmarks/stream.py times it as a part of `observe_many`.
"""

import cython


def split_rows(rows: list):
    """Three columns of rows that are tuples of three; None if any is not.

    An id that is no text of ASCII and no integer is not looked at here.
    """
    size: cython.Py_ssize_t = len(rows)
    first: list = [None] * size
    second: list = [None] * size
    third: list = [None] * size
    k: cython.Py_ssize_t
    for k in range(size):
        row = rows[k]
        if type(row) is not tuple:
            return None
        whole: tuple = row
        if len(whole) != 3:
            return None
        first[k] = whole[0]
        second[k] = whole[1]
        third[k] = whole[2]
    return first, second, third


def find_codes(known: dict, values: list, unknown):
    """The codes of values by a vocabulary's table; booleans are there as tuples of one."""
    size: cython.Py_ssize_t = len(values)
    found: list = [unknown] * size
    k: cython.Py_ssize_t
    for k in range(size):
        value = values[k]
        if value is True or value is False:
            value = (value,)
        code = known.get(value)
        if code is not None:
            found[k] = code
    return found
