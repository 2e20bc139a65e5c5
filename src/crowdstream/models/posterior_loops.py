# cython: language_level=3
# cython: infer_types=True
"""Posteriors of tasks, worked out and counted in one go: no scores are written to memory.

`count_two` is for two classes, in logarithms. With more, a posterior is a product of likelihoods,
so that neither logarithms nor exponentials are taken, and only classes whose share is not rounded
to nothing are counted. Arrays only. Changing it changes what `Adaptive` decides on tables;
benchmarks/core.py times it as "sweep".
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.sums.rows import GOLD, UNIT
    from cython.cimports.libc.math import exp, fabs, sqrt
else:
    from math import exp, fabs, sqrt

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.sums.rows import GOLD, UNIT

EIGHT = cython.declare(cython.Py_ssize_t, 8)  # likelihoods whose product no number is too small for
MANY = cython.declare(cython.Py_ssize_t, 32)  # odds whose product no number is too large for


def rounded(share):
    """A share in multiples of 2⁻²⁴, as counts are kept."""
    return cython.cast(cython.longlong, share * UNIT + 0.5) / UNIT


def add_posteriors(
    tasks: Tasks,
    scores: cython.double[:, ::1],
    counts: cython.double[:, :, ::1],
    mass: cython.double[::1],
):
    """Add every task's posterior, softmax(scores), to its workers' counts; scores become them."""
    K = mass.shape[0]
    with cython.nogil:
        for t in range(tasks.size):
            if tasks.starts[t + 1] == tasks.starts[t]:
                continue
            truth = tasks.truth(t)
            best: cython.double = scores[t, 0]
            total: cython.double = 0
            for a in range(1, K):
                best = max(best, scores[t, a])
            for a in range(K):
                off = scores[t, a] - best
                scores[t, a] = exp(off) if off < 0.0 else 1.0
                total += scores[t, a]
            for a in range(K):
                if truth < 0:
                    scores[t, a] = rounded(scores[t, a] / total)
                else:
                    scores[t, a] = GOLD if a == truth else 0.0
                mass[a] += scores[t, a]
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                i = tasks.workers[z]
                x = tasks.labels[z]
                for a in range(K):
                    counts[i, x, a] += scores[t, a]


# Two classes --------------------------------------------------------------------------------------


def count_two(
    tasks: Tasks,
    logs: cython.double[::1],
    prior: cython.double[::1],
    counts: cython.double[::1],
    mass: cython.double[::1],
):
    """Add every task's posterior by ``logs[i, x, a]`` and a prior to its workers' counts.

    Both tables are flat, with [i, x, a] at 4i + 2x + a: half the instructions of three indices.
    """
    starts: cython.longlong[::1] = tasks.starts
    workers: cython.int[::1] = tasks.workers
    labels: cython.int[::1] = tasks.labels
    known: cython.bint = tasks.truths.shape[0] > 0
    one: cython.double = 0.0
    two: cython.double = 0.0
    shares = cython.declare(cython.double[2])
    at: cython.Py_ssize_t
    with cython.nogil:
        for t in range(tasks.size):
            begin = starts[t]
            end = starts[t + 1]
            if end == begin:
                continue
            first: cython.double = prior[0]
            second: cython.double = prior[1]
            for z in range(begin, end):
                at = 4 * workers[z] + 2 * labels[z]
                first += logs[at]
                second += logs[at + 1]
            if known and tasks.truths[t] >= 0:
                first = GOLD if tasks.truths[t] == 0 else 0.0
                second = GOLD - first
            else:
                off: cython.double = second - first
                share: cython.double = exp(-fabs(off))
                shares[0] = rounded(1.0 / (1.0 + share))
                shares[1] = rounded(share / (1.0 + share))
                # No branch: half of them would be guessed wrong.
                likelier: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, off >= 0.0)
                first = shares[likelier]
                second = shares[1 - likelier]
            one += first
            two += second
            for z in range(begin, end):
                at = 4 * workers[z] + 2 * labels[z]
                counts[at] += first
                counts[at + 1] += second
        mass[0] += one
        mass[1] += two


# More classes -------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class PosteriorCounts:
    """Counts by worker, said and class, and ``mass`` by class; ``room`` for a task's posterior.

    ``where``: the classes whose share is more than nothing, ``size`` of them.
    """

    def __init__(self, counts, mass, room, where):
        self.counts = counts
        self.mass = mass
        self.room = room
        self.where = where
        self.classes = mass.shape[0]
        self.size = 0

    def find(self, total):
        """Find the classes whose share of a total is not rounded to nothing."""
        least = total / (2.0 * UNIT)
        self.size = 0
        for a in range(self.classes):
            if self.room[a] >= least:
                self.where[self.size] = a
                self.size += 1

    def know(self, truth):
        """Have all of a known truth, which counts more than once, and nothing of other classes."""
        self.where[0] = truth
        self.size = 1
        self.room[truth] = GOLD

    def add(self, tasks, begin, end, total):
        """Add a task's posterior to its workers' counts; a total of 0: as it is."""
        for k in range(self.size):
            a: cython.Py_ssize_t = self.where[k]
            if total > 0.0:
                self.room[a] = rounded(self.room[a] / total)
            self.mass[a] += self.room[a]
        for z in range(begin, end):
            i: cython.Py_ssize_t = tasks.workers[z]
            x: cython.Py_ssize_t = tasks.labels[z]
            for k in range(self.size):
                a = self.where[k]
                self.counts[i, x, a] += self.room[a]


@cython.cclass
class Products:
    """A task's posterior as the prior times the likelihoods of its labels.

    ``own[i, a]``, ``off[i, a]`` and ``on[i, a]`` are what `Student.fill_rows` took likelihoods
    apart to. ``odds``: by which a worker's label speaks for its class beside that. ``root``:
    whether the square root is taken of it all.
    """

    def __init__(self, own, off, on, pooled, prior, odds, root):
        self.own = own
        self.off = off
        self.on = on
        self.pooled = pooled
        self.prior = prior
        self.odds = odds
        self.root = root
        self.classes = prior.shape[0]

    def judge(self, tasks, begin, end, room):
        """Fill in what a task's posterior is proportional to; its sum."""
        total: cython.double = 0.0
        for a in range(self.classes):
            room[a] = self.prior[a]
        for z in range(begin, end):
            self.multiply(tasks.workers[z], tasks.labels[z], room)
            if (z - begin) % EIGHT == EIGHT - 1:
                shrink(room)
        for a in range(self.classes):
            if self.root:
                room[a] = sqrt(room[a])
            total += room[a]
        return total

    def multiply(self, i, x, room):
        """Multiply by the likelihoods of a label."""
        pass

    def count(self, tasks: Tasks, into: PosteriorCounts):
        """Add every task's posterior to its workers' counts."""
        with cython.nogil:
            for t in range(tasks.size):
                begin = tasks.starts[t]
                end = tasks.starts[t + 1]
                if end == begin:
                    continue
                truth = tasks.truth(t)
                total: cython.double = 0.0
                if truth >= 0:
                    into.know(truth)
                else:
                    total = self.judge(tasks, begin, end, into.room)
                    into.find(total)
                into.add(tasks, begin, end, total)

    def fill(self, tasks: Tasks, room: cython.double[::1], out: cython.double[:, ::1]):
        """The posteriors of tasks, whatever their truths."""
        with cython.nogil:
            for t in range(tasks.size):
                total = self.judge(tasks, tasks.starts[t], tasks.starts[t + 1], room)
                for a in range(self.classes):
                    out[t, a] = room[a] / total


