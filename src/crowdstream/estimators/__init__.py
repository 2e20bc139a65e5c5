"""Whom to trust: estimators of workers' error rates, one file each."""

from crowdstream.estimators.adaptive import Adaptive
from crowdstream.estimators.agreement_based import AgreementBased
from crowdstream.estimators.base import Estimator, Identifiability, Vote, load
from crowdstream.estimators.centred_agreement import CentredAgreement
from crowdstream.estimators.majority_vote import MajorityVote
from crowdstream.estimators.open_task import OpenTask

__all__ = [
    "Adaptive",
    "AgreementBased",
    "CentredAgreement",
    "Estimator",
    "Identifiability",
    "MajorityVote",
    "OpenTask",
    "Vote",
    "load",
]
