# cython: language_level=3
# cython: infer_types=True
"""Labels → scores: `Scoring`, which a stream's loop runs, and votes. Arrays only.

A class's score is its log-odds up to a constant. Changing these loops changes decisions and
confidences, in the tests that compare bits too; nothing that is saved. benchmarks/core.py times
them as "count votes".
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.sums.agreement_loops import AgreementRows
    from cython.cimports.crowdstream.sums.rows import EDGE, ENOUGH, HALF, LARGE
    from cython.cimports.libc.math import exp, log
else:
    from math import exp, log

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.sums.agreement_loops import AgreementRows
    from crowdstream.sums.rows import EDGE, ENOUGH, HALF, LARGE

MIX1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
MIX2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)


@cython.cclass
class Scoring:
    """Scores tasks, and learns their labels one by one; one compiled loop runs any of them.

    Here votes are counted. A model overrides `score`, `learn` if it keeps more than the sums, and
    `close` if it learns what cannot be taken back. ``fell_back``: whether votes are counted, not
    weighed; ``golden``: whether known truths correct confidences; ``discount``: the correlation of
    errors by which confidence is discounted. ``least``: answers from which a worker is known;
    while it is above 0, the labels of others count nothing.
    """

    def __init__(self, sums: AgreementRows):
        self.sums = sums
        self.fell_back = True
        self.golden = False
        self.discount = 0.0
        self.least = 0.0

    def learn(self, tasks, begin, end, truth, weight):
        """Add a task's labels to the sums, or (weight below 0) take them away."""
        self.sums.add_task(tasks, begin, end, truth, weight)

    def score(self, tasks, begin, end, own, scores, t):
        """The scores of all classes for one task, by all that was learnt but its own labels.

        ``own``: what the task counts in the sums, if its labels are among them; else 0.
        """
        count(tasks, begin, end, scores, t)

    def meet_worker(self):
        """One more worker is known, for whom there is room already."""
        self.sums.workers += 1

    def close(self, tasks, begin, end, truth, weight):
        """Learn what cannot be taken back; the task's labels are among the sums already."""
        pass

    def count_known(self, tasks, begin, end, own, least):
        """The labels of a task that are by workers who are known."""
        found: cython.Py_ssize_t = 0
        for z in range(begin, end):
            if self.sums.is_known(tasks.workers[z], end - begin, own, least):
                found += 1
        return found

    # For Python ------------------------------------------------------------------------------

    def ask(
        self,
        tasks: Tasks,
        m: cython.Py_ssize_t,
        own: cython.double,
        scores: cython.double[:, ::1],
    ):
        """The scores of one task by its first m labels; ``own`` as for `score`.

        Keeps the GIL: two questions at once would share the arrays that they are worked out in.
        """
        self.score(tasks, 0, m, own, scores, 0)

    def ask_known(
        self,
        tasks: Tasks,
        m: cython.Py_ssize_t,
        own: cython.double,
        least: cython.double,
        scores: cython.double[:, ::1],
    ):
        """`ask` without the labels of newcomers; how many are left. No scores if all are."""
        left = m if self.fell_back else self.count_known(tasks, 0, m, own, least)
        if left < m:
            self.least = least
            self.score(tasks, 0, m, own, scores, 0)
            self.least = 0.0
        return left

    def score_tasks(self, tasks: Tasks, scores: cython.double[:, ::1]):
        """The scores of tasks none of which is among the sums; keeps the GIL as `ask` does."""
        for t in range(tasks.size):
            self.score(tasks, tasks.starts[t], tasks.starts[t + 1], 0.0, scores, t)

    def follow(
        self,
        tasks: Tasks,
        weight: cython.double,
        growth: cython.double,
        scores: cython.double[:, ::1],
    ):
        """Score each task by those before it, then learn it; the first counts ``weight``."""
        with cython.nogil:
            for t in range(tasks.size):
                begin = tasks.starts[t]
                end = tasks.starts[t + 1]
                self.score(tasks, begin, end, 0.0, scores, t)
                self.learn(tasks, begin, end, tasks.truth(t), weight)
                self.close(tasks, begin, end, tasks.truth(t), weight)
                weight *= growth

    def learn_all(self, tasks: Tasks, weight: cython.double, growth: cython.double):
        """Learn tasks one after another; the first counts ``weight``."""
        with cython.nogil:
            for t in range(tasks.size):
                self.learn(tasks, tasks.starts[t], tasks.starts[t + 1], tasks.truth(t), weight)
                self.close(tasks, tasks.starts[t], tasks.starts[t + 1], tasks.truth(t), weight)
                weight *= growth

    def add(
        self, tasks: Tasks, m: cython.Py_ssize_t, truth: cython.Py_ssize_t, weight: cython.double
    ):
        """`learn` the first m labels of one task."""
        self.learn(tasks, 0, m, truth, weight)

    def finish(
        self, tasks: Tasks, m: cython.Py_ssize_t, truth: cython.Py_ssize_t, weight: cython.double
    ):
        """`close` a task of m labels."""
        self.close(tasks, 0, m, truth, weight)


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

    def of(self, tasks, begin, end, i):
        """1/(1 + (s − 1) ρ) for worker i, whose family has s labels on the task."""
        n = self.sums.family.shape[0]
        if self.least > 0.0 and not self.sums.is_known(i, end - begin, self.own, self.least):
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


# Votes ------------------------------------------------------------------------------------------


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


# Newcomers ---------------------------------------------------------------------------------------


def known_from(sums, unit, forgets):
    """Answers from which a worker is known: no newcomer (see crowdstream.models.newcomers)."""
    if not forgets:
        return ENOUGH * unit
    return min(ENOUGH * unit, HALF * sums.typical_answers())


def find_known_from(sums: AgreementRows, unit: cython.double, forgets: cython.bint):
    """`known_from` for Python."""
    return known_from(sums, unit, forgets)


# Numbers -----------------------------------------------------------------------------------------


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


def choose_below(
    names: cython.const[cython.ulonglong][::1],
    seed: cython.ulonglong,
    starts: cython.longlong[::1],
    bound: cython.ulonglong,
    keys: cython.ulonglong[::1],
    which: cython.longlong[::1],
):
    """Put the tasks that have labels and a key of at most ``bound`` into ``which``: how many.

    A task's key is made of ``names``, the hash of its name. ``keys`` take those of the tasks.
    """
    found: cython.Py_ssize_t = 0
    with cython.nogil:
        for t in range(names.shape[0]):
            key: cython.ulonglong = names[t]
            if not cython.compiled:
                key = int(key)
            key = mix(key ^ seed)
            if key <= bound and starts[t + 1] > starts[t]:
                keys[found] = key
                which[found] = t
                found += 1
    return found


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
