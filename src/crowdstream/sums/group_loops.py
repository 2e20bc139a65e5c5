# cython: language_level=3
# cython: infer_types=True
"""Groups of workers that are linked by shared tasks (union-find). Arrays only.

``groups[i]`` leads from worker i towards the first worker of its group, whose number stands for the
group. Changing it changes who counts as connected, in decisions and in saved states.
"""

import cython


def find(groups, i):
    """The number of worker i's group; paths are halved on the way."""
    while groups[i] != i:
        groups[i] = groups[groups[i]]
        i = groups[i]
    return i


def join(groups, i, j):
    """Make the groups of workers i and j one, named by the lower number."""
    i = find(groups, i)
    j = find(groups, j)
    if i < j:
        groups[j] = i
    else:
        groups[i] = j


def join_pairs(groups: cython.int[::1], one: cython.longlong[::1], other: cython.longlong[::1]):
    """Join ``one[k]`` with ``other[k]``, for every k."""
    for k in range(one.shape[0]):
        join(groups, one[k], other[k])


def flatten(groups: cython.int[::1]):
    """Let every worker lead to its group's first worker directly."""
    for i in range(groups.shape[0]):
        groups[i] = find(groups, i)
