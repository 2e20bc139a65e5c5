"""State files: what an estimator or a stream has learnt, loaded by path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.errors import InputError, StateError

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator
    from crowdstream.stream import Stream


def load_estimator(path: str) -> Estimator:
    """The estimator in a state file, saved by itself or as part of a stream."""
    from crowdstream.stream import Stream

    found = _load(path)
    return found.crowd if isinstance(found, Stream) else found


def load_stream(path: str) -> Stream:
    """The stream in a state file."""
    from crowdstream.stream import Stream

    found = _load(path)
    if not isinstance(found, Stream):
        raise StateError(f"{path}: expected a saved stream, found a saved estimator")
    return found


def _load(path: str) -> Estimator | Stream:
    import crowdstream as cs

    if not Path(path).is_file():
        raise InputError(path, "a state file that can be read", "no such file")
    return cs.load(path)
