"""Whom to trust: estimators of labellers' error rates, one file each."""

from crowdstream.estimators.agreement_based import AgreementBased
from crowdstream.estimators.base import Estimator, Identifiability, Vote, load
from crowdstream.estimators.majority_vote import MajorityVote

__all__ = [
    "AgreementBased",
    "Estimator",
    "Identifiability",
    "MajorityVote",
    "Vote",
    "load",
]
