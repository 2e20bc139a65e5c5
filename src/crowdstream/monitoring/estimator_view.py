"""All that monitors ask of an estimator: the only module here that knows its private attributes.

Everything is read, nothing is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions.decision import SettleRule, decision_table
from crowdstream.decisions.votes import decide
from crowdstream.errors import InputError
from crowdstream.estimators.adaptive import Adaptive
from crowdstream.estimators.estimator import Estimator
from crowdstream.estimators.observer import Observer
from crowdstream.estimators.open_tasks import OpenTasks
from crowdstream.labels import ClassLabel, CodedLabels, Table, TaskId, Truths
from crowdstream.labels import code_table as code
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.open_task import OpenTask
from crowdstream.models.committee import Committee
from crowdstream.models.copies import Copies
from crowdstream.models.newcomers import without
from crowdstream.models.reading import DecidedBy, is_dense
from crowdstream.models.reservoir import Reservoir
from crowdstream.models.scorer import Scorer
from crowdstream.models.teacher import read_teacher
from crowdstream.monitoring.judged_pass import new_judge
from crowdstream.monitoring.judging_loops import Judge
from crowdstream.monitoring.rows import TINY

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Observer)

NO_FAMILY: Codes = np.empty(0, np.int32)


def as_polars(table: object) -> pl.DataFrame:
    """A table of any kind that a crowd gives back."""
    import polars as pl

    if isinstance(table, pl.DataFrame):
        return table
    try:
        return pl.DataFrame(table)  # type: ignore[arg-type]
    except ImportError:  # pandas without pyarrow: value by value, and its NaN is a gap
        columns = table.to_dict("list").items()  # type: ignore[attr-defined]
        gaps = {name: [None if x != x else x for x in values] for name, values in columns}
        return pl.DataFrame(gaps)


def find_observer(crowd: Estimator, kind: type[Kind]) -> Kind | None:
    """The crowd's observer of this kind, if it has one."""
    return next((found for found in crowd.observers if isinstance(found, kind)), None)


def observer_of(crowd: Estimator, kind: type[Kind]) -> Kind:
    """The crowd's observer of this kind; without one, an error that says how to get it."""
    if not isinstance(crowd, Estimator):
        raise InputError("crowd", "an estimator, such as Adaptive()", repr(crowd))
    found = find_observer(crowd, kind)
    if found is None:
        raise InputError(
            "crowd",
            f"an estimator with {kind.__name__}: call crowdstream.monitor(crowd) before it learns",
            f"{type(crowd).__name__} without it",
        )
    return found


def class_count(crowd: Estimator) -> int:
    """Return the number of classes, at least two."""
    return crowd._model.sums.classes


def class_names(crowd: Estimator) -> list[ClassLabel]:
    """The classes by their codes."""
    return crowd._classes.to_list()


def class_errors(crowd: Estimator, most: int) -> tuple[Floats, Floats] | None:
    """Every worker's error rate on each class, and how frequent classes are.

    ``None`` where errors are not known by class, or there are more than ``most`` of them.
    """
    if len(crowd._workers) * class_count(crowd) > most:
        return None
    found = crowd._model.read()
    if found.confusions is None or found.prior is None:
        return None
    return 1.0 - np.einsum("ikk->ik", found.confusions), found.prior


def memory_of(crowd: Estimator) -> float | None:
    """Return how many tasks a crowd remembers; None if that is no number."""
    memory = crowd.memory
    return float(memory) if isinstance(memory, (int, float, np.number)) else None


def skills_of(crowd: Estimator) -> Floats:
    """Skill of every worker."""
    return crowd._model.skills()


def mean_skill(crowd: Estimator) -> float:
    """Mean skill, which stands for unknown workers."""
    return crowd._model.mean_skill


def mean_accuracy(crowd: Estimator) -> float:
    """Return the expected accuracy of a worker of whom nothing is known."""
    return crowd._model.mean_accuracy


