"""Whom to trust: estimators of workers' error rates, one file each."""

from crowdstream.estimators.adaptive import Adaptive
from crowdstream.estimators.agreement_based import AgreementBased
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.centred_agreement import CentredAgreement
from crowdstream.estimators.dict_estimator import DictEstimator
from crowdstream.estimators.majority_vote import MajorityVote
from crowdstream.estimators.state import Identifiability
from crowdstream.estimators.tracking import Tracking

__all__ = [
    "Adaptive",
    "AgreementBased",
    "CentredAgreement",
    "DictEstimator",
    "Estimator",
    "Identifiability",
    "MajorityVote",
    "Tracking",
]
