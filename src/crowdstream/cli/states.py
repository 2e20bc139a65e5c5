"""State files: what an estimator or a stream has learnt, saved and loaded by path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.cli.output import save_bytes
from crowdstream.errors import InputError, StateError

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator
    from crowdstream.stream import Stream


def save_estimator(path: str, estimator: Estimator) -> None:
    """Save an estimator, whole or not at all."""
    save_bytes(path, estimator.to_bytes())


def load_estimator(path: str) -> Estimator:
    """The estimator in a state file, saved by itself or as part of a stream."""
    from crowdstream import monitoring  # noqa: F401  (states may have monitors along)
    from crowdstream.estimators import load
    from crowdstream.stream import Stream

    data = _read(path)
    try:
        return load(data)
    except StateError as error:
        if "found a saved stream" in str(error):
            return Stream.restore(data).crowd
        raise StateError(f"{path}: {error}") from None


def save_stream(path: str, stream: Stream) -> None:
    """Save a stream with its open tasks, whole or not at all."""
    save_bytes(path, stream.snapshot())


def load_stream(path: str) -> Stream:
    """The stream in a state file."""
    from crowdstream import monitoring  # noqa: F401
    from crowdstream.stream import Stream

    data = _read(path)
    try:
        return Stream.restore(data)
    except StateError as error:
        raise StateError(f"{path}: {error}") from None


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(path, "a state file that can be read", str(error)) from None
