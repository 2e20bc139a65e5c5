"""Compiled loops of the agreement sums: learn a task, weigh its labellers, decide it.

The same loop serves one task and a block of a million, so that both decide alike. Takes and
returns arrays; knows nothing of ids, tables or files.

Sums are kept in units of the task at ``base``: with forgetting, a task at place ``s`` weighs
``exp((s − base) λ)``, ``λ = −log(1 − β)``, so that what came before fades without being touched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from crowdstream.estimators import shares
from crowdstream.estimators.votes import choose, toss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Records = NDArray[np.void]
Record = Any
"""One record; the loops read its fields by name."""

LABELLER = np.dtype(
    [
        ("agreed", "f8"),  # pairs of its label with another's on the same task that agree
        ("met", "f8"),  # all such pairs
        ("answers", "f8"),
        ("right", "f8"),  # of the answers on tasks with a known truth
        ("asked", "f8"),  # all of those
        ("agreement", "f8"),  # R, from the counts
        ("group", "i8"),  # parent in the forest of labellers linked by common tasks
        ("group_size", "i8"),  # at roots
    ],
    align=True,
)
"""What is kept of a labeller: one line of the processor's cache."""

TOTALS = np.dtype(
    [
        ("tasks", "f8"),
        ("answers", "f8"),  # Σ_tasks m
        ("agreed", "f8"),  # Σ of the labellers'
        ("met", "f8"),  # likewise: Σ_tasks m(m − 1)
        # The same over tasks by squared weights; a and b are one answer's agreements and meetings.
        ("answers_w", "f8"),
        ("agreed_w", "f8"),
        ("met_w", "f8"),
        ("aa", "f8"),
        ("ab", "f8"),
        ("bb", "f8"),
        # Over labellers, with P = K·agreed − met.
        ("answers_2", "f8"),  # Σ answers²
        ("answers_p", "f8"),  # Σ answers·P
        ("p_2", "f8"),  # Σ P²
        ("asked", "f8"),  # Σ of the labellers'
        ("learnt", "i8"),  # tasks learnt here or merged in
        ("clock", "i8"),  # the next task's place: tasks learnt here
        ("latest", "i8"),  # the largest it has been
        ("base", "i8"),  # the place whose task weighs 1
        ("classes", "i8"),
        ("labellers", "i8"),
        ("main", "i8"),  # root of the group with the most meetings
    ],
    align=True,
)

RULES = np.dtype(
    [
        ("method", "i8"),
        ("answer_rate", "f8"),
        ("fade", "f8"),  # λ
        ("shrinkage", "f8"),
        ("prior", "f8"),
        ("clip", "f8"),
        ("fair", "?"),
        ("seed", "u8"),
    ],
    align=True,
)
"""The constructor's arguments as the loops read them."""

MAJORITY, KNOWN_RATE, OWN_RATES = range(3)
"""Methods: count heads; the paper's α; each labeller's own rate."""

OK, BY_GOLD, TOO_FEW, NO_MEETING, ONE_CLASS, APART, AT_CHANCE, UNSOLVED, NOT_ASKED = range(9)
"""Whether the crowd is identifiable, by known truths alone, or else why not."""

MAIN_GROUP = 0.95
"""The largest group of labellers linked by common tasks must hold this part of all meetings for
the crowd to count as one; the labellers outside it vote with the mean weight."""

CHANCE = 3.0
"""How many standard errors the labellers' agreements must differ from those of a crowd that
guesses, for the crowd to count as better informed."""

ALIKE = 1e12
"""Pseudo-answers where nothing tells the labellers apart: all weigh the same."""

DOUBT = 1.0
"""Standard errors taken off the variance between labellers before it is believed."""

LINE = LABELLER.itemsize
CACHE = 2**18
AHEAD = 10
"""Where the labellers' records outgrow this many bytes, those of the labels this far ahead are
read early, so that they are in the cache when their turn comes: a tenth of the time at 100,000."""

RENORMALISE = 1e100
"""Bring the sums back to units of the present before their squares could overflow (1e308)."""

