"""Strata of tasks: making them, sharing a sample out, and estimating a share of all tasks from it.

Arrays in, arrays out; knows nothing of tables or estimators.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.metrics import Z95, wilson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

DOUBTFUL = 0.7
"""Confidence below which a decision is doubtful. With ``settle`` it makes three bands: about one
wrong in two or three, one in ten, fewer."""

BANDS = 3
"""Bands of confidence: doubtful, likely, settled."""

LEAST_ERROR = 0.05
"""Least rate of wrong decisions assumed, however sure they are, when a sample is shared
out: without gold confidence is no guarantee, and a stratum nobody looks at can hide anything."""

COIN = 0.5
"""√(p(1 − p)) of a decision that is wrong as often as right."""

PER_STRATUM = 2
"""Tasks to be checked that a stratum is made for, on average: fewer say nothing of its spread."""

WORTHY = 0.5
"""Tasks due to a stratum by its share, below which it is joined with another: being given one, it
would cost the others more than it tells."""

PSEUDO = 1.0
"""Answers, wrong as often as all are, that each stratum is taken to have had besides its own when
its spread is estimated: one or two right answers do not mean that there is no spread."""


def task_spreads(confidences: Floats) -> Floats:
    """√(p(1 − p)) of each decision, p the chance that it is wrong: what Neyman's allocation takes.

    >>> task_spreads(np.array([0.5, 0.99])).round(2).tolist()
    [0.5, 0.22]
    """
    wrong = np.maximum(1.0 - confidences, LEAST_ERROR)
    return np.asarray(np.sqrt(wrong * (1.0 - wrong)))


def sum_by(places: Ints, values: Floats) -> Floats:
    """The sum of the values at each place.

    >>> sum_by(np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0])).tolist()
    [4.0, 2.0]
    """
    return np.asarray(np.bincount(places, weights=values), np.float64)


def task_worth(confidences: Floats, apart: Flags | None = None) -> Floats:
    """Return the worth of checking each task: `task_spreads`, and the most where set ``apart``.

    >>> task_worth(np.array([0.99, 0.99]), np.array([False, True])).round(2).tolist()
    [0.22, 0.5]
    """
    spreads = task_spreads(confidences)
    return spreads if apart is None else np.where(apart, COIN, spreads)


def make_strata(
    classes: Ints, confidences: Floats, settle: float, n: int, apart: Flags | None = None
) -> Ints:
    """The stratum of each task, from 0: decided class by band of confidence.

    Classes too rare to be given a task in each band count as one. There are at most
    n / `PER_STRATUM` strata: the smallest are joined with a neighbouring band of the same class.
    Tasks set ``apart`` are the last stratum, if there are others and n is enough for two strata.

    >>> sure = np.array([0.99] * 50 + [0.6] * 50)
    >>> make_strata(np.array([0, 1] * 50), sure, 0.95, 20)[[0, 1, 98, 99]].tolist()
    [1, 3, 0, 2]
    """
    if apart is not None and apart.any() and not apart.all() and n >= 2 * PER_STRATUM:
        worth = task_worth(confidences, apart)
        due = round(n * float(worth[apart].sum() / worth.sum()))
        left = n - min(max(due, PER_STRATUM), n - PER_STRATUM)
        strata = np.empty(classes.size, np.int64)
        strata[~apart] = make_strata(classes[~apart], confidences[~apart], settle, left)
        strata[apart] = strata[~apart].max() + 1
        return strata
    names, codes = np.unique(classes, return_inverse=True)
    spreads = task_spreads(confidences)
    worth = sum_by(codes, spreads)
    places = np.where(worth * n < BANDS * worth.sum(), names.size, np.arange(names.size))
    bands = np.digitize(confidences, [min(DOUBTFUL, settle), settle])
    cells, members = np.unique(places[codes] * BANDS + bands, return_inverse=True)
    return _join(cells // BANDS, sum_by(members, spreads), n)[members]


def _join(classes: Ints, spreads: Floats, n: int) -> Ints:
    """The stratum of each cell: neighbours in the list are joined until few enough are left.

    Bands of one class go together before different classes do.
    """
    groups = [
        _Group(int(kind), int(kind), float(spread))
        for kind, spread in zip(classes, spreads, strict=True)
    ]
    cells = list(range(len(groups)))  # where each group begins
    most, worthy = max(n // PER_STRATUM, 1), WORTHY * float(spreads.sum()) / n
    while len(groups) > 1:
        least = min(range(len(groups)), key=lambda k: groups[k].spread)
        one = groups[least]
        if len(groups) <= most and one.spread >= worthy:
            break
        sides = [side for side in (least - 1, least + 1) if 0 <= side < len(groups)]
        same = [k for k in sides if groups[k].first == groups[k].last == one.first == one.last]
        other = min(same or sides, key=lambda k: groups[k].spread)
        left, right = sorted((least, other))
        spread = groups[left].spread + groups[right].spread
        groups[left] = _Group(groups[left].first, groups[right].last, spread)
        del groups[right], cells[right]
    places = np.zeros(classes.size, np.int64)
    places[cells[1:]] = 1
    return np.cumsum(places)


class _Group(NamedTuple):
    """Neighbouring cells: their first and last class, and the sum of their tasks' spreads."""

    first: int
    last: int
    spread: float


