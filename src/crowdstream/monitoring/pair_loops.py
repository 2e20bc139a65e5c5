# cython: language_level=3
# cython: infer_types=True
"""Tasks that two workers share, and on how many they agree. Knows nothing of estimators.

Changing it changes what `pairs`, `families` and `effective_votes` report, and the saved sums.
Types are in pair_loops.pxd.
"""

import cython


class PairSums:
    """``met[i, j]`` and ``same[i, j]`` of the workers who have a slot, above the diagonal.

    ``slots``: each worker's slot, −1 for none. ``scratch`` holds the labels of a task that are
    compared.
    """

    def __init__(self, met, same, slots, scratch):
        self.met = met
        self.same = same
        self.slots = slots
        self.scratch = scratch

    def add(self, tasks, weight, growth, most):
        """met[i, j] += g and, where both gave the same label, same[i, j] += g.

        The first ``most`` labels of each task whose workers have a slot are compared.
        """
        with cython.nogil:
            for t in range(tasks.size):
                found = 0
                for z in range(tasks.starts[t], tasks.starts[t + 1]):
                    if found == most:
                        break
                    if self.slots[tasks.workers[z]] >= 0:
                        self.scratch[found] = z
                        found += 1
                for y in range(found):
                    one = self.scratch[y]
                    for z in range(y + 1, found):
                        other = self.scratch[z]
                        i = self.slots[tasks.workers[one]]
                        j = self.slots[tasks.workers[other]]
                        if i > j:
                            i, j = j, i
                        self.met[i, j] += weight
                        if tasks.labels[one] == tasks.labels[other]:
                            self.same[i, j] += weight
                weight *= growth
