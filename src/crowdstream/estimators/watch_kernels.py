"""Compiled loops of the watch: how sure of a labeller, who changed, how hard a task. Arrays only.

A label is judged by the posterior π of its task's *other* labels: with θ the labeller's skill,
``P(y) = (1 + θ h_y)/K`` where ``h_y = K π(y) − 1``. So ``Σ h_y`` estimates ``θ Σ e₂`` without a
bias, ``e_r = Σ_k h_k^r / K``, and its variance is known: see `limits`. In a stream that stops
asking when it is sure, a label is judged by those *before* it only; then no rule of stopping can
tilt the sums.

With forgetting, what a task adds is multiplied by a growing weight ``g``, as in `soft_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from crowdstream.estimators.soft_kernels import (
    AHEAD,
    BASE,
    CACHE,
    CLOCK,
    EXPOSURE,
    KAPPA,
    LABELS,
    LEARNT,
    LEAST_STRENGTH,
    MOST_STRENGTH,
    NAMED,
    NOISE,
    PAIRS,
    RENORMALISE,
    SKILL,
    SPREAD,
    TASKS,
    H,
    mean_skill,
    strength,
    weight_of,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Records = NDArray[np.void]

HORIZONS = np.array([8.0, 16.0, 32.0, 64.0, 128.0, 512.0, 2048.0])
"""Own answers after which what a labeller did counts 1/e; beside them one that never forgets."""
BANK = HORIZONS.size + 1
KEEP = np.append(1.0 - 1.0 / HORIZONS, 1.0)
"""What an answer leaves of the sums at each horizon."""
SWITCH = 0.02
"""Chance, an answer, that another horizon is a labeller's best from now on (fixed share)."""
CROWD_SWITCH = 0.001
"""The same, a task, for the crowd as a whole."""
CROWD_RATE = 0.3
"""How much of what speaks for a horizon in the whole crowd counts for each labeller."""
CROWD_MEMORY = 0.999
"""What a task leaves of the crowd's sums where horizons are chosen."""
MOST_SKILL = 0.98
"""Nobody is taken to be better."""

GRID = np.linspace(0.0, 1.4, 8)
"""Strengths of a task: how much of its labellers' skill it lets through."""
STRENGTH_PRIOR = np.array([0.1, 0.1, 0.1, 0.1, 0.2, 20.0, 0.2, 0.1])
"""Tasks of each strength that the strengths' frequencies start from: most are as labellers are."""
STRONGEST = 0.98 / 1.4
"""Skill from which on the strongest task would leave no error."""
ROUNDS, STILL = 300, 1e-10
"""The fit ends after so many rounds, or when no skill moves by more: some twenty are usual."""
REFIT = 1.02
"""Growth in labels after which the pairs are fitted anew."""
TESTED, EVERY = 1000, 8
"""Tasks whose strength is all asked for; after them of one in eight, which saves time."""

SMALL = 64
"""Labellers up to whom skills come from the pairs alone (see `fit_pairs`). In larger crowds an
error in one's skill moves the others' too little to be seen."""

SHIFT = 0.6
"""Change of skill that the alarm looks for: with two classes, error rate 0.1 → 0.4."""
WORSE, BETTER = np.exp(6.4), np.exp(9.0)
"""Likelihood ratios at which it rings: that somebody improved can wait."""
LEEWAY = 0.7
"""Standard errors of the known skill that do not count as a change."""
LEAST_SPREAD = 0.05
"""Of an answer's variance, as a share of e₂: nobody is known to be perfect."""
REFERENCE = 4.0
"""Answers that the crowd's mean is worth at most in what was known of a labeller: who has changed
once must not be measured by what others are."""
REFRESH = 8
"""Answers after which the known skill is looked up anew, which saves time."""
SETTLED_IN = 50.0
"""Answers before it listens."""
EVENTS = 1024
"""Alarms that are remembered."""

POINTS = 16
"""Of a labeller's trend; when there are more, neighbours are added up."""

STRIDE = 8.0
"""Answers of its first points."""