def allocate(sizes: Ints, spreads: Floats, n: int) -> Ints:
    """Share ``n`` checks out over strata: at least one each, never more than there are tasks.

    The rest is shared out in proportion to a stratum's summed spreads (Neyman's allocation), which
    makes the variance of the estimated share of errors the least.

    >>> allocate(np.array([900, 90, 10]), np.array([200.0, 40.0, 5.0]), 30).tolist()
    [24, 5, 1]
    """
    if n >= sizes.sum():
        return sizes.copy()
    found = np.ones(sizes.size, np.int64)
    for _ in range(n - sizes.size):  # one by one to whom the most is due: Webster's method
        due = np.where(found < sizes, spreads / (found + 0.5), -1.0)
        found[np.argmax(due)] += 1
    return found


def draw(members: Ints, classes: Ints, n: int, rng: np.random.Generator) -> Ints:
    """n members of a stratum, each with the same chance, spread over its classes.

    In the order of their classes, and at random within each, every (size / n)-th is drawn from a
    random start; the order that they come back in is random.

    >>> rng = np.random.default_rng(0)
    >>> sorted((draw(np.arange(10), np.arange(10) % 5, 5, rng) % 5).tolist())
    [0, 1, 2, 3, 4]
    """
    shuffled = rng.permutation(members)
    ordered = shuffled[np.argsort(classes[shuffled], kind="stable")]
    step = members.size / n
    places = np.floor((rng.random() + np.arange(n)) * step).astype(np.int64)
    return rng.permutation(ordered[np.minimum(places, members.size - 1)])


class Share(NamedTuple):
    """An estimated share with its limits."""

    value: float
    low: float
    high: float


def stratified_share(sizes: Ints | Floats, checked: Ints, wrong: Ints, z: float = Z95) -> Share:
    """The share of all tasks that are wrong, from those checked in each stratum.

    The estimate weights strata by their sizes and is unbiased. The interval is Wilson's, of as many
    tasks drawn from all as would have the same variance; in the variance each stratum counts
    `PSEUDO` answers more. A stratum without an answer is taken to be like the others.

    >>> share = stratified_share(np.array([900, 100]), np.array([20, 10]), np.array([1, 4]))
    >>> [round(number, 3) for number in share]
    [0.085, 0.029, 0.223]
    """
    some = checked > 0
    sizes, checked, wrong = sizes[some], checked[some], wrong[some]
    weights = sizes / sizes.sum()
    value = float(weights @ (wrong / checked))
    overall = (wrong.sum() + 0.5) / (checked.sum() + 1.0)
    smooth = (wrong + PSEUDO * overall) / (checked + PSEUDO)
    left = 1.0 - checked / np.maximum(sizes, checked)
    variance = float(weights**2 @ (smooth * (1.0 - smooth) / checked * left))
    if variance == 0.0:  # all were checked
        return Share(value, value, value)
    middle = float(weights @ smooth)
    worth = middle * (1.0 - middle) / variance
    low, high = wilson(value * worth, worth, z)
    return Share(value, max(float(low), 0.0), min(float(high), 1.0))
