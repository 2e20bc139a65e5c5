# cython: language_level=3
# cython: infer_types=True
"""Adding tasks to their workers' sums of agreement. Arrays only.

A task with m labels, ``v[a]`` of them for class a, adds for each of its workers i who said x

    said_i[x] += 1      own_i[x] += m − 1    agree_i += v[x] − 1
    met_i += m − 1      met2_i += (m − 1)(m − 2)      others_i[a] += v[a] − 1{a = x}

and, where its truth is known, ``known_i += 1`` and ``right_i += 1{x = truth}``. Shared by all:
the numbers of tasks, of those with labels and of labels, and the label shares ``F[x] += 1/m`` in
multiples of 2⁻²⁴. Members of one declared family are left out of each other's ``m``, ``v``, as if
they were not on the task.

Changing what is added, or its order, changes every decision, the saved states and the tests that
compare bits; its speed is the first line of benchmarks/core.py.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.sums.group_loops import find, join
    from cython.cimports.crowdstream.sums.rows import *
    from cython.cimports.libc.math import floor
else:
    from math import floor

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.sums.group_loops import find, join
    from crowdstream.sums.rows import *


@cython.final
@cython.cclass
class AgreementRows:
    """The sums of a crowd, one row per worker with space to spare; `bind` says where they are.

    ``workers``: how many rows are in use. ``changes``: counts what changed the rows, so that copies
    of them are known to be old. Forgetting scales all of the sums without being counted: whoever
    keeps copies compares ``total[0]`` too.
    """

    def __init__(self):
        self.classes = 0
        self.workers = 0
        self.changes = 0

    def bind(self, rows, shares, groups, family, relatives, total):
        """Work on these arrays of `crowdstream.sums.agreement.AgreementSums` from now on."""
        self.rows = rows
        self.shares = shares
        self.groups = groups
        self.family = family
        self.relatives = relatives
        self.total = total
        self.changes += 1

    def set_classes(self, votes):
        """Labels are of so many classes; ``votes`` are K zeros to count with."""
        self.votes = votes
        self.classes = votes.shape[0]

    def typical_answers(self):
        """The answers of the worker of an average answer: Σ N²/Σ N."""
        squares: cython.double = 0.0
        total: cython.double = 0.0
        for i in range(self.rows.shape[0]):
            answers: cython.double = 0.0
            for a in range(self.classes):
                answers += self.rows[i, HEAD + a]
            squares += answers * answers
            total += answers
        return squares / max(total, 1e-300)

    def is_known(self, i, m, own, least):
        """Return True if a worker has given ``least`` answers that say something of it.

        Besides its label on a task of m labels, which counts ``own`` in the sums (0 if it is not
        among them): answers that others' can be compared with, or the truth.
        """
        if i >= self.rows.shape[0]:
            return False
        answers: cython.double = -own
        for a in range(self.classes):
            answers += self.rows[i, HEAD + a]
        compared = self.rows[i, MET] - own * (m - 1) + self.rows[i, KNOWN]
        return answers >= least and compared >= least

    def add(self, tasks: Tasks, weight: cython.double, growth: cython.double):
        """Add the tasks; the first counts ``weight``, each later one ``growth`` times the last."""
        with cython.nogil:
            for t in range(tasks.size):
                self.add_task(tasks, tasks.starts[t], tasks.starts[t + 1], tasks.truth(t), weight)
                weight *= growth

    def add_task(self, tasks, begin, end, truth, weight):
        """Add one task: the labels from ``begin`` to ``end``."""
        K = self.classes
        m = end - begin
        families = self.relatives.shape[0]
        self.changes += 1
        self.total[0] += weight
        if m == 0:
            return
        self.total[1] += weight
        self.total[2] += weight * m
        share = weight * floor(UNIT / m + 0.5) / UNIT
        met = weight * (m - 1)
        met2 = met * (m - 2)
        for z in range(begin, end):
            self.votes[tasks.labels[z]] += weight
        first = self.groups[tasks.workers[begin]]
        for z in range(begin, end):
            i: cython.Py_ssize_t = tasks.workers[z]
            x: cython.Py_ssize_t = tasks.labels[z]
            self.shares[x] += share
            self.rows[i, HEAD + x] += weight
            if truth >= 0:
                self.rows[i, KNOWN] += weight
                if truth == x:
                    self.rows[i, RIGHT] += weight
            if self.groups[i] != first:
                join(self.groups, i, first)
                first = find(self.groups, first)
            if families and self.family[i] >= 0:
                self.add_relative(tasks, begin, end, z, weight)
                continue
            self.rows[i, AGREE] += self.votes[x] - weight
            self.rows[i, MET] += met
            self.rows[i, MET2] += met2
            self.rows[i, HEAD + K + x] += met
            if m < K:
                for y in range(begin, end):
                    self.rows[i, HEAD + 2 * K + tasks.labels[y]] += weight
            else:
                for y in range(K):
                    self.rows[i, HEAD + 2 * K + y] += self.votes[y]
            self.rows[i, HEAD + 2 * K + x] -= weight
        for z in range(begin, end):
            self.votes[tasks.labels[z]] = 0

    def add_relative(self, tasks, begin, end, z, weight):
        """Label z, by a member of a family: relatives are compared with it in sums of their own."""
        K = self.classes
        i = tasks.workers[z]
        x = tasks.labels[z]
        family = self.family[i]
        others = 0.0
        same = 0.0
        for y in range(begin, end):
            if y == z:
                continue
            if self.family[tasks.workers[y]] == family:
                self.relatives[family, 0] += weight
                if tasks.labels[y] == x:
                    self.relatives[family, 1] += weight
                continue
            others += 1
            if tasks.labels[y] == x:
                same += 1
            self.rows[i, HEAD + 2 * K + tasks.labels[y]] += weight
        self.rows[i, AGREE] += weight * same
        self.rows[i, MET] += weight * others
        self.rows[i, MET2] += weight * others * (others - 1)
        self.rows[i, HEAD + K + x] += weight * others
