# cython: language_level=3
# cython: infer_types=True
"""Posterior counts put in place of others, in one go through them. Arrays only.

Changing it changes the confusions of `Adaptive`, in decisions and in saved states.
"""

import cython


def replace_counts(counts: cython.double[:, :, ::1], found: cython.double[:, :, ::1]):
    """Take over ``found[i, x, a]``, and its sums over x as ``counts[i, K, a]``.

    Return the largest change of a count, and half of what all change: answers
    that moved. Rows of workers beyond those found stay as they are.
    """
    K = found.shape[2]
    most: cython.double = 0.0
    moved: cython.double = 0.0
    with cython.nogil:
        for i in range(found.shape[0]):
            for a in range(K):
                counts[i, K, a] = 0.0
            for x in range(K):
                for a in range(K):
                    change: cython.double = found[i, x, a] - counts[i, x, a]
                    change = change if change > 0.0 else -change
                    most = max(most, change)
                    moved += change
                    counts[i, x, a] = found[i, x, a]
                    counts[i, K, a] += found[i, x, a]
    return most, moved / 2.0
