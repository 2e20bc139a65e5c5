"""Compiled loops of the centred agreements: learn a task, solve, weigh, decide. Arrays only.

A label says something where it is not what its labeller says anyway. So what is multiplied is a
label less its labeller's own frequencies ``f_i``; a labeller's products with the others it met sum
to ``R_i``, with mean ``ψ_i Σ_j n_ij ψ_j (1 − Σ π_c²)``, ψ the informedness and π the class balance.
The frequencies are those of all answers so far, not of those before a task, because the sum can be
had from counts in hindsight::

    R_i = agreed_i − Σ_c f_i(c) seen_i(c) − Σ_c f̄(c) (faced_i(c) − f_i(c) met_i)

the others being less the crowd's mean f̄, which takes away noise and no signal. All sums are
counts: they add up over shards, and do not depend on the order of tasks. With forgetting they are
in units of the task at ``base``, as in `crowdstream.estimators.kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from crowdstream.estimators import shares
from crowdstream.estimators.kernels import (
    APART,
    AT_CHANCE,
    BY_GOLD,
    CHANCE,
    MAIN_GROUP,
    NO_MEETING,
    OK,
    ONE_CLASS,
    RENORMALISE,
    TOO_FEW,
    UNSOLVED,
)
from crowdstream.estimators.votes import choose, toss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Records = NDArray[np.void]
Record = Any
"""One record; the loops read its fields by name."""

HABIT = 4.0
"""Pseudo-answers at the crowd's label frequencies that every labeller's own start with. Anything
from 1 to 10 gives the same errors on real crowds; with none, a first answer would say nothing."""

SHRINKAGE = 10.0
"""Pseudo-answers at the crowd's mean informedness that every labeller starts with, and
pseudo-tasks at `INFORMED` that the crowd does: AB's number, and 3 to 30 did alike."""

INFORMED = 0.4
"""Informedness of a labeller before any data: AB's accuracy of 0.7 between two classes."""

CLIP = 0.02
"""Nobody is taken to be right, or wrong, more often than 98 times in 100, as in AB; with more than
two classes, one answer in fifty is taken to be a slip of the hand. Up to 0.05 does alike."""

RESOLVE = 0.01
"""Weights are found anew once the tasks learnt since are this part of all that are remembered. A
pass over all labellers every task would cost O(n); this costs about 100 passes each time the tasks
grow e-fold, and up to 100 tasks it is every task."""

NOTHING = 1e-9
"""Counts below are rounding that taking answers back left behind."""

TOTALS = np.dtype(
    [
        ("tasks", "f8"),
        ("met_w", "f8"),  # Σ_tasks m(m − 1) by squared weights
        ("learnt", "i8"),  # tasks learnt here or merged in
        ("clock", "i8"),  # the next task's place: tasks learnt here
        ("latest", "i8"),  # the largest it has been
        ("base", "i8"),  # the place whose task weighs 1
        ("classes", "i8"),
        ("labellers", "i8"),
        # The solution that tasks are decided by until the next.
        ("since", "i8"),  # tasks learnt or taken back since
        ("standing", "i8"),  # OK, or why there is none
        ("weighed", "i8"),  # labellers it has weights of
        ("named", "i8"),  # classes it has weights of
        ("strange", "f8"),  # weight of a vote for a class without
        ("unnamed", "f8"),  # log of the prior of such a class
    ],
    align=True,
)

RULES = np.dtype([("fade", "f8"), ("fair", "?"), ("seed", "u8")], align=True)
"""The constructor's arguments as the loops read them."""


class Crowd(NamedTuple):
    """All that is learnt of n labellers and K classes, and the weights found last.

    Counts of a labeller by class: ``said``, its answers; ``seen``, the answers of others on its
    tasks; ``faced``, those by what itself said; ``asked``, its answers by known truth. Of a
    labeller: ``agreed``, others' answers like its own; ``right``, answers like the known truth;
    ``groups``, its parent in the forest of labellers linked by common tasks.
    ``weights``: of a labeller's vote for a class, ``newcomer``: of anybody's not met;
    ``prior``: log of the class balance.
    """

    said: Floats
    seen: Floats
    faced: Floats
    asked: Floats
    agreed: Floats
    right: Floats
    groups: Ints
    weights: Floats
    newcomer: Floats
    prior: Floats
    totals: Records