FLOOR = 1e-9
"""Error rates stay this far from 0 and 1 even with ``clip=0``: a weight of 21, not infinity."""


class Crowd(NamedTuple):
    """All that is learnt. The arrays along labellers have spare room at the end."""

    people: Records  # of LABELLER
    group_met: Floats  # at roots of groups: meetings of its members
    totals: Records  # one, of TOTALS
    solver: Records  # one, of shares.SOLVER


def new_crowd(room: int = 16) -> Crowd:
    """A crowd nobody has joined, with room for some."""
    line = LABELLER.itemsize
    memory = np.zeros((room + 1) * line, np.uint8)
    start = -memory.ctypes.data % line  # so that no record straddles two lines of the cache
    people = memory[start : start + room * line].view(LABELLER)
    people["group"] = np.arange(room)
    people["group_size"] = 1
    return Crowd(people, np.zeros(room), np.zeros(1, TOTALS), shares.new_solver())


# Groups ----------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def find(people: Records, who: int) -> int:
    """The root of the group of ``who``."""
    while people[who].group != who:
        who = people[who].group
    return who


@njit(cache=True, nogil=True)
def link(people: Records, group_met: Floats, one: int, other: int) -> int:
    """Join two groups; the root of the union."""
    one, other = find(people, one), find(people, other)
    if one == other:
        return one
    if people[one].group_size < people[other].group_size:
        one, other = other, one
    people[other].group = one
    people[one].group_size += people[other].group_size
    group_met[one] += group_met[other]
    group_met[other] = 0.0
    return one


# Whom to trust ---------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def n_classes(known: int) -> int:
    """K for the formulas: a vote is between two at least."""
    return max(known, 2)


@njit(cache=True, nogil=True, error_model="numpy")
def products(agreed: float, met: float, classes: int) -> float:
    """R from counts: ``Σ (K·1{agree} − 1)/(K − 1)``."""
    return (classes * agreed - met) / (classes - 1)


class Evidence(NamedTuple):
    """What the agreements say of the crowd as a whole; see `evidence`."""

    informed: float  # how far from a crowd that guesses, in standard errors
    shrinkage: float  # pseudo-answers at the mean by which to shrink a labeller
    within: float  # variance of an answer's score, in units of the mean score squared


@njit(cache=True, nogil=True, error_model="numpy")
def evidence(totals: Record) -> Evidence:
    """Whether the crowd knows anything, and how much its labellers differ.

    An answer with a agreements in b meetings scores ``z = K a − b``; a labeller's sum of them is
    P. ``P² − Σ z²`` has no part from an answer with itself: its mean is 0 for a labeller whose
    answers score 0 on average, whatever their variance. Summed over labellers about 0 it tells
    a crowd from guessers; about the common mean it is the variance between labellers, and that of
    an answer over it is how many answers at the mean a labeller is shrunk by (empirical Bayes).
    """
    k = float(n_classes(totals.classes))
    z = k * totals.agreed_w - totals.met_w
    zz = (k * k * totals.aa - 2.0 * k * totals.ab + totals.bb) / totals.answers_w
    mean = (k * totals.agreed - totals.met) / totals.answers
    pairs = totals.answers_2 - totals.answers_w
    error = zz * np.sqrt(2.0 * totals.answers_2)
    from_zero = totals.p_2 - zz * totals.answers_w
    apart = from_zero - 2.0 * mean * (totals.answers_p - z) + mean * mean * pairs
    unit = 1.0 / (mean * mean * pairs)
    within = max(zz / (mean * mean) - 1.0 - max(apart, 0.0) * unit, 0.0)
    between = (apart - DOUBT * error) * unit
    shrinkage = within / between if mean > 0.0 and between * ALIKE > within else ALIKE
    return Evidence(from_zero / error, shrinkage, within)


