# cython: language_level=3
# cython: infer_types=True
"""Labels drawn for a twin crowd, and how workers' errors go together. Arrays only.

Changing it changes what is measured of joint errors, and so how far `Adaptive` believes what.
benchmarks/many_classes.py times it as a part of a fit.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.models.scoring_loops import mix
    from cython.cimports.crowdstream.sums.rows import LEAST_SHARE
    from cython.cimports.crowdstream.sums.sparse_loops import SparseRows
    from cython.cimports.libc.math import log1p
else:
    from math import log1p

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.models.scoring_loops import mix
    from crowdstream.sums.rows import LEAST_SHARE
    from crowdstream.sums.sparse_loops import SparseRows

HALF_BITS = cython.declare(cython.double, 2.0**-53)
NEVER = cython.declare(cython.double, 1e308)  # a waiting time that none is longer than
SLACK = cython.declare(cython.double, 1.0 - 1e-12)  # rounding of a waiting time, many times over


def count_answers(tasks: Tasks, posterior: cython.double[:, ::1], counts: cython.double[:, :, ::1]):
    """Add to ``counts[i, x, a]`` how often worker i said x on tasks of class a."""
    with cython.nogil:
        for t in range(tasks.size):
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                i = tasks.workers[z]
                x = tasks.labels[z]
                for a in range(posterior.shape[1]):
                    counts[i, x, a] += posterior[t, a]


def count_many_answers(
    tasks: Tasks, posterior: cython.double[:, ::1], rows: SparseRows, totals: cython.double[:, ::1]
):
    """Right answers of many classes by worker and class, and ``totals`` over what was said.

    Classes whose share is not worth counting have none.
    """
    with cython.nogil:
        for t in range(tasks.size):
            for a in range(posterior.shape[1]):
                share = posterior[t, a]
                if share < LEAST_SHARE:
                    continue
                for z in range(tasks.starts[t], tasks.starts[t + 1]):
                    rows.add(tasks.workers[z], a, tasks.labels[z], share)
                    totals[tasks.workers[z], a] += share


def draw_truths(
    chances: cython.double[:, ::1],
    seeds: cython.ulonglong[::1],
    classes: cython.ulonglong[::1],
    out: cython.int[::1],
):
    """A class per task, by its chances and the task's seed."""
    with cython.nogil:
        for t in range(out.shape[0]):
            shortest: cython.double = NEVER
            out[t] = 0
            for a in range(chances.shape[1]):
                wait = waiting(chances[t, a], seeds[t] ^ classes[a], shortest)
                if wait < shortest:
                    shortest = wait
                    out[t] = a


def draw_labels(
    tasks: Tasks,
    truths: cython.int[::1],
    counts: cython.double[:, :, ::1],
    sparse: SparseRows | None,
    totals: cython.double[:, ::1],
    prior: cython.double[:, ::1],
    worth: cython.double,
    task_keys: cython.ulonglong[::1],
    worker_keys: cython.ulonglong[::1],
    classes: cython.ulonglong[::1],
    room: cython.double[::1],
    out: cython.int[::1],
):
    """A label for every one there is, by how often its worker said each, ``counts[i, a, x]``.

    Of many classes these are ``sparse``, else that is None. ``totals[i, a]``: the sums of these
    over x. Beside them ``prior[a, x]``, ``worth`` answers in all. ``room``: zeros, one per class.
    """
    many: cython.bint = sparse is not None
    with cython.nogil:
        for t in range(tasks.size):
            a = truths[t]
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                i = tasks.workers[z]
                seed = mix(whole(task_keys[t] ^ worker_keys[i]))
                shortest: cython.double = NEVER
                place = z - tasks.starts[0]
                out[place] = 0
                if many:
                    sparse.put(i, a, room)
                for x in range(classes.shape[0]):
                    said = room[x] if many else counts[i, a, x]
                    chance = (said + prior[a, x]) / (totals[i, a] + worth)
                    wait = waiting(chance, seed ^ classes[x], shortest)
                    if wait < shortest:
                        shortest = wait
                        out[place] = x
                if many:
                    sparse.clear(i, a, room)


def whole(key):
    """A number of 64 bits that Python, too, does not take for one of numpy's."""
    if not cython.compiled:
        return int(key)
    return key


def waiting(chance, seed, shortest):
    """An exponential waiting time by a chance and a seed; 1e308 if it is not the shortest.

    −log(1 − u) is u at least: the logarithm is taken of those alone that may be the shortest.
    """
    uniform = (mix(whole(seed)) >> 11) * HALF_BITS
    if not uniform * SLACK < shortest * chance:
        return NEVER
    return -log1p(-uniform) / chance


def fill_residuals(
    tasks: Tasks,
    posterior: cython.double[:, ::1],
    right: cython.double[:, ::1],
    out: cython.double[::1],
):
    """Of each label how right it is less how right it was expected to be, given the class."""
    with cython.nogil:
        for t in range(tasks.size):
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                i = tasks.workers[z]
                expected: cython.double = 0.0
                for a in range(posterior.shape[1]):
                    expected += posterior[t, a] * right[i, a]
                out[z - tasks.starts[0]] = posterior[t, tasks.labels[z]] - expected
