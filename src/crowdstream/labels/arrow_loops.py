# cython: language_level=3
# cython: infer_types=True
"""Compiled: text that lies in one buffer → a column that Arrow's C interface hands to polars.

Changing it changes no saved state, but how fast files are read. Uncompiled there is no memory to
hand over; callers do without.
"""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.cpython.pycapsule import PyCapsule_GetPointer, PyCapsule_New
    from cython.cimports.libc.stdlib import calloc, free, malloc
    from cython.cimports.libc.string import memcpy
else:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()

ArrowSchema = cython.struct(
    format=cython.p_char,
    name=cython.p_char,
    metadata=cython.p_char,
    flags=cython.longlong,
    n_children=cython.longlong,
    children=cython.p_void,
    dictionary=cython.p_void,
    release=cython.p_void,
    private_data=cython.p_void,
)
ArrowArray = cython.struct(
    length=cython.longlong,
    null_count=cython.longlong,
    offset=cython.longlong,
    n_buffers=cython.longlong,
    n_children=cython.longlong,
    buffers=cython.pp_void,
    children=cython.p_void,
    dictionary=cython.p_void,
    release=cython.p_void,
    private_data=cython.p_void,
)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def release_schema(schema: cython.pointer[ArrowSchema]) -> cython.void:
    """Nothing to free: the format is a constant."""
    schema.release = cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def release_array(array: cython.pointer[ArrowArray]) -> cython.void:
    """Whoever took the column over calls this when it is done with it, in any thread."""
    for k in range(3):
        free(array.buffers[k])
    free(array.buffers)
    array.release = cython.NULL


@cython.cfunc
@cython.exceptval(check=False)
def drop_schema(capsule: object) -> cython.void:
    """A capsule that nobody looked into, or did: its struct is ours."""
    place = PyCapsule_GetPointer(capsule, b"arrow_schema")
    free(place)


@cython.cfunc
@cython.exceptval(check=False)
def drop_array(capsule: object) -> cython.void:
    """The same; what nobody took over is released."""
    array = cython.cast(cython.pointer[ArrowArray], PyCapsule_GetPointer(capsule, b"arrow_array"))
    if array.release != cython.NULL:
        release_array(array)
    free(array)


@cython.final
@cython.cclass
class TextColumn:
    """Texts, UTF-8, one after another in ``text``; text k ends at ``ends[k]``."""

    text: cython.const[cython.uchar][::1]
    ends: cython.const[cython.longlong][::1]

    def __init__(self, text, ends):
        self.text = text
        self.ends = ends

    def __arrow_c_array__(self, requested_schema=None):
        """A schema and an array, copied, for whoever asks."""
        rows = self.ends.shape[0]
        size = self.text.shape[0]
        schema = cython.cast(cython.pointer[ArrowSchema], calloc(1, cython.sizeof(ArrowSchema)))
        array = cython.cast(cython.pointer[ArrowArray], calloc(1, cython.sizeof(ArrowArray)))
        buffers = cython.cast(cython.pp_void, calloc(3, cython.sizeof(cython.p_void)))
        offsets = cython.cast(
            cython.pointer[cython.longlong], malloc((rows + 1) * cython.sizeof(cython.longlong))
        )
        text = malloc(size + 1)
        if not (schema and array and buffers and offsets and text):
            raise MemoryError
        offsets[0] = 0
        if rows:
            memcpy(offsets + 1, cython.address(self.ends[0]), rows * 8)
        if size:
            memcpy(text, cython.address(self.text[0]), size)
        buffers[1] = offsets
        buffers[2] = text
        schema.format = b"U"  # text with offsets of 64 bits
        schema.name = b""
        schema.release = cython.cast(cython.p_void, release_schema)
        array.length = rows
        array.n_buffers = 3
        array.buffers = buffers
        array.release = cython.cast(cython.p_void, release_array)
        return (
            PyCapsule_New(schema, b"arrow_schema", drop_schema),
            PyCapsule_New(array, b"arrow_array", drop_array),
        )
