"""Label Studio's short exports, one row per annotation: JSON_MIN and CSV → `Answer`.

A column of such a row is the task's data or an answer; nothing in the file says which. Knows
nothing of files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import Answer, Reading, Tool, label_of, name_of, seconds_of
from crowdstream.labels.readers.label_studio import worker_of

OWN = ("annotation_id", "annotator", "id", "lead_time", "created_at", "updated_at", "agreement")
"""Columns that Label Studio writes of each annotation itself."""


def _tell(record: Mapping[str, object]) -> str | None:
    if "annotation_id" in record and "annotator" in record:
        return "its rows have annotation_id and annotator"
    return None


def _answers(row: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    task = name_of(row.get("id"))
    worker = worker_of(row.get("annotator"))
    if task is None:
        reading.complain("id", "a task's id", row.get("id"))
        return
    if worker is None:
        reading.complain("annotator", "a user's id", row.get("annotator"))
        return
    at = seconds_of(row.get("updated_at") or row.get("created_at"))
    skip = Answer(task, worker, None, at=at, id=name_of(row.get("annotation_id")) or "")
    found = False
    for question in _questions(row, reading.question):
        label = label_of(_value(row[question]))
        if label is not None:
            found = True
            yield skip._replace(label=label, question=question)
    if not found:
        yield skip


def _questions(row: Mapping[str, object], asked: str | None) -> list[str]:
    """The columns with answers: the one asked for, or those between id and annotator.

    JSON_MIN writes the task's data first, then its id, then what the annotator said. A CSV has its
    columns in the order of the alphabet: there all that may be answers are.
    """
    if asked is not None and asked in row:
        return [asked]
    names = list(row)
    first, last = names.index("id"), names.index("annotator")
    between = [name for name in names[first + 1 : last] if name not in OWN]
    if between and names[0] not in ("annotation_id", "agreement"):
        return between
    return [name for name in names if name not in OWN]


def _value(cell: object) -> object:
    """Several choices are an object, which a CSV has as text."""
    if isinstance(cell, str) and cell.startswith('{"choices"'):
        try:
            cell = json.loads(cell)
        except ValueError:
            return cell
    return cell.get("choices") if isinstance(cell, Mapping) else cell


SHORT = Tool("label-studio", "a short Label Studio export (JSON_MIN or CSV)", _tell, _answers)
