"""What comes in, checked: one task's answers, constructor arguments. Knows no estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crowdstream.errors import InputError
from crowdstream.labels import (
    Answers,
    ClassLabel,
    Intake,
    WorkerId,
    clean_id,
    clean_label,
)
from crowdstream.validation import check_number


def check_memory(memory: object) -> None:
    """Refuse what is not a number of tasks to remember."""
    if memory is not None:
        check_number("memory", memory, 1.0, 1e15, open_low=True)


def check_families(families: object) -> None:
    """Refuse what is not a mapping of workers to families."""
    if families is None:
        return
    if not isinstance(families, Mapping):
        raise InputError("families", "a mapping of worker to family", repr(families))
    for who, name in families.items():
        if clean_id(who, "families, worker") is None or not isinstance(name, str):
            raise InputError(f"families[{who!r}]", "the name of a family, str", repr(name))


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
