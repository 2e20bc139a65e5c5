"""Scores → winners and how sure they are: in one place for tables and single tasks.

A class's score is its log-odds up to a constant. Without weights it is ``log(1 + votes)``, so that
the posterior is the vote's share by the rule of succession, ``(votes + 1)/(m + K)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import vote_loops
from crowdstream.decisions.decision import Votes
from crowdstream.decisions.ties import NO_KEYS, Keys, class_keys, toss
from crowdstream.errors import InputError
from crowdstream.labels import UNKNOWN, Vocabulary
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.folding import mix
from crowdstream.models.scorer import CELLS, Scorer
from crowdstream.parallel import parts_of, side_by_side
from crowdstream.sums.rows import TIE

Floats = NDArray[np.float64]

MOST_CELLS = 100_000_000
"""Probabilities that are given at once: 0.8 GB."""


class TieRule(NamedTuple):
    """Rule that breaks ties: the classes' keys, and a coin (of this seed) or none.

    Where classes share places, ``classes`` are they and there are no keys: too many to make all.
    """

    keys: Keys
    coin: bool
    seed: int
    classes: Vocabulary | None = None


def score_in_parts(
    batch: LabelBatch, scorer: Scorer, classes: int, use: Callable[[int, int, Floats], None]
) -> None:
    """Score tasks side by side, a part at a time to bound memory; ``use`` gets each part's scores.

    ``classes``: how many there are to score.
    """
    step = max(CELLS // classes, 1)
    parts = parts_of(len(batch))

    def work(part: int) -> None:
        first, last = parts[part]
        scores = np.empty((min(step, last - first), classes))
        for at in range(first, last, step):
            end = min(at + step, last)
            scorer.score(batch.part(at, end), scores[: end - at])
            use(at, end, scores[: end - at])

    side_by_side(work, len(parts))


def decide(batch: LabelBatch, scorer: Scorer, named: int, ties: TieRule) -> Votes:
    """The winners among the first ``named`` classes."""
    votes = Votes.room(len(batch), scorer.identified)

    def use(first: int, last: int, scores: Floats) -> None:
        part = batch.part(first, last)
        choose(part, scores, votes.part(first, last), named, ties, scorer.rho)

    score_in_parts(batch, scorer, max(named, 2), use)
    calibrate(scorer, votes)
    return votes


def calibrate(scorer: Scorer, votes: Votes) -> None:
    """Correct the confidences by known truths; a task without a winner has none."""
    if scorer.calibrate is not None:
        decided = votes.winners != UNKNOWN
        before = votes.confidences[decided]
        after = scorer.calibrate(before)
        votes.confidences[decided] = after
        votes.margins[decided] *= np.minimum(after / np.maximum(before, 1e-300), 1.0)


def choose(
    batch: LabelBatch, scores: Floats, votes: Votes, named: int, ties: TieRule, rho: float
) -> None:
    """Fill in the winners by these scores; coins are tossed for tied tasks only."""
    if ties.classes is not None:
        choose_named(batch, scores, votes, ties, ties.classes, rho)
        return
    tied = vote_loops.choose(batch.coded, scores, named, rho, ties.keys, NO_KEYS, votes)
    if not tied or not ties.coin:
        return
    which = np.flatnonzero((votes.margins == 0.0) & (votes.winners >= 0))
    again = batch.pick(which)
    room = Votes.room(which.size, votes.identified)
    coins = toss(again, ties.seed)
    vote_loops.choose(again.coded, scores[which], named, rho, ties.keys, coins, room)
    votes.winners[which] = room.winners


def choose_named(
    batch: LabelBatch, scores: Floats, votes: Votes, ties: TieRule, classes: Vocabulary, rho: float
) -> None:
    """Decide where classes share places: winners are classes that the task's labels name.

    A place where the task has no class is given less than the best that is named: there is no
    class to decide for.
    """
    first, sizes = batch.starts[0], batch.sizes
    task = np.repeat(np.arange(len(batch)), sizes)
    places, said = (x[first : batch.starts[-1]] for x in (batch.labels, batch.said))
    some = np.flatnonzero(sizes)
    best, own = np.zeros(len(batch)), scores[task, places]
    if some.size:
        best[some] = np.maximum.reduceat(own, batch.starts[some] - first)
    close = best - TIE * sizes
    named = np.zeros(scores.shape, np.bool_)
    named[task, places] = True
    kept = np.where(named, scores, np.minimum(scores, (close - TIE * sizes)[:, None]))
    keys: Keys = np.arange(scores.shape[1], dtype=np.uint64)
    vote_loops.choose(batch.coded, kept, keys.size, rho, keys, NO_KEYS, votes)
    won = np.flatnonzero(votes.winners[task] == places)
    votes.winners[task[won]] = said[won]
    tied = np.zeros(len(batch), np.bool_)
    tied[some] = votes.margins[some] == 0.0
    ahead = np.flatnonzero(tied[task] & (own >= close[task]))
    if not ahead.size:
        return
    codes, which = np.unique(said[ahead], return_inverse=True)
    order = class_keys(
        [classes[code] for code in codes.tolist()], "coin" if ties.coin else "lowest"
    )
    found = order[which.ravel()]
    if ties.coin:
        coins = np.zeros(len(batch), np.uint64)
        coins[tied] = toss(batch.pick(np.flatnonzero(tied)), ties.seed)
        found = mix(found ^ coins[task[ahead]])
    ahead = ahead[np.lexsort((found, task[ahead]))]
    tasks, at = np.unique(task[ahead], return_index=True)
    votes.winners[tasks] = said[ahead[at]]


def posteriors(batch: LabelBatch, scorer: Scorer, named: int, places: int) -> Floats:
    """One row per task: the probability of each of the ``named`` classes, in so many places."""
    found = np.empty((len(batch), named))

    def use(first: int, last: int, scores: Floats) -> None:
        sizes = np.diff(batch.starts[first : last + 1])
        part = posteriors_by(scores, sizes, scorer, places)
        if places < named:
            part = by_class(batch.part(first, last), part, named)
        found[first:last] = part

    if named:
        score_in_parts(batch, scorer, max(places, 2), use)
    return found


def check_cells(what: str, tasks: int, classes: int) -> None:
    """Refuse a table of one column per class that no memory holds."""
    if tasks * classes > MOST_CELLS:
        size = f"{tasks:,} tasks × {classes:,} classes"
        raise InputError(what, f"at most {MOST_CELLS:,} tasks × classes at a time", size)


def by_class(batch: LabelBatch, posteriors: Floats, named: int) -> Floats:
    """Posteriors of classes from those of the places they share.

    A class that a task's labels name has its place's; the others share the rest evenly.
    """
    first, sizes = batch.starts[0], batch.sizes
    task = np.repeat(np.arange(len(batch)), sizes)
    places, said = (x[first : batch.starts[-1]] for x in (batch.labels, batch.said))
    given = np.full((len(batch), named), np.nan)
    given[task, said] = posteriors[task, places]
    rest = np.isnan(given)
    left = np.maximum(1.0 - np.nansum(given, axis=1), 0.0) / np.maximum(rest.sum(axis=1), 1)
    return np.where(rest, left[:, None], given)


def posteriors_by(scores: Floats, sizes: NDArray[np.int64], scorer: Scorer, named: int) -> Floats:
    """softmax(scores/(1 + (m − 1) ρ)), the winner's share corrected by known truths."""
    scale = 1.0 + np.maximum(sizes - 1, 0) * scorer.rho
    odds = (scores[:, :named] - scores[:, :named].max(axis=1, keepdims=True)) / scale[:, None]
    np.exp(odds, out=odds)
    found: Floats = odds / odds.sum(axis=1, keepdims=True)
    if scorer.calibrate is not None and named > 1:
        rows, best = np.arange(len(found)), found.argmax(axis=1)
        before = found[rows, best]
        sure = np.maximum(scorer.calibrate(before), 1 / named)
        found *= ((1 - sure) / np.maximum(1 - before, 1e-300))[:, None]
        found[rows, best] = sure
        found = np.minimum(found, sure[:, None])  # the winner stays ahead
        found /= found.sum(axis=1, keepdims=True)
    return found
