"""doccano: one file of JSON lines per user; the file's name is the worker → `Answer`.

Knows nothing of files but their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Answer, Reading, Tool, items, label_of, name_of

LABELS = ("label", "labels", "cats")
"""Names of the list of labels, in one release and another."""

TEXTS = ("text", "data", "filename")
"""Names of the text that is labelled."""

EVERYBODY = "all"
"""The name of the file in which nobody is named."""


def _tell(record: Mapping[str, object]) -> str | None:
    key = _key(record)
    if key is None or not isinstance(record[key], list) or "id" not in record:
        return None
    if not any(name in record for name in TEXTS):
        return None
    return f"its lines have id and a list of labels ({key}), and no worker"


def _key(record: Mapping[str, object]) -> str | None:
    return next((name for name in LABELS if name in record), None)


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    if reading.file == EVERYBODY:
        expected = "one file per user, called as the user is"
        found = "doccano's file of all users, which does not say who gave a label"
        raise InputError(f"{EVERYBODY}.jsonl", expected, found)
    task = name_of(record.get("id"))
    if task is None:
        reading.complain("id", "an example's id", record.get("id"))
        return
    key = _key(record)
    yield Answer(task, reading.file, label_of(items(record[key]) if key is not None else None))


def _unlabelled(record: Mapping[str, object]) -> str:
    spans = any(isinstance(label, list) for label in items(record.get(_key(record) or "")))
    return "spans of text" if spans or "entities" in record else ""


LINES = Tool(
    "doccano",
    "a doccano export",
    _tell,
    _answers,
    unlabelled=_unlabelled,
    remark="whose lines do not name workers: the file's name is the worker",
)