SLOTS = 256
"""Labellers who are compared pair by pair."""
MANY = 64
"""Labels of a task that are compared pair by pair."""
FIRST = 2
"""Labels of a task that are compared pair by pair where it hangs on them whether there are more."""
WORTH = 64
"""Every so many answers a labeller may take the slot of one with half as many."""

PERSON = np.dtype(
    [
        (name, np.float64)
        for name in (
            "answers",  # labels given
            "b",  # Σ g h
            "c",  # Σ g e₂
            "v",  # Σ g² e₂
            "f",  # Σ g² e₃
            "d",  # Σ g² e₂²
            "gold",  # answers to tasks whose truth was known
            "before_b",  # the alarm's reference
            "before_c",
            "before_n",
            "low",  # the skill known, less and plus a leeway, and where the alarm rings
            "high",
            "limit",
            "up",  # likelihood ratio that the skill rose, and the reference when it began to
            "up_b",
            "up_c",
            "up_n",
            "down",
            "down_b",
            "down_c",
            "down_n",
            "point_b",  # the trend's next point
            "point_c",
            "point_n",
            "stride",
            "points",
            "slot",  # 1 + place among those compared pair by pair, 0 for none
            "family",  # 1 + number of the family, 0 for none
            "suspect",  # 1 if found to be a near-duplicate when last asked
        )
    ]
)

ROW = PERSON.itemsize
"""Bytes a labeller."""

GOLD_TASKS, GOLD_WRONG, RUNG, FITTED, ASKED = range(8, 13)
"""Places in the totals after those of `soft_kernels`: tasks whose truth was told, how many of them
the labels had decided wrongly, alarms so far, the labels after which pairs
were fitted last, and the tasks after which it was asked who copies whom."""

RULES = np.dtype(
    [
        ("fade", np.float64),
        ("auto", np.bool_),
        ("families", np.bool_),
        ("stops", np.bool_),  # whether tasks are closed by what their labels say
    ]
)

AT, WHO, WAY, FROM, TO, PROOF, SINCE = range(7)
"""Places in an alarm: the task, the labeller, up or down, skills, evidence, answers since."""


class Book(NamedTuple):
    """The state; n labellers, K classes, S slots.

    ``people``: see `PERSON`; ``groups`` n: who share tasks, directly or by others, as a forest;
    ``said`` n×K: labels given; ``bank`` n×3·`BANK` (or 0×…): B, C and weights of the horizons;
    ``trend`` n×`POINTS`×3: B, C, task; ``shares`` K: of labels; ``strengths``: of tasks; ``crowd``
    4×`BANK`: spread, pairs, weights of the horizons, and what the task says of them; ``slots`` S:
    who; ``pairs`` S×S×2: tasks together, agreements (above the diagonal); ``rho``: of each family.
    Of crowds up to `SMALL`: ``skills`` by `fit_pairs`, and ``pulls``: how what each task says
    against the fit goes together.
    """

    people: Records
    groups: Ints
    said: Floats
    bank: Floats
    trend: Floats
    shares: Floats
    strengths: Floats
    crowd: Floats
    slots: Ints
    pairs: Floats
    rho: Floats
    skills: Floats
    pulls: Floats
    totals: Floats
    events: Floats
    clock: Floats


def new_book(n: int, classes: int, auto: bool, slots: int = 0) -> Book:
    """Nothing learnt, with room."""
    bank = np.zeros((n if auto else 0, 3 * BANK))
    bank[:, 2 * BANK :] = 1.0 / BANK
    crowd = np.ones((4, BANK))
    crowd[:2] = 0.0
    crowd[2] = 1.0 / BANK
    return Book(
        np.zeros(n, PERSON),
        np.arange(n),
        np.zeros((n, classes)),
        bank,
        np.zeros((n, POINTS, 3)),
        np.zeros(classes),
        np.zeros(GRID.size),
        crowd,
        np.full(slots, -1),
        np.zeros((slots, slots, 2)),
        np.zeros(0),
        np.zeros(SMALL),
        np.zeros((SMALL, SMALL)),
        np.zeros(13),
        np.zeros((EVENTS, 7)),
        np.zeros(4),
    )


