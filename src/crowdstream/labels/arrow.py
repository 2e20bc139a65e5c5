"""The text of a polars column where it lies, through Arrow's C interface: nothing is copied.

Knows nothing of labels.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

UInts = NDArray[np.uint64]


class TextChunk(NamedTuple):
    """Part of a column: a view of 16 bytes per row, as Arrow defines it.

    The first four bytes are the length. Up to 12 bytes of text follow at once; longer text lies
    in the buffer, and at the place in it, that the last eight bytes name. ``valid`` is the address
    of one bit per row, 0 if there is no null; row r has bit ``first_bit + r``.
    """

    views: UInts
    buffers: UInts
    valid: int
    first_bit: int


class _Array(ctypes.Structure):
    """``struct ArrowArray``."""


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """``struct ArrowArrayStream``."""

    _fields_ = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Array))),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


@contextlib.contextmanager
def text_chunks(series: pl.Series) -> Iterator[list[TextChunk]]:
    """The chunks of a column of strings; they may be looked at until the block is left."""
    capsule = series.__arrow_c_stream__(None)
    address = _pointer_of(capsule, b"arrow_array_stream")
    stream = _Stream.from_address(address)
    arrays: list[_Array] = []
    try:
        while True:
            array = _Array()
            if stream.get_next(address, ctypes.byref(array)) != 0:
                raise MemoryError("a column of text could not be read")
            if not array.release:
                break
            arrays.append(array)
        yield [_chunk(array) for array in arrays]
    finally:
        for array in arrays:
            array.release(ctypes.byref(array))


def _chunk(array: _Array) -> TextChunk:
    """Buffers: validity, views, the text's own, and last how long each of those is."""
    length, offset = array.length, array.offset
    views = np.empty(0, np.uint64)
    if length:
        where = ctypes.c_uint64 * (2 * length)
        views = np.ctypeslib.as_array(where.from_address(array.buffers[1] + 16 * offset))
    buffers = np.array([array.buffers[k] or 0 for k in range(2, array.n_buffers - 1)], np.uint64)
    valid = (array.buffers[0] or 0) if array.null_count else 0
    return TextChunk(views, buffers, valid, offset)
