"""Shims until labels/ is merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels import (
    UNKNOWN,
    Answers,
    ArrowTable,
    Block,
    ClassLabel,
    Intake,
    TaskId,
    Vocabulary,
    WorkerId,
    clean_id,
    clean_label,
    code_block,
)
from crowdstream.labels.batch import NO_TRUTHS, LabelBatch

Truths: TypeAlias = "Mapping[TaskId, ClassLabel] | ArrowTable"


class ColumnNames(NamedTuple):
    task: str | None = None
    worker: str | None = None
    label: str | None = None


def kind_of(data):
    return "polars"


def in_kind(frame, kind):
    return frame


def code_table(data, workers, classes, columns=None, gold=None):
    known = clean_truths(gold)
    block = code_block(data, workers, classes)
    return code_truths(block, classes, known), block.intake


def clean_truths(gold: Truths | None) -> dict[TaskId, ClassLabel]:
    """Known truths, by task."""
    if gold is None:
        return {}
    import polars as pl

    if isinstance(gold, ArrowTable):
        gold = pl.DataFrame(gold)
        if missing := {"task", "label"} - set(gold.columns):
            raise InputError("gold", "columns task and label", f"no {', '.join(sorted(missing))}")
        gold = dict(gold.select("task", "label").iter_rows())
    if not isinstance(gold, Mapping):
        raise InputError("gold", "a mapping or a table of task and label", type(gold).__name__)
    found: dict[TaskId, ClassLabel] = {}
    for task, label in gold.items():
        name, truth = clean_id(task, "gold, task"), clean_label(label, f"gold[{task!r}]")
        if name is not None and truth is not None:
            found[name] = truth
    return found


def code_truths(
    block: Block, classes: Vocabulary, known: Mapping[TaskId, ClassLabel]
) -> LabelBatch:
    """A block with the true classes of its tasks, where there are any."""
    truths = NO_TRUTHS
    if known:
        given = (known.get(task) for task in block.tasks)
        codes = [UNKNOWN if label is None else classes.add(label) for label in given]
        truths = np.array(codes, np.int32)
    return LabelBatch(block.starts, block.workers, block.labels, truths, block.tasks)


def clean_answers(answers: Answers) -> list[tuple[WorkerId, ClassLabel | None]]:
    """One task's answers, checked."""
    if not isinstance(answers, Mapping):
        raise InputError("answers", "a mapping of worker to label", type(answers).__name__)
    rows: dict[WorkerId, ClassLabel | None] = {}
    for who, label in answers.items():
        name = clean_id(who, "answers, worker")
        if name is None:
            raise InputError("answers, worker", "str or int", repr(who))
        rows[name] = clean_label(label, f"answers[{who!r}]")
    return list(rows.items())


def one_task(rows: Sequence[tuple[WorkerId, ClassLabel | None]]) -> Intake:
    """What one task brought in."""
    given = sum(x is not None for _, x in rows)
    return Intake(rows=len(rows), labels=given, tasks=1, null_label=len(rows) - given)