AXES = ("nk", "nk", "nk", "nk", "n", "n", "n", "nk", "k", "k", "")
"""Which axes of the crowd's arrays go by labeller (n) and class (k)."""


def counts(crowd: Crowd) -> tuple[Floats, ...]:
    """The arrays, first in `AXES`, that fade and add up."""
    return crowd.said, crowd.seen, crowd.faced, crowd.asked, crowd.agreed, crowd.right


def new_crowd(n: int, classes: int) -> Crowd:
    """Nothing learnt, with room."""
    totals = np.zeros(1, TOTALS)
    totals["standing"] = NO_MEETING
    return Crowd(
        said=np.zeros((n, classes)),
        seen=np.zeros((n, classes)),
        faced=np.zeros((n, classes)),
        asked=np.zeros((n, classes)),
        agreed=np.zeros(n),
        right=np.zeros(n),
        groups=np.arange(n),
        weights=np.zeros((n, classes)),
        newcomer=np.zeros(classes),
        prior=np.zeros(classes),
        totals=totals,
    )


# Whom to trust -----------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def find(groups: Ints, who: int) -> int:
    """The root of the group of ``who``."""
    while groups[who] != who:
        who = groups[who]
    return who


@njit(cache=True, nogil=True)
def link(groups: Ints, one: int, other: int) -> int:
    """Join two groups; the root of the union. Paths are halved on the way, to stay short."""
    for _ in range(2):
        while groups[one] != one:
            groups[one] = groups[groups[one]]
            one = groups[one]
        one, other = other, one
    groups[other] = one
    return one


@njit(cache=True, nogil=True)
def sum_of(values: Floats, factors: Floats, steady: bool) -> float:
    """The sum of products; if ``steady``, to the bit the same in whatever order they come."""
    products = np.empty(values.size)
    for i in range(values.size):
        products[i] = values[i] * factors[i]
    if steady:
        products.sort()
    total = 0.0
    for product in products:
        total += product
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def unit_of(totals: Record, fade: float, now: int) -> float:
    """From stored units to tasks, as of the task at ``now``."""
    return np.exp(-(now - totals.base) * fade) if fade > 0.0 else 1.0


@njit(cache=True, nogil=True)
def _main_group(groups: Ints, met: Floats) -> tuple[Flags, int, float, float]:
    """Who is in the group with the most meetings, how many, its meetings, and those of all."""
    n = met.size
    total, inside = np.zeros(n), np.zeros(n, np.bool_)
    everybody = 0.0
    for i in range(n):
        total[find(groups, i)] += met[i]
        everybody += met[i]
    main, size = 0, 0
    for i in range(n):
        if total[i] > total[main]:
            main = i
    for i in range(n):
        inside[i] = met[i] > NOTHING and find(groups, i) == main
        size += inside[i]
    return inside, size, total[main], everybody


class Found(NamedTuple):
    """What the counts say; see `solve`."""

    standing: int  # OK or BY_GOLD, or why the crowd is not identifiable
    psi: Floats  # informedness of every labeller
    mean: float  # and of a newcomer
    solved: Flags  # whose own answers had a part in it
    balance: Floats  # π, a class
    crowd: Floats  # f̄, a class
    habits: Floats  # f_i, a labeller and class
    unit: float


