"""Which columns hold task, worker and label. Knows nothing of formats."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from crowdstream.errors import InputError

ALIASES = {
    "task": (
        "task",
        "task_id",
        "taskid",
        "item",
        "item_id",
        "question",
        "question_id",
        "example",
        "example_id",
        "unit",
        "unit_id",
        "_unit_id",
        "hitid",
        "object",
        "object_id",
        "document",
        "document_id",
        "sample_id",
        "id",
    ),
    "worker": (
        "worker",
        "worker_id",
        "workerid",
        "_worker_id",
        "annotator",
        "annotator_id",
        "labeller",
        "labeler",
        "labeller_id",
        "labeler_id",
        "rater",
        "rater_id",
        "judge",
        "judge_id",
        "performer",
        "performer_id",
        "coder",
        "expert",
        "model",
        "user",
        "user_id",
    ),
    "label": (
        "label",
        "answer",
        "vote",
        "response",
        "class",
        "category",
        "annotation",
        "judgment",
        "judgement",
        "rating",
        "choice",
        "verdict",
        "value",
    ),
    "gold": ("gold", "truth", "true_label", "gold_label", "ground_truth", "groundtruth"),
}
"""Names that mean a column, the likeliest first, compared without case and spaces."""


BOM = b"\xef\xbb\xbf"
"""What some programs put before text in UTF-8."""


class Names(NamedTuple):
    """The columns as the user named them; None where they are to be found.

    ``wide`` is for tables of one row a task and one column a rater: every column but the task's
    is a worker, and its cells are the labels.
    """

    task: str | None = None
    worker: str | None = None
    label: str | None = None
    wide: bool = False


def find_column(role: str, given: str | None, header: Sequence[str], where: str) -> str:
    """The column of this role, by the name given or by one of its aliases."""
    if given is not None:
        if given in header:
            return given
        near = difflib.get_close_matches(given, header, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(where, f"a column {given!r}", _told(header) + hint)
    plain = [name.strip().lower().replace(" ", "_") for name in header]
    for alias in ALIASES[role]:
        if alias in plain:
            return header[plain.index(alias)]
    near = [
        header[plain.index(match)]
        for alias in ALIASES[role]
        for match in difflib.get_close_matches(alias, plain, n=1, cutoff=0.75)
    ]
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(where, f"a {role} column", f"{_told(header)} ({hint}name it with --{role})")


def find_columns(names: Names, header: Sequence[str], where: str) -> tuple[str, str, str]:
    """The columns of task, worker and label."""
    twice = {name for name in header if list(header).count(name) > 1}
    found = (
        find_column("task", names.task, header, where),
        find_column("worker", names.worker, header, where),
        find_column("label", names.label, header, where),
    )
    for role, name in zip(("task", "worker", "label"), found, strict=True):
        if name in twice:
            raise InputError(where, f"one {role} column", f"several columns named {name!r}")
    if len(set(found)) < 3:
        raise InputError(where, "three different columns", ", ".join(map(repr, found)))
    return found


def _told(header: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(" ".join(name.split()) for name in header[:most])
    return (shown or "no columns") + (" …" if len(header) > most else "")
