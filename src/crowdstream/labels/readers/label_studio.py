"""Label Studio: tasks of a JSON export, and annotations as its webhooks send them → `Answer`.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import Answer, items, mapping, name_of, seconds_of

MODEL = "model:"
"""Before the name of a model, where its predictions are votes."""


def task_answers(task: Mapping[str, object], *, predictions: bool = False) -> Iterator[Answer]:
    """All answers on one task of an export.

    Parameters
    ----------
    task
        One element of the export's array.
    predictions
        Whether models are workers too.

    Examples
    --------
    >>> result = [{"from_name": "mood", "type": "choices", "value": {"choices": ["good"]}}]
    >>> task = {"id": 1, "annotations": [{"id": 7, "completed_by": {"id": 10}, "result": result}]}
    >>> list(task_answers(task))
    [Answer(task='1', worker='10', label='good', question='mood', at=None, ..., id='7')]
    """
    name = name_of(task.get("id"))
    for annotation in items(task.get("annotations")):
        yield from annotation_answers(mapping(annotation), name)
    for prediction in items(task.get("predictions")) if predictions else ():
        found = mapping(prediction)
        model = name_of(found.get("model_version")) or "unnamed"
        task_name = name or name_of(found.get("task"))
        if task_name is not None:
            for question, label, several in result_labels(found):
                yield Answer(
                    task_name,
                    MODEL + model,
                    label,
                    question,
                    seconds_of(found.get("updated_at") or found.get("created_at")),
                    predicted=True,
                    several=several,
                    id=name_of(found.get("id")) or "",
                )


def annotation_answers(
    annotation: Mapping[str, object], task: str | None = None
) -> Iterator[Answer]:
    """The answers in one annotation: one per question; a skip if it was cancelled or is empty.

    Parameters
    ----------
    annotation
        As exports and webhooks have it.
    task
        Its task, where the annotation does not say it itself.

    Examples
    --------
    >>> list(annotation_answers({"id": 3, "task": 1, "completed_by": 10, "was_cancelled": True}))
    [Answer(task='1', worker='10', label=None, question='', ..., id='3')]
    """
    name = task or task_of(annotation)
    worker = worker_of(annotation.get("completed_by"))
    if name is None or worker is None:
        return
    skip = Answer(
        name,
        worker,
        None,
        at=seconds_of(annotation.get("updated_at") or annotation.get("created_at")),
        gold=annotation.get("ground_truth") is True,
        id=name_of(annotation.get("id")) or "",
    )
    labels = [] if annotation.get("was_cancelled") is True else list(result_labels(annotation))
    for question, label, several in labels:
        yield skip._replace(label=label, question=question, several=several)
    if not labels:
        yield skip._replace(gold=False)


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


def result_labels(annotation: Mapping[str, object]) -> Iterator[tuple[str, str | None, bool]]:
    """Question, label, and whether there were more, of each result that is a class."""
    for result in items(annotation.get("result")):
        found = mapping(result)
        value = mapping(found.get("value"))
        chosen = [value.get("rating") or value.get("selected")]  # stars; the left or the right
        if found.get("type") == "choices":
            chosen = items(value.get("choices"))
        elif found.get("type") not in ("rating", "pairwise"):
            continue
        labels = [label for label in map(name_of, chosen) if label is not None]
        yield (
            name_of(found.get("from_name")) or "",
            labels[0] if labels else None,
            len(labels) > 1,
        )
