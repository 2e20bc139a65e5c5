"""MLflow: assessments of traces → `Answer`.

Feedback is a vote, an expectation the truth. The name of an assessment is the question; its source
is who answers. Knows nothing of files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    items,
    label_of,
    mapping,
    name_of,
    paged,
    seconds_of,
)
from crowdstream.labels.readers.input_options import CHECKS

CODE = "CODE"
"""Type of a source that computes what it says."""

UNNAMED = ("", "default", "unknown")
"""Ids of sources that name nobody: what MLflow writes where its caller gave none."""


def _tell(record: Mapping[str, object]) -> str | None:
    for found in (record, *map(mapping, items(record.get("traces")))):
        if _is_assessment(found):
            return "its records have assessment_name and source"
        if any(_is_assessment(mapping(one)) for one in items(_info(found).get("assessments"))):
            return "its traces have assessments"
    info = _info(record)
    if "trace_id" in info and ("trace_location" in info or "trace_metadata" in info):
        return "its records have trace_id and what MLflow keeps of a trace"
    return None


def _is_assessment(record: Mapping[str, object]) -> bool:
    return "assessment_name" in record and "source" in record


def _info(record: Mapping[str, object]) -> Mapping[str, object]:
    """Return what a trace has beside its data; a row of a table of traces has both in one."""
    return mapping(record.get("info")) or record


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    """The assessments of a record: itself, those of a trace, or those of a page of traces."""
    if _is_assessment(record):
        yield from _assessment_answers(record, reading, "", name_of(record.get("trace_id")))
        return
    for path, trace in paged(record, "traces", own="traces" not in record):
        info = _info(trace)
        found = list(map(mapping, items(info.get("assessments"))))
        asked = {name_of(one.get("assessment_name")) for one in found if "feedback" in one}
        inner = _inner_spans(trace)
        for place, one in enumerate(found):
            # What is expected of an output is often a text that nobody votes on.
            if "expectation" in one and name_of(one.get("assessment_name")) not in asked:
                continue
            task = name_of(info.get("trace_id")) or name_of(one.get("trace_id"))
            span = name_of(one.get("span_id"))
            if task is not None and span in inner:
                task = f"{task}/{span}"
            prefix = "info." if info is not trace else ""
            where = f"{path}{prefix}assessments[{place}]."
            yield from _assessment_answers(one, reading, where, task)


def _inner_spans(trace: Mapping[str, object]) -> set[str]:
    """Return the spans of a trace but its root.

    ``mlflow.genai.evaluate`` attaches what judges say to the root, people attach theirs to no span:
    both mean the trace.
    """
    spans = items(mapping(trace.get("data")).get("spans")) or items(trace.get("spans"))
    inner = [mapping(one) for one in spans if name_of(mapping(one).get("parent_span_id"))]
    return {name for one in inner if (name := name_of(one.get("span_id"))) is not None}


def _assessment_answers(
    one: Mapping[str, object], reading: Reading, path: str, task: str | None
) -> Iterator[Answer]:
    """One assessment; one that another overrides is kept, as it is what its source said."""
    name = name_of(one.get("assessment_name"))
    source = mapping(one.get("source"))
    worker = _worker(source)
    if task is None:
        reading.complain(f"{path}trace_id", "a trace's id", one.get("trace_id"))
        return
    if name is None:
        reading.complain(f"{path}assessment_name", "a name", one.get("assessment_name"))
        return
    if worker is None:
        reading.complain(f"{path}source", "a source with a type and an id", one.get("source"))
        return
    at = seconds_of(one.get("last_update_time") or one.get("create_time"))
    answer = Answer(task, worker, None, name, at, id=name_of(one.get("assessment_id")) or "")
    if "expectation" in one:
        expected = label_of(_expected(mapping(one.get("expectation"))))
        yield answer._replace(label=expected, gold=True)
    elif "feedback" in one:  # what is left are references to issues, which are no answers
        feedback = mapping(one.get("feedback"))
        failed = feedback.get("error") or one.get("error")
        kind = CHECKS if source.get("source_type") == CODE else ""
        yield from _values(answer._replace(kind=kind), None if failed else feedback.get("value"))


def _values(answer: Answer, value: object) -> Iterator[Answer]:
    """A value, or one per criterion: then each is a question."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield answer._replace(label=label_of(each), question=f"{answer.question}.{key}")
    else:
        yield answer._replace(label=label_of(value))


def _worker(source: Mapping[str, object]) -> str | None:
    """Return the id of a source, or its type where the id names nobody."""
    found = name_of(source.get("source_id")) or ""
    return name_of(source.get("source_type")) if found.lower() in UNNAMED else found


def _expected(expectation: Mapping[str, object]) -> object:
    """Return the value of an expectation; lists are kept as JSON in a text."""
    serialized = mapping(expectation.get("serialized_value")).get("value")
    if not isinstance(serialized, str):
        return expectation.get("value")
    try:
        return json.loads(serialized)
    except (ValueError, RecursionError):
        return None


TRACES = Tool("mlflow", "assessments of MLflow", _tell, _answers)
