"""Compiled loops of the soft counts: a teacher, a student and how far to trust them. Arrays only.

The *teacher* is robust: every labeller has one skill ψ, found by regression of its answers on the
posterior of the task's other answers, both centred, so that who always says the same has skill 0;
votes are never negative, and two classes that were taken for one another are turned (`turn`). The
*student* is flexible: every labeller has a confusion, learnt from the teacher's posteriors only, so
that nothing reinforces itself. The decision is the geometric mean of both. A *dependence test*
compares, on some tasks, independent answers with answers that follow one another; what it finds
decides how much of the confidence is left to the plain vote share.

All sums are plain: they add up over shards. With forgetting, what a task adds is multiplied by a
growing weight ``g`` instead of multiplying everything before it by 1 − β; then the priors, which
are counted in answers, are multiplied by g too, and every ratio is what it should be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from crowdstream.estimators.votes import mix, toss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]
Records = NDArray[np.void]

H = 4.0
"""Strength of a prior in answers. Anything from 2 to 8 gives the same errors on real crowds."""
START = 30.0
"""Strength of a skill's prior until the spread of skills is known. With 4, crowds of equals begin
with up to four points more errors than majority vote; with 30, one, and 0.001 more on real
crowds."""
ACCURACY = 0.7
"""Expected of a labeller before any data (0.6 to 0.8 alike)."""
CAP = 0.6
"""A teacher's vote never counts more than skill 0.6: joint errors make skills look too high."""
FLOOR = 0.1
"""The crowd's mean skill is never taken to be lower: zero would be absorbing."""
KAPPA = 50.0
"""Products of answers after which the spread of skills is measured rather than assumed (30 to 300
alike)."""
OWN = 0.5
"""Strength of a confusion's prior, as a share of a skill's: where skills are alike, so are
confusions."""
LEAST_STRENGTH, MOST_STRENGTH = 2.0, 100.0
"""Of a skill's prior: nobody is judged by one answer, nobody is beyond learning."""
TOP = 0.95
"""Nobody is taken to be perfect."""
ATTRACTION = 8.0
"""Labels of a task that weigh as much as the labeller itself, if the task has a mind of its own."""
DOUBT = 0.05
"""Weight of the vote share in the confidence where nothing speaks against independence."""
DEPENDENCE = 0.003
"""Nats a label of evidence for dependence that leave 1/e of the model's say (0.002 to 0.006
alike)."""
LEAST_LABELS = 200.0
"""Labels before that evidence counts half."""
SURE = 3.0
"""Standard errors below 0 of the crowd's mean skill at which what was learnt is upside down."""
BELOW = 0.99
"""How near the vote share may bring the winner's confidence to another class's."""
TESTED, EVERY = 1000, 4
"""Tasks that are all put to the dependence test; after them one in four, which saves time."""
BINS = 16
"""Of the logit of the confidence, from −3 to 6, in which gold is kept for recalibration."""
EDGE = 0.005
"""A confidence beyond says no more to the recalibration."""
SHIFT, SLOPE = 1.0, 0.5
"""Standard deviations of the recalibration's prior: shift 0, slope 1."""
TIE = 1e-9
"""Posteriors this close are a tie."""
NUDGE = 1e-6
"""By how much a winner whose confidence is recalibrated away stays ahead: no tie, no meaning."""
LEAST = 1e-9
"""No answer is taken for less likely."""
CACHE = 1 << 19
"""Bytes of labellers from which on reading ahead pays: what the nearest caches hold."""
AHEAD = 12
"""Labels to read ahead."""
RENORMALISE = 1e12
"""Weight of a task at which all sums are divided by it."""

SKILL, EXPOSURE, TASKS, EVIDENCE, LABELS, SPREAD, PAIRS, NOISE = range(8)
"""Places in the totals."""
CLOCK, BASE, LEARNT, NAMED = range(4)
"""Places in the clock: the next task's place, the place at which g was 1, tasks learnt, and how
many classes were named so far."""

