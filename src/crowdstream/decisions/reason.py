"""`Reason`: why a task takes no more labels, by one numbering. Saved as it is."""

from __future__ import annotations

from enum import IntEnum

from crowdstream.decisions import rows


class Reason(IntEnum):
    """Why a task takes no more labels; ``OPEN`` while it does.

    Examples
    --------
    >>> Reason.FULL.word, Reason.OPEN.word
    ('full', None)
    """

    OPEN = rows.OPEN
    SETTLED = rows.SETTLED
    FULL = rows.FULL
    HARD = rows.HARD
    IDLE = rows.IDLE
    CLOSED = rows.CLOSED
    END = rows.END

    @property
    def word(self) -> str | None:
        """The reason as `Decision.closed` has it."""
        return WORDS[self]


WORDS: list[str | None] = [None, None, *(reason.name.lower() for reason in Reason if reason > 1)]
"""The words by number; 0 is a place in the store that no task has."""