@njit(cache=True, nogil=True, error_model="numpy")
def _standing(
    main_size: int, main_met: float, totals: Record, solver: Record, rules: Record
) -> int:
    """Whether the crowd is identifiable, or else why not (`OK` … `NOT_ASKED`)."""
    if rules.method == MAJORITY:
        return NOT_ASKED
    if rules.method == KNOWN_RATE:
        if totals.labellers < 3:
            return TOO_FEW
    else:
        if totals.met <= 0.0:
            return NO_MEETING
        if main_size < 3:
            return TOO_FEW
        if totals.classes < 2:
            return ONE_CLASS
        if main_met < MAIN_GROUP * totals.met:
            return APART
    if solver.status == shares.SOLVED:
        return OK
    return AT_CHANCE if solver.status == shares.FLAT else UNSOLVED


class Gauge(NamedTuple):
    """What turns a labeller's sums into a weight, the same for all labellers of a task."""

    standing: int  # OK, or why the crowd is not identifiable
    identified: bool
    classes: int
    labellers: int
    unit: float  # from stored units to tasks
    mean: float
    shrinkage: float  # pseudo-answers at the mean
    noise: float  # variance of an answer's word on θ, in those of a known truth's
    main: int  # −1 if no group is solved for
    top: int
    top_share: float
    most: float  # its R
    least: float  # 1/most
    scale: float
    signal: float
    lowest: float  # θ of the largest error rate a weight may have
    highest: float


