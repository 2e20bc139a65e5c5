"""Argilla 2: records as its client writes them, nested or flat, and webhook events → `Answer`.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import (
    Answer,
    Complain,
    Reading,
    Tool,
    items,
    label_of,
    mapping,
    name_of,
    overlook,
    seconds_of,
)
from crowdstream.labels.readers.input_options import PREDICTIONS
from crowdstream.labels.readers.label_studio import MODEL

SUBMITTED = "submitted"
"""The only status of a response that counts; drafts and what was discarded are skips."""


def record_answers(
    record: Mapping[str, object], *, predictions: bool = False, complain: Complain = overlook
) -> Iterator[Answer]:
    """All answers in one record.

    Parameters
    ----------
    record
        As `dataset.records.to_json` writes it (``responses`` by question), or flattened
        (``mood.responses``, ``mood.responses.users``, ``mood.responses.status``).
    predictions
        Whether suggestions are votes too, of their agent.
    complain
        Takes what is wrong in it.

    Examples
    --------
    >>> nested = {"id": "r1", "responses": {"mood": [{"value": "good", "user_id": "u1"}]}}
    >>> flat = {"id": "r1", "mood.responses": ["good"], "mood.responses.users": ["u1"]}
    >>> list(record_answers(nested)) == list(record_answers(flat))
    True
    """
    task = name_of(record.get("id"))
    if task is None:
        complain("id", "a record's id", record.get("id"))
        return
    for path, question, value, user, status in _responses(record, complain):
        worker = name_of(user)
        if worker is None:
            complain(path, "a user's id", user)
            continue
        counts = status in (None, SUBMITTED)
        yield Answer(task, worker, label_of(value) if counts else None, question)
    for question, value, agent in _suggestions(record) if predictions else ():
        label = label_of(value)
        model = MODEL + (name_of(agent) or "unnamed")
        if label is not None:
            yield Answer(task, model, label, question, kind=PREDICTIONS)


def _responses(
    record: Mapping[str, object], complain: Complain
) -> Iterator[tuple[str, str, object, object, object]]:
    """Path of the user, question, value, user and status of each response."""
    for question, responses in mapping(record.get("responses")).items():
        for place, response in enumerate(map(mapping, items(responses))):
            user, status = response.get("user_id"), response.get("status")
            path = f"responses.{question}[{place}].user_id"
            yield path, question, response.get("value"), user, status
    for key, values in record.items():
        question, dot, last = key.rpartition(".")
        if not dot or last != "responses":
            continue
        users = items(record.get(f"{key}.users"))
        statuses = items(record.get(f"{key}.status")) or [None] * len(users)
        answers = items(values)
        if not len(answers) == len(users) == len(statuses):
            expected = f"one user and one status for each of {len(answers)} responses"
            complain(f"{key}.users", expected, f"{len(users)} and {len(statuses)}")
            continue
        for place, found in enumerate(zip(answers, users, statuses, strict=True)):
            yield f"{key}.users[{place}]", question, *found


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
        label = label_of(mapping(value).get("value"))
        yield skip._replace(label=label, question=question)
    if not values:
        yield skip


def _tell_nested(record: Mapping[str, object]) -> str | None:
    reason = _tell_record(record)
    responses = list(_responses(record, overlook))
    if reason is None or "responses" not in record or not responses:
        return None
    return reason if all(status is None for *_, status in responses) else None


def _tell_record(record: Mapping[str, object]) -> str | None:
    beside = ("fields", "suggestions", "metadata", "_server_id", "id")
    if isinstance(record.get("responses"), Mapping) and any(key in record for key in beside):
        return "its records have responses by question"
    flat = next((key for key in record if key.endswith(".responses.users")), None)
    return None if flat is None else f"its records have {flat}"


def _tell_event(record: Mapping[str, object]) -> str | None:
    kind = record.get("type")
    if isinstance(kind, str) and kind.startswith("response.") and "data" in record:
        return f"its records have data and a type such as {kind}"
    return None


def _record_answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    return record_answers(record, predictions=True, complain=reading.complain)


def _event_answers(event: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    data = mapping(event.get("data"))
    if event.get("type") != "response.deleted":
        found = list(event_answers(data))
        if not found:
            expected = "record.id and user.id"
            reading.complain("data", expected, f"{', '.join(map(str, data)) or 'nothing'}")
        yield from found
    elif (name := name_of(data.get("id"))) is not None:
        yield Answer("", "", None, id=name)
    else:
        reading.complain("data.id", "a response's id", data.get("id"))


RECORDS = Tool("argilla", "an Argilla export", _tell_record, _record_answers)

WITHOUT_STATUS = RECORDS._replace(
    tell=_tell_nested,
    remark="which does not say which responses were submitted: drafts count (export flattened)",
)

WEBHOOK = Tool("argilla", "Argilla's webhooks", _tell_event, _event_answers, events=True)
