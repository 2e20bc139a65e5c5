# cython: language_level=3
# cython: infer_types=True
"""Confusion counts of very many cells of which few are not 0: short rows of those. Arrays only.

What worker i said as x is a row of ``sizes[i, x]`` cells, each a class and a count, the first at
``starts[i, x]``. There is space for the next power of two of them; a row that needs more moves, and
leaves its space to a later row of that size. Right answers, x = a, are most of all answers and have
an array of their own. The order of cells has no part in any sum. Changing it changes what
`Adaptive` learns of many classes; benchmarks/many_classes.py times it.
"""

import cython


@cython.final
@cython.cclass
class SparseRows:
    """Rows with space to spare; `bind` says where they are.

    ``right[i, a]``: answers a on tasks of class a; ``totals[i, a]``: all answers on these. ``size``
    places are in use. ``left[j]``: where 2ʲ places were left, −1 for nowhere; at the first of them
    stands where the next such place is. ``grow()``, which must be there, is called with the places
    that there must be.
    """

    def __init__(self, grow):
        self.grow = grow
        self.size = 0

    def bind(self, starts, sizes, right, totals, where, values, left):
        """Work on these arrays of `crowdstream.sums.sparse.SparseCounts` from now on."""
        self.starts = starts
        self.sizes = sizes
        self.right = right
        self.totals = totals
        self.where = where
        self.values = values
        self.left = left

    def add(self, i, x, a, count):
        """Add to what worker i said as x on tasks of class a."""
        self.totals[i, a] += count
        if a == x:
            self.right[i, a] += count
            return
        size = self.sizes[i, x]
        begin = self.starts[i, x]
        for k in range(begin, begin + size):
            if self.where[k] == a:
                self.values[k] += count
                return
        if size & (size - 1) == 0:  # 0 or a power of two: there is no more space
            begin = self.moved(begin, size)
            self.starts[i, x] = begin
        self.where[begin + size] = a
        self.values[begin + size] = count
        self.sizes[i, x] = size + 1

    def moved(self, begin, size):
        """Move a row of so many cells to where there is space for one more."""
        j: cython.Py_ssize_t = 0
        while (1 << j) <= size:
            j += 1
        found: cython.Py_ssize_t = self.left[j]
        if found >= 0:
            self.left[j] = self.where[found]
        else:
            found = self.size
            self.size += 1 << j
            if self.size > self.values.shape[0]:
                with cython.gil:
                    self.grow()(self.size)
        for k in range(size):
            self.where[found + k] = self.where[begin + k]
            self.values[found + k] = self.values[begin + k]
        if size > 0:
            self.where[begin] = self.left[j - 1]
            self.left[j - 1] = begin
        return found

    def count(self, i, x, a):
        """Return the count of worker i saying x on tasks of class a."""
        if a == x:
            return self.right[i, a]
        for k in range(self.starts[i, x], self.starts[i, x] + self.sizes[i, x]):
            if self.where[k] == a:
                return self.values[k]
        return 0.0

    def put(self, i, x, room):
        """Write a row of counts, by class, over zeros."""
        for k in range(self.starts[i, x], self.starts[i, x] + self.sizes[i, x]):
            room[self.where[k]] = self.values[k]
        room[x] = self.right[i, x]

    def clear(self, i, x, room):
        """Write zeros over what `put` wrote."""
        for k in range(self.starts[i, x], self.starts[i, x] + self.sizes[i, x]):
            room[self.where[k]] = 0.0
        room[x] = 0.0

    def add_all(
        self,
        workers: cython.longlong[::1],
        said: cython.longlong[::1],
        classes: cython.longlong[::1],
        counts: cython.double[::1],
    ):
        """`add` many."""
        with cython.nogil:
            for z in range(counts.shape[0]):
                self.add(workers[z], said[z], classes[z], counts[z])

    def fill_keys(self, n: cython.Py_ssize_t, out: cython.longlong[::1]):
        """The number of each cell of the first n workers, ``(i K + x) K + a``, at its place."""
        K = self.sizes.shape[1]
        with cython.nogil:
            for i in range(n):
                for x in range(K):
                    for k in range(self.starts[i, x], self.starts[i, x] + self.sizes[i, x]):
                        out[k] = (i * K + x) * K + self.where[k]


def add_rows(mine: SparseRows, other: SparseRows, n: cython.Py_ssize_t):
    """Add another's counts of its first n workers, who have the same codes here."""
    K = mine.sizes.shape[1]
    with cython.nogil:
        for i in range(n):
            for x in range(K):
                if other.right[i, x] != 0.0:
                    mine.add(i, x, x, other.right[i, x])
                begin = other.starts[i, x]
                for k in range(begin, begin + other.sizes[i, x]):
                    mine.add(i, x, other.where[k], other.values[k])


def change_to(mine: SparseRows, other: SparseRows, n: cython.Py_ssize_t):
    """Return how much other counts of the first n workers differ: the most, and half of the sum."""
    K = mine.sizes.shape[1]
    most: cython.double = 0.0
    moved: cython.double = 0.0
    with cython.nogil:
        for i in range(n):
            for x in range(K):
                change: cython.double = distance(mine.right[i, x], other.right[i, x])
                most = max(most, change)
                moved += change
                begin = other.starts[i, x]
                for k in range(begin, begin + other.sizes[i, x]):
                    change = distance(mine.count(i, x, other.where[k]), other.values[k])
                    most = max(most, change)
                    moved += change
                begin = mine.starts[i, x]
                for k in range(begin, begin + mine.sizes[i, x]):
                    if other.count(i, x, mine.where[k]) == 0.0:
                        change = distance(mine.values[k], 0.0)
                        most = max(most, change)
                        moved += change
    return most, moved / 2.0


def distance(one, other):
    """Return the distance of two numbers."""
    return one - other if one > other else other - one
