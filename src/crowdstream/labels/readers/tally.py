"""What the answers of tools' files came to: which are votes, and how many are something else.

Knows nothing of files or tools.
"""

from __future__ import annotations

from collections import Counter

from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Answer
from crowdstream.plain_text import counted

SHOWN = 8
"""Questions that a message names."""


class Tally:
    """Which answers are votes, and the count of the rest.

    Parameters
    ----------
    question
        The one that is asked for; without it there must be only one.
    predictions
        Whether what models said counts.

    Examples
    --------
    >>> tally = Tally()
    >>> [tally.take(Answer("t1", "ann", label)) for label in ("good", None)]
    [True, False]
    >>> tally.said()
    '1 label, 1 skip'
    """

    def __init__(self, question: str | None = None, *, predictions: bool = False) -> None:
        self.question, self.predictions = question, predictions
        self.questions: Counter[str] = Counter()
        self.skips = self.left_out = self.several = 0
        self._gold: dict[str, dict[str, str]] = {}
        self.files: dict[str, None] = {}
        self.titles: dict[str, None] = {}
        self.unlabelled: dict[str, None] = {}

    def take(self, answer: Answer) -> bool:
        """Count an answer; whether it is a vote on the question."""
        if answer.gold:
            if answer.label is not None:
                self._gold.setdefault(answer.question, {})[answer.task] = answer.label
            return False
        if answer.predicted and not self.predictions:
            self.left_out += answer.label is not None
            return False
        if answer.label is None:
            self.skips += 1
            return False
        self.questions[answer.question] += 1
        if answer.question != self.asked:
            return False
        self.several += answer.several
        return True

    @property
    def asked(self) -> str | None:
        """The question that is read: the one asked for, else the first that came."""
        return self.question if self.question is not None else next(iter(self.questions), None)

    @property
    def labels(self) -> int:
        """Votes on the question."""
        return 0 if self.asked is None else self.questions[self.asked]

    @property
    def gold(self) -> dict[str, str]:
        """Task → true class, as the files have it."""
        asked = self.asked
        if asked is None and len(self._gold) == 1:
            asked = next(iter(self._gold))
        return {} if asked is None else self._gold.get(asked, {})

    @property
    def where(self) -> str:
        """The files, as messages name them."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{next(iter(self.files))}{more}"

    def check(self) -> None:
        """Refuse files without labels, or of more questions than one; all have been read."""
        if self.question is not None and not self.labels and self.questions:
            expected = f"a question {self.question!r} (--question)"
            raise InputError(self.where, expected, self._named())
        if len(self.questions) > 1 and self.question is None:
            expected = "answers to one question (--question picks one)"
            raise InputError(self.where, expected, f"{len(self.questions)}: {self._named()}")
        if not self.labels:
            raise InputError(self.where, f"labels in {', '.join(self.titles)}", self._nothing())

    def _named(self) -> str:
        """The questions, those with most labels first."""
        most = self.questions.most_common(SHOWN)
        names = [f"{name or '(no name)'} ({counted(count, 'label')})" for name, count in most]
        more = len(self.questions) - len(most)
        return ", ".join(names) + (f" and {more:,} more" if more else "")

    def _nothing(self) -> str:
        """What there is instead of labels."""
        there = [counted(self.skips, "answer", "without a class")] if self.skips else []
        there += [f"{what} (only classes are read)" for what in list(self.unlabelled)[:1]]
        if self.left_out:
            there.append(f"{counted(self.left_out, 'prediction')} (--include-predictions)")
        if self._gold:
            there.append("gold alone")
        return f"none: {', '.join(there)}" if there else "none"

    def said(self) -> str:
        """What was read, in words."""
        parts = [counted(self.labels, "label")]
        if self.skips:
            parts.append(counted(self.skips, "skip"))
        if self.gold:
            parts.append(counted(len(self.gold), "gold task"))
        if self.left_out:
            left = counted(self.left_out, "prediction", "left out")
            parts.append(f"{left} (--include-predictions counts them)")
        if self.several:
            which = "of several choices, of which the first counts"
            parts.append(counted(self.several, "answer", which))
        others = sum(self.questions.values()) - self.labels
        if others:
            parts.append(f"{counted(others, 'label')} of other questions left out")
        return ", ".join(parts)
