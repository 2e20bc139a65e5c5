"""What the log says: the calls that were made of a stream, in order, with the times they used.

To make the same calls again is to have the same stream again, to the bit. Knows neither files nor
requests. A label that came too late is in the log too, and is not replayed: it changed nothing.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from crowdstream.labels import ClassLabel

Row: TypeAlias = tuple[str, str, ClassLabel | None]
"""Task, worker and label; a label of ``None`` is a skip."""


class Labels(msgspec.Struct, tag="l", array_like=True):
    """`Stream.observe_many`; or `Stream.observe`, if it was one label."""

    at: float
    rows: list[Row]
    one: bool = False


class Late(msgspec.Struct, tag="x", array_like=True):
    """Labels for tasks that had closed."""

    at: float
    rows: list[Row]


class Retract(msgspec.Struct, tag="r", array_like=True):
    """`Stream.retract`."""

    at: float
    task: str
    worker: str


class Gold(msgspec.Struct, tag="g", array_like=True):
    """`Stream.gold`; ``late``: its task had closed, and it only says how right decisions are.

    ``check``: whether the decision before it was wrong, and how sure it was.
    """

    at: float
    task: str
    label: ClassLabel
    late: bool = False
    check: tuple[bool, float] | None = None


class Close(msgspec.Struct, tag="c", array_like=True):
    """`Stream.close`."""

    at: float
    task: str


class Offer(msgspec.Struct, tag="o", array_like=True):
    """`Stream.offer`."""

    at: float
    tasks: list[str]


class Expire(msgspec.Struct, tag="e", array_like=True):
    """`Stream.expire`, where it closed something."""

    at: float


class Rules(msgspec.Struct, tag="s", array_like=True):
    """New settings, as the project's; what is learnt is not changed by them."""

    at: float
    settings: bytes


Event: TypeAlias = Labels | Late | Retract | Gold | Close | Offer | Expire | Rules

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Event])


def pack(events: list[Event]) -> bytes:
    """Events as they are in the log."""
    return _encoder.encode(events)


def unpack(data: bytes) -> list[Event]:
    """The events that `pack` packed.

    >>> unpack(pack([Close(0.0, "t1")]))
    [Close(at=0.0, task='t1')]
    """
    return _decoder.decode(data)


def needle(name: str) -> bytes:
    """Bytes that are in the log wherever this task or worker is: to look without unpacking."""
    return _encoder.encode(name)


def votes_in(events: list[Event], task: str) -> list[tuple[str, ClassLabel | None, float]]:
    """Worker, label and time of what was said of a task; ``None`` took it back."""
    found: list[tuple[str, ClassLabel | None, float]] = []
    for event in events:
        if isinstance(event, Labels):
            found += [(who, label, event.at) for name, who, label in event.rows if name == task]
        elif isinstance(event, Retract) and event.task == task:
            found.append((event.worker, None, event.at))
    return found


def answers_in(events: list[Event], worker: str) -> list[tuple[str, ClassLabel | None, float]]:
    """Task, label and time of what a worker said."""
    return [
        (task, label, event.at)
        for event in events
        if isinstance(event, Labels)
        for task, who, label in event.rows
        if who == worker
    ]
