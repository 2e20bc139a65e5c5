# cython: language_level=3
# cython: infer_types=True
"""Likelihood of a task's labels at every strength. Knows workers and classes by codes only.

Changing it changes what `difficulty` reports; nothing of it is saved. Types are in
difficulty_loops.pxd.
"""

import cython

LARGE = 1e60
"""Likelihoods are scaled down beyond it, and up below its inverse."""


def judge_task(tasks, t, skills, grid, like):
    """Fill ``like`` with Π (1 + g θ_i (K·1{y_i = k} − 1)) of one task, up to a constant."""
    K = like.shape[1]
    last = skills.shape[0] - 1
    for g in range(grid.shape[0]):
        for k in range(K):
            like[g, k] = 1.0
    for z in range(tasks.starts[t], tasks.starts[t + 1]):
        most: cython.double = 0.0
        i = tasks.workers[z]
        skill = skills[i if i < last else last]
        for g in range(grid.shape[0]):
            x = grid[g] * skill
            for k in range(K):
                like[g, k] *= 1.0 + (K - 1.0) * x if k == tasks.labels[z] else 1.0 - x
                most = max(most, like[g, k])
        if most < 1.0 / LARGE or most > LARGE:
            for g in range(grid.shape[0]):
                for k in range(K):
                    like[g, k] /= most


def fill_likelihoods(tasks, skills, grid, like, out):
    """Fill ``out`` with P(labels | g) up to a constant, one row per task, one column per g.

    ``P(labels | k, g) = Π (1 + g θ_i (K·1{y_i = k} − 1))/K``, averaged over the classes k. The
    strength g is the share of its workers' skill that a task lets through. ``skills`` ends with
    the mean, for unknown workers; ``like`` is a scratch array, grid × classes.
    """
    with cython.nogil:
        for t in range(tasks.size):
            judge_task(tasks, t, skills, grid, like)
            for g in range(grid.shape[0]):
                out[t, g] = 0.0
                for k in range(like.shape[1]):
                    out[t, g] += like[g, k]


def fill_strengths(tasks, skills, grid, frequency, like, out):
    """Fill ``out`` with the expected strength of every task, by how frequent each strength is."""
    with cython.nogil:
        for t in range(tasks.size):
            judge_task(tasks, t, skills, grid, like)
            total: cython.double = 0.0
            mean: cython.double = 0.0
            for g in range(grid.shape[0]):
                given: cython.double = 0.0
                for k in range(like.shape[1]):
                    given += like[g, k]
                given *= frequency[g]
                total += given
                mean += given * grid[g]
            out[t] = mean / total
