"""Differences between a tool's answers and a project's, found and sent. Knows no tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from crowdstream.client import Client, calls
from crowdstream.decisions.decision import Decision
from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Answer, split_classes
from crowdstream.labels.spelling import normalise
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.tool_answers import chosen, one_question
from crowdstream.serve.wire import (
    LONGEST_NAME,
    AnswersIn,
    AnswersOut,
    AnswersPage,
    TasksOut,
    ToolAnswerIO,
)
from crowdstream.sync.tool_api import Tool

T = TypeVar("T")

PART = 1000
"""Answers in one request."""

Progress = Callable[[str, int], None]
"""Is told what is done, and of how many answers."""


class Difference(NamedTuple):
    """Answers to send: new or changed ones, ids that are gone, and what cannot be sent."""

    new: list[ToolAnswerIO]
    changed: list[ToolAnswerIO]
    gone: list[str]
    refused: list[tuple[ToolAnswerIO, str]]
    same: int


class Outcome(NamedTuple):
    """Result of a sync: the difference, and the server's answer (None in a dry run)."""

    question: str
    difference: Difference
    told: AnswersOut


class ProjectClient(Client):
    """A project on a server, as a sync needs it."""

    def answers(self, tool: str) -> Iterator[ToolAnswerIO]:
        """All answers of a tool that the server knows."""
        cursor: str | None = ""
        while cursor is not None:
            params = {"limit": str(PART)} | ({"cursor": cursor} if cursor else {})
            call = calls.get(self.project, AnswersPage, "answers", tool, params=params)
            page = self._send(call)
            yield from page.answers
            cursor = page.next

    def tell(self, tool: str, answers: Iterable[ToolAnswerIO], gone: Iterable[str]) -> AnswersOut:
        """Send answers as a tool has them now, and ids that it has no longer."""
        body = calls.encode(AnswersIn(list(answers), list(gone)))
        path = calls.address(self.project, "answers", tool)
        return self._send(calls.Call[AnswersOut]("POST", path, AnswersOut, body))

    def decided(self) -> Iterator[Decision]:
        """The decisions on closed tasks."""
        cursor: str | None = ""
        while cursor is not None:
            params = {"state": "closed", "limit": str(PART)}
            params |= {"cursor": cursor} if cursor else {}
            page = self._send(calls.get(self.project, TasksOut, "tasks", params=params))
            for one in page.tasks:
                yield Decision(one.task, one.label, one.confidence, one.margin, one.votes,
                               one.settled, one.identifiable, one.closed)  # fmt: skip
            cursor = page.next


def sync(
    tool: Tool,
    client: ProjectClient,
    *,
    question: str | None = None,
    dry_run: bool = False,
    progress: Progress = lambda what, number: None,
) -> Outcome:
    """Make a project know what a tool has.

    Parameters
    ----------
    tool
        Where answers are.
    client
        The project.
    question
        Which of the tool's questions; the project's own, or the only one, if not given.
    dry_run
        Only look.
    progress
        Is told how far it is.
    """
    settings = client.overview().settings
    progress("reading the project", 0)
    # First the server, then the tool: what the server knew before the tool was read, and the tool
    # does not have, is gone. The other way round it may be newer than what was read.
    known = {str(one.id): one for one in client.answers(tool.name)}
    before = _known_question(known.values())
    try:
        one_question(question, settings.question, before, path="--question")
    except ProblemError as error:
        other = error.problem
        raise InputError("--question", other.expected, other.got) from None
    asked = question or settings.question
    wanted = _read(tool, asked, before, progress)
    found = difference(known, wanted, settings.classes)
    if found.gone:  # a page may have moved while it was read: what is gone is gone twice
        again = _read(tool, asked, before, progress)
        found = found._replace(gone=[one for one in found.gone if one not in again])
    told = AnswersOut()
    if not dry_run:
        for part in _parts([*found.new, *found.changed]):
            told = _plus(told, client.tell(tool.name, part, []))
            progress("sending", told.taken + told.same + told.stale)
        for gone in _parts(found.gone):
            told = _plus(told, client.tell(tool.name, [], gone))
    return Outcome(_known_question(wanted.values()) or asked or "", found, told)


def difference(
    known: dict[str, ToolAnswerIO],
    wanted: dict[str, ToolAnswerIO],
    classes: Iterable[object] | None = None,
) -> Difference:
    """Return what has to be sent so that ``known`` becomes ``wanted``, by ids.

    Parameters
    ----------
    known
        What the server has.
    wanted
        What the tool has.
    classes
        The labels that the project allows; any if ``None``.

    Examples
    --------
    >>> ann = ToolAnswerIO("7", "t1", "ann", "good")
    >>> difference({"6": ann}, {"7": ann})[1:3]
    ([], ['6'])
    """
    allowed = None if classes is None else list(classes)
    new, changed, refused, same = [], [], [], 0
    for name, one in wanted.items():
        before = known.get(name)
        if why := _unfit(one, allowed):
            refused.append((one, why))
        elif before is None:
            new.append(one)
        elif _content(before) != _content(one) or (one.at or 0.0) > (before.at or 0.0):
            changed.append(one)
        else:
            same += 1
    gone = [name for name in known if name not in wanted]
    return Difference(new, changed, gone, refused, same)


def _read(
    tool: Tool, question: str | None, known: str, progress: Progress
) -> dict[str, ToolAnswerIO]:
    """All answers to the question that a tool has, by their ids."""
    every: list[Answer] = []
    for one in tool.answers():
        every.append(one)
        if len(every) % PART == 0:
            progress("reading the tool", len(every))
    try:
        found = chosen(every, question, known)
    except ProblemError as error:
        raise InputError("--question", "one of the questions", error.problem.got) from None
    names = sorted({one.question for one in every if one.question})
    if question is not None and names and normalise(question) not in map(normalise, names):
        raise InputError("--question", " or ".join(map(repr, names)), repr(question))
    return {
        one.id: ToolAnswerIO(
            one.id, one.task, one.worker, one.label, one.question, one.at, one.gold
        )
        for one in found
    }


def _known_question(answers: Iterable[ToolAnswerIO]) -> str:
    return next((one.question for one in answers if one.question), "")


def _content(one: ToolAnswerIO) -> tuple[object, ...]:
    return str(one.task), str(one.worker), one.label, one.question, one.gold


def _unfit(one: ToolAnswerIO, classes: list[object] | None) -> str:
    """Why the server would not take an answer; empty if it would."""
    for what, text in (("task", one.task), ("worker", one.worker), ("label", one.label)):
        if text is not None and len(str(text)) > LONGEST_NAME:
            return f"its {what} is longer than {LONGEST_NAME} characters"
    if one.label is not None and len(split_classes(str(one.label))) > 1:
        return f"its label {one.label} holds several classes, where a project decides one"
    if classes is None or one.label is None or one.label in classes:
        return ""
    return f"its label {one.label!r} is not one of the project's classes"


def _parts(rows: list[T]) -> Iterator[list[T]]:
    return (rows[first : first + PART] for first in range(0, len(rows), PART))


def _plus(first: AnswersOut, second: AnswersOut) -> AnswersOut:
    names = AnswersOut.__struct_fields__
    return AnswersOut(**{name: getattr(first, name) + getattr(second, name) for name in names})
