"""From options to an estimator, and states in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.errors import InputError, StateError

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator

METHODS = ("agreement", "majority")


def make_crowd(
    method: str, forget: float | None, answer_rate: float | None, seed: int
) -> Estimator:
    """The estimator that the options ask for."""
    from crowdstream.estimators import AgreementBased, MajorityVote

    if method not in METHODS:
        raise InputError("--method", " or ".join(METHODS), repr(method))
    if forget is not None and not forget > 1:
        raise InputError("--forget", "a number of tasks above 1", repr(forget))
    if method == "majority":
        if forget is not None or answer_rate is not None:
            option = "--forget" if forget is not None else "--answer-rate"
            raise InputError(option, "--method agreement", "majority, which learns nothing")
        return MajorityVote(seed=seed)
    forgetting = 0.0 if forget is None else 1.0 / forget
    return AgreementBased(answer_rate=answer_rate, forgetting=forgetting, seed=seed)


def load_crowd(path: str) -> Estimator:
    """The estimator in a state file, saved by itself or within a stream."""
    from crowdstream.engine import Stream
    from crowdstream.estimators import load

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(path, "a state file that can be read", str(error)) from None
    try:
        return load(data)
    except StateError as error:
        if "found a saved stream" in str(error):
            return Stream.restore(data).crowd
        raise StateError(f"{path}: {error}") from None
