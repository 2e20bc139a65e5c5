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
from crowdstream.labels import Answers, ClassLabel, Intake, Label, LabellerId, TaskId

__version__ = "0.1.0"
__all__ = [
    "AgreementBased",
    "Answers",
    "ClassLabel",
    "CrowdstreamError",
    "Decision",
    "Estimator",
    "Identifiability",
    "InputError",
    "Intake",
    "Label",
    "LabellerId",
    "MajorityVote",
    "MergeError",
    "StateError",
    "Stream",
    "TaskId",
    "Vote",
    "decide",
    "load",
]
