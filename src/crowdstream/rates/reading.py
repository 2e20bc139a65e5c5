"""Labels and gold → predictions made without the gold, and the gold tasks among them.

Uses estimators by their public verbs; knows nothing of intervals.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import SETTLE
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.estimators import Estimator
from crowdstream.gold_plan.deciding import Labels, as_polars
from crowdstream.gold_plan.filled import Filled, new_classes, read_filled
from crowdstream.labels import ClassLabel, Table, TaskId, Truths, WorkerId, read_truths
from crowdstream.labels.matching import NameIndex, TruthMatcher
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.plain_text import counted, printable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNKNOWN = -1
"""Place of a class that is none of the classes."""


class Predicted(NamedTuple):
    """Decisions of a panel on each task, made without any gold.

    Attributes
    ----------
    tasks
        The tasks that have labels.
    classes
        The classes that labels have, then those that only gold has.
    chances
        The probability of each class, one row per task.
    decided
        The place of the decided class of each task.
    """

    tasks: list[TaskId]
    classes: list[ClassLabel]
    chances: Floats
    decided: Ints

    def places(self, tasks: Sequence[TaskId]) -> Ints:
        """Return the places of these tasks; −1 for a task that is not there."""
        there = {task: place for place, task in enumerate(self.tasks)}
        return np.array([there.get(task, UNKNOWN) for task in tasks], np.int64)

    def column(self, label: ClassLabel) -> int:
        """The place of a class; −1 if it is none."""
        found = NameIndex(self.classes).find(label)
        return UNKNOWN if found is None else self.classes.index(found)


class GoldSample(NamedTuple):
    """The gold tasks: their places among all, their true classes, and their strata if planned."""

    places: Ints
    truth: Ints
    strata: Ints | None
    sizes: Floats | None
    notes: list[str]


def predict(
    data: Table, crowd: Estimator | None, meaning: TableMeaning, gold: Truths
) -> tuple[Predicted, GoldSample]:
    """Fit the labels without the gold; return what they say, and which tasks have gold."""
    return _predict(Labels(data, crowd, meaning, SETTLE), gold)


def _predict(labels: Labels, gold: Truths) -> tuple[Predicted, GoldSample]:
    fitted, decisions = labels.fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is in doubt is said by intervals
        chances = as_polars(fitted.predict_proba_many(labels.question))
    some = decisions["label"].is_not_null().to_numpy()
    classes: list[ClassLabel] = list(fitted.classes_)
    numbers = chances.drop("task").to_numpy().astype(np.float64)[some]
    places = {label: place for place, label in enumerate(classes)}
    decided = decisions.filter(some)
    new: list[ClassLabel] = list(new_classes(gold, classes))
    answers = read_filled(gold, decided["task"].to_list(), [*classes, *new])
    used = {answer.gold for answer in answers.answers}
    new = [label for label in new if label in used]
    found = Predicted(
        decided["task"].to_list(),
        [*classes, *new],
        np.hstack((numbers, np.zeros((numbers.shape[0], len(new))))),
        np.array([places.get(label, UNKNOWN) for label in decided["label"]], np.int64),
    )
    return found, _gold_sample(answers, found, new)


def _gold_sample(answers: Filled, found: Predicted, new: list[ClassLabel]) -> GoldSample:
    kept = [each for each in answers.answers if each.stratum >= 0 or not answers.stratified]
    codes = {label: place for place, label in enumerate(found.classes)}
    notes = list(answers.notes)
    if new:
        named = ", ".join(printable(repr(name)) for name in new[:5])
        notes.append(f"gold names what no worker has said, kept as a class of its own: {named}")
    strata = sizes = None
    if answers.stratified:
        names, first, strata = np.unique(
            [each.stratum for each in kept], return_index=True, return_inverse=True
        )
        sizes = np.array([kept[place].stratum_tasks for place in first], np.float64)
        strata = strata.astype(np.int64)
        if names.size == 1 or (sizes <= 0).any():  # one stratum is a random sample
            strata = sizes = None
    return GoldSample(
        found.places([each.task for each in kept]),
        np.array([codes[each.gold] for each in kept], np.int64),
        strata,
        sizes,
        notes,
    )


def predict_without(
    data: Table,
    system: WorkerId,
    crowd: Estimator | None,
    meaning: TableMeaning,
    gold: Truths,
) -> tuple[Predicted, GoldSample, dict[TaskId, ClassLabel]]:
    """As `predict`, by all workers but one, and what that one says."""
    import polars as pl

    labels = Labels(data, crowd, meaning, SETTLE)
    frame = labels.table.frame()
    own = pl.col("worker").cast(pl.String) == str(system)
    said = frame.filter(own).drop_nulls("label")
    if not said.height:
        raise InputError("system", "a file of outputs or a worker of these labels", repr(system))
    rest = frame.filter(~own)
    if not rest.height:
        raise CrowdstreamError("system: nobody else gave a label, so there is no panel to ask")
    found = predict(rest, crowd, {"as_classes": True}, gold)
    return *found, cast("dict[TaskId, ClassLabel]", dict(said.select("task", "label").iter_rows()))


def read_outputs(outputs: Truths, found: Predicted, name: str) -> tuple[Ints, list[str]]:
    """The class that a system gave each task (−2 for a task without output), and notes.

    Parameters
    ----------
    outputs
        Task → label, as a mapping, a table or a file.
    found
        The tasks and classes.
    name
        What the outputs are called in messages.
    """
    import polars as pl

    given: Mapping[TaskId, ClassLabel] = read_truths(
        outputs, option="" if _is_path(outputs) else name
    )
    matcher = TruthMatcher(given)
    matched = matcher.match(pl.Series(found.tasks), found.classes)
    if not matched:
        such = f", such as {found.tasks[0]!r}" if found.tasks else ""
        named = ", ".join(matcher.unmatched()) or "no rows"
        raise InputError(name, f"outputs on tasks that have labels{such}", named)
    places = found.places(list(matched))
    columns = {label: found.column(label) for label in dict.fromkeys(matched.values())}
    said = np.full(len(found.tasks), NO_OUTPUT, np.int64)
    said[places] = [columns[label] for label in matched.values()]
    notes = []
    if without := int((said == NO_OUTPUT).sum()):
        notes.append(f"{counted(without, 'task')} without an output of {name}: left out")
    if odd := [str(label) for label, place in columns.items() if place == UNKNOWN]:
        named = ", ".join(repr(label) for label in odd[:5])
        notes.append(f"{name} says what neither workers nor gold do, counted as wrong: {named}")
    return said, notes


NO_OUTPUT = -2
"""Place of a class where a system gave none."""


def _is_path(given: object) -> bool:
    return isinstance(given, str)
