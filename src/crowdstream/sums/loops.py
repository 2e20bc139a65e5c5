# cython: language_level=3
"""Compiled loops of this room: what a task adds to its workers' rows. Arrays only.

A task with m labels, ``v[a]`` of them for class a, adds for each of its workers i who said x

    said_i[x] += 1      own_i[x] += m − 1    agree_i += v[x] − 1
    met_i += m − 1      met2_i += (m − 1)(m − 2)      others_i[a] += v[a] − 1{a = x}

and, where its truth is known, ``told_i += 1`` and ``right_i += 1{x = truth}``. Shared by all:
the numbers of tasks, of those with labels and of labels, and the label shares ``F[x] += 1/m`` in
multiples of 2⁻²⁴. Members of one declared family are left out of each other's ``m``, ``v``, as if
they were not on the task.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import floor
else:
    from math import floor

AGREE = cython.declare(cython.Py_ssize_t, 0)
MET = cython.declare(cython.Py_ssize_t, 1)
MET2 = cython.declare(cython.Py_ssize_t, 2)
TOLD = cython.declare(cython.Py_ssize_t, 3)
RIGHT = cython.declare(cython.Py_ssize_t, 4)
HEAD = cython.declare(cython.Py_ssize_t, 5)
UNIT = cython.declare(cython.double, 16777216.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find(groups: cython.int[::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The first of worker i's group, whose number stands for it; paths are halved on the way."""
    while groups[i] != i:
        groups[i] = groups[groups[i]]
        i = groups[i]
    return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def join(groups: cython.int[::1], i: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.void:
    """Workers i and j have shared a task: their groups are one, named by its lowest number."""
    i = find(groups, i)
    j = find(groups, j)
    if i < j:
        groups[j] = cython.cast(cython.int, i)
    else:
        groups[i] = cython.cast(cython.int, j)


def merge_groups(groups: cython.int[::1], others: cython.int[::1], names: cython.longlong[::1]):
    """Join what another crowd's workers joined; its worker i is ``names[i]`` here."""
    i: cython.Py_ssize_t
    for i in range(names.shape[0]):
        join(groups, names[i], names[find(others, i)])


def flatten(groups: cython.int[::1]):
    """Let every worker name its group by the group's first worker."""
    i: cython.Py_ssize_t
    for i in range(groups.shape[0]):
        groups[i] = cython.cast(cython.int, find(groups, i))


@cython.final
@cython.cclass
class Rows:
    """The sums of a crowd in arrays: one row per worker, with room to spare.

    A row is agree, met, met2, told, right, then said, own and others, K numbers each. ``who`` and
    ``what`` are the workers and labels gone through at the moment: handing them to a function for
    every task would take longer than the task.
    """

    def __init__(self, rows, shares, groups, family, kin, total, votes):
        self.rows = rows
        self.shares = shares
        self.groups = groups
        self.family = family
        self.kin = kin
        self.total = total
        self.votes = votes
        self.classes = shares.shape[0]
        self.nobody = self.who = self.what = groups[:0]

    def add(
        self,
        starts: cython.longlong[::1],
        workers: cython.int[::1],
        labels: cython.int[::1],
        truths: cython.int[::1],
        weight: cython.double,
        growth: cython.double,
    ):
        """Add the tasks; the first counts ``weight``, each later one ``growth`` times the last."""
        t: cython.Py_ssize_t
        truth: cython.Py_ssize_t
        self.who = workers
        self.what = labels
        with cython.nogil:
            for t in range(starts.shape[0] - 1):
                truth = truths[t] if truths.shape[0] else -1
                self.add_task(starts[t], starts[t + 1], truth, weight)
                weight *= growth
        self.who = self.what = self.nobody

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_task(
        self,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        weight: cython.double,
    ) -> cython.void:
        """Add one task: the labels from ``begin`` to ``end``."""
        z: cython.Py_ssize_t
        y: cython.Py_ssize_t
        i: cython.Py_ssize_t
        x: cython.Py_ssize_t
        K: cython.Py_ssize_t = self.classes
        first: cython.int
        met: cython.double
        met2: cython.double
        share: cython.double
        families: cython.bint = self.kin.shape[0] > 0
        m: cython.Py_ssize_t = end - begin
        self.total[0] += weight
        if m == 0:
            return
        self.total[1] += weight
        self.total[2] += weight * m
        share = weight * floor(UNIT / m + 0.5) / UNIT
        met = weight * (m - 1)
        met2 = met * (m - 2)
        for z in range(begin, end):
            self.votes[self.what[z]] += weight
        first = self.groups[self.who[begin]]
        for z in range(begin, end):
            i = self.who[z]
            x = self.what[z]
            self.shares[x] += share
            self.rows[i, HEAD + x] += weight
            if truth >= 0:
                self.rows[i, TOLD] += weight
                if truth == x:
                    self.rows[i, RIGHT] += weight
            if self.groups[i] != first:
                join(self.groups, i, first)
                first = cython.cast(cython.int, find(self.groups, first))
            if families and self.family[i] >= 0:
                self.add_relative(begin, end, z, weight)
                continue
            self.rows[i, AGREE] += self.votes[x] - weight
            self.rows[i, MET] += met
            self.rows[i, MET2] += met2
            self.rows[i, HEAD + K + x] += met
            if m < K:
                for y in range(begin, end):
                    self.rows[i, HEAD + 2 * K + self.what[y]] += weight
            else:
                for y in range(K):
                    self.rows[i, HEAD + 2 * K + y] += self.votes[y]
            self.rows[i, HEAD + 2 * K + x] -= weight
        for z in range(begin, end):
            self.votes[self.what[z]] = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_relative(
        self,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        z: cython.Py_ssize_t,
        weight: cython.double,
    ) -> cython.void:
        """A member of a family: compared with strangers only; with its kin in sums of their own."""
        y: cython.Py_ssize_t
        i: cython.Py_ssize_t = self.who[z]
        x: cython.Py_ssize_t = self.what[z]
        K: cython.Py_ssize_t = self.classes
        kind: cython.Py_ssize_t = self.family[i]
        others: cython.double = 0
        same: cython.double = 0
        for y in range(begin, end):
            if y == z:
                continue
            if self.family[self.who[y]] == kind:
                self.kin[kind, 0] += weight
                if self.what[y] == x:
                    self.kin[kind, 1] += weight
                continue
            others += 1
            if self.what[y] == x:
                same += 1
            self.rows[i, HEAD + 2 * K + self.what[y]] += weight
        self.rows[i, AGREE] += weight * same
        self.rows[i, MET] += weight * others
        self.rows[i, MET2] += weight * others * (others - 1)
        self.rows[i, HEAD + K + x] += weight * others