@njit(cache=True, nogil=True, error_model="numpy")
def gauge(
    main: Record, main_met: float, totals: Record, solver: Record, rules: Record, now: int
) -> Gauge:
    """Read the crowd's state once for a task; ``main`` is the root of its main group, ``now`` the
    place of the newest task."""
    classes = n_classes(totals.classes)
    unit = 1.0
    if rules.fade > 0.0:
        unit = np.exp(-(now - totals.base) * rules.fade)
    mean = (classes * rules.prior - 1.0) / (classes - 1.0)
    edge = max(rules.clip, FLOOR) * classes / (classes - 1.0)
    lowest, highest = edge - 1.0 / (classes - 1.0), 1.0 - edge
    standing = _standing(main.group_size, main_met, totals, solver, rules)
    signal, shrinkage, noise = 0.0, rules.shrinkage, 1.0
    crowd = Evidence(0.0, 0.0, 0.0)
    if standing in (OK, UNSOLVED):
        crowd = evidence(totals)
        if rules.method == OWN_RATES and not crowd.informed > CHANCE:
            standing = AT_CHANCE
    if standing == OK:
        if rules.method == KNOWN_RATE:
            # The paper: θ = share/√(u t).
            signal = 1.0 / np.sqrt(solver.scale * _tasks_known(totals, rules))
            found = 2.0 * signal / totals.labellers
        else:
            # answers·θ = share·√(T/(u κ)); T cancels against the one in κ.
            spread = totals.answers * totals.answers - totals.answers_2
            signal = np.sqrt(spread / (solver.scale * totals.met))
            found = 2.0 * signal / totals.answers
        tasks = totals.tasks * unit
        mean = (tasks * min(found, 1.0) + rules.shrinkage * mean) / (tasks + rules.shrinkage)
        if rules.shrinkage > 0.0:
            shrinkage = max(shrinkage, crowd.shrinkage)
            noise = max(noise, crowd.within * mean * mean)
    elif rules.method == OWN_RATES and totals.asked > 0.0:
        standing = BY_GOLD
    return Gauge(
        standing,
        standing in (OK, BY_GOLD),
        classes,
        totals.labellers,
        unit,
        mean,
        shrinkage,
        noise,
        totals.main if standing == OK else -1,
        solver.top,
        solver.share,
        solver.most,
        1.0 / solver.most if standing == OK else 0.0,
        solver.scale,
        signal,
        lowest,
        highest,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def reliability(one: Record, top: bool, inside: bool, rules: Record, at: Gauge) -> float:
    """θ of a labeller: 1 never wrong, 0 at chance, below 0 worse.

    ``top``: it is the one with the largest R; ``inside``: it belongs to the main group.
    """
    r = one.agreement
    z = 1.0 - at.top_share
    share = at.scale * r / (1.0 + np.sqrt((at.most - r) * at.least + r * at.least * z * z))
    if top:
        share = at.top_share
    answers = one.answers * at.unit
    # Right minus wrong answers, as far as agreement tells.
    signed = share * at.signal * (answers if rules.method == KNOWN_RATE else at.unit)
    theta = at.mean
    if not inside or answers == 0.0:
        answers = 0.0
        if rules.method == KNOWN_RATE and at.shrinkage == 0.0:
            theta = share * at.signal
    else:
        theta = (signed + at.shrinkage * at.mean) / (answers + at.shrinkage)
    if one.asked > 0.0:
        before = answers / at.noise + rules.shrinkage
        right = products(one.right, one.asked, at.classes) * at.unit
        theta = (before * theta + right) / (before + one.asked * at.unit)
    return theta


@njit(cache=True, nogil=True, error_model="numpy")
def odds(at: Gauge, theta: float) -> float:
    """What a vote multiplies its class's odds by: ``s (K − 1)/(1 − s)``, s the accuracy."""
    theta = min(max(theta, at.lowest), at.highest)
    return (1.0 + (at.classes - 1) * theta) / (1.0 - theta)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _odds_of(people: Records, rules: Record, at: Gauge, who: int) -> float:
    """The odds of a known labeller's vote."""
    one = people[who]
    inside = one.group == at.main or rules.method == KNOWN_RATE
    if not inside:
        inside = find(people, who) == at.main
    return odds(at, reliability(one, who == at.top, inside, rules, at))


@njit(cache=True, nogil=True)
def weigh(
    crowd: Crowd, rules_at: Records, workers: Codes
) -> tuple[Gauge, Floats, Floats, NDArray[np.bool_]]:
    """The gauge, and of some labellers θ, the weight of a vote, and whether it was solved for."""
    rules = rules_at[0]
    people = crowd.people
    totals, solver = crowd.totals[0], crowd.solver[0]
    main = totals.main
    at = gauge(people[main], crowd.group_met[main], totals, solver, rules, totals.clock - 1)
    thetas = np.full(workers.size, at.mean)
    weights = np.ones(workers.size)
    solved = np.zeros(workers.size, np.bool_)
    for k in range(workers.size):
        who = workers[k]
        if at.identified and who < at.labellers:
            inside = rules.method == KNOWN_RATE or find(people, who) == at.main
            thetas[k] = reliability(people[who], who == at.top, inside, rules, at)
            solved[k] = inside or people[who].asked > 0.0
        if at.identified:
            weights[k] = np.log(odds(at, thetas[k]))
    return at, thetas, weights, solved


# Learning --------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _tasks_known(totals: Record, rules: Record) -> float:
    """t of the paper's estimate in stored units. Its forgetting starts from â = 0, as if 1/β
    tasks without an agreement came first."""
    if rules.fade > 0.0:
        return np.exp((totals.clock - 1 - totals.base) * rules.fade) / -np.expm1(-rules.fade)
    return totals.tasks


@njit(cache=True, nogil=True, error_model="numpy")
def _refresh(crowd: Crowd, rules: Record) -> None:
    """Recompute what follows from the counts: after K grew, after scaling, after a merge."""
    totals = crowd.totals[0]
    people = crowd.people
    classes = n_classes(totals.classes)
    totals.answers_2, totals.answers_p, totals.p_2 = 0.0, 0.0, 0.0
    for who in range(totals.labellers):
        one = people[who]
        p = classes * one.agreed - one.met
        totals.answers_2 += one.answers * one.answers
        totals.answers_p += one.answers * p
        totals.p_2 += p * p
    if rules.method == KNOWN_RATE:
        expected = _tasks_known(totals, rules) * (totals.labellers - 1)
        rate = rules.answer_rate * rules.answer_rate
        for who in range(totals.labellers):
            people[who].agreement = products(people[who].agreed / rate, expected, classes)
    else:
        for who in range(totals.labellers):
            people[who].agreement = products(people[who].agreed, people[who].met, classes)


@njit(cache=True, nogil=True)
def agreements(people: Records, n: int) -> Floats:
    """R of the first n labellers, as the solver's full passes take it."""
    found = np.empty(n)
    for who in range(n):
        found[who] = people[who].agreement
    return found


@njit(cache=True, nogil=True)
def settle(crowd: Crowd, rules: Record) -> None:
    """Solve in full, from the sums alone: the same bits whatever order they were summed in."""
    totals = crowd.totals[0]
    n = totals.labellers
    if rules.method == MAJORITY or n == 0:
        return
    if rules.method == KNOWN_RATE:
        _refresh(crowd, rules)
    agreement = agreements(crowd.people, n)
    solver = crowd.solver[0]
    status, _, share, scale = shares.solve(np.sort(agreement), rules.method == OWN_RATES)
    shares.anchor(solver, agreement, scale)
    solver.status, solver.share, solver.scale = status, share, scale
    solver.top = np.argmax(agreement)
    solver.most = agreement[solver.top]


@njit(cache=True, nogil=True)
def _fold(totals: Record, more: Record, keep: float, factor: float) -> None:
    """``keep`` times the sums over tasks plus ``factor`` times another's."""
    totals.tasks = totals.tasks * keep + more.tasks * factor
    totals.answers = totals.answers * keep + more.answers * factor
    totals.agreed = totals.agreed * keep + more.agreed * factor
    totals.met = totals.met * keep + more.met * factor
    totals.asked = totals.asked * keep + more.asked * factor
    keep, factor = keep * keep, factor * factor
    totals.answers_w = totals.answers_w * keep + more.answers_w * factor
    totals.agreed_w = totals.agreed_w * keep + more.agreed_w * factor
    totals.met_w = totals.met_w * keep + more.met_w * factor
    totals.aa = totals.aa * keep + more.aa * factor
    totals.ab = totals.ab * keep + more.ab * factor
    totals.bb = totals.bb * keep + more.bb * factor


@njit(cache=True, nogil=True)
def _choose_main(people: Records, group_met: Floats, totals: Record) -> None:
    """Look through all groups for the one with the most meetings."""
    totals.main = find(people, totals.main)
    for who in range(totals.labellers):
        if group_met[who] > group_met[totals.main]:
            totals.main = who


@njit(cache=True, nogil=True)
def _renormalise(crowd: Crowd, rules: Record) -> None:
    """Bring all sums to units of the newest task."""
    totals = crowd.totals[0]
    factor = np.exp(-(totals.clock - 1 - totals.base) * rules.fade)
    for who in range(totals.labellers):
        one = crowd.people[who]
        one.agreed *= factor
        one.met *= factor
        one.answers *= factor
        one.right *= factor
        one.asked *= factor
        crowd.group_met[who] *= factor
    _fold(totals, totals, factor, 0.0)
    totals.base = totals.clock - 1
    _refresh(crowd, rules)
    settle(crowd, rules)


@njit(cache=True, nogil=True)
def _meet_class(crowd: Crowd, rules: Record, classes: int) -> None:
    """K grew: every R changes."""
    totals = crowd.totals[0]
    before = n_classes(totals.classes)
    totals.classes = classes
    if n_classes(classes) != before:
        _refresh(crowd, rules)
        if rules.method == OWN_RATES:
            shares.restart(crowd.solver[0], agreements(crowd.people, totals.labellers))


@njit(cache=True, nogil=True, error_model="numpy")
def _learn_task(
    people: Records,
    group_met: Floats,
    totals: Record,
    solver: Record,
    rules: Record,
    workers: Codes,
    labels: Codes,
    begin: int,
    end: int,
    votes: Ints,
    truth: int,
    weight: float,
    follow: bool,
) -> None:
    """Add one task's labels to the sums, ``weight`` times; a negative weight takes them away."""
    m = end - begin
    classes = n_classes(totals.classes)
    own_rates = rules.method == OWN_RATES
    sum_a, sum_aa = 0.0, 0.0
    for k in range(begin, end):
        who = workers[k]
        one = people[who]
        agreed = votes[labels[k]] - 1.0
        answers, p = one.answers, classes * one.agreed - one.met
        one.answers += weight
        one.agreed += weight * agreed
        one.met += weight * (m - 1)
        sum_a += agreed
        sum_aa += agreed * agreed
        if truth >= 0:
            totals.asked += weight
            one.asked += weight
            if labels[k] == truth:
                one.right += weight
        if rules.fade > 0.0 and one.answers <= -1e-9 * weight:
            # All taken away: leave no rounding behind.
            one.answers, one.agreed, one.met, one.asked, one.right = 0.0, 0.0, 0.0, 0.0, 0.0
        more = classes * one.agreed - one.met
        totals.answers_2 += one.answers**2 - answers**2
        totals.answers_p += one.answers * more - answers * p
        totals.p_2 += more * more - p * p
        if own_rates:
            before = one.agreement
            after = products(one.agreed, one.met, classes)
            one.agreement = after
            if follow:
                shares.change(solver, who, before, after)
    pairs = m * (m - 1.0)
    square = weight * abs(weight)
    totals.tasks += weight
    totals.answers += weight * m
    totals.agreed += weight * sum_a
    totals.met += weight * pairs
    totals.answers_w += square * m
    totals.agreed_w += square * sum_a
    totals.met_w += square * pairs
    totals.aa += square * sum_aa
    totals.ab += square * sum_a * (m - 1)
    totals.bb += square * pairs * (m - 1)
    if m > 1 and own_rates:
        root = find(people, workers[begin])
        for k in range(begin + 1, end):
            who = workers[k]
            if people[who].group != root:
                root = link(people, group_met, root, who)
                people[who].group = root
        group_met[root] += weight * pairs
        main = find(people, totals.main)
        totals.main = root if group_met[root] > group_met[main] else main
        if weight < 0.0 and 2.0 * group_met[main] < totals.met:  # another may be larger now
            _choose_main(people, group_met, totals)


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    crowd: Crowd,
    rules_at: Records,
    keys: NDArray[np.uint64],
    starts: Ints,
    workers: Codes,
    labels: Codes,
    truths: Ints,
    known: Ints,
    place: int,
    first: int,
    sign: int,
    follow: bool,
    winners: Ints,
    confidences: Floats,
    margins: Floats,
) -> tuple[bool, int]:
    """Go through tasks in order: decide each from the past, then learn it.

    ``truths[t]``: the known class of a task, −1 for none; empty: none at all. ``known[t]``: how
    many labellers the crowd has once task t is learnt, −1 if there is nothing to learn. ``place``:
    the task's place in the stream, −1 for the next ones, counted from ``first`` on. ``sign``: 0
    learn nothing, 1 learn, −1 unlearn. ``follow``: keep the solution up to date task by task;
    otherwise the caller settles at the end.
    ``winners`` of size 0: decide nothing.
    Returns whether the last task was decided by weights, and a number without a meaning, which
    keeps the reading ahead from being optimised away.
    """
    rules = rules_at[0]
    people, group_met = crowd.people, crowd.group_met
    totals, solver = crowd.totals[0], crowd.solver[0]
    votes = np.zeros(keys.size, np.int64)
    voted = np.empty(keys.size, np.int64)
    product = np.empty(keys.size)
    scores = np.empty(keys.size)
    large = people.size * LINE > CACHE
    touched = 0
    identified, ready = False, False
    prepared = np.empty(0)
    at = gauge(people[totals.main], group_met[totals.main], totals, solver, rules, totals.clock - 1)
    for t in range(starts.size - 1):
        begin, end = starts[t], starts[t + 1]
        if large:
            for k in range(end + AHEAD, min(end + AHEAD + end - begin, workers.size)):
                if workers[k] < people.size:
                    touched += people[workers[k]].group
        n_voted = 0
        classes = totals.classes
        for k in range(begin, end):
            c = labels[k]
            if votes[c] == 0:
                voted[n_voted] = c
                n_voted += 1
                classes = max(classes, c + 1)
            votes[c] += 1
        here, coin = place, place
        if place < 0:
            here = totals.clock + min(sign, 0)
            coin = totals.learnt + (first + t if sign == 0 else 0)

        if winners.size:
            if n_voted == 0:
                winners[t] = -1
            else:
                if not ready:
                    # A task taken back to be decided anew leaves its place, which nothing fills.
                    now = totals.clock - 1 - (sign == 0 and place == totals.clock - 1)
                    main = totals.main
                    at = gauge(people[main], group_met[main], totals, solver, rules, now)
                    identified = at.identified
                    ready = sign == 0
                    if ready and identified and starts.size > at.labellers:
                        # Nothing will change: weigh everybody once, not once a label.
                        prepared = np.empty(at.labellers)
                        for who in range(at.labellers):
                            prepared[who] = _odds_of(people, rules, at, who)
                for k in range(n_voted):
                    c = voted[k]
                    product[c] = 1.0
                    scores[c] = 0.0 if at.identified else np.log1p(votes[c])
                if at.identified:
                    for k in range(begin, end):
                        who, c = workers[k], labels[k]
                        if who < prepared.size:
                            product[c] *= prepared[who]
                        elif who < at.labellers:
                            product[c] *= _odds_of(people, rules, at, who)
                        else:
                            product[c] *= odds(at, at.mean)
                        if not 1e-200 < product[c] < 1e200:
                            scores[c] += np.log(product[c])
                            product[c] = 1.0
                    # One logarithm a class, not one a label.
                    for k in range(n_voted):
                        scores[voted[k]] += np.log(product[voted[k]])
                winners[t], confidences[t], margins[t] = choose(
                    scores,
                    votes,
                    voted,
                    n_voted,
                    totals.classes,
                    end - begin,
                    keys,
                    rules.fair,
                    toss(rules.seed, coin),
                )

        if sign != 0 and known[t] >= 0:
            totals.labellers = max(totals.labellers, known[t])
            truth = truths[t] if truths.size else -1
            classes = max(classes, truth + 1)
            if classes > totals.classes:
                _meet_class(crowd, rules, classes)
            weight = 1.0
            if rules.fade > 0.0:
                weight = np.exp((here - totals.base) * rules.fade)
                if weight > RENORMALISE:
                    _renormalise(crowd, rules)
                    weight = np.exp((here - totals.base) * rules.fade)
            if place < 0:
                totals.clock += sign
                totals.latest = max(totals.latest, totals.clock)
                totals.learnt += sign
            _learn_task(
                people,
                group_met,
                totals,
                solver,
                rules,
                workers,
                labels,
                begin,
                end,
                votes,
                truth,
                sign * weight,
                follow,
            )
            if follow and rules.method == OWN_RATES:
                if not shares.advance(solver, totals.labellers):
                    # A crowd at chance is not solved for: it would be for nothing, task by task.
                    if evidence(totals).informed > CHANCE:
                        shares.catch_up(solver, agreements(people, totals.labellers))
                    else:
                        solver.status = shares.NO_SOLUTION
            elif follow and rules.method == KNOWN_RATE:
                settle(crowd, rules)

        for k in range(n_voted):
            votes[voted[k]] = 0
    return identified, touched


@njit(cache=True, nogil=True)
def absorb(crowd: Crowd, other: Crowd, names: Ints, rules_at: Records) -> None:
    """Add another crowd's sums to this one's; its labeller i is ``names[i]`` here.

    Class codes do not enter the sums, only their number, which the caller has set.
    """
    rules = rules_at[0]
    people, group_met = crowd.people, crowd.group_met
    totals, more = crowd.totals[0], other.totals[0]
    factor = 1.0
    if rules.fade > 0.0:  # both in units of their newest task; places stay good
        _renormalise(crowd, rules)
        factor = np.exp(-(more.clock - 1 - more.base) * rules.fade)
    for who in range(more.labellers):
        one, theirs = people[names[who]], other.people[who]
        one.agreed += theirs.agreed * factor
        one.met += theirs.met * factor
        one.answers += theirs.answers * factor
        one.right += theirs.right * factor
        one.asked += theirs.asked * factor
        root = link(people, group_met, names[who], names[theirs.group])
        group_met[root] += other.group_met[who] * factor
    _fold(totals, more, 1.0, factor)
    totals.learnt += more.learnt
    _choose_main(people, group_met, totals)
    _refresh(crowd, rules)
    settle(crowd, rules)