@cython.final
@cython.cclass
class DenseProducts(Products):
    """Products by all counts, ``said[i, x, a]``."""

    def __init__(self, said, own, off, on, pooled, prior, odds, root):
        Products.__init__(self, own, off, on, pooled, prior, odds, root)
        self.said = said

    def multiply(self, i, x, room):
        """Multiply by the likelihoods of a label."""
        kept: cython.double = room[x]
        for a in range(self.classes):
            room[a] *= self.said[i, x, a] * self.own[i, a] + self.pooled[x, a] * self.off[i, a]
        room[x] = kept * (self.said[i, x, x] * self.own[i, x] + self.on[i, x]) * self.odds[i]


@cython.final
@cython.cclass
class SparseProducts(Products):
    """Products by the counts that are not 0: far fewer, so that they are nearer at hand.

    What worker i said as x was ``values[k]`` times of class ``where[k]``, for k from ``starts[i K +
    x]`` to the next.
    """

    def __init__(self, starts, where, values, kept, own, off, on, pooled, prior, odds, root):
        Products.__init__(self, own, off, on, pooled, prior, odds, root)
        self.starts = starts
        self.where = where
        self.values = values
        self.kept = kept

    def multiply(self, i, x, room):
        """Multiply by the likelihoods of a label: first, apart, of the classes counted."""
        row = i * self.classes + x
        begin = self.starts[row]
        size = self.starts[row + 1] - begin
        right: cython.double = self.on[i, x]
        before: cython.double = room[x]
        for k in range(size):
            a: cython.Py_ssize_t = self.where[begin + k]
            own: cython.double = self.values[begin + k] * self.own[i, a]
            if a == x:
                right += own
            self.kept[k] = room[a] * (own + self.pooled[x, a] * self.off[i, a])
        for a in range(self.classes):
            room[a] *= self.pooled[x, a] * self.off[i, a]
        for k in range(size):
            room[self.where[begin + k]] = self.kept[k]
        room[x] = before * right * self.odds[i]


