"""Answers as annotation tools tell them → labels, retractions and truths of a project.

A tool names each answer by an id of its own and may tell it twice, late, or out of order. What is
known of each id is kept, so that only what is new changes something. Knows nothing of HTTP, nor of
any tool.
"""

from __future__ import annotations

from collections.abc import Iterable

from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Answer, split_classes
from crowdstream.labels.spelling import normalise
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import AHEAD, Project
from crowdstream.serve.tool_table import ToolAnswer, ToolTable
from crowdstream.serve.wire import LONGEST_NAME, AnswersOut, LabelIn

MOST_ANSWERS = 10_000
"""Answers that one request may have: each is looked up, and others wait for it."""

Pair = tuple[str, str]
"""Task and worker."""


def chosen(answers: Iterable[Answer], question: str | None, known: str) -> list[Answer]:
    """One answer per id: the one to the question.

    Parameters
    ----------
    answers
        All answers, to whatever question.
    question
        The one that was asked for, if one was, in any spelling. Who did not answer it has skipped
        it.
    known
        The question of what came before, empty if there is nothing.

    Examples
    --------
    >>> mood = Answer("t1", "ann", "good", "mood", id="7")
    >>> topic = mood._replace(label="sport", question="topic")
    >>> chosen([mood, topic], "topic", "")[0].label
    'sport'
    >>> chosen([mood, topic], None, "")
    Traceback (most recent call last):
        ...
    crowdstream.serve.problems.ProblemError: which question? There are 'mood' and 'topic': ...
    """
    every = list(answers)
    if question is None:
        names = sorted({one.question for one in every if one.question} | ({known} - {""}))
        if len(names) > 1:
            raise which_question(names)
        question = names[0] if names else ""
    forms = {name: normalise(name) for name in {question, *(one.question for one in every)}}
    asked = {one.question for one in every}
    if question not in asked:  # then as the tool spells it
        same = (name for name in sorted(asked) if forms[name] == forms[question])
        question = next(same, question)
    found: dict[str, Answer] = {}
    for one in every:
        if forms[one.question] == forms[question]:
            found[one.id] = one
        elif one.id not in found:
            found[one.id] = one._replace(label=None, question=question, gold=False)
    return list(found.values())


def which_question(names: list[str]) -> ProblemError:
    """Several questions, and none was chosen."""
    shown = " and ".join(repr(name[:100]) for name in names[:5])
    expected = "?question= in the address, or the project's setting question"
    detail = f"which question? There are {shown}: choose by {expected}"
    return ProblemError(422, detail, path="?question", expected=expected, got=shown)


def one_question(asked: str | None, mine: str | None, known: str, *, path: str) -> str | None:
    """Return the question that a project holds, None if it is not known yet.

    Parameters
    ----------
    asked
        The one that a request names, if it does.
    mine
        The project's setting.
    known
        The question of what tools have told before, empty if there is nothing.
    path
        Where the request names it.

    Raises
    ------
    ProblemError
        If the request names another one than the project holds.

    Examples
    --------
    >>> one_question("Mood", "mood", "", path="?question")
    'mood'
    >>> one_question("topic", None, "mood", path="?question")
    Traceback (most recent call last):
        ...
    crowdstream.serve.problems.ProblemError: ?question: expected 'mood', which this project holds, \
found 'topic' (one project per question)
    """
    held = mine or known
    if asked and held and normalise(asked) != normalise(held):
        expected = f"{held[:100]!r}, which this project holds"
        found = f"{asked[:100]!r} (one project per question)"
        detail = f"{path}: expected {expected}, found {found}"
        raise ProblemError(422, detail, path=path, expected=expected, got=found)
    return held or asked or None


def check_one_question(answers: Iterable[Answer], mine: str | None, known: str) -> None:
    """Refuse answers to other questions than the one that a project holds, or to several.

    >>> mood = Answer("t1", "ann", "good", "mood", id="7")
    >>> check_one_question([mood, mood._replace(question="topic")], None, "")
    Traceback (most recent call last):
        ...
    crowdstream.serve.problems.ProblemError: answers: expected one question, found 'mood' and \
'topic' (one project per question)
    """
    names = sorted({one.question for one in answers if one.question})
    for name in names:
        one_question(name, mine, known, path="$.answers")
    if len({normalise(name) for name in names}) > 1:
        expected, shown = "one question", " and ".join(repr(name[:100]) for name in names[:5])
        detail = f"answers: expected {expected}, found {shown} (one project per question)"
        raise ProblemError(422, detail, path="$.answers", expected=expected, got=shown)


def take(
    project: Project,
    table: ToolTable,
    tool: str,
    answers: list[Answer],
    now: float,
    *,
    deleted: Iterable[str] = (),
    gone: Iterable[str] = (),
) -> AnswersOut:
    """Take what a tool has told: answers as they are now, and ids that were deleted.

    Older than what is known of an id is not taken. A worker's vote on a task is the latest of the
    worker's answers to it. Ids in ``gone`` are forgotten altogether: should they come again, they
    are new.
    """
    told, lost, absent = Telling(project, table, tool), list(deleted), list(gone)
    for one in answers:
        told.check(one)
    told.check_labels(answers)
    for name in (*lost, *absent):
        check_name("id", name)
    for one in answers:
        told.answer(one, now)
    for name in lost:
        told.delete(name, now)
    for name in absent:
        told.forget(name)
    return told.apply(now)


