"""Label Studio: tasks of a JSON export, and annotations as its webhooks send them → `Answer`.

Its short exports (JSON_MIN, CSV) are in `label_studio_min`.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypedDict

from crowdstream.labels.readers.answer import (
    Answer,
    Complain,
    Reading,
    Tool,
    items,
    join_classes,
    mapping,
    name_of,
    overlook,
    seconds_of,
)
from crowdstream.labels.readers.input_options import PREDICTIONS

MODEL = "model:"
"""Before the name of a model, where its predictions are votes."""


TASK_KEYS = ("data", "predictions", "drafts", "total_annotations", "inner_id")
"""One of these is beside ``annotations`` where a task has none yet."""

EVENTS = ("ANNOTATION_", "ANNOTATIONS_")
"""Beginnings of the names of events about annotations."""


def task_answers(
    task: Mapping[str, object], *, predictions: bool = False, complain: Complain = overlook
) -> Iterator[Answer]:
    """All answers on one task of an export.

    Parameters
    ----------
    task
        One element of the export's array.
    predictions
        Whether models are workers too.
    complain
        Takes what is wrong in it.

    Examples
    --------
    >>> result = [{"from_name": "mood", "type": "choices", "value": {"choices": ["good"]}}]
    >>> task = {"id": 1, "annotations": [{"id": 7, "completed_by": {"id": 10}, "result": result}]}
    >>> list(task_answers(task))
    [Answer(task='1', worker='10', label='good', question='mood', at=None, ..., id='7')]
    """
    name = name_of(task.get("id"))
    for place, annotation in enumerate(items(task.get("annotations"))):
        path = f"annotations[{place}]."
        yield from annotation_answers(mapping(annotation), name, complain=complain, path=path)
    for prediction in items(task.get("predictions")) if predictions else ():
        found = mapping(prediction)
        model = name_of(found.get("model_version")) or "unnamed"
        task_name = name or name_of(found.get("task"))
        if task_name is not None:
            for question, label in result_labels(found):
                yield Answer(
                    task_name,
                    MODEL + model,
                    label,
                    question,
                    seconds_of(found.get("updated_at") or found.get("created_at")),
                    kind=PREDICTIONS,
                    id=name_of(found.get("id")) or "",
                )


def annotation_answers(
    annotation: Mapping[str, object],
    task: str | None = None,
    *,
    complain: Complain = overlook,
    path: str = "",
) -> Iterator[Answer]:
    """The answers in one annotation: one per question; a skip if it was cancelled or is empty.

    Parameters
    ----------
    annotation
        As exports and webhooks have it.
    task
        Its task, where the annotation does not say it itself.
    complain
        Takes what is wrong in it.
    path
        Where it is in its record, for complaints.

    Examples
    --------
    >>> list(annotation_answers({"id": 3, "task": 1, "completed_by": 10, "was_cancelled": True}))
    [Answer(task='1', worker='10', label=None, question='', ..., id='3')]
    """
    name = task or task_of(annotation)
    worker = worker_of(annotation.get("completed_by"))
    if name is None:
        complain(f"{path}task", "a task's id", annotation.get("task"))
        return
    if worker is None:
        expected = "a user's id (deleted users have none; --on-error skip leaves their answers out)"
        complain(f"{path}completed_by", expected, annotation.get("completed_by"))
        return
    at = seconds_of(annotation.get("updated_at") or annotation.get("created_at"))
    gold = annotation.get("ground_truth") is True
    own = name_of(annotation.get("id")) or ""
    labels = [] if annotation.get("was_cancelled") is True else list(result_labels(annotation))
    for question, label in labels:
        yield Answer(name, worker, label, question, at, gold, id=own)
    if not labels:
        yield Answer(name, worker, None, at=at, id=own)


def task_of(annotation: Mapping[str, object]) -> str | None:
    """The task of an annotation: its id, or an object that has it."""
    task = annotation.get("task")
    return name_of(mapping(task).get("id") if isinstance(task, Mapping) else task)


def worker_of(completed_by: object) -> str | None:
    """A worker's id: the same whether a number or an object with more of the user names it.

    >>> worker_of(10), worker_of({"id": 10, "email": "a@b.c"}), worker_of({"email": "a@b.c"})
    ('10', '10', 'a@b.c')
    """
    if isinstance(completed_by, Mapping):
        return name_of(completed_by.get("id")) or name_of(completed_by.get("email"))
    return name_of(completed_by)


def result_labels(annotation: Mapping[str, object]) -> Iterator[tuple[str, str | None]]:
    """Return the label of each question that was answered by classes.

    The classes of a question that was asked of several regions are taken together, as several
    choices are: nothing says which region the task is about.
    """
    found: dict[str, list[str]] = {}
    for question, labels in _results(annotation):
        found.setdefault(question, []).extend(labels)
    for question, labels in found.items():
        yield question, labels[0] if len(labels) == 1 else join_classes(labels)


def _results(annotation: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Question and labels of each result that is a class."""
    for result in items(annotation.get("result")):
        found = mapping(result)
        value = mapping(found.get("value"))
        chosen = [value.get("rating") or value.get("selected")]  # stars; the left or the right
        if found.get("type") == "choices":
            chosen = items(value.get("choices"))
        elif found.get("type") not in ("rating", "pairwise"):
            continue
        labels = [label for label in map(name_of, chosen) if label is not None]
        yield name_of(found.get("from_name")) or "", labels


