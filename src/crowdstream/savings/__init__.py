"""How many labels would have been enough: a file of labels bought again, one label at a time.

The labels of a file are taken for those that could have been bought. Three ways of buying are
replayed on the same random orders of them: until the crowd is sure of a task, or a fixed number
per task, decided by the same crowd or by majority vote. Knows nothing of the command line.
"""

from crowdstream.savings.chart import draw
from crowdstream.savings.replay import redundancies, savings
from crowdstream.savings.result import FIXED, MAJORITY, STOP, Savings

__all__ = ["FIXED", "MAJORITY", "STOP", "Savings", "draw", "redundancies", "savings"]
