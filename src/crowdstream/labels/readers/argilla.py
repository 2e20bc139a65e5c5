"""Argilla 2: records as its client writes them, nested or flat, and webhook events → `Answer`.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import Answer, items, mapping, name_of, seconds_of
from crowdstream.labels.readers.label_studio import MODEL

SUBMITTED = "submitted"
"""The only status of a response that counts; drafts and what was discarded are skips."""


def record_answers(record: Mapping[str, object], *, predictions: bool = False) -> Iterator[Answer]:
    """All answers in one record.

    Parameters
    ----------
    record
        As `dataset.records.to_json` writes it (``responses`` by question), or flattened
        (``mood.responses``, ``mood.responses.users``, ``mood.responses.status``).
    predictions
        Whether suggestions are votes too, of their agent.

    Examples
    --------
    >>> nested = {"id": "r1", "responses": {"mood": [{"value": "good", "user_id": "u1"}]}}
    >>> flat = {"id": "r1", "mood.responses": ["good"], "mood.responses.users": ["u1"]}
    >>> list(record_answers(nested)) == list(record_answers(flat))
    True
    """
    task = name_of(record.get("id"))
    if task is None:
        return
    for question, value, user, status in _responses(record):
        worker = name_of(user)
        if worker is not None:
            label, several = label_of(value)
            counts = status in (None, SUBMITTED)
            yield Answer(task, worker, label if counts else None, question, several=several)
    for question, value, agent in _suggestions(record) if predictions else ():
        label, several = label_of(value)
        model = MODEL + (name_of(agent) or "unnamed")
        if label is not None:
            yield Answer(task, model, label, question, predicted=True, several=several)


def _responses(record: Mapping[str, object]) -> Iterator[tuple[str, object, object, object]]:
    for question, responses in mapping(record.get("responses")).items():
        for response in map(mapping, items(responses)):
            yield question, response.get("value"), response.get("user_id"), response.get("status")
    for key, values in record.items():
        question, dot, last = key.rpartition(".")
        if not dot or last != "responses":
            continue
        users = items(record.get(f"{key}.users"))
        statuses = items(record.get(f"{key}.status")) or [None] * len(users)
        for value, user, status in zip(items(values), users, statuses, strict=False):
            yield question, value, user, status


def _suggestions(record: Mapping[str, object]) -> Iterator[tuple[str, object, object]]:
    for question, suggestion in mapping(record.get("suggestions")).items():
        found = mapping(suggestion)
        yield question, found.get("value"), found.get("agent")
    for key, value in record.items():
        question, dot, last = key.rpartition(".")
        if dot and last == "suggestion":
            yield question, value, record.get(f"{key}.agent")


def event_answers(data: Mapping[str, object]) -> Iterator[Answer]:
    """The answers in the ``data`` of a webhook event about a response: one per question.

    Parameters
    ----------
    data
        ``data`` of response.created, response.updated or response.deleted.

    Examples
    --------
    >>> data = {"id": "38e4", "values": {"score": {"value": 5}}, "status": "submitted",
    ...         "record": {"id": "54b1"}, "user": {"id": "df11"}}
    >>> list(event_answers(data))
    [Answer(task='54b1', worker='df11', label='5', question='score', ..., id='38e4')]
    """
    task = name_of(mapping(data.get("record")).get("id"))
    worker = name_of(mapping(data.get("user")).get("id"))
    if task is None or worker is None:
        return
    at = seconds_of(data.get("updated_at") or data.get("inserted_at"))
    skip = Answer(task, worker, None, at=at, id=name_of(data.get("id")) or "")
    values = mapping(data.get("values")) if data.get("status") == SUBMITTED else {}
    for question, value in values.items():
        label, several = label_of(mapping(value).get("value"))
        yield skip._replace(label=label, question=question, several=several)
    if not values:
        yield skip


def label_of(value: object) -> tuple[str | None, bool]:
    """A response's value as one label, and whether it had more.

    >>> label_of("good"), label_of(["a", "b"]), label_of({"text": "no class"})
    (('good', False), ('a', True), (None, False))
    """
    if isinstance(value, list):
        labels = [name for name in map(name_of, value) if name is not None]
        return (labels[0] if labels else None), len(labels) > 1
    return name_of(value), False
