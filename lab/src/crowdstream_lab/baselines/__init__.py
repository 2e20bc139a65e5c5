"""What the estimators are measured against, from majority vote to knowing the truth.

Each takes what the estimators take and gives the same table of decisions.
"""

from crowdstream.estimators import MajorityVote
from crowdstream.science.baselines.bcc import BCC
from crowdstream.science.baselines.catd import CATD
from crowdstream.science.baselines.dalvi import Dalvi
from crowdstream.science.baselines.dawid_skene import DawidSkene
from crowdstream.science.baselines.ebcc import EBCC
from crowdstream.science.baselines.ghosh_kale_mcafee import GhoshKaleMcAfee
from crowdstream.science.baselines.glad import GLAD
from crowdstream.science.baselines.hui_walter import HuiWalter
from crowdstream.science.baselines.ising_vote import IsingVote
from crowdstream.science.baselines.karger_oh_shah import KargerOhShah
from crowdstream.science.baselines.karger_oh_shah_svd import KargerOhShahSVD
from crowdstream.science.baselines.liu_peng_ihler import BeliefPropagation, MeanField
from crowdstream.science.baselines.mace import MACE
from crowdstream.science.baselines.minimax_entropy import MinimaxEntropy
from crowdstream.science.baselines.one_coin_em import OneCoinEM
from crowdstream.science.baselines.one_coin_map import OneCoinMAP
from crowdstream.science.baselines.one_pass_vote import OnePassAgreementVote
from crowdstream.science.baselines.oracle_estimator import OracleEstimator
from crowdstream.science.baselines.oracle_vote import OracleVote
from crowdstream.science.baselines.overlap_triangular import OverlapTriangularEstimation
from crowdstream.science.baselines.pm import PM
from crowdstream.science.baselines.raykar import Raykar
from crowdstream.science.baselines.recursive_em import RecursiveEM
from crowdstream.science.baselines.sbic import SBIC
from crowdstream.science.baselines.spectral_em import SpectralEM
from crowdstream.science.baselines.spectral_meta_learner import SpectralMetaLearner
from crowdstream.science.baselines.streaming_dawid_skene import StreamingDawidSkene
from crowdstream.science.baselines.triangular import TriangularEstimation
from crowdstream.science.baselines.wawa import Wawa
from crowdstream.science.baselines.welinder_perona import WelinderPerona
from crowdstream.science.baselines.zencrowd import ZenCrowd
from crowdstream.science.baselines.zero_based_skill import ZeroBasedSkill

__all__ = [
    "BCC",
    "CATD",
    "EBCC",
    "GLAD",
    "MACE",
    "PM",
    "SBIC",
    "BeliefPropagation",
    "Dalvi",
    "DawidSkene",
    "GhoshKaleMcAfee",
    "HuiWalter",
    "IsingVote",
    "KargerOhShah",
    "KargerOhShahSVD",
    "MajorityVote",
    "MeanField",
    "MinimaxEntropy",
    "OneCoinEM",
    "OneCoinMAP",
    "OnePassAgreementVote",
    "OracleEstimator",
    "OracleVote",
    "OverlapTriangularEstimation",
    "Raykar",
    "RecursiveEM",
    "SpectralEM",
    "SpectralMetaLearner",
    "StreamingDawidSkene",
    "TriangularEstimation",
    "Wawa",
    "WelinderPerona",
    "ZenCrowd",
    "ZeroBasedSkill",
]
