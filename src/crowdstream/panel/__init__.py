"""Panels of judges, such as language models: what they say together, and what that is worth."""

from crowdstream.panel.effective import effective_judges, error_correlation
from crowdstream.panel.gate import gate
from crowdstream.panel.jury import jury
from crowdstream.panel.preferences import Preferences, preferences
from crowdstream.panel.report import EffectiveJudges, Estimate, Jury, ToCheck
from crowdstream.panel.run_changes import RunComparison, compare_runs
from crowdstream.statements.gating import Gate, GateCheck

__all__ = [
    "EffectiveJudges",
    "Estimate",
    "Gate",
    "GateCheck",
    "Jury",
    "Preferences",
    "RunComparison",
    "ToCheck",
    "compare_runs",
    "effective_judges",
    "error_correlation",
    "gate",
    "jury",
    "preferences",
]
