"""Crowd-kit's classification methods over ours: change the import, keep the rest.

``from crowdstream.compat.crowdkit import DawidSkene`` in place of ``from crowdkit.aggregation
import DawidSkene``: the same constructor arguments, verbs, attributes and shapes of results.
`Adaptive` and `AgreementBased` are ours under the same verbs. Needs pandas.
"""

from crowdstream.compat.crowdkit.confusions import DawidSkene, OneCoinDawidSkene
from crowdstream.compat.crowdkit.crowds import Adaptive, AgreementBased
from crowdstream.compat.crowdkit.rivals import GLAD, KOS, MACE
from crowdstream.compat.crowdkit.votes import GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

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
