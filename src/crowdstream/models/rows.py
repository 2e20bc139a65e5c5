"""Numbers that loops and Python share: why a crowd cannot be identified, and who is in no group.

`crowdstream.models.fallback` has the words for the reasons. Compiled loops read this from
``rows.pxd``, which the build writes.
"""

from __future__ import annotations

IDENTIFIED = 0
NO_MEETINGS = 1
TOO_FEW = 2
ONE_CLASS = 3
SEPARATE_GROUPS = 4
AT_CHANCE = 5
NO_SOLUTION = 6

CHANCE = 3.0
"""Standard errors by which agreement must differ from that of a crowd that guesses."""

MAIN_GROUP = 0.95
"""The largest group of workers linked by shared tasks must hold this part of all meetings for the
crowd to count as one; the workers outside it vote with the mean weight."""

REST = -1
"""Place of a worker who is in no group of copies."""
APART = -2
"""Place of a worker who is neither in a group of copies nor with the rest."""
SKETCH_BITS = 20
SKETCH = 1048576
"""Places in a row of the sketch of pairs, 2²⁰: 4 MB a row."""
CROWDED = 32
"""Workers beyond whom a label is no longer given by few."""
