"""The policies by the names the command line has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crowdstream_lab.policies.ho_jabbari_vaughan import HoJabbariVaughan
from crowdstream_lab.policies.ho_vaughan import HoVaughan
from crowdstream_lab.policies.knowledge_gradient import OptimisticKnowledgeGradient
from crowdstream_lab.policies.liu_liu import LiuLiu
from crowdstream_lab.policies.policy import Policy
from crowdstream_lab.policies.uniform import Uniform

POLICIES: Mapping[str, Callable[[], Policy]] = {
    "uniform": Uniform,
    "knowledge-gradient": OptimisticKnowledgeGradient,
    "ho-vaughan": HoVaughan,
    "ho-jabbari-vaughan": HoJabbariVaughan,
    "liu-liu": LiuLiu,
}
"""By the names the command line has for them."""
