"""What annotation tools have told, by their own ids, and the secrets that they sign with: SQL.

Written in the same commit as the labels that it led to. Knows nothing of streams.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from crowdstream.serve.checksums import checksum

TABLES = """
CREATE TABLE tool_answers (
    project INTEGER NOT NULL, tool TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL,
    worker TEXT NOT NULL, label TEXT, question TEXT NOT NULL, at REAL NOT NULL,
    gold INTEGER NOT NULL, deleted INTEGER NOT NULL, noted REAL NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (project, tool, id)
) WITHOUT ROWID;
CREATE INDEX tool_answers_of_task ON tool_answers (project, tool, task, worker);
CREATE INDEX tool_answers_deleted ON tool_answers (noted) WHERE deleted = 1;
CREATE TABLE hook_secrets (
    project INTEGER NOT NULL, tool TEXT NOT NULL, secret TEXT NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (project, tool)
) WITHOUT ROWID;
"""

LABEL_STUDIO, ARGILLA = "label-studio", "argilla"
TOOLS = (LABEL_STUDIO, ARGILLA)

COLUMNS = "tool, id, task, worker, label, question, at, gold, deleted"


class ToolAnswer(NamedTuple):
    """An answer as a tool last told it; ``at`` is the tool's time of it.

    Deleted ones are kept for a while, so that what is told late of them changes nothing; of those
    that were never met, task and worker are empty.
    """

    tool: str
    id: str
    task: str
    worker: str
    label: str | None
    question: str
    at: float
    gold: bool = False
    deleted: bool = False


class ToolChanges:
    """Answers by tool and id as they are now, not on the disk yet; ``None``: to be forgotten."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], ToolAnswer | None] = {}
        self._of: dict[tuple[str, str, str], set[str]] = {}

    def put(self, answer: ToolAnswer) -> None:
        """An answer as it is now."""
        self.answers[answer.tool, answer.id] = answer
        self._of.setdefault((answer.tool, answer.task, answer.worker), set()).add(answer.id)

    def of(self, tool: str, task: str, worker: str) -> set[str]:
        """Ids of answers that were noted for a worker on a task; some may have moved since."""
        return self._of.get((tool, task, worker), set())

    def __bool__(self) -> bool:
        return bool(self.answers)


class ToolTable:
    """The tables, by one connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def find(self, project: int, tool: str, id: str) -> ToolAnswer | None:  # noqa: A002
        """An answer by the tool's own id."""
        query = f"SELECT {COLUMNS} FROM tool_answers WHERE project = ? AND tool = ? AND id = ?"
        found = self._db.execute(query, (project, tool, id)).fetchone()
        return None if found is None else _answer(found)

    def of(self, project: int, tool: str, task: str, worker: str) -> list[ToolAnswer]:
        """All answers of one worker on one task."""
        # SQLite knows nothing of how many rows a tool has: by itself it goes through all of them.
        query = (
            f"SELECT {COLUMNS} FROM tool_answers INDEXED BY tool_answers_of_task "
            "WHERE project = ? AND tool = ? AND task = ? AND worker = ?"
        )
        return [_answer(row) for row in self._db.execute(query, (project, tool, task, worker))]

    def question(self, project: int, tool: str) -> str:
        """The question that what is known so far answers; empty if nothing is known."""
        query = (
            "SELECT question FROM tool_answers "
            "WHERE project = ? AND tool = ? AND question != '' LIMIT 1"
        )
        found = self._db.execute(query, (project, tool)).fetchone()
        return "" if found is None else str(found[0])

    def page(self, project: int, tool: str, after: str, most: int) -> list[ToolAnswer]:
        """Answers that were not deleted, in the order of their ids, from one on."""
        query = (
            f"SELECT {COLUMNS} FROM tool_answers "
            "WHERE project = ? AND tool = ? AND id > ? AND NOT deleted ORDER BY id LIMIT ?"
        )
        return [_answer(row) for row in self._db.execute(query, (project, tool, after, most))]

    def secret(self, project: int, tool: str) -> str | None:
        """The secret that a tool signs with, if there is one."""
        query = "SELECT secret FROM hook_secrets WHERE project = ? AND tool = ?"
        found = self._db.execute(query, (project, tool)).fetchone()
        return None if found is None else str(found[0])

    # Inside a transaction of the store -------------------------------------------------------

    def write(self, project: int, changes: ToolChanges, at: float) -> None:
        """Write answers as they are now."""
        gone = [(project, *key) for key, told in changes.answers.items() if told is None]
        there = [
            _record(project, told, at) for told in changes.answers.values() if told is not None
        ]
        forget = "DELETE FROM tool_answers WHERE project = ? AND tool = ? AND id = ?"
        marks = ", ".join("?" * 12)
        self._db.executemany(forget, gone)
        self._db.executemany(f"INSERT OR REPLACE INTO tool_answers VALUES ({marks})", there)

    def drop(self, project: int, before: float) -> None:
        """Forget what a project's tools told before a time."""
        query = "DELETE FROM tool_answers WHERE project = ? AND noted < ?"
        self._db.execute(query, (project, before))

    def drop_deleted(self, before: float) -> None:
        """Forget answers that were deleted before a time."""
        self._db.execute("DELETE FROM tool_answers WHERE noted < ? AND deleted = 1", (before,))

    def set_secret(self, project: int, tool: str, secret: str | None) -> None:
        """The secret that a tool signs with; ``None``: none any more."""
        given = project, tool
        self._db.execute("DELETE FROM hook_secrets WHERE project = ? AND tool = ?", given)
        if secret is not None:
            record = (*given, secret)
            insert = "INSERT INTO hook_secrets VALUES (?, ?, ?, ?)"
            self._db.execute(insert, (*record, checksum(*record)))


def _record(project: int, told: ToolAnswer, at: float) -> tuple[object, ...]:
    """An answer as it is stored, with its checksum."""
    flags = int(told.gold), int(told.deleted)
    record = (project, *told[:6], float(told.at), *flags, float(at))
    return *record, checksum(*record)


def _answer(row: tuple[Any, ...]) -> ToolAnswer:
    found = ToolAnswer(*row)
    return found._replace(gold=bool(found.gold), deleted=bool(found.deleted))
