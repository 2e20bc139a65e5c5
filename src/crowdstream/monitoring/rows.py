"""Columns of the monitors' arrays, and constants that their compiled loops share with Python.

Compiled loops read them from ``rows.pxd``, which the build writes from this file. Changing a column
changes the saved format. Knows nothing of what is done with them.
"""

from __future__ import annotations

# Intervals, per worker: Σg h, Σg e₂, Σg² e₂, Σg² e₃, Σg² e₂², answers to tasks of known truth; g
# is the weight of a task, h and e are explained in `judging_loops`.
B = 0
C = 1
V = 2
F = 3
D = 4
GOLD = 5

# Intervals, shared: Σg, Σg², tasks of known truth, how many of those the labels would decide
# wrongly, and whether labels were judged in order.
WEIGHT = 0
WEIGHT2 = 1
KNOWN = 2
WRONG = 3
STOPS = 4

# Intervals, per worker, in weights of tasks: answers, and how much the others doubted the winner
# where the worker voted for it, and where it did not.
ANSWERED = 0
AGREED = 1
AGAINST = 2

# Drift, per worker: Σh, Σe₂, Σe₂², Σe₃ and answers since the worker was last met anew; limits of
# the known skill; the column of the direction in which a change is pending, or 0; for either
# direction the likelihood ratio, followed by what Σh, Σe₂ and the answers were when it was last 1,
# and the highest it has been since.
REF_B = 0
REF_C = 1
REF_D = 2
REF_E = 3
REF_N = 4
LOW = 5
HIGH = 6
WAY = 7
UP = 8
DOWN = 13

# Drift, per worker with a pending change: the likelihood ratio of the answers since it is pending,
# and what Σh, Σe₂, answers, the tasks seen and the crowd's sums were when it became so.
LOOK = 18
LOOK_B = 19
LOOK_C = 20
LOOK_N = 21
LOOK_SEEN = 22
LOOK_CROWD_B = 23
LOOK_CROWD_C = 24

ROW = 25
"""Drift: columns of a worker's row."""

# Drift, one row per direction and level: how often a worker's logarithm rose above the level, how
# often it then fell back to 0 without an alarm, and by how much all that ended had risen above it
# at most.
BEGUN = 0
ENDED = 1
EXCESS = 2

LEVELS = 4
"""Drift: levels above which swings are counted, each twice the one before."""

# Drift, shared: alarms recorded; answers that could have raised one; Σ(h − θe₂) and Σe₂ of all
# workers, θ the skill known of each; tasks seen.
RAISED = 0
LISTENED = 1
CROWD_B = 2
CROWD_C = 3
TASKS = 4

# An alarm: tasks seen, worker, direction (±1), skill before and after, log likelihood ratio, how
# many of the worker's answers ago the change began, and whether most workers share it (1).
SEEN = 0
WORKER = 1
DIRECTION = 2
BEFORE = 3
AFTER = 4
EVIDENCE = 5
ANSWERS = 6
EVERYONE = 7

# Trends, per worker: Σh, Σe₂ and answers of the unfinished point, answers per point, points.
NEXT_B = 0
NEXT_C = 1
NEXT_N = 2
STRIDE = 3
POINTS = 4

MOST_SKILL = 0.98
"""No worker is taken to be better: a single error would otherwise be impossible."""

LEAST_SPREAD = 0.05
"""Least variance of an answer, as a share of e₂: no worker is known to be perfect."""

MANY = 10000
"""Workers whose sums a processor's own cache does not hold."""

SETTLED_IN = 50.0
"""Answers of a worker before there can be an alarm."""

TINY = 1e-12
"""Keeps divisions by 0 from happening where the result is not used."""
