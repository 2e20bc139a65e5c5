"""Why a task takes no more labels, by number: for loops; `Reason` has the same for Python."""

from __future__ import annotations

OPEN = 1
SETTLED = 2
FULL = 3
HARD = 4
IDLE = 5
CLOSED = 6
END = 7
