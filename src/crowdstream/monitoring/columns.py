"""Columns of the monitors' arrays, and constants that their compiled loops share with Python.

Changing a column changes the saved format. Knows nothing of what is done with them.
"""

B, C, V, F, D, GOLD = range(6)
"""Intervals, per worker: Σg h, Σg e₂, Σg² e₂, Σg² e₃, Σg² e₂², answers to tasks of known truth; g
is the weight of a task, h and e are explained in `judging_loops`."""

WEIGHT, WEIGHT2, KNOWN, WRONG, STOPS = range(5)
"""Intervals, shared: Σg, Σg², tasks of known truth, how many of those the labels would decide
wrongly, and whether labels were judged in order."""

ANSWERED, AGREED, AGAINST = range(3)
"""Intervals, per worker, in weights of tasks: answers, and how much the others doubted the winner
where the worker voted for it, and where it did not."""

REF_B, REF_C, REF_D, REF_E, REF_N, LOW, HIGH, WAY, UP, DOWN = (*range(9), 13)
"""Drift, per worker: Σh, Σe₂, Σe₂², Σe₃ and answers since the worker was last met anew; limits of
the known skill; the column of the direction in which a change is pending, or 0; for either
direction the likelihood ratio, followed by what Σh, Σe₂ and the answers were when it was last 1,
and the highest it has been since."""

LOOK, LOOK_B, LOOK_C, LOOK_N, LOOK_SEEN, LOOK_CROWD_B, LOOK_CROWD_C = range(18, 25)
"""Drift, per worker with a pending change: the likelihood ratio of the answers since it is pending,
and what Σh, Σe₂, answers, the tasks seen and the crowd's sums were when it became so."""

ROW = 25
"""Drift: columns of a worker's row."""

BEGUN, ENDED, EXCESS = range(3)
"""Drift, one row per direction and level: how often a worker's logarithm rose above the level, how
often it then fell back to 0 without an alarm, and by how much all that ended had risen above it at
most."""

LEVELS = 4
"""Drift: levels above which swings are counted, each twice the one before."""

RAISED, LISTENED, CROWD_B, CROWD_C, TASKS = range(5)
"""Drift, shared: alarms recorded; answers that could have raised one; Σ(h − θe₂) and Σe₂ of all
workers, θ the skill known of each; tasks seen."""

SEEN, WORKER, DIRECTION, BEFORE, AFTER, EVIDENCE, ANSWERS, EVERYONE = range(8)
"""An alarm: tasks seen, worker, direction (±1), skill before and after, log likelihood ratio, how
many of the worker's answers ago the change began, and whether most workers share it (1)."""

NEXT_B, NEXT_C, NEXT_N, STRIDE, POINTS = range(5)
"""Trends, per worker: Σh, Σe₂ and answers of the unfinished point, answers per point, points."""

MOST_SKILL = 0.98
"""No worker is taken to be better: a single error would otherwise be impossible."""

LEAST_SPREAD = 0.05
"""Least variance of an answer, as a share of e₂: no worker is known to be perfect."""

SETTLED_IN = 50
"""Answers of a worker before there can be an alarm."""

TINY = 1e-12
"""Keeps divisions by 0 from happening where the result is not used."""
