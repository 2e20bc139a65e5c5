"""Sentences about a crowd, each from one rule, for terminal, report, JSON and page.

A rule has three outcomes where two would say what is not so. `benchmarks/statements.py` measures
how often each sentence is said of crowds of which it is not so.
"""

from crowdstream.statements.advice import advice
from crowdstream.statements.dependence import describe_dependence
from crowdstream.statements.expected import WrongDecisions, expected_wrong
from crowdstream.statements.gating import Gate, GateCheck
from crowdstream.statements.worth import LabelWorth, label_worth

__all__ = [
    "Gate",
    "GateCheck",
    "LabelWorth",
    "WrongDecisions",
    "advice",
    "describe_dependence",
    "expected_wrong",
    "label_worth",
]
