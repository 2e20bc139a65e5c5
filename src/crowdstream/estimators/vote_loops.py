# cython: language_level=3
# cython: infer_types=True
"""Labels → scores → winners: majority and weighted votes, confidence, ties. Arrays only.

A class's score is its log-odds up to a constant. Changing these loops changes decisions and
confidences, in the tests that compare bits too; nothing that is saved. benchmarks/core.py times
them as "count votes" and "decide".
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.libc.math import exp, log
else:
    from math import exp, log

    from crowdstream.labels.batch_loops import Tasks

    Pick = cython.struct(
        winner=cython.Py_ssize_t,
        confidence=cython.double,
        margin=cython.double,
        tied=cython.Py_ssize_t,
    )

TIE = cython.declare(cython.double, 1e-9)  # scores this close, a vote, are a tie
LARGE = cython.declare(cython.double, 1e100)  # products are scaled down beyond it
MIX1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
MIX2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)


# Labels → scores ---------------------------------------------------------------------------------


def count(tasks, begin, end, scores, t):
    """Majority vote: log(1 + votes), so that the posterior is (votes + 1)/(m + K)."""
    for a in range(scores.shape[1]):
        scores[t, a] = 1.0
    for z in range(begin, end):
        scores[t, tasks.labels[z]] += 1.0
    for a in range(scores.shape[1]):
        scores[t, a] = log(scores[t, a])


def count_votes(tasks: Tasks, scores: cython.double[:, ::1]):
    """Scores of majority vote."""
    with cython.nogil:
        for t in range(tasks.size):
            count(tasks, tasks.starts[t], tasks.starts[t + 1], scores, t)


def add_weights(
    tasks: Tasks,
    weights: cython.double[::1],
    prior: cython.double[::1],
    scores: cython.double[:, ::1],
):
    """Scores of a vote with one weight per worker; workers beyond them count as the last one."""
    last = weights.shape[0] - 1
    with cython.nogil:
        for t in range(tasks.size):
            for a in range(prior.shape[0]):
                scores[t, a] = prior[a]
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                i = tasks.workers[z]
                scores[t, tasks.labels[z]] += weights[i if i < last else last]


def add_logs(
    tasks: Tasks,
    powers: cython.double[::1],
    logs: cython.double[:, :, ::1],
    prior: cython.double[::1],
    scores: cython.double[:, ::1],
):
    """Scores by ``logs[i, x, a]``; workers beyond them count as the last one.

    ``powers``: what each label counts beside its relatives', or empty if all count 1.
    """
    last = logs.shape[0] - 1
    power = 1.0
    with cython.nogil:
        for t in range(tasks.size):
            for a in range(prior.shape[0]):
                scores[t, a] = prior[a]
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                i = tasks.workers[z] if tasks.workers[z] < last else last
                x = tasks.labels[z]
                if powers.shape[0]:
                    power = powers[z]
                for a in range(prior.shape[0]):
                    scores[t, a] += power * logs[i, x, a]


def rescale(product):
    """Keep a product of odds or probabilities within what numbers can hold."""
    most: cython.double = 0.0
    for a in range(product.shape[0]):
        most = max(most, product[a])
    if most > LARGE:
        for a in range(product.shape[0]):
            product[a] /= LARGE
    elif most < 1.0 / LARGE:
        for a in range(product.shape[0]):
            product[a] *= LARGE


# Scores → winners --------------------------------------------------------------------------------


def mix(value):
    """A bijection of 64 bits that scatters them (the finaliser of splitmix64)."""
    if not cython.compiled:
        value &= 0xFFFFFFFFFFFFFFFF
    value = (value ^ (value >> 30)) * MIX1
    if not cython.compiled:
        value &= 0xFFFFFFFFFFFFFFFF
    value = (value ^ (value >> 27)) * MIX2
    if not cython.compiled:
        value &= 0xFFFFFFFFFFFFFFFF
    return value ^ (value >> 31)


def highest(scores, t, named):
    """The highest score of the first ``named`` classes of task t."""
    best: cython.double = scores[t, 0]
    for a in range(1, named):
        best = max(best, scores[t, a])
    return best


def odds_against(scores, t, best, scale):
    """Σ_a exp((score_a − best)·scale): one over the posterior of the class that scores best."""
    total = 0.0
    for a in range(scores.shape[1]):
        total += exp((scores[t, a] - best) * scale)
    return total


def pick(scores, t, m, named, rho, keys, tossed, coin):
    """The winner of task t with m labels, its posterior, its lead, and how many classes are tied.

    The first ``named`` classes can win. Posteriors are softmax(scores/(1 + (m − 1) ρ)). A tie goes
    to the class with the least key; mixed with the task's coin, if one is ``tossed``.
    """
    best = highest(scores, t, named)
    scale = 1.0 / (1.0 + (m - 1.0) * rho)
    total = odds_against(scores, t, best, scale)
    close = best - TIE * m
    second: cython.double = -1e300
    margin = 0.0
    tied: cython.Py_ssize_t = 0
    winner: cython.Py_ssize_t = -1
    least: cython.ulonglong = 0
    for a in range(scores.shape[1]):
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
        margin = (1.0 - exp((second - best) * scale)) / total
    return Pick(winner, 1.0 / total, margin, tied)


def choose_one(
    scores: cython.double[:, ::1],
    m: cython.Py_ssize_t,
    named: cython.Py_ssize_t,
    rho: cython.double,
    keys: cython.ulonglong[::1],
    tossed: cython.bint,
    coin: cython.ulonglong,
):
    """`choose` for one task: winner, confidence, margin, how many classes are tied."""
    if m == 0 or named == 0:
        return -1, 0.0, 0.0, 0
    found = pick(scores, 0, m, named, rho, keys, tossed, coin)
    return found.winner, found.confidence, found.margin, found.tied


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
