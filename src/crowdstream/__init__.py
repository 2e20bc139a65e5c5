"""A consensus engine for label streams: whom to trust, what is true, how sure.

Names are loaded when first used, so that a command that only prints its help starts at once.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crowdstream import metrics
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
        OpenTask,
        Tracking,
        Vote,
        load,
    )
    from crowdstream.labels import Answers, ClassLabel, Intake, Label, TaskId, WorkerId
    from crowdstream.monitoring import (
        DriftAlarm,
        IdentifiabilityReport,
        alarms,
        difficulty,
        effective_votes,
        families,
        identifiability,
        monitor,
        pairs,
        trends,
    )
    from crowdstream.science import baselines, datasets, theory
    from crowdstream.science.simulate import simulate, simulate_blocks
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
    "DriftAlarm",
    "Estimator",
    "Identifiability",
    "IdentifiabilityReport",
    "InputError",
    "Intake",
    "Label",
    "MajorityVote",
    "MergeError",
    "NotIdentifiable",
    "OpenTask",
    "StateError",
    "Stream",
    "TaskId",
    "Tracking",
    "Vote",
    "WorkerId",
    "alarms",
    "baselines",
    "datasets",
    "decide",
    "difficulty",
    "effective_votes",
    "families",
    "identifiability",
    "information",
    "labels_needed",
    "load",
    "metrics",
    "monitor",
    "pairs",
    "simulate",
    "simulate_blocks",
    "theory",
    "trends",
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
        "OpenTask",
        "Tracking",
        "Vote",
        "load",
    ),
    "labels": ("Answers", "ClassLabel", "Intake", "Label", "WorkerId", "TaskId"),
    "monitoring": (
        "DriftAlarm",
        "IdentifiabilityReport",
        "alarms",
        "difficulty",
        "effective_votes",
        "families",
        "identifiability",
        "monitor",
        "pairs",
        "trends",
    ),
    "metrics": ("metrics",),
    "science": ("baselines", "datasets", "theory"),
    "science.simulate": ("simulate", "simulate_blocks"),
    "stopping": ("information", "labels_needed"),
    "stream": ("Stream",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


if not TYPE_CHECKING:  # or any name at all would pass for one of ours

    def __getattr__(name: str) -> object:
        room = _HOME.get(name)
        if room is None:
            raise AttributeError(f"module 'crowdstream' has no attribute {name!r}")
        if room == "estimators":  # intervals go along with estimators made from here on
            importlib.import_module("crowdstream.monitoring")
        home = importlib.import_module(f"crowdstream.{room}")
        if room == name:  # a module that is public as it is
            return home
        if not hasattr(home, name):  # a room of its own
            importlib.import_module(f"{home.__name__}.{name}")
        found = getattr(home, name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
