"""The tools whose files are read, and how a file shows by its first bytes of which one it is.

Knows the keys of records; nothing of how files are read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from crowdstream.errors import InputError
from crowdstream.labels.column_hints import shown_columns
from crowdstream.labels.columns import ColumnNames, count_roles
from crowdstream.labels.readers import (
    appen,
    argilla,
    deepeval,
    doccano,
    ground_truth,
    inspect_log,
    label_studio,
    label_studio_min,
    langfuse,
    langsmith,
    lm_eval,
    mlflow_traces,
    mturk,
    otel_events,
    phoenix,
    prodigy,
    promptfoo,
    toloka,
)
from crowdstream.labels.readers.answer import Tool
from crowdstream.labels.readers.sniffing import Dialect
from crowdstream.labels.readers.tool_records import decode_json

TOOLS = (
    label_studio.EXPORT,
    label_studio.WEBHOOK,
    label_studio_min.SHORT,
    argilla.WITHOUT_STATUS,
    argilla.RECORDS,
    argilla.WEBHOOK,
    prodigy.LINES,
    mturk.BATCH,
    toloka.ASSIGNMENTS,
    appen.REPORT,
    ground_truth.RESPONSES,
    inspect_log.LOG,
    promptfoo.RESULTS,
    langfuse.SCORES,
    mlflow_traces.TRACES,
    deepeval.RESULTS,
    phoenix.ANNOTATIONS,
    langsmith.FEEDBACK,
    lm_eval.SAMPLES,
    otel_events.EVENTS,
    doccano.LINES,
)
"""Every shape of every tool; of two that tell the same record, the first is meant."""

TOOL_NAMES = tuple(dict.fromkeys(tool.name for tool in TOOLS))
"""Names of tools in ``--format``."""

RECORDS = 20
"""Records that are looked at: the first of an export may have no answers yet."""

Record = Mapping[str, object]


class Found(NamedTuple):
    """The tool of a file and why; ``document``: its text is one record, not many."""

    tool: Tool
    reason: str
    document: bool


def find_tool(
    head: str, dialect: Dialect, names: ColumnNames, named: str | None, where: str
) -> Found | None:
    """The tool that a text is of, if any.

    Parameters
    ----------
    head
        How it begins.
    dialect
        What is known of how it is written.
    names
        The columns as the user named them: then it is a table, whatever it looks like.
    named
        The tool as the user named it, if so; another is refused.
    where
        What messages call the text.

    Examples
    --------
    >>> head = '{"_input_hash": 1, "answer": "accept", "_annotator_id": "ann"}'
    >>> found = find_tool(head, Dialect("jsonl"), ColumnNames(), None, "labels.jsonl")
    >>> found.tool.title, found.reason
    ('a Prodigy export', 'its lines have _input_hash')
    """
    if named is None and (names.wide or any(names[:3])):
        return None
    records, document = first_records(head, dialect)
    found = tell_tool(records)
    if named is not None and (found is None or found[0].name != named):
        found = tell_tool(records, named)
        if found is None:
            raise _mismatch(named, records, where)
    if found is None:
        _refuse_document(records, document, names, where)
        return None
    return Found(*found, document or found[0].document)


def tell_tool(records: Sequence[Record], named: str | None = None) -> tuple[Tool, str] | None:
    """The tool that one of these records is of, and why; ``named``: of those of this name."""
    for record in records:
        for tool in TOOLS:
            if named in (None, tool.name) and (reason := tool.tell(record)) is not None:
                return tool, reason
    return None


def _mismatch(named: str, records: Sequence[Record], where: str) -> InputError:
    titles = " or ".join(dict.fromkeys(tool.title for tool in TOOLS if tool.name == named))
    other = tell_tool(records)
    if other is not None:
        hint = f"what looks like {other[0].title}; use --format {other[0].name}"
    else:
        hint = f"{shown_keys(records)}, which no tool that is known writes"
    return InputError(where, titles, hint)


def shown_keys(records: Sequence[Record]) -> str:
    """Describe records in a message: the keys of the first."""
    if not records:
        return "no records"
    return f"the keys {shown_columns(list(records[0]))}"


def _refuse_document(
    records: Sequence[Record], document: bool, names: ColumnNames, where: str
) -> None:
    """Say what is expected of an object that is no row: on many lines, or of objects and lists."""
    nested = bool(records) and any(isinstance(x, (dict, list)) for x in records[0].values())
    roles = count_roles(names, list(records[0])) if records else 3
    if (document and roles < 3) or (nested and not roles):
        known = ", ".join(TOOL_NAMES)
        expected = f"rows with a task, a worker and a label, or a file of {known}"
        raise InputError(where, expected, f"JSON with {shown_keys(records)}")


def first_records(head: str, dialect: Dialect) -> tuple[list[Record], bool]:
    """The first records of a text, and whether it is one object on many lines.

    >>> first_records('[{"id": 1}, {"id": 2, "annotations": [{"completed_', Dialect("array"))
    ([{'id': 1}, {'id': 2, 'annotations': [{}]}], False)
    """
    head = head.removeprefix("\ufeff")
    if dialect.kind == "csv":
        return _first_rows(head, dialect.separator), False
    if dialect.kind == "array":
        found = _decoded(closed(head))
        rows = found if isinstance(found, list) else []
        return [row for row in rows[:RECORDS] if isinstance(row, dict)], False
    lines = [line for line in head.split("\n") if line.strip()]
    objects = [_decoded(line) for line in lines[:RECORDS]]
    records: list[Record] = [record for record in objects if isinstance(record, dict)]
    whole = None if objects and isinstance(objects[0], dict) else _decoded(closed(head))
    if isinstance(whole, dict):
        return [whole], len(lines) > 1
    return records, False


def _first_rows(head: str, separator: str) -> list[Record]:
    csv.field_size_limit(1 << 30)
    rows = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    try:
        header = next(rows, [])
        first = next(rows, [])
    except csv.Error:
        return []
    return [dict(zip(header, first + [""] * len(header), strict=False))] if header else []


def _decoded(text: str) -> object:
    try:
        return decode_json(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},]|"', re.DOTALL)
"""A whole string, what opens, closes and separates values, or a string that is cut."""


def closed(text: str) -> str:
    """The beginning of JSON as whole JSON: cut behind the last whole value, and closed.

    >>> closed('[{"a": [1, 2], "b": {"c": "some te')
    '[{"a": [1, 2], "b": {}}]'
    """
    open_ones: list[str] = []
    end, closing = 0, ""
    for token in TOKEN.finditer(text):
        mark = token[0]
        if mark in ("[", "{"):
            open_ones.append("]" if mark == "[" else "}")
            end, closing = token.end(), "".join(reversed(open_ones))
        elif mark in ("]", "}"):
            if not open_ones or open_ones.pop() != mark:
                return text
            if not open_ones:
                return text
        elif mark == ",":
            end, closing = token.start(), "".join(reversed(open_ones))
        elif mark == '"':
            break
    return text[:end] + closing
