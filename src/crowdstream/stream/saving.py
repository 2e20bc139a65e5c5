"""A stream as bytes, and back: its crowd, rules, tasks and counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec
import numpy as np

from crowdstream.errors import StateError
from crowdstream.estimators import Estimator
from crowdstream.monitoring.difficulty import GRID
from crowdstream.serialization import join_arrays, read_state, seal, split_arrays, unseal

if TYPE_CHECKING:
    from crowdstream.stream.stream import Stream

SAVED_AS = "stream"

RULES = ("settle", "min_labels", "max_labels", "idle", "remember", "budget", "give_up")
"""What a stream is made with, beside its crowd."""

Kind = TypeVar("Kind", bound="Stream")


class _Saved(msgspec.Struct):
    """What a saved stream consists of, beside the columns of its tasks."""

    crowd: bytes
    rules: dict[str, float | int | None]
    tasks: list[str | int]
    counts: dict[str, int]
    opened: int
    now: float
    strengths: list[float]
    fit_due: int
    bookmark: bytes


def to_bytes(stream: Stream) -> bytes:
    """The whole stream."""
    names, columns = stream._store.pack()
    saved = _Saved(
        stream.crowd.to_bytes(),
        {name: _number(getattr(stream, name)) for name in RULES},
        names,
        msgspec.structs.asdict(stream.counts),
        stream._store.loops.opened,
        stream._now,
        stream._outlooks.strengths.tolist(),
        stream._outlooks.due,
        stream.bookmark,
    )
    return seal(SAVED_AS, *join_arrays(msgspec.msgpack.encode(saved), columns))


def load(kind: type[Kind], source: bytes | str | Path) -> Kind:
    """A stream as it was when it was saved."""
    try:
        head, columns = split_arrays(unseal(SAVED_AS, read_state(source)))
        saved = msgspec.msgpack.decode(head, type=_Saved)
    except msgspec.MsgspecError as error:
        raise StateError(f"not a saved stream: {error}") from None
    stream = kind(Estimator.load(saved.crowd), **saved.rules)  # type: ignore[arg-type]
    known = len(stream.crowd._workers), len(stream.crowd._classes)
    stream._store.unpack(saved.tasks, columns, *known)
    stream._store.loops.opened = saved.opened
    stream.counts = type(stream.counts)(**saved.counts)
    stream.bookmark = saved.bookmark
    stream._now = saved.now
    if len(saved.strengths) == GRID.size:
        stream._outlooks.strengths = np.array(saved.strengths)
        stream._outlooks.due = saved.fit_due
    return stream


def _number(value: float | np.generic | None) -> float | int | None:
    """A rule as it is saved: NumPy's scalars as Python's."""
    return cast("float", value.item()) if isinstance(value, np.generic) else value