def score_task(crowd: Estimator, task: OpenTask) -> tuple[Scorer, Floats]:
    """An open task's scores without its own labels' say, and what is made of them."""
    return OpenTasks(crowd).score(task)


def sample_of(crowd: Estimator, most: int) -> LabelBatch | None:
    """Some of the tasks learnt, each as likely as any other, if the estimator keeps them."""
    sample = getattr(crowd._model, "sample", None)
    if not isinstance(sample, Reservoir) or not sample:
        return None
    batch = sample.batch()[0]
    return batch.part(0, min(most, len(batch)))


def answers_of(crowd: Estimator) -> Floats:
    """Answers of every worker, in units of the newest task."""
    return crowd._model.sums.answers / crowd._model.unit


def answer_shares(crowd: Estimator) -> Floats:
    """Every worker's share of all answers."""
    answers = crowd._model.sums.answers
    return answers / max(float(answers.sum()), TINY)


def label_counts(crowd: Estimator) -> Floats:
    """Answers of every worker by class, in units of the newest task."""
    return crowd._model.sums.said / crowd._model.unit


def gold_answers(crowd: Estimator) -> int:
    """Answers to tasks of known truth."""
    return round(float(crowd._model.sums.known.sum() / crowd._model.unit))


def gold_record(crowd: Estimator) -> tuple[Floats, Floats]:
    """Answers of every worker to tasks of known truth, and how many of them are wrong.

    Whole numbers; where old tasks are forgotten, in units of the newest task.
    """
    sums, unit = crowd._model.sums, crowd._model.unit
    return sums.known / unit, (sums.known - sums.right) / unit


def groups_of(crowd: Estimator) -> Codes:
    """Return for every worker the first of those it is linked with by shared tasks."""
    return crowd._model.sums.groups


def doubt_of(crowd: Estimator) -> float:
    """Return how much intervals allow for errors that workers make together, from 0 to 1."""
    return crowd._model.doubt


def excess_correlation(crowd: Estimator) -> float | None:
    """Excess correlation of errors within a task, if the estimator measures it."""
    return crowd._model.excess_correlation if isinstance(crowd, Adaptive) else None


def density_of(crowd: Estimator) -> float:
    """The share of the tasks that a worker has labelled, in the mean."""
    return crowd._model.sums.density


def decided_by(crowd: Estimator) -> DecidedBy:
    """Return which vote decides: the default's, the common factor's, or both weighed by gold."""
    model = crowd._model
    return model.reading.decided_by if isinstance(model, Committee) else "weighted_vote"


def is_panel(crowd: Estimator) -> bool:
    """Return True if each worker has labelled most tasks."""
    return is_dense(crowd._model.sums)


def panel_votes(
    crowd: Estimator, table: Table, gold: Truths | None = None
) -> tuple[pl.Series, pl.Series] | None:
    """The labels of a dense panel's two votes, one per task: the default's, the common factor's.

    Neither is weighed by gold, but the label of a task whose truth is known is the truth. ``None``
    where there are no two votes: the panel is sparse, cannot be identified, or has more classes
    than confusions are kept of.

    >>> made = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
    >>> default, factor = panel_votes(Adaptive().fit(made), made)
    >>> default.to_list()[:4], factor.to_list()[:4]
    ([0, 1, 0, 1], [0, 1, 0, 1])
    """
    model = crowd._model
    scorers = model.reading.panel_scorers() if isinstance(model, Committee) else None
    if scorers is None:
        return None
    classes = crowd._classes.copy()
    batch, _ = code(crowd._given(table, {}).table, crowd._workers.copy(), classes, gold=gold)
    rule = crowd._places.number(classes), crowd._ties(classes)
    default, factor = (
        decision_table(batch, decide(batch, scorer, *rule), classes, SettleRule())["label"]
        for scorer in scorers
    )
    return default, factor


