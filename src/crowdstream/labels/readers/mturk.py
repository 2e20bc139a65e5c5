"""Mechanical Turk: the results of a batch, one row per assignment → `Answer`.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from crowdstream.labels.readers.answer import Answer, Reading, Tool, mapping, name_of
from crowdstream.labels.readers.crowd_forms import form_answers

PREFIX = "Answer."
"""Before the name of every field of the form."""

EMPTY = "{}"
"""Cell of a field that was left out."""

WHOLE = "Answer.taskAnswers"
"""The column that has all fields as JSON."""


def _tell(record: Mapping[str, object]) -> str | None:
    if "HITId" in record and "WorkerId" in record:
        field = next((name for name in record if name.startswith(PREFIX)), None)
        return None if field is None else f"its columns are HITId, WorkerId and {field}"
    return None


def _answers(row: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    task, worker = name_of(row.get("HITId")), name_of(row.get("WorkerId"))
    if task is None:
        reading.complain("HITId", "a HIT's id", row.get("HITId"))
        return
    if worker is None:
        reading.complain("WorkerId", "a worker's id", row.get("WorkerId"))
        return
    skip = Answer(task, worker, None, id=name_of(row.get("AssignmentId")) or "")
    rejected = str(row.get("AssignmentStatus")).lower() == "rejected"
    found = False
    for question, label in [] if rejected else form_answers(_form(row, reading)):
        if label is not None:
            found = True
            yield skip._replace(label=label, question=question)
    if not found:
        yield skip


def _form(row: Mapping[str, object], reading: Reading) -> dict[str, object]:
    """The form's fields as they were sent: ``Answer.mood.good`` is the field good of mood."""
    form: dict[str, object] = {}
    for name, cell in row.items():
        if not name.startswith(PREFIX) or name == WHOLE or cell == EMPTY:
            continue
        field, dot, part = name.removeprefix(PREFIX).partition(".")
        if not dot:
            form[field] = cell
        else:
            parts = form.setdefault(field, {})
            if isinstance(parts, dict):
                parts[part] = cell
    whole = row.get(WHOLE)
    if isinstance(whole, str) and whole:
        try:
            sent = msgspec.json.decode(whole)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            reading.complain(WHOLE, "JSON", whole)
            return form
        for fields in sent if isinstance(sent, list) else [sent]:
            form |= mapping(fields)
    return form


BATCH = Tool("mturk", "results of a Mechanical Turk batch", _tell, _answers)
