"""Gold put to use: which tasks to have checked by an expert first, and what the answers changed."""

from crowdstream.gold_plan.check import gold_check
from crowdstream.gold_plan.plan import gold_needed
from crowdstream.gold_plan.report import GoldCheck

__all__ = ["GoldCheck", "gold_check", "gold_needed"]
