"""Columns and codes of a stream's tasks, for loops and Python: their one home.

Compiled loops read them from ``rows.pxd``, which the build writes from this file. Changing a column
changes what `tasks` saves.
"""

from __future__ import annotations

# Columns of ``codes``. ``STATE`` is a `Reason`, or ``FREE``; ``SIZE`` counts skips too; ``TRUTH``
# is the known class of an open task, the decided one of a closed one.
HASH = 0
STATE = 1
FLAGS = 2
BLOCK = 3
SIZE = 4
VOTES = 5
TRUTH = 6
BEFORE = 7
AFTER = 8
CODES = 9

FREE = 0
"""The state of a slot that has no task."""

# Columns of ``orders``: the place in the crowd's order of tasks, and in the order of opening.
PLACE = 0
OPENED = 1

# Columns of ``floats``: when the last label came, how sure the decision was then, its lead.
LAST = 0
CONFIDENCE = 1
MARGIN = 2

# A block: seven workers, their labels, the next block, and one number to fill 64 bytes.
HELD = 7
NEXT = 14
WIDTH = 16

# What stands for the label of somebody who skipped a task, or has not seen it.
SKIP = -1
ABSENT = -2

# Codes of workers who had none when rows were coded: this one, and below it, in the order of the
# rows. The loop gives them codes as it comes to them, as a row that is late meets nobody.
PROVISIONAL = -3

# The two orders: open tasks, the longest idle first; closed ones, the longest closed first.
OPEN_LIST = 0
CLOSED_LIST = 1

# Bits of ``FLAGS``: whether the decision is settled, and was by weighted votes.
SETTLED_FLAG = 1
IDENTIFIED_FLAG = 2