def resized(book: Book, n: int, classes: int, slots: int, auto: bool) -> Book:
    """The same with more room."""
    bigger = new_book(n, classes, auto, slots)._replace(rho=book.rho)
    for before, after in zip(book, bigger, strict=True):
        after[tuple(slice(size) for size in before.shape)] = before
    return bigger


@njit(cache=True, nogil=True, error_model="numpy")
def skill_of(
    people: Records, bank: Floats, i: int, auto: bool, mean: float, prior: float, ks: Floats
) -> float:
    """θ̃: a labeller's skill, shrunk towards the crowd's; of nobody known, the crowd's."""
    if i >= people.size:
        return mean
    if not auto:
        return float((people[i].b + prior * mean) / (people[i].c + prior))
    found = 0.0
    for j in range(BANK):
        b, c, weight = bank[i, j], bank[i, BANK + j], bank[i, 2 * BANK + j]
        found += weight * (b + ks[j] * mean) / (c + ks[j])
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def horizon_priors(totals: Floats, crowd: Floats, g: float, ks: Floats) -> None:
    """Answers that the crowd's mean is worth beside each horizon's sums."""
    noise = (totals[NOISE] + g * H) / (totals[EXPOSURE] + g * H)
    for j in range(BANK):
        spread = max(crowd[0, j], 0.0) + KAPPA * noise / H
        spread /= crowd[1, j] + KAPPA
        ks[j] = min(max(noise / spread, LEAST_STRENGTH), MOST_STRENGTH)


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_strengths(
    weights: Floats, skills: Floats, labels: Codes, begin: int, end: int, classes: int,
    like: Floats, out: Floats,
) -> float:  # fmt: skip
    """P(strength | labels) into ``out``; returns the mean strength.

    ``like``: room for a likelihood a strength and class, left as P(strength, class | labels).
    """
    K = classes  # noqa: N806 as on paper
    total = 0.0
    for s in range(GRID.size):
        out[s] = weights[s] + STRENGTH_PRIOR[s]
        total += out[s]
    for s in range(GRID.size):
        for k in range(K):
            like[s, k] = out[s] / (total * K)
    for j in range(begin, end):
        y = labels[j]
        skill = min(max(skills[j - begin], -STRONGEST / (K - 1.0)), STRONGEST)
        for s in range(GRID.size):
            x = GRID[s] * skill
            for k in range(K):
                like[s, k] *= 1.0 + (K - 1.0) * x if k == y else 1.0 - x
        if (j - begin) % 32 == 31:
            like *= 1.0 / like[:, :K].max()
    total, mean = 0.0, 0.0
    for s in range(GRID.size):
        for k in range(K):
            total += like[s, k]
    for s in range(GRID.size):
        out[s] = 0.0
        for k in range(K):
            like[s, k] /= total
            out[s] += like[s, k]
        mean += out[s] * GRID[s]
    return mean


@njit(cache=True, nogil=True, error_model="numpy")
def judge(odds: Floats, classes: int, y: int) -> tuple[float, float, float]:
    """(h_y, e₂, e₃) of a label y by the odds of the classes."""
    K = classes  # noqa: N806 as on paper
    total, squares, cubes = 0.0, 0.0, 0.0
    for k in range(K):
        x = odds[k]
        total += x
        squares += x * x
        cubes += x * x * x
    total = 1.0 / total
    squares *= total * total
    cubes *= total * total * total
    e2 = max(K * squares - 1.0, 0.0)
    return K * odds[y] * total - 1.0, e2, K * K * cubes - 3.0 * K * squares + 2.0