def check_name(what: str, name: str) -> None:
    """Refuse a name that is empty or too long."""
    if not 1 <= len(name) <= LONGEST_NAME:
        expected = f"1 to {LONGEST_NAME} characters"
        detail = f"{what}: expected {expected}, got {len(name):,}"
        raise ProblemError(422, detail, path=f"$.{what}", expected=expected)


def check_single(label: str) -> None:
    """Refuse several classes chosen together: a project decides one class per task."""
    classes = split_classes(label)
    if len(classes) > 1:
        shown = ", ".join(repr(name[:100]) for name in classes[:5])
        expected = "one class"
        detail = f"label: expected {expected}, got {len(classes)}: {shown}"
        raise ProblemError(422, detail, path="$.label", expected=expected, got=shown)


class Telling:
    """What one request tells: first noted, then what is different is done to the project."""

    def __init__(self, project: Project, table: ToolTable, tool: str) -> None:
        self.project, self.table, self.tool = project, table, tool
        self.before: dict[Pair, str | None] = {}
        self.truths: dict[str, str] = {}
        self.out = AnswersOut()

    def check(self, one: Answer) -> None:
        """Refuse what cannot be a label, before anything is noted."""
        names = {"id": one.id, "task": one.task, "worker": one.worker}
        if one.label is not None:
            names["label"] = one.label
            check_single(one.label)
        if one.question:
            names["question"] = one.question
        for what, name in names.items():
            check_name(what, name)

    def check_labels(self, answers: list[Answer]) -> None:
        """Refuse labels that the project does not take, before anything is noted."""
        self.project.admit([LabelIn(one.task, one.worker, one.label) for one in answers])

    def answer(self, one: Answer, now: float) -> None:
        """Note an answer, unless something later is known of it."""
        at = now if one.at is None else min(one.at, now + AHEAD)
        new = ToolAnswer(
            self.tool, one.id, one.task, one.worker, one.label, one.question, at, one.gold
        )
        known = self._find(one.id)
        if known is not None:
            if known.at > at or (known.deleted and known.at == at):
                self.out.stale += 1
                return
            if known == new or (one.at is None and known._replace(at=at) == new):
                self.out.same += 1
                return
            self._remember_vote(known)
        self._remember_vote(new)
        told = known is not None and known.gold and known.label == new.label
        if new.gold and new.label is not None and not told:
            self.truths[new.task] = new.label
        self._note(new)
        self.out.taken += 1

    def delete(self, name: str, now: float) -> None:
        """Note that an answer was deleted, met before or not."""
        known = self._find(name)
        if known is not None and known.deleted:
            self.out.same += 1
            return
        if known is None:
            known = ToolAnswer(self.tool, name, "", "", None, "", now)
        self._remember_vote(known)
        at = max(now, known.at)
        self._note(known._replace(label=None, gold=False, deleted=True, at=at))
        self.out.deleted += 1

    def forget(self, name: str) -> None:
        """Note that an answer is no longer there."""
        known = self._find(name)
        if known is None or known.deleted:
            self.out.same += 1
            return
        self._remember_vote(known)
        self.project.version += 1
        self.project.answers.answers[self.tool, name] = None
        self.out.deleted += 1

    def apply(self, now: float) -> AnswersOut:
        """Tell the project what is different."""
        rows: list[LabelIn] = []
        for (task, worker), before in self.before.items():
            after = self._vote(task, worker)
            if after is None and before is not None:
                self._retract(task, worker, now)
            elif after is not None and after != before:
                rows.append(LabelIn(task, worker, after))
        for task, truth in self.truths.items():
            self.project.gold(task, truth, now)
            self.out.gold += 1
        if rows:
            found = self.project.observe(rows, now, single=len(rows) == 1)
            self.out.labels = found.labels
            self.out.late += found.late
        return self.out

    def _retract(self, task: str, worker: str, now: float) -> None:
        late = self.project.state.late
        try:
            self.project.retract(task, worker, now)
        except InputError:  # somebody took it back by hand
            return
        if self.project.state.late > late:
            self.out.late += 1
        else:
            self.out.retracted += 1

    def _note(self, answer: ToolAnswer) -> None:
        self.project.version += 1
        self.project.answers.put(answer)

    def _remember_vote(self, answer: ToolAnswer) -> None:
        """The vote on an answer's task, before it changes."""
        pair = answer.task, answer.worker
        if answer.task and pair not in self.before:
            self.before[pair] = self._vote(*pair)

    def _find(self, name: str) -> ToolAnswer | None:
        noted = self.project.answers.answers
        if (self.tool, name) in noted:
            return noted[self.tool, name]
        return self.table.find(self.project.id, self.tool, name)

    def _vote(self, task: str, worker: str) -> str | None:
        """The label of a worker on a task: of the latest answer, unless that is a truth."""
        names = {one.id for one in self.table.of(self.project.id, self.tool, task, worker)}
        names |= self.project.answers.of(self.tool, task, worker)
        every = [one for one in map(self._find, names) if one is not None and not one.deleted]
        here = [one for one in every if (one.task, one.worker) == (task, worker)]
        latest = max(here, key=lambda one: (one.at, one.id), default=None)
        return None if latest is None or latest.gold else latest.label
