"""A consensus engine for label streams: whom to trust, what is true, how sure.

Names are loaded when first used, so that a command that only prints its help starts at once.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crowdstream.decisions import Decision, decide
    from crowdstream.errors import (
        CrowdstreamError,
        InputError,
        MergeError,
        NotIdentifiable,
        StateError,
    )
    from crowdstream.estimators import (
        Adaptive,
        AgreementBased,
        CentredAgreement,
        Estimator,
        Identifiability,
        MajorityVote,
        Vote,
        load,
    )
    from crowdstream.labels import Answers, ClassLabel, Intake, Label, LabellerId, TaskId
    from crowdstream.science import baselines, calibration, datasets, theory
    from crowdstream.science.simulate import simulate
    from crowdstream.stopping import information, labels_needed
    from crowdstream.stream import Stream

__version__ = "0.1.0"
__all__ = [
    "Adaptive",
    "AgreementBased",
    "Answers",
    "CentredAgreement",
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
    "NotIdentifiable",
    "StateError",
    "Stream",
    "TaskId",
    "Vote",
    "baselines",
    "calibration",
    "datasets",
    "decide",
    "information",
    "labels_needed",
    "load",
    "simulate",
    "theory",
]

_ROOMS = {
    "decisions": ("Decision", "decide"),
    "errors": ("CrowdstreamError", "InputError", "MergeError", "NotIdentifiable", "StateError"),
    "estimators": (
        "Adaptive",
        "AgreementBased",
        "CentredAgreement",
        "Estimator",
        "Identifiability",
        "MajorityVote",
            "Vote",
        "load",
    ),
    "labels": ("Answers", "ClassLabel", "Intake", "Label", "LabellerId", "TaskId"),
    "science": ("baselines", "calibration", "datasets", "theory"),
    "science.simulate": ("simulate",),
    "stopping": ("information", "labels_needed"),
    "stream": ("Stream",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


if not TYPE_CHECKING:  # or any name at all would pass for one of ours

    def __getattr__(name: str) -> object:
        room = _HOME.get(name)
        if room is None:
            raise AttributeError(f"module 'crowdstream' has no attribute {name!r}")
        home = importlib.import_module(f"crowdstream.{room}")
        if not hasattr(home, name):  # a room of its own
            importlib.import_module(f"{home.__name__}.{name}")
        found = getattr(home, name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