@njit(cache=True, nogil=True, error_model="numpy")
def fit_pairs(book: Book, n: int, classes: int, mean: float, prior: float) -> None:
    """Skills of a small crowd from its pairs alone: ``Σ_j N_ij θ_j (c_ij − θ_i θ_j) = 0``.

    c_ij is how far i and j agree beyond chance, which is θ_i θ_j. Nothing that was learnt before
    enters, so that no error feeds itself; the mean skill is above chance by convention. Pairs of a
    family say nothing.
    """
    theta, people = book.skills, book.people
    pairs = book.pairs
    total = 0.0
    for i in range(n):
        total += theta[i]
    for i in range(n):  # start where most labellers are better than chance
        theta[i] = mean if total <= 0.0 else theta[i]
    for _ in range(ROUNDS):
        far = 0.0
        for i in range(n):
            up, down = prior * mean, prior
            for j in range(n):
                if j == i or (people[i].family > 0.0 and people[i].family == people[j].family):
                    continue
                a, b = min(i, j), max(i, j)
                met = pairs[a, b, 0]
                up += (classes * pairs[a, b, 1] - met) / (classes - 1.0) * theta[j]
                down += met * theta[j] * theta[j]
            found = min(max(up / down, -MOST_SKILL), MOST_SKILL)
            far = max(far, abs(found - theta[i]))
            theta[i] = found
        if far < STILL:
            break
    total = 0.0
    for i in range(n):
        total += theta[i]
    for i in range(n):
        theta[i] *= 1.0 if total > 0.0 else -1.0


@njit(cache=True, nogil=True, error_model="numpy")
def compare(
    people: Records, pairs: Floats, skills: Floats, pulls: Floats, workers: Codes, labels: Codes,
    begin: int, end: int, new: int, classes: int, g: float, sign: int, sampled: float, stops: bool,
    turn: int, at: Ints, pull: Floats,
) -> None:  # fmt: skip
    """The new pairs of a task; and, ``sampled`` times, what they say against the pairs' fit."""
    m, count = end - begin, 0
    a = begin + turn % m if m > MANY else begin
    for _ in range(m):
        if people[workers[a]].slot > 0.0 and count < MANY:
            at[count] = a
            pull[count] = 0.0
            count += 1
        a = begin if a == end - 1 else a + 1
    last = begin + FIRST if stops else end
    for one in range(count):
        a = at[one]
        i, y, s = workers[a], labels[a], int(people[workers[a]].slot) - 1
        for two in range(one + 1, count):
            b = at[two]
            if (a < new and b < new) or max(a, b) >= last:
                continue
            j, r = workers[b], int(people[workers[b]].slot) - 1
            same = labels[b] == y
            pairs[min(s, r), max(s, r), 0] += sign * g
            if same:
                pairs[min(s, r), max(s, r), 1] += sign * g
            if sampled > 0.0 and not (
                people[i].family > 0.0 and people[i].family == people[j].family
            ):
                x = 1.0 if same else -1.0 / (classes - 1.0)
                off = x - skills[i] * skills[j]
                pull[one] += skills[j] * off
                pull[two] += skills[i] * off
    if sampled > 0.0:
        for one in range(count):
            for two in range(count):
                i, j = workers[at[one]], workers[at[two]]
                pulls[i, j] += sign * sampled * g * g * pull[one] * pull[two]


@njit(cache=True, nogil=True, error_model="numpy")
def renormalise(book: Book, fade: float) -> None:
    """Count the newest task as 1 again."""
    clock = book.clock
    shrink = np.exp(-(clock[CLOCK] - clock[BASE]) * fade)
    for i in range(book.people.size):
        person = book.people[i]
        person.b *= shrink
        person.c *= shrink
        person.v *= shrink * shrink
        person.f *= shrink * shrink
        person.d *= shrink * shrink
    book.pairs[:] *= shrink
    book.pulls[:] *= shrink * shrink
    book.shares[:] *= shrink
    book.strengths[:] *= shrink
    book.totals[:TASKS] *= shrink
    book.totals[TASKS] *= shrink
    book.totals[NOISE] *= shrink
    book.totals[SPREAD] *= shrink * shrink
    book.totals[PAIRS] *= shrink * shrink
    clock[BASE] = clock[CLOCK]


@njit(cache=True, nogil=True, error_model="numpy")
def root_of(groups: Ints, i: int) -> int:
    """Who stands for the group, with the way there made shorter."""
    while groups[i] != i:
        groups[i] = groups[groups[i]]
        i = groups[i]
    return i


