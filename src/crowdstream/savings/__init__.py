"""Replays of buying a file's labels one at a time, to see how many would have been enough.

The labels of a file are taken for those that could have been bought. Three ways of buying are
replayed on the same random orders of them: until the crowd is sure of a task, or a fixed number
per task, decided by the same crowd or by majority vote. Knows nothing of the command line.
"""

from crowdstream.savings.chart import draw
from crowdstream.savings.replay import redundancies, savings
from crowdstream.savings.result import FIXED, MAJORITY, STOP, Savings

__all__ = ["FIXED", "MAJORITY", "STOP", "Savings", "draw", "redundancies", "savings"]
