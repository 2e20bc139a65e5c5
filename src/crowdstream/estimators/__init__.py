"""Whom to trust: estimators of workers' error rates, one file each, and every verb they have."""

from crowdstream.estimators.adaptive import Adaptive
from crowdstream.estimators.agreement_based import AgreementBased
from crowdstream.estimators.centred_agreement import CentredAgreement
from crowdstream.estimators.dict_estimator import DictEstimator
from crowdstream.estimators.estimator import Estimator
from crowdstream.estimators.majority_vote import MajorityVote
from crowdstream.estimators.state import Identifiability

# Hands in the observers that every estimator has; what is imported above knows nothing of them.
import crowdstream.monitoring  # isort: skip  # noqa: F401

__all__ = [
    "Adaptive",
    "AgreementBased",
    "CentredAgreement",
    "DictEstimator",
    "Estimator",
    "Identifiability",
    "MajorityVote",
]