def _unlabelled(task: Mapping[str, object]) -> str:
    """The kinds of results that are no classes."""
    results = [
        mapping(result).get("type")
        for annotation in items(task.get("annotations"))
        for result in items(mapping(annotation).get("result"))
    ]
    kinds = dict.fromkeys(kind for kind in map(name_of, results) if kind is not None)
    return f"results of type {', '.join(kinds)}" if kinds else ""


def _tell_export(record: Mapping[str, object]) -> str | None:
    annotations = record.get("annotations")
    if not isinstance(annotations, list):
        return None
    if any("completed_by" in mapping(annotation) for annotation in annotations):
        return "its records have annotations with completed_by"
    beside = [key for key in TASK_KEYS if key in record]
    if "id" in record and beside and not isinstance(record.get("images"), list):
        return f"its records have id, annotations and {beside[0]}"
    return None


def _tell_event(record: Mapping[str, object]) -> str | None:
    action = record.get("action")
    if isinstance(action, str) and action.startswith(EVENTS):
        return f"its records have an action such as {action}"
    return None


def _export_answers(task: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    return task_answers(task, predictions=True, complain=reading.complain)


def event_answers(
    event: Mapping[str, object], *, complain: Complain = overlook
) -> Iterator[Answer]:
    """Yield a webhook's answers; an answer without a task says: deleted.

    Parameters
    ----------
    event
        The payload, with its ``action``.
    complain
        Takes what is wrong in it.

    Examples
    --------
    >>> [answer.id for answer in event_answers(
    ...     {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 7}, {"id": 8}]})]
    ['7', '8']
    >>> many = [{"id": 1, "task": 5, "completed_by": 2}, {"id": 2, "task": 6, "completed_by": 2}]
    >>> [answer.task for answer in event_answers(
    ...     {"action": "ANNOTATIONS_CREATED", "annotation": many})]
    ['5', '6']
    """
    single = event.get("annotation")  # where many were made at once, a list
    alone = isinstance(single, Mapping)
    annotations = [single] if alone else items(single) or items(event.get("annotations"))
    for place, annotation in enumerate(map(mapping, annotations)):
        path = "annotation." if alone else f"annotations[{place}]."
        if str(event.get("action")).endswith("_DELETED"):
            name = name_of(annotation.get("id"))
            if name is None:
                complain(f"{path}id", "an annotation's id", annotation.get("id"))
            else:
                yield Answer("", "", None, id=name)
        else:
            task = name_of(mapping(event.get("task")).get("id"))
            yield from annotation_answers(annotation, task, complain=complain, path=path)


def _event_answers(event: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    return event_answers(event, complain=reading.complain)


class _Result(TypedDict, total=False):
    """Parts of a result that are read."""

    from_name: object
    type: object
    value: object


class _Annotation(TypedDict, total=False):
    """Parts of an annotation that are read."""

    id: object
    task: object
    completed_by: object
    was_cancelled: object
    ground_truth: object
    updated_at: object
    created_at: object
    result: list[_Result]


class _Task(TypedDict, total=False):
    """Parts of a task that are read: not its data, which may be most of an export."""

    id: object
    annotations: list[_Annotation]
    predictions: object


EXPORT = Tool(
    "label-studio",
    "a Label Studio export",
    _tell_export,
    _export_answers,
    shape=_Task,
    unlabelled=_unlabelled,
)

WEBHOOK = Tool("label-studio", "Label Studio's webhooks", _tell_event, _event_answers, events=True)
