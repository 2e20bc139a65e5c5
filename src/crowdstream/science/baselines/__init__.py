"""What the estimators are measured against, from counting heads to knowing the truth.

Each takes what the estimators take and gives the same table of decisions.
"""

from crowdstream.estimators import MajorityVote
from crowdstream.science.baselines.common import expected_error
from crowdstream.science.baselines.dawid_skene import DawidSkene
from crowdstream.science.baselines.oracle_estimator import OracleEstimator
from crowdstream.science.baselines.oracle_vote import OracleVote

__all__ = ["DawidSkene", "MajorityVote", "OracleEstimator", "OracleVote", "expected_error"]
