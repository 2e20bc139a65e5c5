"""Whom to trust: estimators of labellers' error rates, one file each."""

from crowdstream.estimators.agreement_based import AgreementBased
from crowdstream.estimators.base import Estimator, Identifiability, Vote, load
from crowdstream.estimators.centred_agreement import CentredAgreement
from crowdstream.estimators.majority_vote import MajorityVote
from crowdstream.estimators.soft import Adaptive, StreamingDawidSkene

__all__ = [
    "Adaptive",
    "AgreementBased",
    "CentredAgreement",
    "Estimator",
    "Identifiability",
    "MajorityVote",
    "StreamingDawidSkene",
    "Vote",
    "load",
]
