"""Appen (CrowdFlower, Figure Eight): the full report, one row per judgement → `Answer`.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.columns import ALIASES, simple_name
from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    join_classes,
    name_of,
    seconds_of,
)

GOLD = "_gold"
"""Behind the name of a question: its correct answers, one a line."""

MARKS = ("_tainted", "_golden", "_trust", "_missed", "_id")
"""Columns of the full report, of which a table of labels has none."""


def _tell(record: Mapping[str, object]) -> str | None:
    if "_unit_id" in record and "_worker_id" in record:
        mark = next((name for name in MARKS if name in record), None)
        return None if mark is None else f"its columns are _unit_id, _worker_id and {mark}"
    return None


def _answers(row: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    task, worker = name_of(row.get("_unit_id")), name_of(row.get("_worker_id"))
    if task is None:
        reading.complain("_unit_id", "a unit's id", row.get("_unit_id"))
        return
    if worker is None:
        reading.complain("_worker_id", "a worker's id", row.get("_worker_id"))
        return
    at = seconds_of(row.get("_created_at"))
    skip = Answer(task, worker, None, at=at, id=name_of(row.get("_id")) or "")
    tainted = str(row.get("_tainted")).lower() == "true"
    found = False
    for question in _questions(row, reading.question):
        given = None if tainted else _chosen(row.get(question))
        if given is not None:
            found = True
            yield skip._replace(label=given, question=question)
        gold = _chosen(row.get(question + GOLD))
        if gold is not None:
            yield Answer(task, "", gold, question, gold=True)
    if not found:
        yield skip


def _questions(row: Mapping[str, object], asked: str | None) -> list[str]:
    """The one asked for; else those with a column of gold; else those that a name gives away."""
    if asked is not None and asked in row:
        return [asked]
    names = [name for name in row if not name.startswith("_") and not name.endswith(GOLD)]
    checked = [name for name in names if name + GOLD in row]
    known = [name for name in names if simple_name(name) in ALIASES["label"]]
    return checked or known or names


def _chosen(cell: object) -> str | None:
    """Return the label in a cell, in which several choices are on a line each."""
    return join_classes(filter(None, map(str.strip, (name_of(cell) or "").split("\n"))))


REPORT = Tool("appen", "Appen's full report", _tell, _answers)
