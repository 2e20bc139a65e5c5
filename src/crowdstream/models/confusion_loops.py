# cython: language_level=3
# cython: infer_types=True
"""The student: one confusion per worker, read from posterior counts. Arrays only.

Formulas are those of docs/how-it-works.md, in its letters; K classes, labels x, classes a. Changing
it changes what `Adaptive` decides and learns (in the tests that compare bits too), and new
attributes must be saved by crowdstream.models.reading; benchmarks/core.py times it as "teach".
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.models.posterior_loops import rounded
    from cython.cimports.crowdstream.models.scoring_loops import FamilyPowers, rescale
    from cython.cimports.crowdstream.sums.rows import ACCURACY, GOLD, LEAST_SHARE, MOST_STRENGTH, H
    from cython.cimports.libc.math import exp, log, pow, sqrt  # noqa: A004
else:
    from math import exp, log, pow, sqrt  # noqa: A004

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.models.posterior_loops import rounded
    from crowdstream.models.scoring_loops import FamilyPowers, rescale
    from crowdstream.sums.rows import ACCURACY, GOLD, LEAST_SHARE, MOST_STRENGTH, H

LEAST_RIGHT = cython.declare(cython.double, 1e-3)  # right answers: odds stay finite
ALL_ALIKE = cython.declare(cython.double, 1e12)  # answers beside which a worker's own say nothing


@cython.final
@cython.cclass
class Student:
    """One confusion per worker.

    ``counts[i, x, a]``: answers x of worker i, by how likely the class was a; ``counts[i, K, a]``
    their sum over x; of ``many`` classes both are in ``sparse``. ``mass[a]``: tasks, by how likely
    the class was a. A row's prior is the pooled confusion, its error odds multiplied by the
    worker's own ratio of observed to expected errors. ``even``: whether a row is just that, so that
    workers differ by one number each. ``product`` holds of the task at hand the prior times the
    likelihoods of its labels, by class; then the posterior. ``row`` and ``where`` have space for a
    number per class, ``row`` zeros.
    """

    def __init__(self, powers: FamilyPowers, pooled, prior, product, row, where):
        self.powers = powers
        self.pooled = pooled
        self.prior = prior
        self.product = product
        self.row = row
        self.where = where
        self.classes = prior.shape[0]
        self.workers = 0
        self.strength = MOST_STRENGTH
        self.typical = 1.0
        self.even = False
        self.many = False

    def bind(self, counts, sparse, mass):
        """Read and write these counts from now on."""
        self.counts = counts
        self.sparse = sparse
        self.many = sparse is not None
        self.mass = mass

    # All workers -----------------------------------------------------------------------------

    def renew(
        self,
        workers: cython.Py_ssize_t,
        strength: cython.double,
        unit: cython.double,
        f: cython.double[::1],
    ):
        """Read what all workers share: the pooled confusion and how frequent the classes are.

        ``pooled[K, a]`` is how often class a is mistaken.
        """
        K = self.classes
        total: cython.double = 0
        h = H * unit
        with cython.nogil:
            self.workers = workers
            self.strength = strength * unit
            for x in range(K):
                for a in range(K):
                    self.pooled[x, a] = h * (ACCURACY if a == x else (1.0 - ACCURACY) / (K - 1.0))
            self.add_pooled()
            self.typical = 0.0
            for a in range(K):
                row: cython.double = 0
                for x in range(K):
                    row += self.pooled[x, a]
                for x in range(K):
                    self.pooled[x, a] /= row
                self.pooled[K, a] = 1.0 - self.pooled[a, a]
                total += self.mass[a]
                self.typical += self.pooled[K, a] * self.mass[a]
            self.typical = self.typical / total if total > 0.0 else 1.0 - ACCURACY
            for a in range(K):
                self.prior[a] = (self.mass[a] + h * f[a]) / (total + h)

    def add_pooled(self):
        """Add all workers' counts to the pooled ones."""
        K = self.classes
        for i in range(self.workers):
            for x in range(K):
                if not self.many:
                    for a in range(K):
                        self.pooled[x, a] += self.counts[i, x, a]
                    continue
                self.pooled[x, x] += self.sparse.right[i, x]
                begin = self.sparse.starts[i, x]
                for k in range(begin, begin + self.sparse.sizes[i, x]):
                    self.pooled[x, self.sparse.where[k]] += self.sparse.values[k]

    def spread_strength(self, most: cython.double, unit: cython.double) -> cython.double:
        """The strength that the spread of right answers asks for, from 8 to ``most``."""
        K = self.classes
        rights: cython.double = 0
        answers: cython.double = 0
        weights: cython.double = 0
        moments: cython.double = 0
        errors: cython.double = 0
        with cython.nogil:
            for i in range(self.workers):
                for a in range(K):
                    rights += self.count(i, a, a)
                    answers += self.total(i, a)
            mean = rights / answers if answers > 0.0 else 0.0
            var = mean * (1.0 - mean)
            for i in range(self.workers):
                right: cython.double = 0
                N: cython.double = 0
                for a in range(K):
                    right += self.count(i, a, a)
                    N += self.total(i, a)
                if not N > unit:
                    continue
                noise = var * unit / N
                weight = 1.0 / ((noise + 0.02) * (noise + 0.02))
                weights += weight
                moments += weight * ((right / N - mean) * (right / N - mean) - noise)
                errors += 2.0 * weight * weight * (noise + 0.005) * (noise + 0.005)
            if weights > 0.0:
                moments = max((moments - sqrt(errors)) / weights, 1e-4)
                most = min(max(var / moments / 2.0, H), most)
        return most

    # One worker ------------------------------------------------------------------------------

    def count(self, i, x, a):
        """Answers x of a worker on tasks of class a."""
        return self.sparse.count(i, x, a) if self.many else self.counts[i, x, a]

    def total(self, i, a):
        """All answers of a worker on tasks of class a."""
        return self.sparse.totals[i, a] if self.many else self.counts[i, self.classes, a]

    def read(self, i):
        """Count a worker's observed and expected errors; their ratio is shrunk to 1.

        The ratio of their odds where rows are ``even``, which then is exact for a worker of one
        error rate.
        """
        K = self.classes
        answers: cython.double = self.strength
        observed: cython.double = self.strength * self.typical
        expected: cython.double = observed
        if i < self.workers:
            for a in range(K):
                total = self.total(i, a)
                answers += total
                observed += total - self.count(i, a, a)
                expected += total * self.pooled[K, a]
        if self.even:
            observed /= max(answers - observed, LEAST_RIGHT)
            expected /= max(answers - expected, LEAST_RIGHT)
        self.observed = observed
        self.expected = expected

    def likelihood(self, i, x, a):
        """p_i(x | a) of the worker last read: own counts and ``strength`` answers by the prior."""
        counted: cython.double = 0.0
        if i < self.workers:
            counted = self.count(i, x, a)
        return self.shrunk(counted, i, x, a)

    def shrunk(self, counted, i, x, a):
        """`likelihood`, by the worker's own count.

        By the prior the worker errs with odds ratio·wrong/(1 − wrong); all over a common
        denominator, so that there is one division.
        """
        wrong = self.pooled[self.classes, a]
        right = (1.0 - wrong) * self.expected
        scale = right + wrong * self.observed
        prior = right if x == a else self.pooled[x, a] * self.observed
        if i >= self.workers:
            return prior / scale
        rows = ALL_ALIKE if self.even else self.strength
        return (counted * scale + rows * prior) / ((self.total(i, a) + rows) * scale)

    def open(self, i, x):
        """Write what a worker said as x, by class, into ``row``, until `close` writes zeros."""
        if i < self.workers and self.many:
            self.sparse.put(i, x, self.row)
        elif i < self.workers:
            for a in range(self.classes):
                self.row[a] = self.counts[i, x, a]

    def close(self, i, x):
        """Write zeros over what `open` wrote."""
        if i < self.workers and self.many:
            self.sparse.clear(i, x, self.row)
        elif i < self.workers:
            for a in range(self.classes):
                self.row[a] = 0.0

    def fill_confusions(self, out: cython.double[:, :, ::1]):
        """p_i(x | a) of all workers; the last row, if there is one more, is an unknown worker's."""
        with cython.nogil:
            for i in range(out.shape[0]):
                self.read(i)
                for x in range(self.classes):
                    self.open(i, x)
                    for a in range(self.classes):
                        out[i, x, a] = self.shrunk(self.row[a], i, x, a)
                    self.close(i, x)

    def fill_rows(
        self,
        own: cython.double[:, ::1],
        off: cython.double[:, ::1],
        on: cython.double[:, ::1],
    ):
        """Take the likelihoods of all workers apart, so that each is two products and no division.

        p_i(x | a) is ``counts[i, x, a] * own[i, a] + pooled[x, a] * off[i, a]``, and with ``on[i,
        a]`` as the second term where x is a: what `likelihood` says, but for rounding.
        """
        rows = ALL_ALIKE if self.even else self.strength
        with cython.nogil:
            for i in range(own.shape[0]):
                self.read(i)
                for a in range(self.classes):
                    wrong = self.pooled[self.classes, a]
                    right = (1.0 - wrong) * self.expected
                    scale = right + wrong * self.observed
                    answers: cython.double = 0.0
                    if i < self.workers:
                        answers = self.total(i, a)
                    own[i, a] = 1.0 / (answers + rows)
                    on[i, a] = rows * own[i, a] * right / scale
                    off[i, a] = rows * own[i, a] * self.observed / scale

    # One task --------------------------------------------------------------------------------

    def judge(self, tasks, begin, end):
        """The prior times the likelihoods of a task's labels."""
        for a in range(self.classes):
            self.product[a] = self.prior[a]
        for z in range(begin, end):
            i = tasks.workers[z]
            x = tasks.labels[z]
            self.read(i)
            if self.powers.rho.shape[0] or self.powers.least > 0.0:
                power = self.powers.of(tasks, begin, end, i)
                for a in range(self.classes):
                    self.product[a] *= pow(self.likelihood(i, x, a), power)
            elif self.many:
                self.open(i, x)
                for a in range(self.classes):
                    self.product[a] *= self.shrunk(self.row[a], i, x, a)
                self.close(i, x)
            else:
                for a in range(self.classes):
                    self.product[a] *= self.likelihood(i, x, a)
            if (z - begin) % 8 == 7:
                rescale(self.product)

    def learn(self, tasks, begin, end, truth, weight):
        """Add the task's posterior, `product` in multiples of 2⁻²⁴, to its workers' counts."""
        K = self.classes
        total: cython.double = 0
        for a in range(K):
            total += self.product[a]
        if self.many:
            self.learn_many(tasks, begin, end, truth, weight, total)
            return
        for a in range(K):
            if truth < 0:
                self.product[a] = weight * rounded(self.product[a] / total)
            else:
                self.product[a] = GOLD * weight if a == truth else 0.0
            self.mass[a] += self.product[a]
        for z in range(begin, end):
            i: cython.Py_ssize_t = tasks.workers[z]
            x: cython.Py_ssize_t = tasks.labels[z]
            for a in range(K):
                q = self.product[a]
                self.counts[i, x, a] += q
                self.counts[i, K, a] += q

    def learn_many(self, tasks, begin, end, truth, weight, total):
        """`learn` of many classes: those that have a share of ``total`` worth counting."""
        size: cython.Py_ssize_t = 0
        kept: cython.double = 0
        for a in range(self.classes):
            if a == truth or (truth < 0 and self.product[a] >= LEAST_SHARE * total):
                self.where[size] = a
                size += 1
                kept += self.product[a]
        for k in range(size):
            a = self.where[k]
            q: cython.double = GOLD * weight
            if truth < 0:
                q = weight * rounded(self.product[a] / kept)
            self.mass[a] += q
            for z in range(begin, end):
                self.sparse.add(tasks.workers[z], tasks.labels[z], a, q)


