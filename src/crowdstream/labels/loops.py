# cython: language_level=3
"""Compiled loops of this room: coded rows in any order → labels grouped by task. Arrays only.

Knows nothing of text, files or estimators. Indices are not checked: `grouping` sees to the lengths.
"""

import cython

if not cython.compiled:
    from crowdstream.compiled import warn_not_compiled

    warn_not_compiled()

NULL_WORKER, NULL_LABEL, REPEATED, REPLACED = range(4)
"""Places in the counts of `keep_last`."""


def last_row_end(data: cython.const[cython.uchar][::1], separator: cython.int):
    """Where the last whole row of CSV ends: a quote counts only at the beginning of a field."""
    quote: cython.int = 34
    newline: cython.int = 10
    size: cython.Py_ssize_t = data.shape[0]
    end: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t = 0
    quoted: cython.bint = False
    begins: cython.bint = True
    byte: cython.int
    with cython.nogil:
        while k < size:
            byte = data[k]
            if quoted:
                if byte == quote:
                    if k + 1 < size and data[k + 1] == quote:
                        k += 1
                    else:
                        quoted = False
            elif byte == quote and begins:
                quoted = True
                begins = False
            elif byte == newline:
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


def count_rows(tasks: cython.const[cython.int][::1], bounds: cython.longlong[::1]):
    """Where each task's rows begin once they are sorted, and how many rows have none (−1).

    ``bounds``: zeros, one more than there are tasks.
    """
    row: cython.Py_ssize_t
    task: cython.Py_ssize_t
    lost: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(tasks.shape[0]):
            if tasks[row] < 0:
                lost += 1
            else:
                bounds[tasks[row] + 1] += 1
        for task in range(bounds.shape[0] - 1):
            bounds[task + 1] += bounds[task]
    return lost


def place_rows(
    tasks: cython.const[cython.int][::1], place: cython.longlong[::1], order: cython.longlong[::1]
):
    """Rows in order of their task, as they came within each.

    ``place``: where each task's rows begin, moved on to where they end.
    """
    row: cython.Py_ssize_t
    task: cython.Py_ssize_t
    with cython.nogil:
        for row in range(tasks.shape[0]):
            task = tasks[row]
            if task >= 0:
                order[place[task]] = row
                place[task] += 1


def all_stand(
    bounds: cython.const[cython.longlong][::1],
    workers: cython.const[cython.int][::1],
    labels: cython.const[cython.int][::1],
    by: cython.longlong[::1],
    met: cython.longlong[::1],
    met_by: cython.longlong[::1],
):
    """Whether no row is null and no worker comes twice in a task: how many were met, or −1.

    ``by``: −1 for every worker; becomes the last task each was met in.
    """
    task: cython.Py_ssize_t
    row: cython.Py_ssize_t
    worker: cython.Py_ssize_t
    n_met: cython.Py_ssize_t = 0
    stand: cython.bint = True
    with cython.nogil:
        for task in range(bounds.shape[0] - 1):
            for row in range(bounds[task], bounds[task + 1]):
                worker = workers[row]
                if worker < 0 or labels[row] < 0 or by[worker] == task:
                    stand = False
                    break
                if by[worker] < 0:
                    met[n_met] = worker
                    n_met += 1
                by[worker] = task
            if not stand:
                break
            met_by[task] = n_met
    return n_met if stand else -1


def keep_last(
    order: cython.const[cython.longlong][::1],
    bounds: cython.const[cython.longlong][::1],
    workers: cython.const[cython.int][::1],
    labels: cython.const[cython.int][::1],
    at: cython.longlong[::1],
    starts: cython.longlong[::1],
    kept_workers: cython.int[::1],
    kept_labels: cython.int[::1],
    met: cython.longlong[::1],
    met_by: cython.longlong[::1],
    counts: cython.longlong[::1],
):
    """Keep one label a worker and task: how many workers were met.

    ``at``: −2 for every worker; −1 once it is met, then where its last kept label is.
    """
    task: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t
    worker: cython.Py_ssize_t
    label: cython.int
    begin: cython.Py_ssize_t
    kept: cython.Py_ssize_t = 0
    n_met: cython.Py_ssize_t = 0
    null_worker: cython.Py_ssize_t = 0
    null_label: cython.Py_ssize_t = 0
    repeated: cython.Py_ssize_t = 0
    replaced: cython.Py_ssize_t = 0
    ordered: cython.bint = order.shape[0] > 0
    named: cython.bint
    with cython.nogil:
        starts[0] = 0
        for task in range(bounds.shape[0] - 1):
            begin = kept
            named = False
            for k in range(bounds[task], bounds[task + 1]):
                row = order[k] if ordered else k
                worker = workers[row]
                label = labels[row]
                if worker < 0:
                    null_worker += 1
                    continue
                named = True
                if at[worker] == -2:
                    at[worker] = -1
                    met[n_met] = worker
                    n_met += 1
                if label < 0:
                    null_label += 1
                elif at[worker] < begin:
                    at[worker] = kept
                    kept_workers[kept] = worker
                    kept_labels[kept] = label
                    kept += 1
                elif kept_labels[at[worker]] == label:
                    repeated += 1
                else:
                    replaced += 1
                    kept_labels[at[worker]] = label
            starts[task + 1] = kept
            met_by[task] = n_met if named else -1
    counts[0] = null_worker
    counts[1] = null_label
    counts[2] = repeated
    counts[3] = replaced
    return n_met


def first_seen(
    codes: cython.const[cython.int][::1], is_seen: cython.uchar[::1], seen: cython.longlong[::1]
):
    """Codes in order of first appearance: how many there are.

    ``is_seen``: a zero for every code there may be.
    """
    k: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t = is_seen.shape[0]
    with cython.nogil:
        for k in range(codes.shape[0]):
            if found == n:
                break
            if not is_seen[codes[k]]:
                is_seen[codes[k]] = 1
                seen[found] = codes[k]
                found += 1
    return found
