"""Values that users get unless they say otherwise, each typed here alone. Loads nothing.

Functions, commands and the server's settings take their defaults from here, so that they agree, and
so that the command line can show them without loading what they are for.
"""

from __future__ import annotations

from typing import Final

METHOD: Final = "adaptive"
"""Method to decide with: the most accurate one in most cases (docs/benchmark.md)."""

SETTLE = 0.95
"""Confidence from which a decision is settled: of 20 such decisions one is expected to be wrong."""

SETTLE_RANGE = (0.5, 1.0)
"""Least and most that ``settle`` may be: less than one half is no decision between two classes."""

MIN_LABELS = 2
"""Labels that a settled decision has at least: one worker alone settles nothing."""

LEVEL = 0.95
"""Confidence level of intervals: the usual one."""

LEVEL_RANGE = (0.5, 0.9999)
"""Least and most that ``level`` may be: above, limits rest on tails that labels hardly show."""

MEMORY_RANGE = (1.0, 1e15)
"""Tasks that ``memory`` may be, the first number excluded: nearly 2⁵³, so that whole numbers of
tasks stay exact."""

REMEMBER = 100_000
"""Closed tasks whose decision a stream remembers, so that a late label is known to be late."""

JURY_SURE = 0.8
"""Confidence below which a jury asks for a human: one decision in five may be wrong just above."""

GOLD_TASKS = 30
"""Tasks that an expert is asked to check: an afternoon's work."""

SAVINGS_ORDERS = 5
"""Random orders that the figures of a replayed purchase are the mean of."""

MAX_RATIO = 200.0
"""Largest ratio of unpacked text to its file. Labels pack 3 to 30 times smaller, rows that
are all alike up to 100 times; files made to fill a memory reach 1,000 (gzip) and more (zstd)."""

THREADS_VARIABLE = "CROWDSTREAM_THREADS"
"""Environment variable that says how many threads to work in; without it, as many as the cores that
the process may use (`crowdstream.parallel`)."""

HOST, PORT = "127.0.0.1", 8750
"""Address of the server: reached from its own machine alone, at a port that no well-known
service has."""

DATA_FOLDER = "crowdstream-data"
"""Folder of a server's data, in the directory that it is started from."""

MAX_BODY = 16_000_000
"""Bytes of a request's body, also when it is unpacked: 50,000 labels, the most that a request may
have, of 320 bytes each."""

RATE = 50_000.0
"""Requests a second of one token: more than one server answers, so nobody is slowed down unless the
limit is lowered."""

CONNECTIONS = 1000
"""Connections at a time: below the 1,024 open files that most systems allow a process."""

HEADER_SECONDS, BODY_SECONDS = 10, 30
"""Seconds in which a request's headers and its body have to come: slow networks need less, and who
sends a byte a minute to hold connections is cut off."""
