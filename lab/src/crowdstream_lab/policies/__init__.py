"""Whom to ask what next: allocation methods run against a simulated crowd with two classes.

These spend a budget of labels, where the other baselines take the labels as they are.
"""

from crowdstream.science.baselines.policies.ho_jabbari_vaughan import HoJabbariVaughan
from crowdstream.science.baselines.policies.ho_vaughan import HoVaughan
from crowdstream.science.baselines.policies.knowledge_gradient import OptimisticKnowledgeGradient
from crowdstream.science.baselines.policies.liu_liu import LiuLiu
from crowdstream.science.baselines.policies.policy import NOT_ASKED, Policy, State
from crowdstream.science.baselines.policies.registry import POLICIES
from crowdstream.science.baselines.policies.spending import buy, spend
from crowdstream.science.baselines.policies.uniform import Uniform
from crowdstream.science.baselines.policies.with_gold import WithGold

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
