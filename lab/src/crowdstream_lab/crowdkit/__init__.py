"""Crowd-kit's classification methods over ours: change the import, keep the rest.

``from crowdstream_lab.crowdkit import DawidSkene`` in place of ``from crowdkit.aggregation
import DawidSkene``: the same constructor arguments, verbs, attributes and shapes of results.
`Adaptive` and `AgreementBased` are ours under the same verbs. Needs pandas.
"""

from crowdstream_lab.crowdkit.confusions import DawidSkene, OneCoinDawidSkene
from crowdstream_lab.crowdkit.crowds import Adaptive, AgreementBased
from crowdstream_lab.crowdkit.rivals import GLAD, KOS, MACE
from crowdstream_lab.crowdkit.votes import GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

__all__ = [
    "GLAD",
    "KOS",
    "MACE",
    "Adaptive",
    "AgreementBased",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
]