def fill_starts(said: cython.double[:, :, ::1], starts: cython.longlong[::1]):
    """Where the counts of each worker and label begin if only those that are not 0 are kept."""
    K = said.shape[2]
    with cython.nogil:
        starts[0] = 0
        for row in range(starts.shape[0] - 1):
            i = row // K
            x = row - i * K
            found: cython.longlong = 0
            for a in range(K):
                if said[i, x, a] != 0.0:
                    found += 1
            starts[row + 1] = starts[row] + found


def fill_sparse(
    said: cython.double[:, :, ::1],
    starts: cython.longlong[::1],
    where: cython.int[::1],
    values: cython.double[::1],
):
    """Classes and counts, by worker and label, of those counts that are not 0."""
    K = said.shape[2]
    with cython.nogil:
        for row in range(starts.shape[0] - 1):
            i = row // K
            x = row - i * K
            k = starts[row]
            for a in range(K):
                if said[i, x, a] != 0.0:
                    where[k] = a
                    values[k] = said[i, x, a]
                    k += 1


def count_weighted(
    tasks: Tasks,
    odds: cython.double[::1],
    prior: cython.double[::1],
    into: PosteriorCounts,
):
    """Add every task's posterior, the prior times the odds of its labels, to the counts.

    Classes that nobody said have their prior: where even the largest is rounded to nothing, they
    are not looked at. Workers beyond the odds count as the last one.
    """
    K = into.classes
    last = odds.shape[0] - 1
    largest: cython.double = 0.0
    together: cython.double = 0.0
    with cython.nogil:
        for a in range(K):
            into.room[a] = prior[a]
            largest = max(largest, prior[a])
            together += prior[a]
        for t in range(tasks.size):
            begin = tasks.starts[t]
            end = tasks.starts[t + 1]
            if end == begin:
                continue
            truth = tasks.truth(t)
            total: cython.double = together
            shrunk: cython.bint = False
            if truth >= 0:
                total = 0.0
                into.know(truth)
            else:
                for z in range(begin, end):
                    i = tasks.workers[z] if tasks.workers[z] < last else last
                    x = tasks.labels[z]
                    before: cython.double = into.room[x]
                    into.room[x] *= odds[i]
                    total += into.room[x] - before
                    if (z - begin) % MANY == MANY - 1:
                        shrink(into.room)
                        shrunk = True
                        total = 0.0
                        for a in range(K):
                            total += into.room[a]
                if shrunk or largest >= total / (2.0 * UNIT):
                    into.find(total)
                else:
                    find_said(tasks, begin, end, total, into)
            into.add(tasks, begin, end, total)
            if shrunk or truth >= 0:
                for a in range(K):
                    into.room[a] = prior[a]
            else:
                for k in range(into.size):
                    into.room[into.where[k]] = prior[into.where[k]]
                for z in range(begin, end):
                    into.room[tasks.labels[z]] = prior[tasks.labels[z]]


def find_said(tasks, begin, end, total, into):
    """`PosteriorCounts.find` where only classes that somebody said can be more than nothing."""
    least = total / (2.0 * UNIT)
    into.size = 0
    for z in range(begin, end):
        a = tasks.labels[z]
        if into.room[a] < least:
            continue
        seen: cython.bint = False
        for k in range(into.size):
            if into.where[k] == a:
                seen = True
        if not seen:
            into.where[into.size] = a
            into.size += 1


def shrink(room):
    """Divide a product by its largest entry, so that it stays within what numbers can hold."""
    most: cython.double = 0.0
    for a in range(room.shape[0]):
        most = max(most, room[a])
    for a in range(room.shape[0]):
        room[a] /= most
