# cython: language_level=3
# cython: infer_types=True
"""Rules that settle a decision and close a task: the one home of both. Numbers only.

Tables, single tasks, the stream's loop and its rows, and Spark all ask here. Changing it changes
which tasks are settled everywhere, in the tests that compare bits too; nothing that is saved.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.decisions.rows import *
    from cython.cimports.libc.math import log
else:
    from math import log

    from crowdstream.decisions.rows import *

TINY = cython.declare(cython.double, 1e-12)  # from 0 and 1, for confidences to have log-odds


def log_odds(p):
    """log(p/(1 − p))."""
    p = min(max(p, TINY), 1.0 - TINY)
    return log(p / (1.0 - p))


def is_sure(confidence, labels, settle, min_labels):
    """Return True if a decision is sure enough, of enough labels; ``settle`` above 1: never."""
    return confidence >= settle and labels >= min_labels


def survives(confidence, alone, same, labels, against, settle, min_labels):
    """Return True if a sure decision is settled whatever newcomers are worth.

    ``alone``: its confidence by the ``labels`` of known workers, who must make the same decision
    and be enough; in log-odds ``alone − against (confidence − alone)`` must settle it.
    """
    if not same or labels < min_labels:
        return False
    known = log_odds(alone)
    return known - against * (log_odds(confidence) - known) >= log_odds(settle)


def reason_of(settled, labels, max_labels, is_idle, ends):
    """Why a task takes no more labels, or that it does."""
    if settled:
        return SETTLED
    if labels >= max_labels:
        return FULL
    if is_idle:
        return IDLE
    return END if ends else OPEN


# For Python --------------------------------------------------------------------------------------


def find_reason(settled: cython.bint, labels: cython.longlong, max_labels: cython.longlong):
    """`reason_of` a task that is neither idle nor ended, for Python."""
    return reason_of(settled, labels, max_labels, False, False)


def fill_sure(
    confidences: cython.double[::1],
    labels: cython.longlong[::1],
    settle: cython.double,
    min_labels: cython.longlong,
    out: cython.uchar[::1],
):
    """`is_sure` of many decisions."""
    for t in range(confidences.shape[0]):
        out[t] = is_sure(confidences[t], labels[t], settle, min_labels)


def fill_survivors(
    confidences: cython.double[::1],
    alone: cython.double[::1],
    same: cython.uchar[::1],
    labels: cython.longlong[::1],
    against: cython.double,
    settle: cython.double,
    min_labels: cython.longlong,
    out: cython.uchar[::1],
):
    """`survives` of many decisions."""
    for t in range(confidences.shape[0]):
        out[t] = survives(confidences[t], alone[t], same[t], labels[t], against, settle, min_labels)


def fill_reasons(
    settled: cython.uchar[::1],
    labels: cython.longlong[::1],
    max_labels: cython.longlong,
    is_idle: cython.uchar[::1],
    ends: cython.bint,
    out: cython.uchar[::1],
):
    """`reason_of` many tasks."""
    for t in range(settled.shape[0]):
        out[t] = reason_of(settled[t], labels[t], max_labels, is_idle[t], ends)
