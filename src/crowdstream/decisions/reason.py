"""`Reason`: why a task takes no more labels, by one numbering. Saved as it is."""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Why a task takes no more labels; ``OPEN`` while it does.

    Examples
    --------
    >>> Reason.FULL.word, Reason.OPEN.word
    ('full', None)
    """

    OPEN = 1
    SETTLED = 2
    FULL = 3
    HARD = 4
    IDLE = 5
    CLOSED = 6
    END = 7

    @property
    def word(self) -> str | None:
        """The reason as `Decision.closed` has it."""
        return WORDS[self]


WORDS: list[str | None] = [None, None, *(reason.name.lower() for reason in Reason if reason > 1)]
"""The words by number; 0 is a place in the store that no task has."""