@njit(cache=True, nogil=True, error_model="numpy")
def take_slot(people: Records, slots: Ints, pairs: Floats, i: int) -> None:
    """Compare a labeller pair by pair from now on, if there is room or it is worth more."""
    answers = people[i].answers
    at, least = -1, np.inf
    if i < slots.size and slots[i] < 0:  # the first labellers have their own
        at, least = i, 0.0
    for s in range(SMALL, slots.size):
        if least <= 0.0:
            break
        answered = 0.0 if slots[s] < 0 else people[slots[s]].answers
        if answered < least:
            at, least = s, answered
    if at < 0 or answers < 2.0 * least:
        return
    if slots[at] >= 0:
        people[slots[at]].slot = 0.0
        pairs[at, :, :] = 0.0
        pairs[:, at, :] = 0.0
    slots[at] = i
    people[i].slot = at + 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def ring(book: Book, i: int, known: float) -> None:
    """Remember the alarm, and begin to know the labeller anew.

    From the next answer on: those that rang the alarm were picked by it.
    """
    person = book.people[i]
    way = 1.0 if person.up >= BETTER else -1.0
    b = person.before_b - (person.up_b if way > 0.0 else person.down_b)
    c = person.before_c - (person.up_c if way > 0.0 else person.down_c)
    n = person.before_n - (person.up_n if way > 0.0 else person.down_n)
    event = book.events[int(book.totals[RUNG]) % EVENTS]
    event[AT], event[WHO], event[WAY] = book.clock[LEARNT], i, way
    event[FROM], event[TO] = known, (b + 2.0 * known) / (c + 2.0)
    event[PROOF], event[SINCE] = np.log(max(person.up, person.down)), n
    book.totals[RUNG] += 1.0
    person.before_b = person.before_c = person.before_n = 0.0
    person.low = person.high = 0.0
    person.up_b = person.up_c = person.up_n = 0.0
    person.down_b = person.down_c = person.down_n = 0.0
    person.up = person.down = 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def listen(people: Records, i: int, h: float, e2: float, mean: float, prior: float) -> bool:
    """Has the labeller become better or worse than it was?

    Page's cumulative sums of the log-likelihood ratio of a skill that has moved by `SHIFT` against
    the one known, which is given the benefit of a standard error.
    """
    person = people[i]
    person.before_b += h
    person.before_c += e2
    person.before_n += 1.0
    if person.before_n <= SETTLED_IN:
        return False
    if person.low == person.high or int(person.before_n) % REFRESH == 0:
        prior = min(prior, REFERENCE)
        told = 1.0 / (person.before_c + prior)
        known = (person.before_b + prior * mean) * told
        spread = max(1.0 - known * known * person.d / max(person.v, 1e-9), LEAST_SPREAD)
        doubt = LEEWAY * np.sqrt(spread * told)
        person.low, person.high = max(known - doubt, -MOST_SKILL), min(known + doubt, MOST_SKILL)
        tells = person.before_c / person.before_n
        # Where an answer tells less, e₂ is small, alarms are rarer and may ring sooner.
        person.limit = WORSE * tells * tells
    low, high = person.low, person.high
    lower, higher = max(low - SHIFT, -MOST_SKILL), min(high + SHIFT, MOST_SKILL)
    # The ratios themselves, not their logarithms: that saves time.
    down = person.down * (1.0 + lower * h) / (1.0 + low * h)
    up = person.up * (1.0 + higher * h) / (1.0 + high * h)
    b, c, n = person.before_b, person.before_c, person.before_n
    falls, rises = down > 1.0, up > 1.0  # else begin anew; without a branch, to save time
    person.down = down if falls else 1.0
    person.down_b = person.down_b if falls else b
    person.down_c = person.down_c if falls else c
    person.down_n = person.down_n if falls else n
    person.up = up if rises else 1.0
    person.up_b = person.up_b if rises else b
    person.up_c = person.up_c if rises else c
    person.up_n = person.up_n if rises else n
    return bool(person.down >= person.limit or person.up >= BETTER)


