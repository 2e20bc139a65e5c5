"""The tie coin: classes that are tied for a task, and which of them wins.

The coin belongs to the task's name and the classes' names, so that neither the order of arrival
nor the place of a task in it has a part in who wins; a task without a name has one made of its
answers. `vote_loops.choose` compares the keys.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.labels import ClassLabel, TaskId, WorkerId
from crowdstream.labels.batch import LabelBatch

Keys = NDArray[np.uint64]

Ties: TypeAlias = Literal["coin", "lowest"]
"""Ways to break ties."""

NO_KEYS: Keys = np.empty(0, np.uint64)

GOLDEN = 0x9E3779B97F4A7C15
"""2⁶⁴ over the golden ratio: multiples of it are spread evenly."""


def coin_of(task: TaskId | bytes, seed: int) -> int:
    """A task's coin: 64 bits made of its name."""
    return zlib.crc32(msgspec.msgpack.encode(task)) * GOLDEN % 2**64 ^ seed


def coin_name(answers: Iterable[tuple[WorkerId, ClassLabel]]) -> bytes:
    """Return what stands for the name of a task without one: its answers, in whatever order.

    >>> coin_name([("ann", 1), ("bob", 2)]) == coin_name([("bob", 2), ("ann", 1)])
    True
    """
    return b"".join(sorted(msgspec.msgpack.encode(answer) for answer in answers))


def toss(batch: LabelBatch, seed: int) -> Keys:
    """One coin per task; tasks without a name share one."""
    names = batch.tasks if len(batch.tasks) else [b""] * len(batch)
    return np.array([coin_of(name, seed) for name in names], np.uint64)


def class_keys(classes: Iterable[ClassLabel], ties: Ties, known: Keys = NO_KEYS) -> Keys:
    """One number per class by which ties are broken, whatever the order of arrival.

    For a coin a hash of the class; for the rule its rank (booleans, then integers, then strings).
    ``known`` are the keys of the first classes, where they were asked for before.
    """
    values = list(classes)
    if ties == "coin":
        digests = [
            hashlib.blake2b(msgspec.msgpack.encode(value), digest_size=8).digest()
            for value in values[known.size :]
        ]
        more = np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)
        return np.concatenate([known, more])
    kinds = {bool: 0, int: 1, str: 2}
    order = sorted(range(len(values)), key=lambda code: (kinds[type(values[code])], values[code]))
    keys = np.empty(len(values), np.uint64)
    keys[order] = np.arange(len(values), dtype=np.uint64)
    return keys
