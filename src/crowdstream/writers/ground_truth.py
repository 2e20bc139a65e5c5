"""SageMaker Ground Truth: consolidated annotations, as its Lambda function has to return them.

`consolidate` is the whole of such a function but for reading the payload from S3.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from crowdstream.errors import InputError, NotIdentifiable
from crowdstream.labels.readers.answer import Answer, Reading, items, name_of, split_classes
from crowdstream.labels.readers.ground_truth import RESPONSES
from crowdstream.writers.decided import Decisions, decided


def consolidate(
    event: Mapping[str, object], payload: Iterable[Mapping[str, object]]
) -> list[dict[str, object]]:
    """Decide the objects of a payload by all of its annotations.

    Of a form with several fields the one is decided that is called as the label attribute. Workers
    are judged by the annotations of this payload alone; with few objects in it, votes are counted.

    Parameters
    ----------
    event
        What the function was called with.
    payload
        The content of ``payload.s3Uri``.

    Examples
    --------
    >>> import crowdstream as cs
    >>> content = '{"mood": {"label": "good"}}'
    >>> annotation = {"workerId": "w1", "annotationData": {"content": content}}
    >>> event = {"labelAttributeName": "mood", "labelingJobArn": "arn:…/job"}
    >>> payload = [{"datasetObjectId": "0", "annotations": [annotation]}]
    >>> found = cs.writers.consolidate(event, payload)
    >>> found[0]["consolidatedAnnotation"]["content"]["mood"]
    {'label': 'good'}
    """
    import polars as pl

    from crowdstream.estimators import Adaptive

    attribute = name_of(event.get("labelAttributeName"))
    if attribute is None:
        raise InputError("event", "a labelAttributeName", "none")
    told = [one for record in payload for one in RESPONSES.answers(record, Reading())]
    answers = _one_question([one for one in told if one.label is not None], attribute)
    if not answers:
        return []
    for one in answers:
        if len(split_classes(str(one.label))) > 1:
            where = f"datasetObjectId {one.task!r}, worker {one.worker!r}"
            raise InputError(where, "one class", f"several: {one.label}")
    rows = [(one.task, one.worker, one.label) for one in answers]
    labels = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentifiable)  # a payload may be one object
        decisions = pl.DataFrame(Adaptive().fit_predict(labels))
    categories = [one for one in map(name_of, items(event.get("labelCategories"))) if one]
    job = str(event.get("labelingJobArn") or "").rpartition("/")[2]
    return to_ground_truth(decisions, attribute, job=job, categories=categories)


def to_ground_truth(
    decisions: Decisions,
    attribute: str,
    *,
    job: str = "",
    categories: Sequence[str] = (),
    at: datetime | None = None,
) -> list[dict[str, object]]:
    """Decisions as consolidated annotations, with what Ground Truth's own functions add to them.

    Parameters
    ----------
    decisions
        A table with the columns task (the datasetObjectId), label and confidence, or `Decision`
        objects.
    attribute
        The labelling job's ``labelAttributeName``.
    job
        The job's name, for the metadata.
    categories
        The job's ``labelCategories``: with them, each label's place among them is told too.
    at
        When; now if not given.

    Examples
    --------
    >>> import crowdstream as cs
    >>> decision = cs.Decision("0", "good", 0.9, 0.8, 3, True, True)
    >>> found = cs.writers.to_ground_truth([decision], "mood", job="moods")
    >>> found[0]["consolidatedAnnotation"]["content"]["mood-metadata"]["confidence"]
    0.9
    """
    moment = (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%f")
    places = {name: place for place, name in enumerate(categories)}
    found: list[dict[str, object]] = []
    for one in decided(decisions).values():
        label: dict[str, object] = {"label": one.label}
        if one.label in places:
            label["index"] = places[str(one.label)]
        metadata = {
            "class-name": str(one.label), "confidence": one.confidence, "job-name": job,
            "type": "groundtruth/custom", "human-annotated": "yes", "creation-date": moment,
        }  # fmt: skip
        content = {attribute: label, f"{attribute}-metadata": metadata}
        found.append({"datasetObjectId": one.task, "consolidatedAnnotation": {"content": content}})
    return found


def _one_question(answers: list[Answer], attribute: str) -> list[Answer]:
    """The answers to the field that is called as the attribute, or to the only one."""
    names = sorted({one.question for one in answers})
    if attribute in names:
        return [one for one in answers if one.question == attribute]
    if len(names) > 1:
        expected = f"one of the form's fields: {', '.join(map(repr, names))}"
        raise InputError("labelAttributeName", expected, repr(attribute))
    return answers