@njit(cache=True, nogil=True, error_model="numpy")
def _frequencies(
    crowd: Crowd, n: int, ranks: Ints, unit: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Answers and meetings of every labeller, label frequencies of the crowd and of each."""
    answers, met = np.zeros(n), np.zeros(n)
    mean_f, habits = np.zeros(ranks.size), np.zeros((n, ranks.size))
    labels = 0.0
    for c in ranks:
        for i in range(n):
            mean_f[c] += crowd.said[i, c] * unit
        labels += mean_f[c]
    for c in ranks:
        mean_f[c] = (mean_f[c] + 1.0) / (labels + ranks.size)
    for i in range(n):
        for c in ranks:
            answers[i] += crowd.said[i, c] * unit
            met[i] += crowd.faced[i, c] * unit
        for c in ranks:
            habits[i, c] = (crowd.said[i, c] * unit + HABIT * mean_f[c]) / (answers[i] + HABIT)
    return answers, met, mean_f, habits


@njit(cache=True, nogil=True, error_model="numpy")
def _products(
    crowd: Crowd, ranks: Ints, unit: float, inside: Flags, met: Floats, mean_f: Floats, f: Floats
) -> Floats:
    """R of those inside the main group, 0 for the others; the formula is at the top."""
    agreement = np.zeros(met.size)
    for i in range(met.size):
        if inside[i]:
            r = crowd.agreed[i] * unit
            for c in ranks:
                r -= f[i, c] * crowd.seen[i, c] * unit
                r -= mean_f[c] * (crowd.faced[i, c] * unit - f[i, c] * met[i])
            agreement[i] = r
    return agreement


@njit(cache=True, nogil=True, error_model="numpy")
def _by_chance(ranks: Ints, mean_f: Floats, pairs: float) -> float:
    """The standard error of the sum of R over ``pairs``, if no label knew of another.

    A product of two such labels has variance tr(Σ²), Σ their covariances by class; every pair is
    in the sum twice, and twice in ``pairs``.
    """
    two, three = 0.0, 0.0
    for c in ranks:
        two += mean_f[c] ** 2
        three += mean_f[c] ** 3
    return np.sqrt(2.0 * pairs * (two - 2.0 * three + two * two))


@njit(cache=True, nogil=True, error_model="numpy")
def _signals(
    agreement: Floats, answers: Floats, met: Floats, solution: tuple[float, float], steady: bool
) -> Floats:
    """Answers times θ = ψ √(1 − Σ π²) of every labeller, from the shares equation's solution.

    AB's θ, with meetings in place of answers for how much a labeller takes part, which is the same
    if all tasks have as many labels: R_i = θ_i Σ_j n_ij θ_j, and labellers who met b_i and b_j
    others are taken to have met each other n_ij ∝ b_i b_j times. ``met`` is 0 where R is not known.
    """
    top_share, scale = solution
    ones = np.ones(met.size)
    total = sum_of(met, ones, steady)
    signal = np.sqrt((total * total - sum_of(met, met, steady)) / (scale * total))
    top = np.argmax(agreement)
    most, z = agreement[top], 1.0 - top_share
    theta = np.zeros(met.size)
    for i in range(met.size):
        if met[i] > 0.0:
            r = agreement[i] / most
            share = scale * agreement[i] / (1.0 + np.sqrt((1.0 - r) + r * z * z))
            theta[i] = (top_share if i == top else share) * signal * answers[i] / met[i]
    return theta


@njit(cache=True, nogil=True, error_model="numpy")
def _balance(
    weight: Floats, habits: Floats, mean_f: Floats, tasks: float, ranks: Ints, steady: bool
) -> tuple[Floats, float]:
    """π, the weighted label frequencies, with a pseudo-task a class, and 1 − Σ π²."""
    balance = np.zeros(ranks.size)
    heavy = sum_of(weight, np.ones(weight.size), steady)
    spread = 1.0
    for c in ranks:
        part = sum_of(weight, habits[:, c], steady) / heavy if heavy > 0.0 else mean_f[c]
        balance[c] = (tasks * part + 1.0) / (tasks + ranks.size)
        spread -= balance[c] ** 2
    return balance, spread


@njit(cache=True, nogil=True, error_model="numpy")
def solve(crowd: Crowd, rules: Record, order: Ints, steady: bool) -> Found:
    """Everybody's informedness and the class balance from the counts alone, in closed form.

    If ``steady``, the same bits whatever order the counts were made in: sums over classes go in
    ``order``, which does not depend on who came first, sums over labellers are sorted, which takes
    most of the time.
    """
    totals = crowd.totals[0]
    n = totals.labellers
    unit = unit_of(totals, rules.fade, totals.clock - 1)
    tasks = totals.tasks * unit
    ranks = np.empty(max(totals.classes, 2), np.int64)
    at = 0
    for c in order:
        if c < ranks.size:
            ranks[at] = c
            at += 1
    answers, met, mean_f, habits = _frequencies(crowd, n, ranks, unit)
    inside, size, main_met, all_met = _main_group(crowd.groups[:n], met)
    agreement = _products(crowd, ranks, unit, inside, met, mean_f, habits)
    ones = np.ones(n)
    standing, solution = OK, (0.0, 0.0)
    if not all_met > NOTHING:
        standing = NO_MEETING
    elif size < 3:
        standing = TOO_FEW
    elif totals.classes < 2:
        standing = ONE_CLASS
    elif main_met < MAIN_GROUP * all_met:
        standing = APART
    elif not sum_of(agreement, ones, steady) > CHANCE * (
        _by_chance(ranks, mean_f, totals.met_w) * unit
    ):
        standing = AT_CHANCE
    else:
        rising = np.sort(agreement) if steady else agreement
        status, _, top_share, scale = shares.solve(rising, True)
        solution = (top_share, scale)
        if status != shares.SOLVED:
            standing = UNSOLVED

    # θ, and the class balance: that of the labels of those who know.
    theta, weight = np.zeros(n), answers
    mean = INFORMED
    if standing == OK:
        own, own_met = np.zeros(n), np.zeros(n)
        for i in range(n):
            if inside[i]:
                own[i], own_met[i] = answers[i], met[i]
        theta = _signals(agreement, own, own_met, solution, steady)
        mean = max(sum_of(theta, ones, steady) / sum_of(own, ones, steady), 0.0)
        for i in range(n):
            own[i] *= max((theta[i] + SHRINKAGE * mean) / (own[i] + SHRINKAGE), 0.0) ** 2
        weight = own
    balance, spread = _balance(weight, habits, mean_f, tasks, ranks, steady)

    # ψ, shrunk; known truths count as answers that met someone who knows.
    root = np.sqrt(spread)
    if standing == OK:
        mean = (tasks * min(mean / root, 1.0) + SHRINKAGE * INFORMED) / (tasks + SHRINKAGE)
    psi, solved = np.empty(n), np.empty(n, np.bool_)
    by_gold = False
    for i in range(n):
        psi[i], solved[i] = mean, inside[i] and standing == OK
        before = SHRINKAGE
        if solved[i]:
            psi[i] = (theta[i] / root + SHRINKAGE * mean) / (answers[i] + SHRINKAGE)
            # An answer that met b others of informedness ψ̄ says as much as b ψ̄² known truths,
            # and never more than one.
            before += min(answers[i], met[i] * mean * mean)
        gain, told = crowd.right[i] * unit, 0.0
        for c in ranks:
            asked = crowd.asked[i, c] * unit
            gain -= habits[i, c] * asked
            told += (1.0 - balance[c]) * asked
        if told > NOTHING:
            psi[i] = (before * psi[i] + gain / spread) / (before + told / spread)
            solved[i], by_gold = True, True
    if by_gold and standing != OK and totals.classes > 1:
        standing = BY_GOLD
    return Found(standing, psi, mean, solved, balance, mean_f, habits, unit)


@njit(cache=True, nogil=True, error_model="numpy")
def chances(
    habit: float, psi: float, part: float, excess: float, classes: int
) -> tuple[float, float]:
    """P(says c | c is true) and P(says c | another is), of a labeller who says c so often.

    ``part`` is π_c; ``excess`` what guesses add up to before those below 0 were left out, in
    units of 1 − ψ (1 for two classes, where both signs of ψ mean something).
    """
    if classes == 2:
        psi = min(max(psi, -1.0), 1.0)
        miss = habit - psi * part
        hit = miss + psi
        return min(max(hit, CLIP), 1.0 - CLIP), min(max(miss, CLIP), 1.0 - CLIP)
    psi = min(max(psi, 0.0), 1.0)
    miss = max(habit - psi * part, 0.0) / excess
    slip = CLIP / classes
    return (1.0 - CLIP) * (psi + miss) + slip, (1.0 - CLIP) * miss + slip


@njit(cache=True, nogil=True, error_model="numpy")
def excess_of(habit: Floats, psi: float, balance: Floats, order: Ints) -> float:
    """What guesses add up to, in units of 1 − ψ, once those below 0 are left out."""
    classes = balance.size
    psi = min(max(psi, 0.0), 1.0)
    if classes == 2:
        return 1.0
    total = 0.0
    for c in order:
        if c < classes:
            total += max(habit[c] - psi * balance[c], 0.0)
    return total / (1.0 - psi) if psi < 1.0 and total > 0.0 else np.inf


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(habit: Floats, psi: float, balance: Floats, order: Ints, out: Floats) -> None:
    """The weight of a vote for each class: the log of how much likelier it is if that is true."""
    excess = excess_of(habit, psi, balance, order)
    for c in range(balance.size):
        hit, miss = chances(habit[c], psi, balance[c], excess, balance.size)
        out[c] = np.log(hit / miss)


@njit(cache=True, nogil=True, error_model="numpy")
def chances_of_all(found: Found, order: Ints, hits: Floats, misses: Floats) -> None:
    """`chances` of every labeller and class."""
    balance = found.balance
    for i in range(found.psi.size):
        excess = excess_of(found.habits[i], found.psi[i], balance, order)
        for c in range(balance.size):
            hits[i, c], misses[i, c] = chances(
                found.habits[i, c], found.psi[i], balance[c], excess, balance.size
            )


@njit(cache=True, nogil=True, error_model="numpy")
def settle(crowd: Crowd, rules: Record, order: Ints, steady: bool) -> None:
    """Solve, and weigh everybody."""
    totals = crowd.totals[0]
    found = solve(crowd, rules, order, steady)
    totals.since = 0
    totals.standing = found.standing
    totals.weighed, totals.named = totals.labellers, found.balance.size
    if found.standing not in (OK, BY_GOLD):
        return
    for i in range(totals.labellers):
        weigh(found.habits[i], found.psi[i], found.balance, order, crowd.weights[i])
    weigh(found.crowd, found.mean, found.balance, order, crowd.newcomer)
    for c in range(found.balance.size):
        crowd.prior[c] = np.log(found.balance[c])
    K = found.balance.size + 1  # noqa: N806 as on paper, with one class more
    hit, miss = chances(0.0, found.mean, 0.0, 1.0, K)  # nobody says it by habit
    totals.strange = np.log(hit / miss)
    totals.unnamed = -np.log(totals.tasks * found.unit + K)


# Learning and deciding ---------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def renormalise(crowd: Crowd, fade: float) -> None:
    """Bring all counts to units of the newest task."""
    totals = crowd.totals[0]
    factor = np.exp(-(totals.clock - 1 - totals.base) * fade)
    for counts in (crowd.said, crowd.seen, crowd.faced, crowd.asked):
        counts *= factor
    for sums in (crowd.agreed, crowd.right):
        sums *= factor
    totals.tasks *= factor
    totals.met_w *= factor * factor
    totals.base = totals.clock - 1


@njit(cache=True, nogil=True, error_model="numpy")
def _learn_task(
    crowd: Crowd,
    totals: Record,
    workers: Codes,
    labels: Codes,
    begin: int,
    end: int,
    votes: Ints,
    voted: Ints,
    n_voted: int,
    truth: int,
    weight: float,
) -> None:
    """Add one task's labels to the counts, ``weight`` times; below 0 takes them away."""
    m = end - begin
    root = -1
    for k in range(begin, end):
        i, y = workers[k], labels[k]
        crowd.said[i, y] += weight
        crowd.faced[i, y] += weight * (m - 1)
        crowd.agreed[i] += weight * (votes[y] - 1)
        for j in range(n_voted):
            c = voted[j]
            crowd.seen[i, c] += weight * (votes[c] - (c == y))
        if truth >= 0:
            crowd.asked[i, truth] += weight
            if y == truth:
                crowd.right[i] += weight
        if m > 1 and weight > 0.0:
            root = i if root < 0 else link(crowd.groups, root, i)
    totals.tasks += weight
    totals.met_w += weight * abs(weight) * m * (m - 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    crowd: Crowd,
    rules_at: Records,
    keys: Keys,
    order: Ints,
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
) -> bool:
    """Go through tasks in order: decide each from the past, then learn it.

    The arguments are those of `crowdstream.estimators.kernels.run`, and ``order`` the classes in
    an order that does not depend on who came first. Returns whether the last task was decided by
    weights.
    """
    rules = rules_at[0]
    totals = crowd.totals[0]
    votes = np.zeros(keys.size, np.int64)
    voted = np.empty(keys.size, np.int64)
    running = np.empty(keys.size, np.int64)
    scores = np.empty(keys.size)
    identified = totals.standing in (OK, BY_GOLD)
    for t in range(starts.size - 1):
        begin, end = starts[t], starts[t + 1]
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
            identified = totals.standing in (OK, BY_GOLD)
            if n_voted == 0:
                winners[t] = -1
            else:
                n_running = n_voted
                if identified:  # with a prior, those nobody voted for have a score too
                    n_running = 0
                    for c in range(keys.size):
                        if c < totals.classes or votes[c] > 0:
                            running[n_running] = c
                            n_running += 1
                            scores[c] = crowd.prior[c] if c < totals.named else totals.unnamed
                    for k in range(begin, end):
                        scores[labels[k]] += weight_of(crowd, totals, workers[k], labels[k])
                else:
                    for k in range(n_voted):
                        running[k] = voted[k]
                        scores[voted[k]] = np.log1p(votes[voted[k]])
                winners[t], confidences[t], margins[t] = choose(
                    scores,
                    votes,
                    running,
                    n_running,
                    totals.classes,
                    end - begin,
                    keys,
                    rules.fair,
                    toss(rules.seed, coin),
                )

        if sign != 0 and known[t] >= 0:
            truth = truths[t] if truths.size else -1
            classes = max(classes, truth + 1)
            grew = classes > totals.classes
            totals.classes = classes
            totals.labellers = max(totals.labellers, known[t])
            weight = 1.0
            if rules.fade > 0.0:
                weight = np.exp((here - totals.base) * rules.fade)
                if weight > RENORMALISE:
                    renormalise(crowd, rules.fade)
                    weight = np.exp((here - totals.base) * rules.fade)
            if place < 0:
                totals.clock += sign
                totals.latest = max(totals.latest, totals.clock)
                totals.learnt += sign
            _learn_task(
                crowd,
                totals,
                workers,
                labels,
                begin,
                end,
                votes,
                voted,
                n_voted,
                truth,
                sign * weight,
            )
            totals.since += 1
            if follow:
                remembered = totals.tasks * unit_of(totals, rules.fade, totals.clock - 1)
                if grew or totals.since >= RESOLVE * remembered:
                    settle(crowd, rules, order, False)

        for k in range(n_voted):
            votes[voted[k]] = 0
    return identified


@njit(cache=True, nogil=True, inline="always")
def weight_of(crowd: Crowd, totals: Record, who: int, label: int) -> float:
    """What a vote adds to the score of its class."""
    if label >= totals.named:
        return totals.strange
    return crowd.weights[who, label] if who < totals.weighed else crowd.newcomer[label]


@njit(cache=True, nogil=True)
def score(crowd: Crowd, classes: int, workers: Codes, labels: Codes) -> Floats:
    """The scores of all classes for one task."""
    totals = crowd.totals[0]
    scores = np.zeros(classes)
    if totals.standing not in (OK, BY_GOLD):
        for c in labels:
            scores[c] += 1.0
        return np.log1p(scores)
    for c in range(classes):
        scores[c] = crowd.prior[c] if c < totals.named else totals.unnamed
    for k in range(labels.size):
        scores[labels[k]] += weight_of(crowd, totals, workers[k], labels[k])
    return scores
