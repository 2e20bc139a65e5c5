"""Counts of the answers in tools' files: which are votes, and how many are something else.

Knows nothing of files or tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Answer
from crowdstream.plain_text import counted

SHOWN = 8
"""Questions that a message names."""


class Tally:
    """Tell votes from other answers, and count both.

    Parameters
    ----------
    question
        The question to take votes on; all questions if not given.
    include
        Kinds of answers that are votes because they were asked for (`Answer.kind`).

    Attributes
    ----------
    questions : Counter[str]
        Votes per question, those on questions that were not asked for among them.
    golds : dict[str, dict[str, str]]
        True class of each task, per question.
    missing : Counter[tuple[str, str]]
        Answers without a class per question and worker: skips of people, errors of graders.

    Examples
    --------
    >>> tally = Tally()
    >>> [tally.take(Answer("t1", "ann", label)) for label in ("good", None)]
    [True, False]
    >>> tally.said()
    '1 label, 1 skip'
    """

    def __init__(self, question: str | None = None, *, include: Collection[str] = ()) -> None:
        self.question, self.include = question, frozenset(include)
        self.questions: Counter[str] = Counter()
        self.golds: dict[str, dict[str, str]] = {}
        self.missing: Counter[tuple[str, str]] = Counter()
        self.files: dict[str, None] = {}
        self.titles: dict[str, None] = {}
        self.unlabelled: dict[str, None] = {}
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._first: dict[str, str] = {}
        self._panels: set[str] = set()

    def take(self, answer: Answer) -> bool:
        """Count an answer; return whether it is a vote on a question that is read."""
        if answer.gold:
            if answer.label is not None:
                self.golds.setdefault(answer.question, {})[answer.task] = answer.label
            return False
        if answer.kind and answer.kind not in self.include:
            self._left_out[answer.kind, answer.question] += answer.label is not None
            return False
        if answer.label is None:
            self.missing[answer.question, answer.worker] += 1
            return False
        self.questions[answer.question] += 1
        if self._first.setdefault(answer.question, answer.worker) != answer.worker:
            self._panels.add(answer.question)
        return self.question in (None, answer.question)

    @property
    def asked(self) -> str | None:
        """The question that is read: the one asked for, or the only one; None if there are more."""
        if self.question is None and len(self.questions) == 1:
            return next(iter(self.questions))
        return self.question

    @property
    def labels(self) -> int:
        """Votes on the questions that are read."""
        return self.questions.total() if self.question is None else self.questions[self.question]

    @property
    def skips(self) -> int:
        """Answers without a class to the questions that are read.

        A tool that does not say which question was skipped means all of them.
        """
        read = (self.question, "")
        every = self.missing.items()
        return sum(n for (asked, _), n in every if self.question is None or asked in read)

    @property
    def left_out(self) -> Counter[str]:
        """Answers to the questions that are read which were not asked for, per kind."""
        found: Counter[str] = Counter()
        for (kind, question), number in self._left_out.items():
            if number and self.question in (None, question):
                found[kind] += number
        return found

    @property
    def gold(self) -> dict[str, str]:
        """Task → true class for the question that is read; empty if there are several."""
        asked = self.asked
        if asked is None and not self.questions and len(self.golds) == 1:
            asked = next(iter(self.golds))
        return {} if asked is None else self.golds.get(asked, {})

    @property
    def where(self) -> str:
        """The files, as messages name them."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{next(iter(self.files))}{more}"

    def lone_workers(self) -> dict[str, str]:
        """Return the questions that only one worker answers, and that worker.

        >>> tally = Tally()
        >>> _ = tally.take(Answer("t1", "gpt", "pass", "tone"))
        >>> tally.lone_workers()
        {'tone': 'gpt'}
        """
        alone = self._first.items()
        return {
            question: worker
            for question, worker in alone
            if question not in self._panels and self.question in (None, question)
        }

    def check(self) -> None:
        """Refuse files without labels, or without the question asked for; all have been read."""
        elsewhere = self.questions and not self.left_out
        if self.question is not None and not self.labels and elsewhere:
            expected = f"a question {self.question!r} (--question)"
            raise InputError(self.where, expected, self.named())
        if not self.labels:
            raise InputError(self.where, f"labels in {', '.join(self.titles)}", self._nothing())

    def named(self) -> str:
        """Return the questions with their counts, those with most labels first."""
        most = self.questions.most_common(SHOWN)
        names = [f"{name or '(no name)'} ({counted(count, 'label')})" for name, count in most]
        more = len(self.questions) - len(most)
        return ", ".join(names) + (f" and {more:,} more" if more else "")

    def _nothing(self) -> str:
        """Return what there is instead of labels, in words."""
        there = [counted(self.skips, "answer", "without a class")] if self.skips else []
        there += [f"{what} (only classes are read)" for what in list(self.unlabelled)[:1]]
        for kind, number in self.left_out.items():
            there.append(f"{counted(number, kind.removesuffix('s'))} (--include {kind})")
        if self.golds:
            there.append("gold alone")
        return f"none: {', '.join(there)}" if there else "none"

    def said(self) -> str:
        """Return what was read, in words."""
        labels = counted(self.labels, "label")
        if self.question is None and len(self.questions) > 1:
            labels += f" of {len(self.questions):,} questions"
        return ", ".join([labels, *self.asides()])

    def asides(self) -> list[str]:
        """Return what is in the files beside the votes that are read, in words."""
        parts = [counted(self.skips, "skip")] if self.skips else []
        read = self.golds if self.asked is None else {self.asked: self.gold}
        gold = {task for golds in read.values() for task in golds}
        if gold:
            parts.append(counted(len(gold), "gold task"))
        for kind, number in self.left_out.items():
            left = counted(number, kind.removesuffix("s"), "left out")
            parts.append(f"{left} (--include {kind} counts them)")
        others = self.questions.total() - self.labels
        if others:
            parts.append(f"{counted(others, 'label')} of other questions left out")
        return parts
