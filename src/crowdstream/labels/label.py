"""One label and one task's labels, checked as they come in. Knows nothing of codes or tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias, TypeGuard

import msgspec

from crowdstream.errors import InputError

TaskId: TypeAlias = str | int
WorkerId: TypeAlias = str | int
ClassLabel: TypeAlias = str | int | bool
Answers: TypeAlias = (
    Mapping[str, ClassLabel | None]
    | Mapping[int, ClassLabel | None]
    | Mapping[str | int, ClassLabel | None]
)
"""One task's labels: worker → label. ``None`` is a skip: a known worker, no answer."""

INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"""Integers a saved state can hold: what 64 bits hold, signed or not."""

FLOAT_MAX = 2**53
"""Integers up to here are exact as floats."""


def clean_answers(answers: Answers) -> list[tuple[WorkerId, ClassLabel | None]]:
    """One task's answers, checked.

    >>> clean_answers({"ann": "spam", 7: None})
    [('ann', 'spam'), (7, None)]
    """
    if not isinstance(answers, Mapping):
        raise InputError("answers", "a mapping of worker to label", type(answers).__name__)
    rows: dict[WorkerId, ClassLabel | None] = {}
    for worker, label in answers.items():
        name = clean_id(worker, "answers, worker")
        if name is None:
            raise InputError("answers, worker", "str or int", repr(worker))
        rows[name] = clean_label(label, f"answers[{worker!r}]")
    return list(rows.items())


class Label(msgspec.Struct, frozen=True):
    """One label: who said what of which task, and when.

    Parameters
    ----------
    task, worker
        Their names.
    label
        What the worker said; None is a skip.
    at
        When, in seconds.

    Examples
    --------
    >>> Label(task="t17", worker="ann", label="spam")
    Label(task='t17', worker='ann', label='spam', at=None)
    """

    task: TaskId
    worker: WorkerId
    label: ClassLabel | None
    at: float | None = None


def clean_id(value: object, where: str) -> str | int | None:
    """An id as ``str`` or ``int``; ``None`` and NaN as ``None``; anything else is refused.

    >>> clean_id("ann", "row 1"), clean_id(7.0, "row 1"), clean_id(float("nan"), "row 1")
    ('ann', 7, None)
    """
    if is_usual(value):
        return value
    return _cleaned(value, where, bools=False)


def clean_label(value: object, where: str) -> ClassLabel | None:
    """A class as ``str``, ``int`` or ``bool``; ``None`` and NaN as ``None``.

    >>> clean_label(True, "row 1"), clean_label(2.0, "row 1"), clean_label(None, "row 1")
    (True, 2, None)
    """
    if is_usual(value) or type(value) is bool:
        return value
    return _cleaned(value, where, bools=True)


def clean_answer(value: object, where: str) -> ClassLabel | None:
    """A label by the rules of `clean_label`, but a number that is not whole as its text.

    Files have scores as text, too; what they mean is told elsewhere.

    >>> clean_answer(0.5, "row 1"), clean_answer(2.0, "row 1")
    ('0.5', 2)
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, float) and math.isfinite(value) and not value.is_integer():
        return repr(float(value))
    return clean_label(value, where)


def is_usual(value: object) -> TypeGuard[str | int]:
    """The common types, found out quickly."""
    if type(value) is str:
        return value.isascii()
    return type(value) is int and INT_MIN <= value <= INT_MAX


def are_usual(values: list[object]) -> bool:
    """Return True if all are of one common type, found out quickly.

    >>> are_usual(["ann", "bob"]), are_usual([1, 2]), are_usual(["ann", 2])
    (True, True, False)
    """
    kinds = set(map(type, values))
    if kinds == {str}:
        return "".join(values).isascii()  # type: ignore[arg-type]
    if kinds == {int}:
        return min(values) >= INT_MIN and max(values) <= INT_MAX  # type: ignore[type-var, operator]
    return False


def _cleaned(value: object, where: str, *, bools: bool) -> ClassLabel | None:
    """The rarer types: NumPy scalars, floats that are integers, subclasses, gaps."""
    expected = "str, int or bool" if bools else "str or int"
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined]
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool) and bools:
        return value
    if isinstance(value, float):
        # A column of integers with a gap reaches us as floats; NaN is the gap.
        if math.isnan(value):
            return None
        if value.is_integer() and abs(value) <= FLOAT_MAX:
            return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not INT_MIN <= value <= INT_MAX:
            raise InputError(where, "an integer of 64 bits", str(value))
        return int(value)
    if isinstance(value, str):
        text = str.__str__(value)  # what an enum of strings stands for, not its name
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(where, "text that can be written", ascii(text)) from None
        return text
    raise InputError(where, expected, f"{type(value).__name__} {shorten(value)}")


def shorten(value: object, width: int = 60) -> str:
    """The value as an error message can show it."""
    shown = repr(value)
    return shown if len(shown) <= width else shown[: width - 3] + "..."


def as_text(value: object) -> object:
    """As polars writes it; NotImplemented for what is not a single value."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    return NotImplemented
