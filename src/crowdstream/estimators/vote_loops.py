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
    from cython.cimports.crowdstream.sums.agreement_loops import AgreementRows
    from cython.cimports.libc.math import exp, log
else:
    from math import exp, log

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.sums.agreement_loops import AgreementRows

    Pick = cython.struct(
        winner=cython.Py_ssize_t,
        confidence=cython.double,
        margin=cython.double,
        tied=cython.Py_ssize_t,
    )

TIE = cython.declare(cython.double, 1e-9)  # scores this close, a vote, are a tie
LARGE = cython.declare(cython.double, 1e100)  # products are scaled down beyond it
HEAD = cython.declare(cython.Py_ssize_t, 5)  # of a row of the agreement sums
MET = cython.declare(cython.Py_ssize_t, 1)
GOLD = cython.declare(cython.Py_ssize_t, 3)
EDGE = cython.declare(cython.double, 0.005)  # as crowdstream.estimators.calibration has it
MIX1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
MIX2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)


@cython.final
@cython.cclass
class FamilyPowers:
    """What a label counts beside those of its worker's declared family on the same task.

    ``rho``: of each family the correlation of errors, or empty where none is declared. ``least``:
    answers from which a worker is known; while it is above 0, the labels of others count nothing.
    ``own``: what the task at hand counted, if its labels are among the sums; or 0.
    """

    def __init__(self, sums: AgreementRows, rho):
        self.sums = sums
        self.rho = rho
        self.least = 0.0
        self.own = 0.0

    def is_known(self, i, m):
        """Whether a worker has given ``least`` answers that say something of it.

        Besides its label on a task of m labels: answers that others' can be compared with, or the
        truth.
        """
        if i >= self.sums.rows.shape[0]:
            return False
        answers: cython.double = -self.own
        for a in range(self.sums.classes):
            answers += self.sums.rows[i, HEAD + a]
        compared = self.sums.rows[i, MET] - self.own * (m - 1) + self.sums.rows[i, GOLD]
        return answers >= self.least and compared >= self.least

    def of(self, tasks, begin, end, i):
        """1/(1 + (s − 1) ρ) for worker i, whose family has s labels on the task."""
        n = self.sums.family.shape[0]
        if self.least > 0.0 and not self.is_known(i, end - begin):
            return 0.0
        if self.rho.shape[0] == 0 or i >= n or self.sums.family[i] < 0:
            return 1.0
        family = self.sums.family[i]
        others: cython.double = -1
        for z in range(begin, end):
            j = tasks.workers[z]
            if j < n and self.sums.family[j] == family:
                others += 1.0
        return 1.0 / (1.0 + others * self.rho[family])

    def fill(self, tasks: Tasks, out: cython.double[::1]):
        """The powers of all labels of some tasks."""
        for t in range(tasks.size):
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                out[z] = self.of(tasks, tasks.starts[t], tasks.starts[t + 1], tasks.workers[z])


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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mix(value: cython.ulonglong) -> cython.ulonglong:
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


def fill_keys(
    places: cython.longlong[::1],
    odd: cython.ulonglong,
    seed: cython.ulonglong,
    out: cython.ulonglong[::1],
):
    """A number per task that looks random, of its place in the order of tasks."""
    for k in range(places.shape[0]):
        place: cython.ulonglong = places[k] + 1
        if not cython.compiled:
            place = int(place)
        out[k] = mix((place * odd) ^ seed)


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


def calibrated(confidence, shift, slope, ceiling):
    """sigmoid(shift + slope·logit(confidence)), at most ``ceiling``."""
    p = min(max(confidence, EDGE), 1.0 - EDGE)
    return min(1.0 / (1.0 + exp(-(shift + slope * log(p / (1.0 - p))))), ceiling)


def calibrate(
    confidences: cython.double[::1],
    shift: cython.double,
    slope: cython.double,
    ceiling: cython.double,
    out: cython.double[::1],
):
    """`calibrated` of many."""
    for k in range(confidences.shape[0]):
        out[k] = calibrated(confidences[k], shift, slope, ceiling)


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
