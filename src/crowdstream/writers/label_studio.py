"""Decisions as predictions of Label Studio: the label, its confidence as score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel
from crowdstream.labels.readers.answer import items, mapping, name_of
from crowdstream.writers.decided import Decisions, decided

MODEL_VERSION = "crowdstream"
"""By which Label Studio knows our predictions."""


class Control(NamedTuple):
    """The tag of a labelling configuration that asks a question, and the one that it is about."""

    from_name: str
    to_name: str


def to_label_studio(
    decisions: Decisions,
    tasks: Iterable[Mapping[str, object]],
    *,
    question: str | None = None,
    model_version: str = MODEL_VERSION,
) -> list[dict[str, object]]:
    """Tasks to import into Label Studio, with the decisions as predictions.

    Annotations are left out: imported, they would be taken for truths.

    Parameters
    ----------
    decisions
        A table with the columns task, label and confidence, or `Decision` objects.
    tasks
        The tasks of the JSON export that the labels came from: their data, and the names of tags.
    question
        Which of the export's questions was decided; the only one if not given.
    model_version
        Under which the predictions are shown.

    Examples
    --------
    >>> import crowdstream as cs
    >>> result = {"from_name": "mood", "to_name": "text", "type": "choices",
    ...           "value": {"choices": ["good"]}}
    >>> task = {"id": 7, "data": {"text": "…"}, "annotations": [{"result": [result]}]}
    >>> decision = cs.Decision("7", "good", 0.9, 0.8, 3, True, True)
    >>> cs.writers.to_label_studio([decision], [task])[0]["predictions"][0]["score"]
    0.9
    """
    every = list(tasks)
    control = find_control(every, question)
    found = decided(decisions)
    made: list[dict[str, object]] = []
    for task in every:
        name = name_of(task.get("id"))
        one: dict[str, object] = {"data": mapping(task.get("data"))}
        if name is not None:
            one["id"] = task.get("id")
        decision = None if name is None else found.get(name)
        if decision is not None:
            label, confidence = decision.label, decision.confidence
            one["predictions"] = [prediction(label, confidence, control, model_version)]
        made.append(one)
    return made


def prediction(
    label: ClassLabel, confidence: float, control: Control, model_version: str = MODEL_VERSION
) -> dict[str, object]:
    """A decision as Label Studio takes a prediction.

    >>> prediction("good", 0.9, Control("mood", "text"))["score"]
    0.9
    """
    result = {
        "from_name": control.from_name,
        "to_name": control.to_name,
        "type": "choices",
        "value": {"choices": [str(label)]},
    }
    return {"model_version": model_version, "score": confidence, "result": [result]}


def find_control(tasks: Iterable[Mapping[str, object]], question: str | None) -> Control:
    """The tags of a question, by the results in an export."""
    found = {control.from_name: control for task in tasks for control in _controls(task)}
    names = " or ".join(map(repr, sorted(found))) or "annotations with choices"
    if question is None and len(found) == 1:
        return next(iter(found.values()))
    if question not in found:
        raise InputError("question", names, "none" if question is None else repr(question))
    return found[question]


def _controls(task: Mapping[str, object]) -> Iterator[Control]:
    for annotation in items(task.get("annotations")):
        for result in map(mapping, items(mapping(annotation).get("result"))):
            if result.get("type") == "choices":
                yield Control(str(result.get("from_name")), str(result.get("to_name")))
