"""Columns of a worker's row, and numbers that several loops and Python share: their one home.

Compiled loops read them from ``rows.pxd``, which the build writes from this file; a rule that one
file alone has keeps its numbers there. Changing a column changes what is saved.
"""

from __future__ import annotations

# A row of the agreement sums; after these said, own and others, K numbers each.
AGREE = 0
MET = 1
MET2 = 2
KNOWN = 3
RIGHT = 4
HEAD = 5

UNIT = 16777216.0
"""Shares and posterior counts are multiples of 2⁻²⁴, so that their sums are exact."""

FEW_CLASSES = 32
"""Classes up to which every count of a confusion has a place, 0 or not."""

LEAST_SHARE = 0.0001220703125
"""Share of a task (2⁻¹³) that is counted for a class at least where classes are more than
`FEW_CLASSES`; what is less is shared by those counted. Nearly all classes have less, of which each
of a worker's thousands of counts would get its part: on simulated crowds of 100 classes ten times
as many counts, and no other decisions."""

H = 8.0
"""Answers that every prior is worth."""

ACCURACY = 0.7
"""Accuracy that a worker is expected to have before any data."""

FLOOR = 0.1
"""The least that the crowd's mean skill is taken for: zero would be absorbing."""

CAP_SKILL = 0.6
"""Skill beyond which a vote by agreement counts no more."""

MOST_STRENGTH = 200.0
"""Answers that a confusion's prior is worth at most."""

GOLD = 5.0
"""Times that an answer on a task of known truth counts."""

ENOUGH = 2.0
"""Answers, compared with others' or with the truth, from which a worker is no newcomer."""

HALF = 0.5
"""Part of an average answer's worker's answers that is enough where old ones are forgotten, if it
is less: with a short memory nobody has as many as `ENOUGH`."""

TIE = 1e-9
"""Scores this close, per vote, are a tie: well above rounding (1e-15) and the fixed point's 1e-12,
well below any difference that means something."""

EDGE = 0.005
"""Confidences are kept this far from 0 and 1 before truths correct them: beyond, log-odds say no
more."""

LARGE = 1e100
"""Products of odds are scaled down beyond it."""
