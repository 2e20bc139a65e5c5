# cython: language_level=3
# cython: infer_types=True
"""Counts over tasks from which copies are told: pairs, cases, agreement, pluralities. Arrays only.

``place``: the group of each worker, `REST` for the workers in no group, `APART` for those who are
neither. All counts but the expected ones are whole numbers: the order of tasks does not matter.
Changing it changes who is found to copy, and so decisions. `crowdstream.models.copies` has the
rule.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.models.rows import *
    from cython.cimports.crowdstream.models.scoring_loops import mix
else:
    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.models.rows import *
    from crowdstream.models.scoring_loops import mix


def count_pairs(
    tasks: Tasks,
    slots: cython.int[::1],
    joint: cython.int[:, :, ::1],
    same: cython.int[:, ::1],
    here: cython.longlong[::1],
):
    """``joint[i, j, a] += 1`` where i said a on a task of both; ``same[i, j]`` where j did too.

    Of the workers who have a slot, −1 for none; ``here`` has room for the labels of one task.
    """
    with cython.nogil:
        for t in range(tasks.size):
            found: cython.Py_ssize_t = 0
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                if slots[tasks.workers[z]] >= 0:
                    here[found] = z
                    found += 1
            for y in range(found):
                i = slots[tasks.workers[here[y]]]
                x = tasks.labels[here[y]]
                for z in range(y + 1, found):
                    j = slots[tasks.workers[here[z]]]
                    other = tasks.labels[here[z]]
                    joint[i, j, x] += 1
                    joint[j, i, other] += 1
                    if x == other:
                        same[i, j] += 1
                        same[j, i] += 1


def count_cases(
    tasks: Tasks,
    place: cython.int[::1],
    slots: cython.int[::1],
    votes: cython.longlong[::1],
    here: cython.longlong[::1],
    found: cython.longlong[:, :, ::1],
    mates: cython.int[:, ::1],
    alike: cython.int[:, ::1],
):
    """Count cases: a member's label that another label has more votes than, among the rest.

    ``found[i, x]``: of the member with slot i who said x, the cases in which a mate has a label
    too, such mates, and those who say the same. ``mates[i, j]`` and ``alike[i, j]``: i's cases in
    which j is one of those; not counted where empty. ``votes`` are K zeros to count with.
    """
    by_pair = mates.shape[0]
    with cython.nogil:
        for t in range(tasks.size):
            begin = tasks.starts[t]
            end = tasks.starts[t + 1]
            members: cython.Py_ssize_t = 0
            top: cython.longlong = 0
            for z in range(begin, end):
                if place[tasks.workers[z]] >= 0:
                    here[members] = z
                    members += 1
            if members < 2:
                continue
            for z in range(begin, end):
                if place[tasks.workers[z]] == REST:
                    votes[tasks.labels[z]] += 1
                    top = max(top, votes[tasks.labels[z]])
            for y in range(members):
                one = here[y]
                x = tasks.labels[one]
                if votes[x] >= top:
                    continue
                group = place[tasks.workers[one]]
                i = slots[tasks.workers[one]]
                present: cython.longlong = 0
                same: cython.longlong = 0
                for z in range(members):
                    other = here[z]
                    if z == y or place[tasks.workers[other]] != group:
                        continue
                    present += 1
                    j = slots[tasks.workers[other]]
                    if by_pair:
                        mates[i, j] += 1
                    if tasks.labels[other] == x:
                        same += 1
                        if by_pair:
                            alike[i, j] += 1
                if present:
                    found[i, x, 0] += 1
                    found[i, x, 1] += present
                    found[i, x, 2] += same
            for z in range(begin, end):
                votes[tasks.labels[z]] = 0


def add_agreement(
    tasks: Tasks,
    place: cython.int[::1],
    family: cython.int[::1],
    habits: cython.double[:, ::1],
    votes: cython.double[::1],
    expected: cython.double[::1],
    found: cython.double[:, :, ::1],
):
    """Add up pairs of labels on a task: how many, alike, and alike expected by their habits.

    ``found[g, 0]`` inside group g, ``found[g, 1]`` between it and the rest, ``found[g, 2]`` among
    the rest on the tasks of g, without pairs of one declared ``family`` (−1 for none; empty: nobody
    has one). ``habits``: the shares of classes in each worker's labels. ``votes`` and ``expected``
    are K zeros to count with.
    """
    K = votes.shape[0]
    related = family.shape[0]
    with cython.nogil:
        for t in range(tasks.size):
            begin = tasks.starts[t]
            end = tasks.starts[t + 1]
            others: cython.double = 0.0
            squares: cython.double = 0.0
            for z in range(begin, end):
                i = tasks.workers[z]
                if place[i] == REST:
                    others += 1.0
                    votes[tasks.labels[z]] += 1.0
                    for a in range(K):
                        expected[a] += habits[i, a]
                        squares += habits[i, a] * habits[i, a]
            pairs: cython.double = others * (others - 1.0) / 2.0
            alike: cython.double = 0.0
            chance: cython.double = -squares
            for a in range(K):
                alike += votes[a] * (votes[a] - 1.0)
                chance += expected[a] * expected[a]
            alike /= 2.0
            chance /= 2.0
            if related:
                for y in range(begin, end):
                    i = tasks.workers[y]
                    if place[i] != REST or family[i] < 0:
                        continue
                    for z in range(y + 1, end):
                        j = tasks.workers[z]
                        if place[j] != REST or family[j] != family[i]:
                            continue
                        pairs -= 1.0
                        if tasks.labels[z] == tasks.labels[y]:
                            alike -= 1.0
                        for a in range(K):
                            chance -= habits[i, a] * habits[j, a]
            for y in range(begin, end):
                i = tasks.workers[y]
                x = tasks.labels[y]
                group = place[i]
                if group < 0:
                    continue
                found[group, 1, 0] += others
                found[group, 1, 1] += votes[x]
                for a in range(K):
                    found[group, 1, 2] += habits[i, a] * expected[a]
                first: cython.bint = True
                for z in range(begin, y):
                    if place[tasks.workers[z]] == group:
                        first = False
                        break
                if first:
                    found[group, 2, 0] += pairs
                    found[group, 2, 1] += alike
                    found[group, 2, 2] += chance
                for z in range(y + 1, end):
                    j = tasks.workers[z]
                    if place[j] != group:
                        continue
                    found[group, 0, 0] += 1.0
                    if tasks.labels[z] == x:
                        found[group, 0, 1] += 1.0
                    for a in range(K):
                        found[group, 0, 2] += habits[i, a] * habits[j, a]
            for a in range(K):
                votes[a] = 0.0
                expected[a] = 0.0


def fill_pluralities(
    tasks: Tasks,
    place: cython.int[::1],
    which: cython.int,
    votes: cython.longlong[::1],
    found: cython.int[::1],
):
    """The label that most of the workers at a place give on each task; −1 for none or a tie."""
    with cython.nogil:
        for t in range(tasks.size):
            winner: cython.int = -1
            top: cython.longlong = 0
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                if place[tasks.workers[z]] == which:
                    votes[tasks.labels[z]] += 1
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                top = max(top, votes[tasks.labels[z]])
            tied: cython.bint = False
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                x = tasks.labels[z]
                if top > 0 and votes[x] == top:
                    tied = tied or (winner >= 0 and winner != x)
                    winner = x
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                votes[tasks.labels[z]] = 0
            found[t] = -1 if tied else winner


# Candidates among very many workers -----------------------------------------------------------


def mark_minority(tasks, t, slots, votes, here):
    """Put the labels of task t that were given by few into ``here``: how many these are.

    A label of a worker with a slot that another label has more votes than, and that two to
    `CROWDED` workers gave; of three or four labels, that two gave where no three agree: beside the
    two of them nobody is for it. ``votes`` are K zeros to count with.
    """
    begin = tasks.starts[t]
    end = tasks.starts[t + 1]
    K = votes.shape[0]
    top: cython.int = 0
    found: cython.Py_ssize_t = 0
    some: cython.bint = False
    small: cython.bint = end - begin < 5  # two of four have no majority against them
    if end - begin < 3:
        return 0
    for z in range(begin, end):
        votes[tasks.labels[z]] += 1
    if K < end - begin:
        for a in range(K):
            top = max(top, votes[a])
        for a in range(K):
            if votes[a] > 1 and (votes[a] < top or small):
                some = True
    else:
        for z in range(begin, end):
            top = max(top, votes[tasks.labels[z]])
        some = top < end - begin
    if some:
        for z in range(begin, end):
            number = votes[tasks.labels[z]]
            few: cython.bint = number > 1 and number < top and number <= CROWDED
            if small:
                few = number == 2 and top == 2
            if few and slots[tasks.workers[z]] >= 0:
                here[found] = z
                found += 1
    if K < end - begin:
        for a in range(K):
            votes[a] = 0
    else:
        for z in range(begin, end):
            votes[tasks.labels[z]] = 0
    return found


def pair_key(i, j):
    """A number for two slots, whichever comes first."""
    low: cython.ulonglong = min(i, j)
    high: cython.ulonglong = max(i, j)
    if not cython.compiled:
        low, high = int(low), int(high)
    return (high << 32) | low


def add_to_sketch(
    tasks: Tasks,
    slots: cython.int[::1],
    votes: cython.int[::1],
    here: cython.longlong[::1],
    sketch: cython.int[:, ::1],
    minority: cython.longlong[::1],
):
    """Count how often two workers with slots gave the same label that few gave.

    A sketch of one row has a counter for every two slots, i > j at i (i − 1)/2 + j; one of two rows
    has each pair at two places that look random. ``minority``: such labels of each slot.
    """
    exact: cython.bint = sketch.shape[0] == 1
    with cython.nogil:
        for t in range(tasks.size):
            found = mark_minority(tasks, t, slots, votes, here)
            for y in range(found):
                i: cython.longlong = slots[tasks.workers[here[y]]]
                x = tasks.labels[here[y]]
                minority[i] += 1
                for z in range(y + 1, found):
                    if tasks.labels[here[z]] == x:
                        j: cython.longlong = slots[tasks.workers[here[z]]]
                        if exact:
                            if i > j:
                                sketch[0, i * (i - 1) // 2 + j] += 1
                            else:
                                sketch[0, j * (j - 1) // 2 + i] += 1
                            continue
                        place = mix(pair_key(i, j))
                        sketch[0, place >> (64 - SKETCH_BITS)] += 1
                        sketch[1, (place >> 4) & (SKETCH - 1)] += 1


def list_pairs(
    tasks: Tasks,
    first: cython.Py_ssize_t,
    slots: cython.int[::1],
    votes: cython.int[::1],
    here: cython.longlong[::1],
    sketch: cython.int[:, ::1],
    least: cython.int,
    pairs: cython.ulonglong[::1],
):
    """List pairs that a sketch of two rows has counted ``least`` times, once per task.

    From a first task on, until ``pairs`` is full: the task to go on with, and how many there are.
    """
    number: cython.Py_ssize_t = 0
    t: cython.Py_ssize_t = first
    with cython.nogil:
        while t < tasks.size:
            found = mark_minority(tasks, t, slots, votes, here)
            if number + found * CROWDED > pairs.shape[0]:
                break
            for y in range(found):
                i = slots[tasks.workers[here[y]]]
                x = tasks.labels[here[y]]
                for z in range(y + 1, found):
                    if tasks.labels[here[z]] == x:
                        key = pair_key(i, slots[tasks.workers[here[z]]])
                        place = mix(key)
                        if (
                            sketch[0, place >> (64 - SKETCH_BITS)] >= least
                            and sketch[1, (place >> 4) & (SKETCH - 1)] >= least
                        ):
                            pairs[number] = key
                            number += 1
            t += 1
    return t, number


def count_listed(
    tasks: Tasks,
    slots: cython.int[::1],
    here: cython.longlong[::1],
    place: cython.int[:, ::1],
    found: cython.longlong[:, ::1],
):
    """Count tasks that listed pairs share, and on how many of them they agree.

    ``slots``: number of each worker who is in a pair, −1 for others; ``place[i, j]``: the number
    of a pair, −1 for none; ``found``: one row per pair.
    """
    with cython.nogil:
        for t in range(tasks.size):
            number: cython.Py_ssize_t = 0
            for z in range(tasks.starts[t], tasks.starts[t + 1]):
                if slots[tasks.workers[z]] >= 0:
                    here[number] = z
                    number += 1
            for y in range(number):
                i = slots[tasks.workers[here[y]]]
                x = tasks.labels[here[y]]
                for z in range(y + 1, number):
                    pair = place[i, slots[tasks.workers[here[z]]]]
                    if pair >= 0:
                        found[pair, 0] += 1
                        if tasks.labels[here[z]] == x:
                            found[pair, 1] += 1
