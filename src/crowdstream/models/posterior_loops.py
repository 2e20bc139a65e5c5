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
    from cython.cimports.crowdstream.sums.rows import GOLD, LEAST_SHARE, UNIT
    from cython.cimports.crowdstream.sums.sparse_loops import SparseRows
    from cython.cimports.libc.math import exp, fabs, sqrt
else:
    from math import exp, fabs, sqrt

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.sums.rows import GOLD, LEAST_SHARE, UNIT
    from crowdstream.sums.sparse_loops import SparseRows

EIGHT = cython.declare(cython.Py_ssize_t, 8)  # likelihoods whose product no number is too small for
MANY = cython.declare(cython.Py_ssize_t, 32)  # odds whose product no number is too large for


def rounded(share):
    """A share in multiples of 2⁻²⁴, as counts are kept."""
    return cython.cast(cython.longlong, share * UNIT + 0.5) / UNIT


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

    ``sparse``: the counts of many classes, instead. ``where``: the classes that have a share of the
    task worth counting, ``size`` of them: ``least`` of all or more, of many classes ``least`` of
    the likeliest one's.
    """

    def __init__(self, counts, sparse, mass, room, where):
        self.counts = counts
        self.sparse = sparse
        self.many = sparse is not None
        self.mass = mass
        self.room = room
        self.where = where
        self.classes = mass.shape[0]
        self.size = 0
        self.least = LEAST_SHARE if self.many else 0.5 / UNIT  # what is rounded to nothing

    def find(self, total):
        """Find the classes worth counting; the total that their shares are of.

        That is all of a few classes; of many what is left by those that are not counted.
        """
        self.size = 0
        if self.many:
            for a in range(self.classes):
                self.where[a] = a
            self.size = self.classes
            return self.keep()
        for a in range(self.classes):
            if self.room[a] >= total * self.least:
                self.where[self.size] = a
                self.size += 1
        return total

    def find_said(self, tasks, begin, end):
        """Find the classes that somebody said."""
        self.size = 0
        for z in range(begin, end):
            seen: cython.bint = False
            for k in range(self.size):
                if self.where[k] == tasks.labels[z]:
                    seen = True
            if not seen:
                self.where[self.size] = tasks.labels[z]
                self.size += 1

    def keep_said(self, total):
        """`find` among the classes found already."""
        if self.many:
            return self.keep()
        found = self.size
        self.size = 0
        for k in range(found):
            if self.room[self.where[k]] >= total * self.least:
                self.where[self.size] = self.where[k]
                self.size += 1
        return total

    def keep(self):
        """Keep the classes found that are worth counting beside the likeliest; what they have."""
        best: cython.double = 0.0
        kept: cython.double = 0.0
        found = self.size
        for k in range(found):
            best = max(best, self.room[self.where[k]])
        self.size = 0
        for k in range(found):
            a: cython.Py_ssize_t = self.where[k]
            if self.room[a] >= best * self.least:
                self.where[self.size] = a
                self.size += 1
                kept += self.room[a]
        return kept

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
                if self.many:
                    self.sparse.add(i, x, a, self.room[a])
                else:
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
                    total = into.find(total)
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
    """Products by the counts of many classes that are not 0.

    ``workers`` are known; all others are alike, and the last of ``own``, ``off``, ``on`` and
    ``odds``. ``kept`` has space for a number per class. ``most[i, x]``, once `bound` has filled it
    in: no likelihood of another class than x is above it.
    """

    def __init__(
        self, said: SparseRows, workers, kept, most, own, off, on, pooled, prior, odds, root
    ):
        Products.__init__(self, own, off, on, pooled, prior, odds, root)
        self.said = said
        self.workers = workers
        self.kept = kept
        self.most = most

    def bound(self):
        """Fill in the most that a label may speak for a class that it does not name."""
        with cython.nogil:
            for x in range(self.classes):
                self.kept[x] = 0.0
                for a in range(self.classes):
                    if a != x:
                        self.kept[x] = max(self.kept[x], self.pooled[x, a])
            for i in range(self.workers):
                largest: cython.double = 0.0
                for a in range(self.classes):
                    largest = max(largest, self.off[i, a])
                for x in range(self.classes):
                    self.most[i, x] = largest * self.kept[x]
                    begin = self.said.starts[i, x]
                    for k in range(begin, begin + self.said.sizes[i, x]):
                        likely = self.likelihood(i, x, self.said.where[k], self.said.values[k])
                        self.most[i, x] = max(self.most[i, x], likely)

    def likelihood(self, i, x, a, counted):
        """Return the chance that a known worker says x of class a, given how often it did."""
        rest = self.on[i, x] if x == a else self.pooled[x, a] * self.off[i, a]
        return counted * self.own[i, a] + rest

    def count(self, tasks: Tasks, into: PosteriorCounts):
        """Add every task's posterior to its workers' counts.

        Only classes that somebody said are looked at where no other can have a share worth
        counting.
        """
        self.bound()
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
                    total = self.judge_said(tasks, begin, end, into)
                    if total == 0.0:
                        total = into.find(self.judge(tasks, begin, end, into.room))
                into.add(tasks, begin, end, total)

    def judge_said(self, tasks, begin, end, into):
        """Find the classes worth counting among those somebody said; 0 if there may be others."""
        room = into.room
        others: cython.double = 0.0
        best: cython.double = 0.0
        for a in range(self.classes):
            others = max(others, self.prior[a])
        into.find_said(tasks, begin, end)
        for k in range(into.size):
            room[into.where[k]] = self.prior[into.where[k]]
        for z in range(begin, end):
            i: cython.Py_ssize_t = tasks.workers[z]
            x: cython.Py_ssize_t = tasks.labels[z]
            others *= self.most[i, x]
            best = 0.0
            for k in range(into.size):
                a = into.where[k]
                room[a] *= self.likelihood(i, x, a, self.said.count(i, x, a))
                if a == x:
                    room[a] *= self.odds[i]
                best = max(best, room[a])
            if (z - begin) % EIGHT == EIGHT - 1:
                others /= best
                for k in range(into.size):
                    room[into.where[k]] /= best
                best = 1.0
        least = into.least * into.least if self.root else into.least
        if not others < best * least:
            return 0.0
        if self.root:
            for k in range(into.size):
                room[into.where[k]] = sqrt(room[into.where[k]])
        return into.keep()

    def multiply(self, i, x, room):
        """Multiply by the likelihoods of a label: first, apart, of the classes counted."""
        begin: cython.Py_ssize_t = 0
        size: cython.Py_ssize_t = 0
        counted: cython.double = 0.0
        if i < self.workers:
            begin = self.said.starts[i, x]
            size = self.said.sizes[i, x]
            counted = self.said.right[i, x]
        else:
            i = self.own.shape[0] - 1
        for k in range(size):
            a: cython.Py_ssize_t = self.said.where[begin + k]
            own: cython.double = self.said.values[begin + k] * self.own[i, a]
            self.kept[k] = room[a] * (own + self.pooled[x, a] * self.off[i, a])
        right = room[x] * (counted * self.own[i, x] + self.on[i, x]) * self.odds[i]
        for a in range(self.classes):
            room[a] *= self.pooled[x, a] * self.off[i, a]
        for k in range(size):
            room[self.said.where[begin + k]] = self.kept[k]
        room[x] = right


def add_posteriors(tasks: Tasks, scores: cython.double[:, ::1], into: PosteriorCounts):
    """Add every task's posterior, softmax(scores), to its workers' counts."""
    with cython.nogil:
        for t in range(tasks.size):
            begin = tasks.starts[t]
            end = tasks.starts[t + 1]
            if end == begin:
                continue
            truth = tasks.truth(t)
            total: cython.double = 0
            if truth >= 0:
                into.know(truth)
            else:
                best: cython.double = scores[t, 0]
                for a in range(1, into.classes):
                    best = max(best, scores[t, a])
                for a in range(into.classes):
                    off = scores[t, a] - best
                    into.room[a] = exp(off) if off < 0.0 else 1.0
                    total += into.room[a]
                total = into.find(total)
            into.add(tasks, begin, end, total)


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
                if shrunk or largest >= total * into.least:
                    total = into.find(total)
                else:
                    into.find_said(tasks, begin, end)
                    total = into.keep_said(total)
            into.add(tasks, begin, end, total)
            if shrunk or truth >= 0:
                for a in range(K):
                    into.room[a] = prior[a]
            else:
                for k in range(into.size):
                    into.room[into.where[k]] = prior[into.where[k]]
                for z in range(begin, end):
                    into.room[tasks.labels[z]] = prior[tasks.labels[z]]


def shrink(room):
    """Divide a product by its largest entry, so that it stays within what numbers can hold."""
    most: cython.double = 0.0
    for a in range(room.shape[0]):
        most = max(most, room[a])
    for a in range(room.shape[0]):
        room[a] /= most
