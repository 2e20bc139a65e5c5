"""One task's scores → the winning class, how sure, and ties. Knows nothing of who voted.

A class's score is its log-odds up to a constant: the sum of the weights of those who chose it,
0 for a class that nobody chose. Where no weights are known, ``log(1 + votes)`` is the score, so
that the posterior is the vote's share by the rule of succession, ``(votes + 1)/(m + K)``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numba import njit
from numpy.typing import NDArray

from crowdstream.labels import ClassLabel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

Ties: TypeAlias = Literal["coin", "lowest"]

NO_KEYS: Keys = np.empty(0, np.uint64)

TIE = 1e-9
"""Scores this close, a vote, are a tie: well above rounding (1e-15) and the solver's 1e-12, well
below any difference that means something."""


def class_keys(classes: Iterable[ClassLabel], ties: Ties, known: Keys = NO_KEYS) -> Keys:
    """What ties are broken by: a number a class that does not depend on the order of arrival.

    For the coin a hash of the class, so that two runs that met the classes in different order
    throw the same coin; for the rule its rank (booleans, then integers, then strings). ``known``
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


@njit(cache=True, nogil=True)
def mix(value: np.uint64) -> np.uint64:
    """A bijection of 64 bits that scatters them (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def toss(seed: np.uint64, place: int) -> np.uint64:
    """The coin of the task at this place in the stream."""
    return mix(seed + np.uint64(place) * np.uint64(0x9E3779B97F4A7C15))


@njit(cache=True, nogil=True, error_model="numpy")
def choose(
    scores: Floats,
    votes: Ints,
    voted: Ints,
    n_voted: int,
    known: int,
    m: int,
    keys: Keys,
    fair: bool,
    coin: np.uint64,
) -> tuple[int, float, float]:
    """The winner, its posterior probability, and the margin to the runner-up's.

    ``voted[:n_voted]`` are the classes with votes, ``scores`` is read there only; the ``known``
    first classes may win without a vote, with a score of 0. ``m`` is the number of votes.
    """
    silent = known
    for k in range(n_voted):
        if voted[k] < known:
            silent -= 1
    best = 0.0 if silent > 0 else -np.inf
    for k in range(n_voted):
        best = max(best, scores[voted[k]])
    close = best - TIE * m
    silent_tied = silent > 0 and close <= 0.0

    tied = silent if silent_tied else 0
    second = -np.inf if silent_tied or silent == 0 else 0.0
    mass = silent * np.exp(-best) if silent > 0 else 0.0
    for k in range(n_voted):
        score = scores[voted[k]]
        mass += 1.0 if score == best else np.exp(score - best)
        if score >= close:
            tied += 1
        else:
            second = max(second, score)
    if silent + n_voted < 2:
        # One class is all that was ever named: leave room for another, or one vote were certain.
        mass += np.exp(-best)
        second = 0.0
    confidence = 1.0 / mass
    margin = 0.0 if tied > 1 else (1.0 - np.exp(second - best)) * confidence

    winner = -1
    least = np.uint64(0)
    for k in range(n_voted + (known if silent_tied else 0)):
        c = voted[k] if k < n_voted else k - n_voted
        if (votes[c] == 0) if k >= n_voted else (scores[c] >= close):
            key = mix(keys[c] ^ coin) if fair else keys[c]
            if winner < 0 or key < least:
                winner, least = c, key
    return winner, confidence, margin
