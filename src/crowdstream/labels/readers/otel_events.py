"""OpenTelemetry: events ``gen_ai.evaluation.result`` → `Answer`.

An event has a name (the question), a label or a score, and what it is about. It is a record of a
log or an event of a span, in OTLP as JSON, or flat. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    items,
    label_of,
    mapping,
    name_of,
    seconds_of,
)
from crowdstream.labels.readers.input_options import CHECKS

EVALUATION = "gen_ai.evaluation."
NAME = f"{EVALUATION}name"
LABEL, SCORE = f"{EVALUATION}score.label", f"{EVALUATION}score.value"

RESPONSE = "gen_ai.response.id"
SESSIONS = ("session.id", "gen_ai.conversation.id")
"""Attributes of what was evaluated, where an event has no trace."""

JUDGES = (
    *(f"{EVALUATION}judge.model", f"{EVALUATION}judge_model", f"{EVALUATION}judge.name"),
    *(f"{EVALUATION}evaluator.name", f"{EVALUATION}evaluator.id", f"{EVALUATION}evaluator"),
    *("gen_ai.evaluator.name", "gen_ai.evaluator.id"),
)
"""Attributes that name who judged. The conventions have none yet; these are what programs write.
``gen_ai.request.model`` is not among them: it is the model whose output is judged."""

KIND = f"{EVALUATION}evaluator.type"
COMPUTED = frozenset({"deterministic", "code"})
"""Types of evaluators that ask no model."""

SIGNALS = (
    ("resourceLogs", "scopeLogs", "logRecords"),
    ("resourceSpans", "scopeSpans", "spans"),
)
"""Keys of OTLP from a whole to its records."""

SCALARS = ("stringValue", "boolValue", "doubleValue", "intValue")
"""Types of values in OTLP that may be a name or a label."""


class _Event(NamedTuple):
    """An event: its path in the record, itself, its attributes, and what it stands in."""

    path: str
    event: Mapping[str, object]
    attributes: Mapping[str, object]
    around: Mapping[str, object] = {}
    scope: str = ""


def _tell(record: Mapping[str, object]) -> str | None:
    if any(True for _ in _events(record)):
        return f"it has events with {NAME}"
    return next((f"it has {keys[0]}" for keys in SIGNALS if items(record.get(keys[0]))), None)


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    for found in _events(record):
        path, attributes = found.path, found.attributes
        task, question = _task(found), name_of(attributes.get(NAME))
        if question is None:
            reading.complain(f"{path}{NAME}", "a name", attributes.get(NAME))
            continue
        if task is None:
            expected = f"what was evaluated ({RESPONSE}, or a trace and a span)"
            reading.complain(f"{path}{RESPONSE}", expected, attributes.get(RESPONSE))
            continue
        judge = next(filter(None, (name_of(attributes.get(key)) for key in JUDGES)), None)
        label = label_of(attributes.get(LABEL))
        yield Answer(
            task,
            judge or found.scope or question,
            label_of(attributes.get(SCORE)) if label is None else label,
            question,
            _time(found.event),
            kind=CHECKS if attributes.get(KIND) in COMPUTED else "",
        )


def _events(record: Mapping[str, object]) -> Iterator[_Event]:
    """The evaluations of a record; what else is in a log is passed over."""
    for top, middle, bottom in SIGNALS:
        for i, resource in enumerate(map(mapping, items(record.get(top)))):
            for j, scoped in enumerate(map(mapping, items(resource.get(middle)))):
                scope = name_of(mapping(scoped.get("scope")).get("name")) or ""
                for k, one in enumerate(map(mapping, items(scoped.get(bottom)))):
                    path = f"{top}[{i}].{middle}[{j}].{bottom}[{k}]."
                    yield from _evaluations(one, path, scope)
    yield from _evaluations(record, "", "")


def _evaluations(one: Mapping[str, object], path: str, scope: str) -> Iterator[_Event]:
    """A record of a log that is an evaluation itself, or the evaluations among a span's events."""
    several = False
    for place, event in enumerate(map(mapping, items(one.get("events")))):
        flat = _flat(event.get("attributes"))
        if NAME in flat:
            several = True
            yield _Event(f"{path}events[{place}].", event, flat, one, scope)
    flat = one if NAME in one else _flat(one.get("attributes"))
    if NAME in flat and not several:
        named = mapping(one.get("instrumentation_scope") or one.get("scope"))
        yield _Event(path, one, flat, scope=scope or name_of(named.get("name")) or "")


def _flat(attributes: object) -> Mapping[str, object]:
    """Attributes by name: OTLP has a list of keys and values, each with its type."""
    if not isinstance(attributes, list):
        return mapping(attributes)
    found: dict[str, object] = {}
    for one in map(mapping, attributes):
        key = name_of(one.get("key"))
        values = mapping(one.get("value"))
        if key is not None:
            found[key] = next((values[kind] for kind in SCALARS if kind in values), None)
    return found


def _task(found: _Event) -> str | None:
    """Return what was evaluated: the response, else trace and span, else the session.

    An evaluator often sends events from within a span of its own, so that the spans of two judges
    differ where the response is one.
    """
    response = name_of(found.attributes.get(RESPONSE))
    if response is not None:
        return response
    for one in (found.event, found.around, mapping(found.around.get("context"))):
        trace = _id(one, "traceId", "trace_id")
        if trace is not None:
            return "/".join(filter(None, [trace, _id(one, "spanId", "span_id")]))
    sessions = (name_of(found.attributes.get(key)) for key in SESSIONS)
    return next(filter(None, sessions), None)


def _id(one: Mapping[str, object], *keys: str) -> str | None:
    """Return an id of a trace or a span; all zeros stand for none."""
    found = next(filter(None, (name_of(one.get(key)) for key in keys)), None)
    return None if found is None or not found.removeprefix("0x").strip("0") else found


def _time(event: Mapping[str, object]) -> float | None:
    """Return the time of an event: nanoseconds, as text or a number, or ISO 8601."""
    for key in ("timeUnixNano", "observedTimeUnixNano", "time_unix_nano"):
        nano = name_of(event.get(key)) or ""
        if nano.isascii() and nano.isdigit() and 0 < len(nano) < 20 and int(nano):
            return int(nano) / 1e9
    return seconds_of(event.get("timestamp") or event.get("observed_timestamp"))


EVENTS = Tool("opentelemetry", "evaluations of OpenTelemetry", _tell, _answers)
