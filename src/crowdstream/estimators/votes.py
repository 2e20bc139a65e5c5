"""Scores → winners, how sure, and ties: in one place for tables and single tasks.

A class's score is its log-odds up to a constant. Without weights it is ``log(1 + votes)``, so that
the posterior is the vote's share by the rule of succession, ``(votes + 1)/(m + K)``.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.estimators import vote_loops
from crowdstream.labels import ClassLabel
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.sums.parallel import parts_of, side_by_side

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

Ties: TypeAlias = Literal["coin", "lowest"]

NO_KEYS: Keys = np.empty(0, np.uint64)

TIE = 1e-9
"""Scores this close, a vote, are a tie: well above rounding (1e-15) and the solver's 1e-12, well
below any difference that means something."""

CELLS = 1 << 20
"""Scores that are in memory at once, per thread."""


class Votes(NamedTuple):
    """Decisions in codes: winner (−1 without a label), confidence, margin, one each per task.

    ``identified``: whether the votes were weighed, or it was a majority vote.
    """

    winners: Codes
    confidences: Floats
    margins: Floats
    identified: bool

    @classmethod
    def room(cls, tasks: int, identified: bool = True) -> Votes:
        """For so many, to be filled in."""
        return cls(np.empty(tasks, np.int32), np.empty(tasks), np.empty(tasks), identified)

    def part(self, first: int, last: int) -> Votes:
        """Those on tasks ``first`` up to ``last``, to be filled in."""
        here = slice(first, last)
        return Votes(
            self.winners[here], self.confidences[here], self.margins[here], self.identified
        )


class Scorer(NamedTuple):
    """A way to score tasks, made ready once.

    ``score`` fills a row per task; ``rho`` is the correlation of errors within a task by which
    confidence is discounted; ``calibrate`` is how known truths bear confidences out.
    """

    score: Callable[[LabelBatch, Floats], None]
    identified: bool
    rho: float = 0.0
    calibrate: Callable[[Floats], Floats] | None = None


def decide(
    batch: LabelBatch, scorer: Scorer, named: int, keys: Keys, ties: Ties, seed: int
) -> Votes:
    """Decide tasks: side by side where there are many, a piece at a time to bound the memory."""
    classes = max(named, 2)
    step = max(CELLS // classes, 1)
    votes = Votes.room(len(batch), scorer.identified)
    parts = parts_of(len(batch))

    def work(k: int) -> None:
        first, last = parts[k]
        scores = np.empty((min(step, last - first), classes))
        for at in range(first, last, step):
            end = min(at + step, last)
            here = batch.part(at, end)
            scorer.score(here, scores[: end - at])
            room = votes.part(at, end)
            choose(here, scores[: end - at], room, named, keys, ties, seed, scorer.rho)

    side_by_side(work, len(parts))
    if scorer.calibrate is not None:
        votes.confidences[:] = scorer.calibrate(votes.confidences)
    return votes


def choose(
    batch: LabelBatch,
    scores: Floats,
    votes: Votes,
    named: int,
    keys: Keys,
    ties: Ties,
    seed: int,
    rho: float,
) -> None:
    """Fill in the decisions that scores make; coins are tossed for those tasks that need one."""
    tied = vote_loops.choose(batch.coded, scores, named, rho, keys, NO_KEYS, votes)
    if not tied or ties == "lowest":
        return
    which = np.flatnonzero((votes.margins == 0.0) & (votes.winners >= 0))
    again = batch.pick(which)
    room = Votes.room(which.size, votes.identified)
    coins = toss(again, seed)
    vote_loops.choose(again.coded, scores[which], named, rho, keys, coins, room)
    votes.winners[which] = room.winners


def toss(batch: LabelBatch, seed: int) -> Keys:
    """A coin per task: from its name, so that neither order nor place has a part in it."""
    names = batch.tasks if len(batch.tasks) else [b""] * len(batch)
    found = [zlib.crc32(msgspec.msgpack.encode(name)) for name in names]
    coins = np.array(found, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(coins ^ np.uint64(seed))


def class_keys(classes: Iterable[ClassLabel], ties: Ties, known: Keys = NO_KEYS) -> Keys:
    """What ties are broken by: a number per class that does not depend on the order of arrival.

    For the coin a hash of the class, so that two runs that met the classes in different order
    toss the same coin; for the rule its rank (booleans, then integers, then strings). ``known``
    are the keys of the first classes, where they were asked for before.
    """
    values = list(classes)
    if ties == "coin":
        digests = [
            hashlib.blake2b(msgspec.msgpack.encode(c), digest_size=8).digest()
            for c in values[known.size :]
        ]
        more = np.array([int.from_bytes(d, "little") for d in digests], np.uint64)
        return np.concatenate([known, more])
    kinds = {bool: 0, int: 1, str: 2}
    order = sorted(range(len(values)), key=lambda c: (kinds[type(values[c])], values[c]))
    keys = np.empty(len(values), np.uint64)
    keys[order] = np.arange(len(values), dtype=np.uint64)
    return keys


def check_ties(ties: object, seed: object) -> None:
    """Refuse what is not a way to break ties."""
    if ties not in ("coin", "lowest"):
        raise InputError("ties", "'coin' or 'lowest'", repr(ties))
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise InputError("seed", "an integer from 0 to 2**64 - 1", repr(seed))
