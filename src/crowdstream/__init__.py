"""A consensus engine for label streams: whom to trust, what is true, how sure."""

from crowdstream.decisions import Decision, decide
from crowdstream.engine import Stream
from crowdstream.errors import CrowdstreamError, InputError, MergeError, StateError
from crowdstream.estimators import (
    AgreementBased,
    Estimator,
    Identifiability,
    MajorityVote,
    Vote,
    load,
)
from crowdstream.labels import Label

__version__ = "0.1.0"
__all__ = [
    "AgreementBased",
    "CrowdstreamError",
    "Decision",
    "Estimator",
    "Identifiability",
    "InputError",
    "Label",
    "MajorityVote",
    "MergeError",
    "StateError",
    "Stream",
    "Vote",
    "decide",
    "load",
]
