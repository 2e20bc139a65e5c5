"""Forms of Amazon's crowd elements: the fields that are sent → question and label.

Knows nothing of Mechanical Turk or Ground Truth, which both keep it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import join_classes, label_of, name_of

FLAGS = {"true": True, "false": False}
"""Spellings of the state of a radio button or a check box."""

Field = tuple[str, str | None]
"""Question and label."""


def form_answers(form: Mapping[str, object]) -> Iterator[Field]:
    """The answers in a form.

    >>> list(form_answers({"category": {"label": "cat"}, "sure": {"yes": True, "no": False}}))
    [('category', 'cat'), ('sure', 'yes')]
    >>> list(form_answers({"cat": {"on": "true"}, "dog": {"on": "false"}}))
    [('', 'cat')]
    """
    lone: dict[str, bool] = {}  # buttons without a value are called on: the field is the class
    for name, value in form.items():
        if not isinstance(value, Mapping):
            yield name, label_of(value)
        elif "label" in value:
            yield name, label_of(value["label"])
        elif "labels" in value:
            yield name, label_of(value["labels"])
        elif (flags := _flags(value)) and list(flags) == ["on"]:
            lone[name] = flags["on"]
        elif flags:
            yield name, _chosen(flags)
    if lone:
        yield "", _chosen(lone)


def _flags(value: Mapping[str, object]) -> dict[str, bool]:
    """Return which buttons are pressed; empty if these are no buttons."""
    found = {}
    for name, cell in value.items():
        flag = cell if isinstance(cell, bool) else FLAGS.get(str(name_of(cell)).lower())
        if flag is None and cell not in (None, ""):
            return {}
        found[name] = bool(flag)
    return found


def _chosen(flags: Mapping[str, bool]) -> str | None:
    return join_classes(name for name, flag in flags.items() if flag)