CELL, LOGIT, RIGHT, WEIGHT, SIZE, UNIT, SUMS = range(7)
"""Places in a receipt: the bin of a gold task and what was put there, the task's weight and labels,
the base at that time, and from there on what the totals gained."""
HEAD = SUMS + 8
"""Where a receipt goes on with the posterior that was learnt and five numbers a label."""

ADAPTIVE, DAWID_SKENE = range(2)

RULES = np.dtype(
    [("method", np.int64), ("fade", np.float64), ("fair", np.bool_), ("seed", np.uint64)]
)


class Sums(NamedTuple):
    """The state; n labellers, K classes.

    ``people``: a row a labeller, so that one is found in one place of the memory (see `parts`).
    ``shares`` K: of labels; ``mass`` K: of classes; ``pooled`` K×K: the confusion of all, weighted
    by skill. ``gold``: how many tasks, sum of logits, how many right, in bins of the confidence.
    """

    people: Floats
    shares: Floats
    mass: Floats
    pooled: Floats
    totals: Floats
    gold: Floats
    clock: Floats


class Parts(NamedTuple):
    """Views of the labellers' rows.

    ``said`` n×K: labels given. ``skill`` n×2: numerator and denominator of ψ. ``met`` n×2:
    agreements and meetings with others. ``rows`` n×K and ``confusion`` n×K×K: soft counts of what
    was said of each class, and their sums.
    """

    said: Floats
    skill: Floats
    met: Floats
    rows: Floats
    confusion: Floats


def parts(people: Floats, classes: int) -> Parts:
    """What the columns of the labellers' rows are."""
    n, k = people.shape[0], classes
    return Parts(
        people[:, :k],
        people[:, k : k + 2],
        people[:, k + 2 : k + 4],
        people[:, k + 4 : 2 * k + 4],
        people[:, 2 * k + 4 :].reshape(n, k, k),
    )


def new_sums(n: int, classes: int) -> Sums:
    """Nothing learnt, with room."""
    return Sums(
        np.zeros((n, classes * classes + 2 * classes + 4)),
        np.zeros(classes),
        np.zeros(classes),
        np.zeros((classes, classes)),
        np.zeros(8),
        np.zeros((BINS, 3)),
        np.zeros(4),
    )


def resized(sums: Sums, n: int, classes: int) -> Sums:
    """The same with room for so many labellers and classes, no fewer than before."""
    bigger = new_sums(n, classes)
    old = parts(sums.people, sums.mass.size)
    for before, after in (
        *zip(old, parts(bigger.people, classes), strict=True),
        *zip(sums[1:], bigger[1:], strict=True),
    ):
        after[tuple(slice(size) for size in before.shape)] = before
    return bigger


def receipt_size(labels: int, classes: int) -> int:
    """How many numbers tell what a task added."""
    return HEAD + classes + 5 * labels


