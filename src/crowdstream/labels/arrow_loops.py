# cython: language_level=3
# cython: infer_types=True
"""Compiled: views of text → a column that Arrow's C interface hands to polars.

Changing it changes no saved state, but how fast files are read. Uncompiled there is no memory to
hand over; callers do without.
"""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.cpython.pycapsule import PyCapsule_GetPointer, PyCapsule_New
    from cython.cimports.crowdstream.labels.text_views import BUFFER_BITS
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
    free(array.buffers[1])
    free(array.buffers[2])
    free(array.buffers[array.n_buffers - 1])
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
class TextViews:
    """Texts in UTF-8 by their views, two words each (`arrow.TextChunk`); long ones are in ``text``.

    Places in a buffer have 31 bits, so ``text`` is several: one begins every 2³⁰ bytes.
    """

    views: cython.const[cython.ulonglong][::1]
    text: cython.const[cython.uchar][::1]

    def __init__(self, views, text):
        self.views = views
        self.text = text

    def __arrow_c_array__(self, requested_schema=None):
        """A schema and an array, copied, for whoever asks."""
        words = self.views.shape[0]
        size = self.text.shape[0]
        parts: cython.Py_ssize_t = (size >> BUFFER_BITS) + 1
        schema = cython.cast(cython.pointer[ArrowSchema], calloc(1, cython.sizeof(ArrowSchema)))
        array = cython.cast(cython.pointer[ArrowArray], calloc(1, cython.sizeof(ArrowArray)))
        buffers = cython.cast(cython.pp_void, calloc(3 + parts, cython.sizeof(cython.p_void)))
        sizes = cython.cast(
            cython.pointer[cython.longlong], malloc(parts * cython.sizeof(cython.longlong))
        )
        views = malloc(8 * words + 1)
        text = cython.cast(cython.p_uchar, malloc(size + 1))
        if not (schema and array and buffers and sizes and views and text):
            raise MemoryError
        if words:
            memcpy(views, cython.address(self.views[0]), 8 * words)
        if size:
            memcpy(text, cython.address(self.text[0]), size)
        buffers[1] = views
        for part in range(parts):
            begin = part << BUFFER_BITS
            buffers[2 + part] = text + begin
            sizes[part] = size - begin  # to the end: a text may go on into the next
        buffers[2 + parts] = sizes
        schema.format = b"vu"
        schema.name = b""
        schema.release = cython.cast(cython.p_void, release_schema)
        array.length = words // 2
        array.n_buffers = 3 + parts
        array.buffers = buffers
        array.release = cython.cast(cython.p_void, release_array)
        return (
            PyCapsule_New(schema, b"arrow_schema", drop_schema),
            PyCapsule_New(array, b"arrow_array", drop_array),
        )
