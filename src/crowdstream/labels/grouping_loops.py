# cython: language_level=3
# cython: infer_types=True
"""Compiled loops: coded rows in any order → labels grouped by task. Arrays only.

Changing it changes the order in which workers and classes get their codes, and with it every saved
state and bit-exact test. Indices are not checked: `grouping` sees to the lengths.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
else:
    from crowdstream.compiled import warn_not_compiled
    from crowdstream.labels.batch_loops import Tasks

    warn_not_compiled()


def recode(codes: cython.int[::1], new: cython.const[cython.int][::1]):
    """Put ``new[code]`` in place of every code; −1, a null, stays."""
    with cython.nogil:
        for k in range(codes.shape[0]):
            if codes[k] >= 0:
                codes[k] = new[codes[k]]


def count_codes(codes: cython.const[cython.int][::1], counts: cython.longlong[::1]):
    """Add how often each code occurs; −1, a null, is not counted."""
    with cython.nogil:
        for k in range(codes.shape[0]):
            if codes[k] >= 0:
                counts[codes[k]] += 1


def count_rows(tasks: cython.const[cython.int][::1], bounds: cython.longlong[::1]):
    """Where each task's rows begin once they are sorted; returns how many rows have none (−1).

    ``bounds``: zeros, one more than there are tasks.
    """
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
    with cython.nogil:
        for row in range(tasks.shape[0]):
            task = tasks[row]
            if task >= 0:
                order[place[task]] = row
                place[task] += 1


def gather_rows(
    tasks: cython.const[cython.int][::1],
    span: cython.longlong[::1],
    place: cython.longlong[::1],
    rows: Tasks,
    kept: Tasks,
):
    """Copy the labels of tasks ``span[0]`` up to ``span[1]`` to where each task's rows go.

    ``place``: where the rows of each task begin, moved on to where they end. Rows keep their order.
    """
    first: cython.longlong = span[0]
    last: cython.longlong = span[1]
    with cython.nogil:
        for row in range(tasks.shape[0]):
            task = tasks[row]
            if first <= task < last:
                kept.workers[place[task]] = rows.workers[row]
                kept.labels[place[task]] = rows.labels[row]
                place[task] += 1


def all_stand(rows: Tasks, seen_in: cython.longlong[::1], met: cython.longlong[::1]):
    """Whether no row is null and no worker comes twice in a task: how many were met, or −1.

    ``seen_in``: −1 for every worker; becomes the last task each was met in. ``met``: the workers
    in order of first appearance.
    """
    n_met: cython.Py_ssize_t = 0
    with cython.nogil:
        for task in range(rows.size):
            for row in range(rows.starts[task], rows.starts[task + 1]):
                worker = rows.workers[row]
                if worker < 0 or rows.labels[row] < 0 or seen_in[worker] == task:
                    n_met = -1
                    break
                if seen_in[worker] < 0:
                    met[n_met] = worker
                    n_met += 1
                seen_in[worker] = task
            if n_met < 0:
                break
    return n_met


def keep_last(
    order: cython.const[cython.longlong][::1],
    rows: Tasks,
    kept: Tasks,
    at: cython.longlong[::1],
    met: cython.longlong[::1],
):
    """Keep one label per worker and task, the last, in the place of the first.

    ``order``: the rows in order of their tasks, or empty if they stand so. ``kept``: where the
    labels go. ``at``: −2 for every worker; −1 once it is met, then where its last kept label is.
    Returns how many workers were met, and the rows that are not labels: without worker, without
    label, repeated, replaced.
    """
    size: cython.Py_ssize_t = 0
    n_met: cython.Py_ssize_t = 0
    null_worker: cython.Py_ssize_t = 0
    null_label: cython.Py_ssize_t = 0
    repeated: cython.Py_ssize_t = 0
    replaced: cython.Py_ssize_t = 0
    ordered: cython.bint = order.shape[0] > 0
    with cython.nogil:
        kept.starts[0] = 0
        for task in range(rows.size):
            begin = size
            for k in range(rows.starts[task], rows.starts[task + 1]):
                row = order[k] if ordered else k
                worker = rows.workers[row]
                label = rows.labels[row]
                if worker < 0:
                    null_worker += 1
                    continue
                if at[worker] == -2:
                    at[worker] = -1
                    met[n_met] = worker
                    n_met += 1
                if label < 0:
                    null_label += 1
                elif at[worker] < begin:
                    at[worker] = size
                    kept.workers[size] = worker
                    kept.labels[size] = label
                    size += 1
                elif kept.labels[at[worker]] == label:
                    repeated += 1
                else:
                    replaced += 1
                    kept.labels[at[worker]] = label
            kept.starts[task + 1] = size
    return n_met, null_worker, null_label, repeated, replaced


def first_seen(
    codes: cython.const[cython.int][::1], is_seen: cython.uchar[::1], seen: cython.longlong[::1]
):
    """Codes in order of first appearance: how many there are.

    ``is_seen``: a zero for every code there may be.
    """
    found: cython.Py_ssize_t = 0
    with cython.nogil:
        for k in range(codes.shape[0]):
            if found == is_seen.shape[0]:
                break
            if not is_seen[codes[k]]:
                is_seen[codes[k]] = 1
                seen[found] = codes[k]
                found += 1
    return found
