# cython: language_level=3
# cython: infer_types=True
"""Compiled loop: lines that are written alike → their values alone, separated. Bytes only.

Changing it changes no saved format. Indices are not checked: `readers.json_template` sees to the
lengths.
"""

import cython

if not cython.compiled:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep(
    data: cython.const[cython.uchar][::1],
    around: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    out: cython.uchar[::1],
    separator: cython.uchar,
) -> cython.Py_ssize_t:
    size: cython.Py_ssize_t = data.shape[0]
    at: cython.Py_ssize_t = 0
    to: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t = 0
    part: cython.Py_ssize_t = 0
    while at < size:
        k = 0
        for part in range(4):
            while k < ends[part]:
                if at >= size or data[at] != around[k]:
                    return -1
                at += 1
                k += 1
            if part == 3:
                break
            while at < size and data[at] != 34:
                if data[at] < 32 or data[at] == 92:
                    return -1
                out[to] = data[at]
                to += 1
                at += 1
            if part < 2:
                out[to] = separator
                to += 1
        out[to] = 10
        to += 1
    return to


def keep_values(
    data: cython.const[cython.uchar][::1],
    around: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    out: cython.uchar[::1],
    separator: cython.uchar,
):
    """Copy the three values of every line; returns how many bytes, or −1 at a line that differs.

    ``around``: what is before, between and behind the values, one after another, each up to its
    place in ``ends``; the last ends in a newline. A value goes on to the next quote; one with a
    backslash or a control character makes its line differ. ``out`` is as long as ``data``.
    """
    with cython.nogil:
        size = _keep(data, around, ends, out, separator)
    return size  # noqa: RET504 no Python object is made without the lock