@njit(cache=True, nogil=True, error_model="numpy")
def plot(people: Records, trend: Floats, i: int, now: float) -> None:
    """Add a point to the labeller's trend."""
    person = people[i]
    person.stride = max(person.stride, STRIDE)
    at = int(person.points)
    if at == POINTS:
        at = POINTS // 2
        for k in range(at):
            trend[i, k, 0] = trend[i, 2 * k, 0] + trend[i, 2 * k + 1, 0]
            trend[i, k, 1] = trend[i, 2 * k, 1] + trend[i, 2 * k + 1, 1]
            trend[i, k, 2] = trend[i, 2 * k + 1, 2]
        person.stride *= 2.0
        person.points = at
        return  # goes on until the longer stride is full
    trend[i, at, 0], trend[i, at, 1] = person.point_b, person.point_c
    trend[i, at, 2] = now
    person.point_b = person.point_c = person.point_n = 0.0
    person.points = at + 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def follow_horizons(
    bank: Floats, crowd: Floats, i: int, h: float, e2: float, mean: float, ks: Floats
) -> None:
    """Reweigh the labeller's horizons by how well each foresaw the label, then add the label."""
    total = 0.0
    off = h - mean * e2
    for j in range(BANK):
        b, c = bank[i, j], bank[i, BANK + j]
        foreseen = max(1.0 + h * (b + ks[j] * mean) / (c + ks[j]), 1e-3)
        bank[i, 2 * BANK + j] *= foreseen
        total += bank[i, 2 * BANK + j]
        crowd[0, j] += off * (b - mean * c)
        crowd[1, j] += e2 * c
        crowd[3, j] *= foreseen
        bank[i, j] = KEEP[j] * b + h
        bank[i, BANK + j] = KEEP[j] * c + e2
    for j in range(BANK):
        stays = (1.0 - SWITCH) * bank[i, 2 * BANK + j] / total
        bank[i, 2 * BANK + j] = stays + SWITCH * crowd[2, j]


@njit(cache=True, nogil=True, error_model="numpy")
def agree_on_horizons(crowd: Floats) -> None:
    """After a task: what its labels say of the horizons, for the crowd as a whole."""
    total = 0.0
    for j in range(BANK):
        crowd[2, j] *= crowd[3, j] ** CROWD_RATE
        crowd[3, j] = 1.0
        crowd[0, j] *= CROWD_MEMORY
        crowd[1, j] *= CROWD_MEMORY
        total += crowd[2, j]
    for j in range(BANK):
        crowd[2, j] = (1.0 - CROWD_SWITCH) * crowd[2, j] / total + CROWD_SWITCH / BANK


