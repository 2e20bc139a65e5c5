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


def load_run(path: str) -> Estimator:
    """The estimator in a state file of runs; that of a stream has open tasks too."""
    from crowdstream.stream import Stream

    found = _load(path)
    if isinstance(found, Stream):
        expected = "a state of crowdstream run"
        how = f"that of a stream; crowdstream merge {path} -o FILE keeps what it learnt"
        raise InputError(path, expected, how)
    return found


def check_method(path: str, saved: Estimator, wanted: Estimator) -> None:
    """Refuse to go on from what another method learnt, or the same with other settings."""
    if type(saved) is not type(wanted) or saved.get_params() != wanted.get_params():
        raise InputError(path, f"a state of {wanted!r}", repr(saved))


def load_stream(path: str) -> Stream:
    """The stream in a state file."""
    from crowdstream.stream import Stream

    found = _load(path)
    if not isinstance(found, Stream):
        raise StateError(f"{path}: expected a state of crowdstream stream, found that of a run")
    return found


def _load(path: str) -> Estimator | Stream:
    import crowdstream as cs

    if not Path(path).is_file():
        what = "none" if Path(path).exists() else "no such file"
        raise InputError(path, "a state file that can be read", what)
    return cs.load(path)
