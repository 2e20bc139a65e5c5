"""SageMaker Ground Truth: what workers answered, per object → `Answer`. Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    items,
    mapping,
    name_of,
    seconds_of,
)
from crowdstream.labels.readers.crowd_forms import form_answers


def _tell(record: Mapping[str, object]) -> str | None:
    if "datasetObjectId" in record and "annotations" in record:
        return "its records have datasetObjectId and annotations"
    return None


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    task = name_of(record.get("datasetObjectId"))
    if task is None:
        reading.complain("datasetObjectId", "an object's id", record.get("datasetObjectId"))
        return
    for place, annotation in enumerate(map(mapping, items(record.get("annotations")))):
        path = f"annotations[{place}]"
        worker = name_of(annotation.get("workerId"))
        if worker is None:
            reading.complain(f"{path}.workerId", "a worker's id", annotation.get("workerId"))
            continue
        at = seconds_of(annotation.get("submissionTime"))
        skip = Answer(task, worker, None, at=at)
        form = _form(annotation, path, reading)
        if form is None:
            continue
        found = False
        for question, label in form_answers(form):
            if label is not None:
                found = True
                yield skip._replace(label=label, question=question)
        if not found:
            yield skip


def _form(
    annotation: Mapping[str, object], path: str, reading: Reading
) -> Mapping[str, object] | None:
    content = mapping(annotation.get("annotationData")).get("content")
    if isinstance(content, str):
        try:
            content = msgspec.json.decode(content)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            reading.complain(f"{path}.annotationData.content", "JSON", content)
            return None
    if not isinstance(content, Mapping):
        reading.complain(f"{path}.annotationData.content", "an object of JSON", content)
        return None
    return content


RESPONSES = Tool("ground-truth", "annotations of SageMaker Ground Truth", _tell, _answers)