def recount(
    tasks: Tasks,
    powers: cython.double[::1],
    logs: cython.double[:, :, ::1],
    prior: cython.double[::1],
    counts: cython.double[:, :, ::1],
    mass: cython.double[::1],
    room: cython.double[::1],
):
    """Count every task's posterior by ``logs[i, x, a]`` and a prior; the labels' log-likelihood.

    ``powers``: what each label counts beside its relatives', or empty if all count 1. ``room`` has
    space for a number per class. Tasks of known truth count as in `posterior_loops`.
    """
    K = mass.shape[0]
    power = 1.0
    found: cython.double = 0
    counts[:, :, :] = 0.0
    mass[:] = 0.0
    with cython.nogil:
        for t in range(tasks.size):
            begin = tasks.starts[t]
            end = tasks.starts[t + 1]
            if end == begin:
                continue
            truth = tasks.truth(t)
            for a in range(K):
                room[a] = prior[a]
            for z in range(begin, end):
                if powers.shape[0]:
                    power = powers[z]
                for a in range(K):
                    room[a] += power * logs[tasks.workers[z], tasks.labels[z], a]
            best: cython.double = room[0]
            total: cython.double = 0
            for a in range(1, K):
                best = max(best, room[a])
            if truth >= 0:
                found += GOLD * room[truth]
            for a in range(K):
                room[a] = exp(room[a] - best)
                total += room[a]
            if truth < 0:
                found += best + log(total)
            for a in range(K):
                if truth < 0:
                    room[a] /= total
                else:
                    room[a] = GOLD if a == truth else 0.0
                mass[a] += room[a]
            for z in range(begin, end):
                i = tasks.workers[z]
                x = tasks.labels[z]
                for a in range(K):
                    counts[i, x, a] += room[a]
    return found
