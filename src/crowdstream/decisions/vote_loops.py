# cython: language_level=3
# cython: infer_types=True
"""Scores → winners: posteriors, leads, ties. Arrays only.

A class's score is its log-odds up to a constant. Changing these loops changes decisions and
confidences, in the tests that compare bits too; nothing that is saved. benchmarks/core.py times
them as "decide".
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.models.scoring_loops import mix
    from cython.cimports.crowdstream.sums.rows import TIE
    from cython.cimports.libc.math import exp
else:
    from math import exp

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.models.scoring_loops import mix
    from crowdstream.sums.rows import TIE

    Pick = cython.struct(
        winner=cython.Py_ssize_t,
        confidence=cython.double,
        margin=cython.double,
        tied=cython.Py_ssize_t,
    )


def pick(scores, t, m, named, rho, keys, tossed, coin):
    """The winner of task t with m labels, its posterior, its lead, and how many classes are tied.

    The first ``named`` classes can win. Posteriors are softmax(scores/(1 + (m − 1) ρ)). A tie goes
    to the class with the least key; mixed with the task's coin, if one is ``tossed``.
    """
    best: cython.double = scores[t, 0]
    scale = 1.0 / (1.0 + (m - 1.0) * rho)
    second: cython.double = -1e300
    total: cython.double = 0
    margin = 0.0
    tied: cython.Py_ssize_t = 0
    winner: cython.Py_ssize_t = -1
    least: cython.ulonglong = 0
    for a in range(1, named):
        best = max(best, scores[t, a])
    close = best - TIE * m
    for a in range(scores.shape[1]):
        total += exp((scores[t, a] - best) * scale)
        if a < named and scores[t, a] >= close:
            tied += 1
            key = keys[a]
            if tossed:
                key = mix(key ^ coin)
            if winner < 0 or key < least:
                winner = a
                least = key
        else:
            second = max(second, scores[t, a])
    if tied < 2:
        margin = max((1.0 - exp((second - best) * scale)) / total, 0.0)
    return Pick(winner, 1.0 / total, margin, tied)


def choose(
    tasks: Tasks,
    scores: cython.double[:, ::1],
    named: cython.Py_ssize_t,
    rho: cython.double,
    keys: cython.ulonglong[::1],
    coins: cython.ulonglong[::1],
    votes,
):
    """Fill ``votes`` with winners (−1 without a label), posteriors and leads; see `pick`.

    ``coins``: one per task, or none. Returns how many tasks are tied.
    """
    winners: cython.int[::1] = votes.winners
    confidences: cython.double[::1] = votes.confidences
    margins: cython.double[::1] = votes.margins
    tossed = coins.shape[0]
    ties: cython.Py_ssize_t = 0
    with cython.nogil:
        for t in range(tasks.size):
            m = tasks.starts[t + 1] - tasks.starts[t]
            winners[t] = -1
            confidences[t] = margins[t] = 0.0
            if m == 0 or named == 0:
                continue
            found = pick(scores, t, m, named, rho, keys, tossed, coins[t] if tossed else 0)
            winners[t] = found.winner
            confidences[t] = found.confidence
            margins[t] = found.margin
            if found.tied > 1:
                ties += 1
    return ties
