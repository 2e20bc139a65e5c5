# cython: language_level=3
# cython: infer_types=True
"""How likely a task's labels are at every strength. Knows workers and classes by codes only.

Changing it changes what `difficulty` reports; nothing of it is saved. Types are in
difficulty_loops.pxd.
"""

import cython

LARGE = 1e60
"""Likelihoods are scaled down beyond it, and up below its inverse."""


def fill_likelihoods(tasks, skills, grid, like, out):
    """Fill ``out`` with P(labels | g) up to a constant, one row per task, one column per g.

    ``P(labels | k, g) = Π (1 + g θ_i (K·1{y_i = k} − 1))/K``, averaged over the classes k. The
    strength g is the share of its workers' skill that a task lets through. ``skills`` ends with
    the mean, for unknown workers; ``like`` is a scratch array, grid × classes.
    """
    K = like.shape[1]
    last = skills.shape[0] - 1
    with cython.nogil:
        for t in range(tasks.size):
            for g in range(grid.shape[0]):
                for k in range(K):
                    like[g, k] = 1.0
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                most: cython.double = 0.0
                for g in range(grid.shape[0]):
                    i = tasks.workers[z]
                    x = grid[g] * skills[i if i < last else last]
                    for k in range(K):
                        like[g, k] *= 1.0 + (K - 1.0) * x if k == tasks.labels[z] else 1.0 - x
                        most = max(most, like[g, k])
                if most < 1.0 / LARGE or most > LARGE:
                    for g in range(grid.shape[0]):
                        for k in range(K):
                            like[g, k] /= most
            for g in range(grid.shape[0]):
                out[t, g] = 0.0
                for k in range(K):
                    out[t, g] += like[g, k]
