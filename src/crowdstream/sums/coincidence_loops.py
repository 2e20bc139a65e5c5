# cython: language_level=3
# cython: infer_types=True
"""Adding tasks to the sums that coefficients of agreement are read from. Arrays only.

A task with m labels, ``n[k]`` of them for class k and ``q = Σ n[k]²``, adds to the row of its m

    tasks += 1      said[k] += n[k]      pairs[k, l] += n[k] n[l]
    squares += q²   moved[k] += q n[k]   fourth[kl, pr] += n[k] n[l] n[p] n[r]

all of them whole numbers. Changing it changes the saved sums. Types are in coincidence_loops.pxd.
"""

import cython


def add_tasks(tasks, sign, row_of, sums, votes, found, products, alike):
    """Add tasks (sign 1) or take them away (−1).

    ``row_of[m]``: the row of tasks with m labels. ``votes``: zeros, one per class; ``found`` and
    ``products`` are scratch arrays, a number per class and two rows of one per pair of classes.
    ``alike``: zeros, or empty; of two classes, tasks with fewer labels than it has rows are counted
    by their votes and added once for all that are alike.
    """
    with cython.nogil:
        for t in range(tasks.size):
            size = tasks.starts[t + 1] - tasks.starts[t]
            if size >= alike.shape[0]:
                if size:
                    add_task(tasks, t, sign, row_of, sums, votes, found, products)
                continue
            ones: cython.Py_ssize_t = 0
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                ones += tasks.labels[z]
            alike[size, ones] += sign
        for size in range(1, alike.shape[0]):
            for ones in range(size + 1):
                if alike[size, ones]:
                    found[0] = 0
                    found[1] = 1
                    votes[0] = size - ones
                    votes[1] = ones
                    add_votes(2, alike[size, ones], row_of[size], sums, votes, found, products)


def add_task(tasks, t, sign, row_of, sums, votes, found, products):
    """Add one task that has labels."""
    begin = tasks.starts[t]
    end = tasks.starts[t + 1]
    d: cython.Py_ssize_t = 0
    for z in range(begin, end):
        x = tasks.labels[z]
        if votes[x] == 0:
            # In order of their codes, so that only one of (k, l) and (l, k) is written to.
            i = d
            while i > 0 and found[i - 1] > x:
                found[i] = found[i - 1]
                i -= 1
            found[i] = x
            d += 1
        votes[x] += 1
    add_votes(d, sign, row_of[end - begin], sums, votes, found, products)


def add_votes(d, sign, r, sums, votes, found, products):
    """Add as many tasks as ``sign`` says with these votes for the first d classes ``found``.

    Leaves ``votes`` zero.
    """
    q: cython.longlong = 0
    for i in range(d):
        q += votes[found[i]] * votes[found[i]]
    sums.tasks[r] += sign
    sums.squares[r] += sign * q * q
    c: cython.Py_ssize_t = 0
    for j in range(d):
        l = found[j]
        sums.said[r, l] += sign * votes[l]
        sums.moved[r, l] += sign * q * votes[l]
        for i in range(j + 1):
            k = found[i]
            sums.pairs[r, k, l] += sign * votes[k] * votes[l]
            products[0, c] = l * (l + 1) // 2 + k
            products[1, c] = votes[k] * votes[l]
            c += 1
    if sums.fourth.shape[0]:
        for j in range(c):
            for i in range(j + 1):
                sums.fourth[r, products[0, i], products[0, j]] += (
                    sign * products[1, i] * products[1, j]
                )
    for i in range(d):
        votes[found[i]] = 0


def add_pair_tables(tasks, slots, tables, held):
    """Count what each two workers said of the tasks that they share.

    ``tables[p, k, l]``: tasks on which the one of the lower slot said k and the other l, where p is
    ``j (j − 1)/2 + i`` for slots i < j. ``slots``: −1 for workers who are not compared. ``held``:
    scratch, as long as the largest task.
    """
    with cython.nogil:
        for t in range(tasks.size):
            many: cython.Py_ssize_t = 0
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                if slots[tasks.workers[z]] >= 0:
                    held[many] = z
                    many += 1
            for y in range(many):
                for z in range(y + 1, many):
                    one = held[y]
                    other = held[z]
                    i = slots[tasks.workers[one]]
                    j = slots[tasks.workers[other]]
                    if i > j:
                        i, j = j, i
                        one, other = other, one
                    if i < j:
                        p = j * (j - 1) // 2 + i
                        tables[p, tasks.labels[one], tasks.labels[other]] += 1


class CoincidenceRows:
    """Views of the sums, one row per number of labels; ``fourth`` has no rows if not kept."""

    def __init__(self, tasks, squares, said, moved, pairs, fourth):
        self.tasks = tasks
        self.squares = squares
        self.said = said
        self.moved = moved
        self.pairs = pairs
        self.fourth = fourth