@njit(cache=True, nogil=True, error_model="numpy")
def discounts(book: Book, workers: Codes, begin: int, end: int, ratios: Floats) -> None:
    """Let the members of a family on one task count as few as they are worth."""
    people, n = book.people, book.people.size
    for a in range(begin, end):
        if workers[a] >= n or people[workers[a]].family == 0.0:
            continue
        family = people[workers[a]].family
        members = 0.0
        for b in range(begin, end):
            if workers[b] < n and people[workers[b]].family == family:
                members += 1.0
        worth = 1.0 / (1.0 + (members - 1.0) * book.rho[int(family) - 1])
        ratios[a - begin] = ratios[a - begin] ** worth


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    book: Book,
    rules_at: Records,
    starts: Ints,
    workers: Codes,
    labels: Codes,
    truths: Ints,
    known: Ints,
    fresh: Ints,
    sign: int,
    posteriors: Floats,
    hardness: Floats,
) -> float:
    """Go through tasks in order: say how hard each is, then learn it (sign 1) or take it back (−1).

    What is taken back is judged by today's skills, and neither horizons nor alarms go back.

    ``fresh[t]``: labels of a task before this one were learnt before and are only looked at, the
    others are judged by those before them; empty: all are new and judged by all others.
    ``posteriors`` (a row a task) and ``hardness``, the chance that an average labeller errs (nan
    without labels), are filled if they have room. Returns a number without a meaning, which keeps
    the reading ahead from being optimised away.
    """
    rules = rules_at[0]
    touched = 0.0
    people, bank, crowd = book.people, book.bank, book.crowd
    totals, clock = book.totals, book.clock
    n, width = people.size, book.shares.size
    large = people.size * ROW > CACHE
    most = 1
    for t in range(starts.size - 1):
        most = max(most, starts[t + 1] - starts[t])
    odds, others = np.empty(width), np.empty(width)
    like, strong = np.empty((GRID.size, width)), np.empty(GRID.size)
    before = np.zeros(GRID.size)
    skills, ratios, pull = np.empty(most), np.empty(most), np.empty(most)
    hs, e2s, e3s = np.empty(most), np.empty(most), np.empty(most)
    ks = np.empty(BANK)
    at = np.empty(most, np.int64)
    for t in range(starts.size - 1):
        begin, end = starts[t], starts[t + 1]
        m = end - begin
        sequential = fresh.size > 0
        new = begin + fresh[t] if sequential else begin
        learns = sign != 0 and known[t] >= 0
        g = weight_of(clock, rules.fade, clock[CLOCK])
        u = sign * g
        if learns and new == begin:
            clock[CLOCK] += sign
            clock[LEARNT] += sign
        if m == 0:
            if hardness.size:
                hardness[t] = np.nan
            continue
        if large:  # ask the memory for those to come
            for j in range(end + AHEAD, min(end + AHEAD + m, workers.size)):
                i = workers[j]
                if i < n:
                    touched += people[i].answers + people[i].low + people[i].up + people[i].slot
                    touched += book.said[i, 0] + book.groups[i]
        truth = truths[t] if truths.size else -1
        named = max(int(clock[NAMED]), truth + 1)
        for j in range(begin, end):
            named = max(named, labels[j] + 1)
        if learns:
            clock[NAMED] = named
        K = max(named, 2)  # noqa: N806 as on paper
        mean = mean_skill(totals, K, g)
        k0 = g * strength(totals, g)
        if rules.auto:
            horizon_priors(totals, crowd, g, ks)
        few = known[t] <= SMALL and not rules.auto
        least = -0.9 / (K - 1.0)
        for j in range(m):
            i = workers[begin + j]
            if few and i < n and people[i].answers > 0.0:
                found = book.skills[i]
            else:
                found = skill_of(people, bank, i, rules.auto, mean, k0, ks)
            skills[j] = min(max(found, least), MOST_SKILL)
            ratios[j] = (1.0 + (K - 1.0) * skills[j]) / (1.0 - skills[j])
        if rules.families:
            discounts(book, workers, begin, end, ratios)

        # How hard the task is.
        testing = learns and (clock[LEARNT] <= TESTED or int(clock[LEARNT]) % EVERY == 0)
        if hardness.size or posteriors.size or testing:
            if testing and new > begin:
                weigh_strengths(book.strengths, skills, labels, begin, new, K, like, before)
            found = weigh_strengths(book.strengths, skills, labels, begin, end, K, like, strong)
            if hardness.size:
                worst = 1.0 - 1.0 / K
                hardness[t] = min(max((1.0 - found * mean) * worst, 0.0), worst)
            if posteriors.size:
                for k in range(width):
                    posteriors[t, k] = 1.0 / K if k < K else 0.0
                for j in range(m):
                    posteriors[t, labels[begin + j]] *= ratios[j]
            if testing:
                for s in range(GRID.size):
                    book.strengths[s] += u * (strong[s] - (before[s] if new > begin else 0.0))
        if not learns:
            continue

        # Judge every new label: by the truth, by all others, or by those before it. Classes are
        # taken to be equally frequent: where errors are alike for all classes that leaves the sums
        # without a bias, and what is often said does not pass for what is often true.
        for k in range(K):
            odds[k] = 1.0
        for j in range(m if truth >= 0 or not sequential else new - begin):
            y = labels[begin + j]
            odds[y] *= ratios[j]
            if odds[y] > 1e60:
                odds *= 1e-60
        if truth >= 0:
            if new == begin:
                totals[GOLD_TASKS] += sign
                totals[GOLD_WRONG] += sign if np.argmax(odds[:K]) != truth else 0
            for k in range(K):
                odds[k] = 1.0 if k == truth else 0.0
        for j in range(new - begin, m):
            i, y = workers[begin + j], labels[begin + j]
            for k in range(K):
                others[k] = odds[k]
            if truth < 0 and not sequential:
                others[y] /= ratios[j]
            if truth < 0 and rules.families and people[i].family > 0.0:
                for b in range(j if sequential else m):
                    if b != j and people[workers[begin + b]].family == people[i].family:
                        others[labels[begin + b]] /= ratios[b]
            hs[j], e2s[j], e3s[j] = judge(others, K, y)
            if truth < 0 and sequential:
                odds[y] *= ratios[j]

        # Whether there is a second label does not hang on what the first said: it judges the first.
        second = sequential and truth < 0 and new == begin + 1 and m == 2
        if second:
            for k in range(K):
                others[k] = ratios[1] if labels[begin + 1] == k else 1.0
            kin = people[workers[begin]].family
            if kin > 0.0 and kin == people[workers[begin + 1]].family:
                others[labels[begin + 1]] = 1.0
            hs[0], e2s[0], e3s[0] = judge(others, K, labels[begin])

        # Learn them; the crowd's sums once a task, which saves time.
        spread, paired, squares, skill, exposure = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(0 if second else new - begin, m):
            i, y = workers[begin + j], labels[begin + j]
            person = people[i]
            if book.groups[i] != book.groups[workers[begin]]:
                book.groups[root_of(book.groups, i)] = root_of(book.groups, workers[begin])
            if begin + j >= new:
                if few and person.answers == 0.0:
                    book.skills[i] = mean  # until the pairs are fitted
                person.answers += sign
                book.said[i, y] += sign
                book.shares[y] += u / m
                asks = person.answers == 1.0 or int(person.answers) % WORTH == 0
                if asks and person.slot == 0.0:
                    take_slot(people, book.slots, book.pairs, i)
                if truth >= 0:
                    person.gold += sign
                elif m == 1 or (sequential and j == 0):
                    continue
            h, e2, e3 = hs[j], e2s[j], e3s[j]
            off = h - mean * e2
            spread += off * (person.b - mean * person.c)
            paired += e2 * person.c
            squares += off * off
            skill += h
            exposure += e2
            if rules.auto and sign > 0:
                follow_horizons(bank, crowd, i, h, e2, mean, ks)
            person.b += u * h
            person.c = max(person.c + u * e2, 0.0)
            person.v = max(person.v + u * g * e2, 0.0)
            if K > 2:
                person.f += u * g * e3
            person.d = max(person.d + u * g * e2 * e2, 0.0)
            if sign < 0:
                continue
            if listen(people, i, h, e2, mean, k0 / g):
                ring(book, i, (person.before_b + k0 / g * mean) / (person.before_c + k0 / g))
            person.point_b += h
            person.point_c += e2
            person.point_n += 1.0
            if person.point_n >= max(person.stride, STRIDE):
                plot(people, book.trend, i, clock[LEARNT])
        totals[SPREAD] += u * spread
        totals[PAIRS] += u * paired
        totals[NOISE] += u * squares
        totals[SKILL] += u * skill
        totals[EXPOSURE] += u * exposure
        tracked = 0
        for j in range(m):
            tracked += people[workers[begin + j]].slot > 0.0
        if tracked > 1:
            sampled = 1.0 if clock[LEARNT] <= TESTED else float(EVERY)
            compare(
                people, book.pairs, book.skills, book.pulls, workers, labels, begin, end, new,
                K, g, sign, sampled if few and testing else 0.0, sequential and rules.stops,
                int(clock[LEARNT]), at, pull,
            )  # fmt: skip
        if new == begin:
            totals[TASKS] += u
        totals[LABELS] += sign * (end - new)
        if few and totals[LABELS] >= REFIT * totals[FITTED] + 1.0:
            fit_pairs(book, known[t], K, mean, k0)
            totals[FITTED] = totals[LABELS]
        if rules.auto and sign > 0:
            agree_on_horizons(crowd)
        if g > RENORMALISE:
            renormalise(book, rules.fade)
    return touched