@njit(cache=True, nogil=True, error_model="numpy")
def weight_of(clock: Floats, fade: float, place: float) -> float:
    """g: what a task at this place in the stream counts, in the units of the sums."""
    return np.exp((place - clock[BASE]) * fade) if fade > 0.0 else 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def mean_skill(totals: Floats, classes: int, g: float) -> float:
    """ψ̄: the crowd's mean skill."""
    told = min(totals[TASKS], totals[EXPOSURE])  # a task with one label tells nothing
    found = told * totals[SKILL] / totals[EXPOSURE] if told > 0.0 else 0.0
    prior = (classes * ACCURACY - 1.0) / (classes - 1.0)
    return min(max(FLOOR, (found + g * H * prior) / (max(told, 0.0) + g * H)), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def strength(totals: Floats, g: float) -> float:
    """Answers that a skill's prior is worth: noise over spread of the skills (empirical Bayes)."""
    noise = (totals[NOISE] + g * H) / (totals[EXPOSURE] + g * H)
    kappa = g * g * KAPPA
    spread = (max(totals[SPREAD], 0.0) + kappa * noise / START) / (totals[PAIRS] + kappa)
    return min(max(noise / spread, LEAST_STRENGTH), MOST_STRENGTH)


@njit(cache=True, nogil=True, error_model="numpy")
def doubt(totals: Floats, g: float) -> float:
    """How much of the confidence is left to the vote share."""
    found = totals[EVIDENCE] / (totals[LABELS] + g * LEAST_LABELS)
    return 1.0 - (1.0 - DOUBT) * np.exp(-max(found, 0.0) / DEPENDENCE)


@njit(cache=True, nogil=True, error_model="numpy")
def recalibration(gold: Floats, g: float) -> tuple[float, float]:
    """(a, b) of P(right) = sigmoid(a + b·logit), by Newton on the bins, from a prior at (0, 1)."""
    a, b = 0.0, 1.0
    for _ in range(50):
        up_a, up_b = -a / SHIFT**2, -(b - 1.0) / SLOPE**2
        h_aa, h_ab, h_bb = 1.0 / SHIFT**2, 0.0, 1.0 / SLOPE**2
        for k in range(BINS):
            tasks = gold[k, 0] / g
            if tasks <= 0.0:
                continue
            z = gold[k, 1] / gold[k, 0]
            p = 1.0 / (1.0 + np.exp(-(a + b * z)))
            gap, spread = gold[k, 2] / g - tasks * p, tasks * p * (1.0 - p)
            up_a += gap
            up_b += gap * z
            h_aa += spread
            h_ab += spread * z
            h_bb += spread * z * z
        det = h_aa * h_bb - h_ab * h_ab
        step_a, step_b = (h_bb * up_a - h_ab * up_b) / det, (h_aa * up_b - h_ab * up_a) / det
        far = max(abs(step_a), abs(step_b))
        if far > 0.5:  # Newton from afar may overshoot
            step_a *= 0.5 / far
            step_b *= 0.5 / far
        a += step_a
        b += step_b
        if abs(step_a) + abs(step_b) < 1e-9:
            break
    return a, max(b, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def logit_of(confidence: float) -> float:
    """Kept away from certainty."""
    p = min(max(confidence, EDGE), 1.0 - EDGE)
    return np.log(p / (1.0 - p))


@njit(cache=True, nogil=True, error_model="numpy")
def renormalise(sums: Sums, fade: float) -> None:
    """Count the newest task as 1 again."""
    clock = sums.clock
    shrink = np.exp(-(clock[CLOCK] - clock[BASE]) * fade)
    for array in (sums.people, sums.pooled, sums.gold):
        array *= shrink
    for vector in (sums.shares, sums.mass):
        vector *= shrink
    sums.totals[:] *= shrink
    sums.totals[SPREAD] *= shrink  # products of two sums
    sums.totals[PAIRS] *= shrink
    clock[BASE] = clock[CLOCK]


@njit(cache=True, nogil=True, error_model="numpy")
def turn(sums: Sums) -> None:
    """Take each of two classes for the other: most labellers contradict what was learnt.

    Nothing but the majority can tell a crowd from its mirror image.
    """
    people, width = sums.people, sums.mass.size
    rows, confusion = width + 4, 2 * width + 4
    for i in range(people.shape[0]):
        people[i, width] = -people[i, width]
        people[i, rows], people[i, rows + 1] = people[i, rows + 1], people[i, rows]
        for y in range(2):
            one, two = confusion + y, confusion + width + y
            people[i, one], people[i, two] = people[i, two], people[i, one]
    for y in range(2):
        sums.pooled[0, y], sums.pooled[1, y] = sums.pooled[1, y], sums.pooled[0, y]
    sums.mass[0], sums.mass[1] = sums.mass[1], sums.mass[0]
    sums.totals[SKILL] = -sums.totals[SKILL]


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    sums: Sums,
    rules_at: Records,
    keys: Keys,
    family: Ints,
    rho: Floats,
    starts: Ints,
    workers: Codes,
    labels: Codes,
    truths: Ints,
    known: Ints,
    place: int,
    first: int,
    learning: bool,
    winners: Ints,
    confidences: Floats,
    margins: Floats,
    posteriors: Floats,
    receipt: Floats,
) -> float:
    """Go through tasks in order: decide each from the past, then learn it if asked.

    K is the number of classes named so far, two at least. ``truths[t]`` is the known class of a
    task, −1 for none (empty: none at all); ``winners`` of size 0: decide nothing; ``posteriors``
    likewise, a row a task; ``receipt`` takes what a single task added, if it has room. ``family``:
    of each labeller, 0 for none (empty: none at all): its members do not judge one another, and s
    of them on a task count ``s/(1 + (s − 1) rho)``. Returns a number without a meaning, which
    keeps the reading ahead from being optimised away.
    """
    rules = rules_at[0]
    people, shares, mass, pooled = sums.people, sums.shares, sums.mass, sums.pooled
    totals, gold, clock = sums.totals, sums.gold, sums.clock
    n = people.shape[0]
    width = mass.size
    skill, met, rows, confusion = width, width + 2, width + 4, 2 * width + 4  # see `parts`
    large = people.size * 8 > CACHE
    touched = 0.0
    most = 1
    for t in range(starts.size - 1):
        most = max(most, starts[t + 1] - starts[t])
    f, taught, student, out = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    drawn, alone, pull = np.empty(width), np.empty(width), np.empty(width)
    crowd = np.empty((width, width))
    psi, up, down = np.empty(most), np.empty(most), np.empty(most)
    factors, others_say = np.empty(most), np.empty(width)
    votes = np.zeros(width)
    shift, slope = 0.0, 1.0
    stale = True
    for t in range(starts.size - 1):
        begin, end = starts[t], starts[t + 1]
        m = end - begin
        here = clock[CLOCK] if place < 0 else float(place)
        coin = place
        if place < 0:
            coin = int(clock[LEARNT]) + (0 if learning else first + t)
        g = weight_of(clock, rules.fade, here)
        if learning and known[t] >= 0 and place < 0:
            clock[CLOCK] += 1.0
            clock[LEARNT] += 1.0
        if receipt.size:
            receipt[:] = 0.0
            receipt[UNIT] = clock[BASE]
        if m == 0:
            if winners.size:
                winners[t] = -1
            continue
        testing = learning and (clock[LEARNT] <= TESTED or int(clock[LEARNT]) % EVERY == 0)
        # Learning alone needs the teacher only.
        asked = winners.size > 0 or posteriors.size > 0 or truths.size > 0
        deciding = asked or testing or rules.method != ADAPTIVE
        if large:  # ask the memory for those to come
            for j in range(end + AHEAD, min(end + AHEAD + m, workers.size)):
                if workers[j] < n:
                    touched += people[workers[j], skill] + people[workers[j], confusion]
        truth = truths[t] if truths.size else -1
        named = max(int(clock[NAMED]), truth + 1)
        for j in range(begin, end):
            named = max(named, labels[j] + 1)
        if learning and known[t] >= 0:
            clock[NAMED] = named
        K = max(named, 2)  # noqa: N806 as on paper
        gh = g * H
        gs = max(gh, OWN * g * strength(totals, g))
        if stale and gold[:, 0].sum() > 0.0:
            shift, slope = recalibration(gold, g)
        stale = False

        # What the crowd as a whole is like.
        label_mass = 0.0
        for k in range(K):
            label_mass += shares[k]
        mean = mean_skill(totals, K, g)
        prior = g * strength(totals, g)
        unit = 1.0 / (label_mass + K * gh)
        for k in range(K):
            f[k] = (shares[k] + gh) * unit
            taught[k] = 1.0
            votes[k] = 0.0
        informed = 0.0
        if deciding:
            unit = 1.0 / (totals[TASKS] + gh)
            for k in range(K):
                student[k] = (mass[k] + gh * f[k]) * unit
                drawn[k] = student[k]
                alone[k] = student[k]
                pull[k] = 0.0
                row = gh
                for c in range(K):
                    row += pooled[k, c]
                row = 1.0 / row
                for c in range(K):
                    expected = ACCURACY if c == k else (1.0 - ACCURACY) / (K - 1.0)
                    crowd[k, c] = (pooled[k, c] + gh * expected) * row
                informed += crowd[k, k]
            informed = min(max((informed - 1.0) / (K - 1.0), FLOOR), TOP)

        # Teacher, student and the dependence test, label by label.
        weighed = 0.0
        for j in range(begin, end):
            i, y = workers[j], labels[j]
            new = i >= n
            found = mean
            if not new and people[i, skill + 1] != 0.0:  # else (0 + x y)/(0 + x) may round
                found = (people[i, skill] + prior * mean) / (people[i, skill + 1] + prior)
            psi[j - begin] = found
            u = min(max(found, 0.0), 1.0)
            s = 1.0 / K + (1.0 - 1.0 / K) * min(u, CAP)
            factor, worth = s * (K - 1.0) / (1.0 - s), 1.0
            if family.size and not new and family[i] > 0:
                members = 0.0
                for b in range(begin, end):
                    if workers[b] < n and family[workers[b]] == family[i]:
                        members += 1.0
                worth = 1.0 / (1.0 + (members - 1.0) * rho[family[i] - 1])
                factor = factor**worth
            factors[j - begin] = factor
            taught[y] *= factor
            votes[y] += 1.0
            if taught[y] > 1e60:
                most_taught = taught[y]
                for k in range(K):
                    taught[k] /= most_taught
            if not deciding:
                continue
            answers = 0.0
            habit = f[y]
            if not new:
                for k in range(K):
                    answers += people[i, k]
                habit = (people[i, y] + gh * f[y]) / (answers + gh)
            # Informed labellers answer as the informed crowd does, others as they always do; the
            # better still go part of the way to never wrong.
            like = min(u / informed, 1.0)
            better = max(min(u, TOP) - informed, 0.0) / (1.0 - informed)
            guess = (1.0 - like) * habit
            follow = u * weighed / (ATTRACTION + weighed)
            pulled = follow * pull[y] / weighed if weighed > 0.0 else 0.0
            largest = 0.0
            for k in range(K):
                p = (like - better) * crowd[k, y] + guess + (better if k == y else 0.0)
                if not new and people[i, rows + k] > 0.0:
                    p = (people[i, confusion + k * width + y] + gs * p) / (people[i, rows + k] + gs)
                p = max(p, LEAST)  # taking back may leave less than nothing
                student[k] *= p if worth == 1.0 else p**worth
                if testing:
                    drawn[k] *= (1.0 - follow) * p + pulled
                    alone[k] *= (1.0 - follow) * p + follow * crowd[k, y]
                largest = max(largest, student[k])
            pull[y] += u * worth
            weighed += u * worth
            if largest < 1e-60:
                for k in range(K):
                    student[k] /= largest
                    drawn[k] /= largest
                    alone[k] /= largest
        evidence, best, raw = 0.0, 0, 0.0
        z_drawn, z_alone, z = 0.0, 0.0, 0.0
        if deciding:
            for k in range(K):
                z_drawn += drawn[k]
                z_alone += alone[k]
            if testing and m > 1:
                evidence = np.log(z_drawn / z_alone)
            for k in range(K):
                if rules.method == ADAPTIVE:
                    student[k] = np.sqrt(taught[k] * student[k])
                z += student[k]

            # The winner, and how sure: the vote share may lower that, never change the winner.
            for k in range(K):
                student[k] /= z
                # The vote share with the model as one vote more: one vote alone is not unanimity.
                out[k] = student[k] + (pull[k] if weighed > TIE else votes[k] / m)
                out[k] /= 1.0 + (weighed if weighed > TIE else 1.0)
                ahead = student[k] - student[best]
                if ahead > TIE or (ahead >= -TIE and out[k] > out[best]):
                    best = k
            share = doubt(totals, g) if rules.method == ADAPTIVE else 0.0
            for k in range(K):
                if out[k] > out[best]:
                    lead = max(student[best] - student[k], 0.0)
                    share = min(share, BELOW * lead / (lead + out[k] - out[best]))
            for k in range(K):
                out[k] = (1.0 - share) * student[k] + share * out[k]
            raw = out[best]
            if asked:
                if slope != 1.0 or shift != 0.0:
                    second = 0.0
                    for k in range(K):
                        if k != best:
                            second = max(second, out[k])
                    sure = 1.0 / (1.0 + np.exp(-(shift + slope * logit_of(raw))))
                    rest = second / (1.0 - raw) if raw < 1.0 else 0.0
                    sure = max(sure, rest / (1.0 + rest) + NUDGE)  # never changes who wins
                    for k in range(K):
                        if k != best:
                            out[k] *= (1.0 - sure) / (1.0 - raw) if raw < 1.0 else 0.0
                    out[best] = sure
                runner_up, tied = 0.0, 1
                winner = best
                least = mix(keys[best] ^ toss(rules.seed, coin)) if rules.fair else keys[best]
                for k in range(K):
                    if k == best:
                        continue
                    runner_up = max(runner_up, out[k])
                    if out[k] >= out[best] - TIE:
                        tied += 1
                        key = mix(keys[k] ^ toss(rules.seed, coin)) if rules.fair else keys[k]
                        if key < least:
                            winner, least = k, key
                if winners.size:
                    winners[t] = winner
                    confidences[t] = out[winner]
                    margins[t] = 0.0 if tied > 1 else max(out[winner] - runner_up, 0.0)
                if posteriors.size:
                    posteriors[t] = 0.0
                    for k in range(K):
                        posteriors[t, k] = out[k]

        if not learning or known[t] < 0:
            continue
        # Learn, from the teacher only.
        total = 0.0
        if truth >= 0:
            cell = min(max(int((logit_of(raw) + 3.0) / 9.0 * BINS), 0), BINS - 1)
            right = 1.0 if best == truth else 0.0
            gold[cell, 0] += g
            gold[cell, 1] += g * logit_of(raw)
            gold[cell, 2] += g * right
            stale = True
            if receipt.size:
                receipt[CELL], receipt[LOGIT] = cell + 1.0, g * logit_of(raw)
                receipt[RIGHT] = g * right
            for k in range(K):
                taught[k] = 1.0 if k == truth else 0.0
            total = 1.0
        elif rules.method == ADAPTIVE:
            for k in range(K):
                taught[k] *= f[k]
                total += taught[k]
        else:
            for k in range(K):
                taught[k] = student[k]
            total = 1.0
        spread = 1.0
        for k in range(K):
            spread -= f[k] * f[k]
        spread = 1.0 / spread
        for k in range(K):
            taught[k] /= total
        total = 1.0
        for j in range(begin, end):
            i, y = workers[j], labels[j]
            for k in range(K):
                others_say[k] = taught[k]
            others = total
            if truth < 0 and rules.method == ADAPTIVE:  # its own vote taken out: the others'
                kin = family[i] if family.size else 0
                for b in range(begin, end) if kin > 0 else range(j, j + 1):
                    if b == j or family[workers[b]] == kin:
                        others_say[labels[b]] /= factors[b - begin]
                others = 0.0
                for k in range(K):
                    others += others_say[k]
            others = 1.0 / others
            answers = 0.0
            for k in range(K):
                answers += people[i, k]
            answers = 1.0 / (answers + gh)
            r, d = 0.0, 0.0
            if m > 1 or truth >= 0:
                for k in range(K):
                    h = others_say[k] * others - f[k]
                    c = (1.0 if k == y else 0.0) - (people[i, k] + gh * f[k]) * answers
                    r += c * h
                    d += h * h
            up[j - begin], down[j - begin] = r * spread, d * spread
        at = HEAD + width
        if receipt.size:
            receipt[WEIGHT], receipt[SIZE] = g, m
            for k in range(8):
                receipt[SUMS + k] = totals[k]
            for k in range(K):
                receipt[HEAD + k] = g * taught[k]
        for j in range(begin, end):
            i, y = workers[j], labels[j]
            r, d = up[j - begin], down[j - begin]
            off = r - mean * d
            totals[SPREAD] += g * off * (people[i, skill] - mean * people[i, skill + 1])
            totals[PAIRS] += g * d * people[i, skill + 1]
            totals[NOISE] += g * off * off
            totals[SKILL] += g * r
            totals[EXPOSURE] += g * d
            people[i, skill] += g * r
            people[i, skill + 1] += g * d
            u = min(max(psi[j - begin], 0.0), 1.0)
            for k in range(K):
                q = g * taught[k]
                pooled[k, y] += u * q
                people[i, confusion + k * width + y] += q
                people[i, rows + k] += q
            people[i, y] += g
            shares[y] += g / m
            people[i, met] += g * (votes[y] - 1.0)
            people[i, met + 1] += g * (m - 1.0)
            if receipt.size:
                receipt[at], receipt[at + 1], receipt[at + 2] = g * r, g * d, u
                receipt[at + 3], receipt[at + 4] = g * (votes[y] - 1.0), g * (m - 1.0)
                at += 5
        for k in range(K):
            mass[k] += g * taught[k]
        totals[TASKS] += g
        if testing and m > 1:
            totals[EVIDENCE] += g * evidence
            totals[LABELS] += g * m
        if receipt.size:
            for k in range(8):
                receipt[SUMS + k] = totals[k] - receipt[SUMS + k]
        if (
            K == 2
            and totals[SKILL] < 0.0
            and totals[SKILL] ** 2 > SURE**2 * totals[NOISE] * g
            and gold[:, 0].sum() == 0.0
        ):
            turn(sums)
        if g > RENORMALISE:
            renormalise(sums, rules.fade)
    return touched


@njit(cache=True, nogil=True, error_model="numpy")
def take_back(
    sums: Sums, fade: float, workers: Codes, labels: Codes, receipt: Floats, place: int
) -> None:
    """Undo what a task added, by its receipt; with a place of its own it keeps that."""
    clock = sums.clock
    if place < 0:
        clock[CLOCK] -= 1.0
        clock[LEARNT] -= 1.0
    if receipt[SIZE] == 0.0:
        return
    unit = np.exp((receipt[UNIT] - clock[BASE]) * fade)  # the sums may have been renormalised
    g = unit * receipt[WEIGHT]
    if receipt[CELL] > 0.0:
        cell = int(receipt[CELL]) - 1
        sums.gold[cell, 0] -= g
        sums.gold[cell, 1] -= unit * receipt[LOGIT]
        sums.gold[cell, 2] -= unit * receipt[RIGHT]
    for k in range(8):
        twice = unit if k in (SPREAD, PAIRS) else 1.0
        sums.totals[k] -= unit * twice * receipt[SUMS + k]
    then = receipt.size - HEAD - 5 * labels.size  # classes at that time
    K = sums.mass.size  # noqa: N806 as on paper
    people = sums.people
    at = HEAD + then
    for j in range(labels.size):
        i, y = workers[j], labels[j]
        people[i, K] -= unit * receipt[at]
        people[i, K + 1] -= unit * receipt[at + 1]
        people[i, K + 2] -= unit * receipt[at + 3]
        people[i, K + 3] -= unit * receipt[at + 4]
        for k in range(then):
            q = unit * receipt[HEAD + k]
            sums.pooled[k, y] -= receipt[at + 2] * q
            people[i, K + 4 + k] -= q
            people[i, 2 * K + 4 + k * K + y] -= q
        people[i, y] -= g
        sums.shares[y] -= g / receipt[SIZE]
        at += 5
    for k in range(then):
        sums.mass[k] -= unit * receipt[HEAD + k]


def restart(sums: Sums, skills: Floats) -> None:
    """Go on from skills, nan where unknown: what was learnt was led astray.

    How much was learnt of a skill stays, what it is changes; the confusions begin anew.
    """
    people = parts(sums.people[: skills.size], sums.mass.size)
    told = ~np.isnan(skills)
    people.skill[told, 0] = skills[told] * people.skill[told, 1]
    sums.totals[SKILL] = people.skill[:, 0].sum()
    sums.totals[EXPOSURE] = people.skill[:, 1].sum()
    for learnt in (people.rows, people.confusion, sums.pooled, sums.mass):
        learnt[...] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def choose(
    posteriors: Floats,
    keys: Keys,
    starts: Ints,
    labels: Codes,
    share: float,
    rules_at: Records,
    first: int,
    winners: Ints,
    confidences: Floats,
    margins: Floats,
) -> None:
    """Winner, confidence and margin from posteriors, a row a task; vote shares may lower both."""
    rules = rules_at[0]
    K = keys.size  # noqa: N806 as on paper
    for t in range(winners.size):
        m = starts[t + 1] - starts[t]
        winners[t] = -1
        if m == 0:
            continue
        total, top = 0.0, 0.0
        for k in range(posteriors.shape[1]):
            total += posteriors[t, k]
            top = max(top, posteriors[t, k])
        coin = toss(rules.seed, first + t)
        winner, least, tied, second = 0, np.uint64(0), 0, 0.0
        for k in range(K):
            if posteriors[t, k] < top - TIE * total:
                second = max(second, posteriors[t, k])
                continue
            key = mix(keys[k] ^ coin) if rules.fair else keys[k]
            if tied == 0 or key < least:
                winner, least = k, key
            tied += 1
        votes = 0.0
        for j in range(starts[t], starts[t + 1]):
            votes += 1.0 if labels[j] == winner else 0.0
        sure = (1.0 - share) * top / total + share * (votes + top / total) / (m + 1.0)
        winners[t] = winner
        confidences[t] = max(min(sure, top / total), 1.0 / max(K, 2))
        margins[t] = 0.0 if tied > 1 else min((top - second) / total, confidences[t])


@njit(cache=True, nogil=True, error_model="numpy")
def standing(sums: Sums, rules_at: Records) -> tuple[Floats, Floats, Floats]:
    """Of every labeller the error rate, averaged over the classes, the weight of its vote, and the
    confusion: how often each class (rows) is called what."""
    rules = rules_at[0]
    g = weight_of(sums.clock, rules.fade, sums.clock[CLOCK])
    K = sums.mass.size  # noqa: N806 as on paper
    people = sums.people
    n = people.shape[0]
    errors, weights, confusions = np.empty(n), np.empty(n), np.empty((n, K, K))
    mean = mean_skill(sums.totals, K, g)
    prior = g * strength(sums.totals, g)
    gh = g * H
    tasks = sums.mass.sum()
    for i in range(n):
        u = min(max((people[i, K] + prior * mean) / (people[i, K + 1] + prior), 0.0), TOP)
        right = 0.0
        for k in range(K):
            share = (sums.mass[k] + gh / K) / (tasks + gh)
            for y in range(K):
                expected = (1.0 - u) / K + (u if y == k else 0.0)
                count = people[i, 2 * K + 4 + k * K + y]
                confusions[i, k, y] = (count + gh * expected) / (people[i, K + 4 + k] + gh)
            right += share * confusions[i, k, k]
        errors[i] = 1.0 - right
        s = 1.0 / K + (1.0 - 1.0 / K) * min(u, CAP)
        weights[i] = np.log(s * (K - 1.0) / (1.0 - s))
    return errors, weights, confusions
