"""A consensus engine for label streams: whom to trust, what is true, how sure.

Names are loaded when first used, so that a command that only prints its help starts at once. Their
types are in ``__init__.pyi``.
"""

import importlib

__version__ = "0.1.0"

_NAMES = {
    "checks": "check_estimator",
    "client": "AsyncClient Client",
    "decisions.decision": "Decision",
    "errors": "AnswerRateInDoubt CrowdstreamError InputError ManyClasses MergeError "
    "NotIdentifiable OddLabels ServerError StateError SureInDoubt UsageError",
    "estimators": "Adaptive AgreementBased CentredAgreement DictEstimator Estimator "
    "Identifiability MajorityVote",
    "gold_plan": "GoldCheck fooled_limit gold_check gold_needed gold_power gold_to_detect",
    "panel.specialists": "ByGroup by_group",
    "labels": "Answers ClassLabel Intake Label TaskId WorkerId",
    "labels.cleaning": "normalise_labels",
    "labels.reading": "read_labels",
    "metrics": "",
    "monitoring": "DriftAlarm IdentifiabilityReport alarms difficulty effective_votes families "
    "identifiability monitor pairs suspect_tasks trends",
    "ordinal": "expected_steps ordinal_decisions",
    "panel": "EffectiveJudges Gate GateCheck Jury Preferences RunComparison compare_runs "
    "effective_judges error_correlation gate jury preferences",
    "panel.against_gold": "JudgesOnGold judges_against_gold",
    "panel.agreement": "AgreementReport agreement agreement_by_question",
    "parallel": "set_threads",
    "questions": "Questions fit_questions",
    "rates": "Rate Rates gold_for_width rate",
    "report.charts": "",
    "report.making": "Report make_report",
    "simulation": "simulate simulate_blocks",
    "stopping": "information labels_needed",
    "stream": "Stream load",
    "writers": "",
}
"""The public names by their module; a module without names is public itself."""

_HOME = {
    name: module
    for module, names in _NAMES.items()
    for name in names.split() or [module.rpartition(".")[2]]
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'crowdstream' has no attribute {name!r}")
    module = importlib.import_module(f"crowdstream.{_HOME[name]}")
    found = module if not _NAMES[_HOME[name]] else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
