"""Methods that the estimators are measured against, from majority vote to knowing the truth.

Each takes what the estimators take and gives the same table of decisions.
"""

from crowdstream import MajorityVote
from crowdstream_lab.baselines.bcc import BCC
from crowdstream_lab.baselines.bwa import BWA
from crowdstream_lab.baselines.catd import CATD
from crowdstream_lab.baselines.dalvi import Dalvi
from crowdstream_lab.baselines.dawid_skene import DawidSkene
from crowdstream_lab.baselines.ebcc import EBCC
from crowdstream_lab.baselines.ghosh_kale_mcafee import GhoshKaleMcAfee
from crowdstream_lab.baselines.glad import GLAD
from crowdstream_lab.baselines.hui_walter import HuiWalter
from crowdstream_lab.baselines.ising_vote import IsingVote
from crowdstream_lab.baselines.iwmv import IWMV
from crowdstream_lab.baselines.karger_oh_shah import KargerOhShah
from crowdstream_lab.baselines.karger_oh_shah_svd import KargerOhShahSVD
from crowdstream_lab.baselines.lightweight import LightweightOnePass, LightweightTwoPass
from crowdstream_lab.baselines.liu_peng_ihler import BeliefPropagation, MeanField
from crowdstream_lab.baselines.mace import MACE
from crowdstream_lab.baselines.minimax_entropy import MinimaxEntropy
from crowdstream_lab.baselines.one_coin_em import OneCoinEM
from crowdstream_lab.baselines.one_coin_map import OneCoinMAP
from crowdstream_lab.baselines.one_pass_vote import OnePassAgreementVote
from crowdstream_lab.baselines.oracle_estimator import OracleEstimator
from crowdstream_lab.baselines.oracle_vote import OracleVote
from crowdstream_lab.baselines.overlap_triangular import OverlapTriangularEstimation
from crowdstream_lab.baselines.pm import PM
from crowdstream_lab.baselines.ptbcc import PTBCC
from crowdstream_lab.baselines.raykar import Raykar
from crowdstream_lab.baselines.recursive_em import RecursiveEM
from crowdstream_lab.baselines.sbic import SBIC
from crowdstream_lab.baselines.spectral_em import SpectralEM
from crowdstream_lab.baselines.spectral_meta_learner import SpectralMetaLearner
from crowdstream_lab.baselines.streaming_dawid_skene import StreamingDawidSkene
from crowdstream_lab.baselines.triangular import TriangularEstimation
from crowdstream_lab.baselines.wawa import Wawa
from crowdstream_lab.baselines.welinder_perona import WelinderPerona
from crowdstream_lab.baselines.zencrowd import ZenCrowd
from crowdstream_lab.baselines.zero_based_skill import ZeroBasedSkill

__all__ = [
    "BCC",
    "BWA",
    "CATD",
    "EBCC",
    "GLAD",
    "IWMV",
    "MACE",
    "PM",
    "PTBCC",
    "SBIC",
    "BeliefPropagation",
    "Dalvi",
    "DawidSkene",
    "GhoshKaleMcAfee",
    "HuiWalter",
    "IsingVote",
    "KargerOhShah",
    "KargerOhShahSVD",
    "LightweightOnePass",
    "LightweightTwoPass",
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