def is_changing(crowd: Estimator) -> bool:
    """Return True if workers are shown to change, so that their latest answers decide."""
    return crowd._model.changing


def estimates(crowd: Estimator) -> tuple[Floats, Floats]:
    """The estimator's own error rates, and one row of them for each way of reading.

    NaN where it has none.
    """
    found = crowd._model.read()
    ways = np.atleast_2d(found.errors if found.ways is None else found.ways)
    return np.where(found.solved, found.errors, np.nan), np.where(found.solved, ways, np.nan)


def above_chance(crowd: Estimator) -> tuple[float, float]:
    """Mean skill by agreement, and the evidence for it: standard errors above guessers."""
    teacher = read_teacher(crowd._model.sums, crowd._model.unit)
    product = teacher.surplus / teacher.met if teacher.met > 0 else 0.0
    return float(np.sign(product) * np.sqrt(abs(product))), float(teacher.evidence)


def judge_by(skills: Floats, crowd: Estimator, largest: int) -> Judge:
    """A judge of labels by these skills, the last for unknown workers, and tasks of this size."""
    return new_judge(skills, family_of(crowd), class_count(crowd), largest)


def family_of(crowd: Estimator) -> Codes:
    """The family of every worker, where any are declared or found."""
    sums = crowd._model.sums
    return sums.family if len(sums.relatives) else NO_FAMILY


def copies_of(crowd: Estimator) -> Copies | None:
    """Groups of workers who copy, or may do so; None where that is not looked for."""
    return crowd._model.copies


def tasks_of(crowd: Estimator) -> int:
    """Return the number of tasks in its sums."""
    return int(crowd._model.sums.total[0])


def seed_of(crowd: Estimator) -> int:
    """The seed that its samples are drawn with."""
    return int(crowd.seed)


def follows_change(crowd: Estimator) -> bool:
    """Return True if its error rates are those of today, which old gold answers may not be."""
    return crowd._model.changing


def tells_order(crowd: Estimator) -> bool:
    """Return True if the order of tasks makes a difference to the crowd."""
    return crowd._model.forgets


def labels_of(crowd: Estimator, table: Table, meaning: TableMeaning) -> CodedLabels:
    """The labels of a table as the crowd takes them, whose classes it knows."""
    return crowd._given(table, meaning).table


def code_table(crowd: Estimator, table: CodedLabels) -> tuple[LabelBatch, int]:
    """Labels in the crowd's codes, with new ones for new workers; the number of classes."""
    classes = crowd._classes.copy()
    batch, _ = code(table, crowd._workers.copy(), classes)
    return crowd._places.scored(batch, classes), max(crowd._places.number(classes), 2)


def open_labels(crowd: Estimator, task: OpenTask) -> LabelBatch:
    """The labels of an open task as the crowd scores them."""
    return OpenTasks(crowd).labels(task)


def as_open_tasks(crowd: Estimator, table: Table) -> dict[TaskId, OpenTask]:
    """The tasks of a table as if they took labels still.

    Labels of workers and classes that the crowd does not know are left out: they settle nothing.
    """
    workers, classes = crowd._workers.copy(), crowd._classes.copy()
    batch, _ = code(table, workers, classes)
    new = (batch.workers >= len(crowd._workers)) | (batch.labels >= len(crowd._classes))
    known = without(batch, np.flatnonzero(new), np.arange(len(batch)))
    ends = known.starts.tolist()
    return {
        name: OpenTask(name, 0, known.workers[begin:end], known.labels[begin:end])
        for name, begin, end in zip(known.tasks, ends[:-1], ends[1:], strict=True)
    }


def without_newcomers(crowd: Estimator, task: OpenTask | None) -> OpenTask | None:
    """An open task without the labels that settle nothing; ``None`` if it has no such labels."""
    if task is None or not crowd.identifiable_:
        return None
    return OpenTasks(crowd).without_newcomers(task)
