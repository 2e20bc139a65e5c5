"""Gold put to use: which tasks to have checked by an expert first, and what the answers changed."""

from crowdstream.gold_plan.check import gold_check
from crowdstream.gold_plan.fooled import fooled_limit, gold_power, gold_to_detect
from crowdstream.gold_plan.plan import gold_needed
from crowdstream.gold_plan.report import GoldCheck

__all__ = [
    "GoldCheck",
    "fooled_limit",
    "gold_check",
    "gold_needed",
    "gold_power",
    "gold_to_detect",
]
