"""Allocation methods, run against a simulated crowd with two classes.

These spend a budget of labels, where the other baselines take the labels as they are.
"""

from crowdstream_lab.policies.ho_jabbari_vaughan import HoJabbariVaughan
from crowdstream_lab.policies.ho_vaughan import HoVaughan
from crowdstream_lab.policies.knowledge_gradient import OptimisticKnowledgeGradient
from crowdstream_lab.policies.liu_liu import LiuLiu
from crowdstream_lab.policies.policy import NOT_ASKED, Policy, State
from crowdstream_lab.policies.registry import POLICIES
from crowdstream_lab.policies.spending import buy, spend
from crowdstream_lab.policies.uniform import Uniform
from crowdstream_lab.policies.with_gold import WithGold

__all__ = [
    "NOT_ASKED",
    "POLICIES",
    "HoJabbariVaughan",
    "HoVaughan",
    "LiuLiu",
    "OptimisticKnowledgeGradient",
    "Policy",
    "State",
    "Uniform",
    "WithGold",
    "buy",
    "spend",
]
