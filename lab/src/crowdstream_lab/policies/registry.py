"""The policies by the names the command line has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crowdstream.science.baselines.policies.ho_jabbari_vaughan import HoJabbariVaughan
from crowdstream.science.baselines.policies.ho_vaughan import HoVaughan
from crowdstream.science.baselines.policies.knowledge_gradient import OptimisticKnowledgeGradient
from crowdstream.science.baselines.policies.liu_liu import LiuLiu
from crowdstream.science.baselines.policies.policy import Policy
from crowdstream.science.baselines.policies.uniform import Uniform

POLICIES: Mapping[str, Callable[[], Policy]] = {
    "uniform": Uniform,
    "knowledge-gradient": OptimisticKnowledgeGradient,
    "ho-vaughan": HoVaughan,
    "ho-jabbari-vaughan": HoJabbariVaughan,
    "liu-liu": LiuLiu,
}
"""By the names the command line has for them."""
