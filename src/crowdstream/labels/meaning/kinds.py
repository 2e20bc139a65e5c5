"""Kinds of the labels of a question: classes, a scale, scores, choices, free text.

Looks at the different labels, not at rows. What would be decided wrongly as classes is refused,
with the words to type. Knows nothing of columns, files or estimators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from crowdstream.errors import InputError, UsageError
from crowdstream.labels.choice_cells import several_choices
from crowdstream.labels.label import ClassLabel, shorten
from crowdstream.labels.scale import MOST_STEPS, as_number, looks_like_scale, scale_of

MANY = 20
"""Different labels from which they may be free text: few questions have so many answers."""

DISTINCT = 0.5
"""Share of different labels above which they look like free text: of three labels on a task two or
more would be the same if they chose from a list."""

PASS, FAIL = "pass", "fail"
"""The classes that ``threshold`` makes of scores."""

RANGES = (1.0, 10.0, 100.0)
"""Usual ends of scores that begin at 0; bins are cut from the least of these that holds all."""

MOST_BINS = 100
"""Bins that scores may be cut into: more than anybody can tell apart."""


class LabelHints(NamedTuple):
    """Hints by the user on labels.

    Parameters
    ----------
    choices
        A cell holds the set of all classes that apply; ``separator`` stands between them.
    ordinal, order
        Labels lie on a scale: numbers by their value, others in this order.
    threshold
        Labels are scores: from this one on they pass.
    bins
        Labels are scores, to be cut into so many steps of a scale.
    as_classes
        Labels are classes, whatever they look like.
    repeats
        Which of several labels of a worker on a task counts: last, first or majority.
    exact
        Labels that differ in spelling are different; otherwise they are joined.
    keep
        Labels that are answers though they look like none.
    """

    choices: bool = False
    separator: str | None = None
    ordinal: bool = False
    order: tuple[ClassLabel, ...] | None = None
    threshold: float | None = None
    bins: int | None = None
    as_classes: bool = False
    repeats: str | None = None
    exact: bool = False
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabelKind:
    """Kind that labels are decided as.

    ``name``: "classes", "scale" or "choices". ``places``: where each class lies on a scale.
    ``separator``: between the choices of a cell; ``exact``: whether those that differ in spelling
    are different. ``made``: how labels were made of scores, in
    words. ``recode`` makes a class of a label as it was written.
    """

    name: str = "classes"
    places: dict[str, float] = field(default_factory=dict)
    separator: str | None = None
    exact: bool = True
    made: str = ""
    recode: Callable[[ClassLabel], ClassLabel] | None = None


def check_hints(hints: LabelHints, how: str = "--{}") -> None:
    """Refuse hints that contradict one another or are out of range."""
    given = {
        "choices": hints.choices,
        "ordinal": hints.ordinal or hints.order is not None,
        "threshold": hints.threshold is not None,
        "bins": hints.bins is not None,
        "as-classes": hints.as_classes,
    }
    told = [name for name, there in given.items() if there]
    if len(told) > 1 and set(told) != {"ordinal", "bins"}:
        one, two = (how.format(name.replace("-", "_") if "=" in how else name) for name in told[:2])
        raise UsageError(f"{one} cannot be combined with {two}")
    if hints.bins is not None and not (type(hints.bins) is int and 2 <= hints.bins <= MOST_BINS):
        raise InputError(how.format("bins"), f"a number from 2 to {MOST_BINS}", repr(hints.bins))
    number = hints.threshold
    if number is not None and not (isinstance(number, (int, float)) and math.isfinite(number)):
        raise InputError(how.format("threshold"), "a number", repr(hints.threshold))
    if hints.repeats not in (None, "last", "first", "majority"):
        raise InputError(how.format("repeats"), "last, first or majority", repr(hints.repeats))


def fitting(hints: LabelHints, classes: Sequence[ClassLabel]) -> LabelHints:
    """Leave out hints that are meant for other questions of the same input.

    One question may have scores and another words: ``threshold``, ``bins`` and ``ordinal`` are for
    the numbers, ``order`` for its classes, ``choices`` for sets.

    >>> fitting(LabelHints(threshold=0.5), ["yes", "no"]).threshold is None
    True
    """
    if not all(number is not None for number in _numbers(classes)):
        hints = hints._replace(threshold=None, bins=None, ordinal=False)
    if not several_choices([label for label in classes if isinstance(label, str)]):
        hints = hints._replace(choices=False)
    if hints.order is not None and not set(map(str, classes)) <= set(map(str, hints.order)):
        hints = hints._replace(order=None)
    return hints


def find_kind(
    classes: Sequence[ClassLabel],
    rows: int,
    hints: LabelHints,
    where: str = "labels",
    how: str = "--{}",
    *,
    at_once: bool = True,
) -> LabelKind:
    """Tell what labels are, by what the user says and how they look.

    Parameters
    ----------
    classes
        The different labels.
    rows
        How many labels there are in all.
    hints
        What the user says of them.
    where
        What messages call them.
    how
        How the user says so, with ``{}`` for the hint.
    at_once
        Whether all labels are there, so that they can be decided as a scale or as choices.

    Examples
    --------
    >>> find_kind(["1", "2", "5"], 100, LabelHints(ordinal=True)).places
    {'1': 1.0, '2': 2.0, '5': 5.0}
    >>> find_kind(["0.5", "0.75"], 100, LabelHints(threshold=0.6)).recode("0.75")
    'pass'
    >>> find_kind(["0.5", "0.75"], 100, LabelHints())
    Traceback (most recent call last):
    crowdstream.errors.InputError: labels: expected classes (--threshold 0.5: pass or fail; --bins \
5: a scale; --as-classes: as they are), found scores: 2 numbers from 0.5 to 0.75
    """
    check_hints(hints, how)
    if hints.choices:
        return LabelKind("choices", separator=hints.separator, exact=hints.exact)
    if hints.threshold is not None:
        return _by_threshold(classes, float(hints.threshold), where)
    if hints.bins is not None:
        return _in_bins(classes, hints.bins, where)
    if hints.ordinal or hints.order is not None:
        order = how.format("order")
        return LabelKind("scale", places=scale_of(classes, hints.order, order))
    if not hints.as_classes:
        _refuse_choices(classes, where, how, at_once=at_once)  # 1,2 may be a set of 1 and 2
        refuse_scores(classes, where, how, at_once=at_once)
        _refuse_text(classes, rows, where, how)
    return LabelKind()


def _numbers(classes: Sequence[ClassLabel]) -> list[float | None]:
    return [None if isinstance(label, bool) else as_number(label) for label in classes]


def are_scores(classes: Sequence[ClassLabel]) -> bool:
    """Tell whether labels are numbers that nobody chose from a list: not whole, or very many.

    A few words among them (error, timeout) do not make classes of the rest.

    >>> are_scores(["0.5", "1"]), are_scores(["1", "2"]), are_scores(["0.91", "0.5", "fail"])
    (True, False, False)
    """
    numbers = _numbers(classes)
    known = [number for number in numbers if number is not None]
    if not known or len(known) < 0.9 * len(numbers):
        return False
    return len(known) > MOST_STEPS or any(number != int(number) for number in known)


def fractions(classes: Iterable[ClassLabel]) -> list[ClassLabel]:
    """The labels that are numbers and not whole.

    >>> fractions(["0.5", "1", "2.0", "yes"])
    ['0.5']
    """
    numbers = ((label, as_number(label)) for label in classes if not isinstance(label, bool))
    return [label for label, number in numbers if number is not None and number % 1]


def refuse_scores(
    classes: Sequence[ClassLabel], where: str, how: str, *, at_once: bool = True
) -> None:
    """Refuse numbers that nobody chose from a list, with the words that make classes of them."""
    if not are_scores(classes):
        return
    known = [number for number in _numbers(classes) if number is not None]
    low, high = min(known), max(known)
    middle = _range(known)[1] / 2 if low >= 0 else (low + high) / 2
    python = "=" in how
    ways = [f"{how.format('threshold')}{'' if python else ' '}{middle:g}: pass or fail"]
    if at_once:
        ways.append(f"{how.format('bins')}{'' if python else ' '}5: a scale")
    ways.append(f"{'as_classes=True' if python else '--as-classes'}: as they are")
    found = f"scores: {len(known):,} numbers from {low:g} to {high:g}"
    raise InputError(where, f"classes ({'; '.join(ways)})", found)


def _refuse_choices(classes: Sequence[ClassLabel], where: str, how: str, *, at_once: bool) -> None:
    several = several_choices([label for label in classes if isinstance(label, str)])
    if several:
        python = "=" in how
        ways = "choices=True" if python else "--choices" if at_once else "crowdstream run --choices"
        other = "as_classes=True" if python else "--as-classes"
        expected = f"one class per label ({ways}: sets of classes; {other}: as they are)"
        raise InputError(where, expected, f"several in one, such as {shorten(several[0])}")


def _refuse_text(classes: Sequence[ClassLabel], rows: int, where: str, how: str) -> None:
    distinct = len(classes)
    if distinct >= MANY and distinct > DISTINCT * rows and isinstance(classes[0], str):
        python = "=" in how
        other = how.format("label") + ("" if python else " COLUMN")
        same = "as_classes=True" if python else "--as-classes"
        expected = f"classes ({other} names another column; {same}: as they are)"
        found = f"free text: {distinct:,} different ones in {rows:,}, such as {shorten(classes[0])}"
        raise InputError(where, expected, found)


def _by_threshold(classes: Sequence[ClassLabel], threshold: float, where: str) -> LabelKind:
    def recode(label: ClassLabel) -> ClassLabel:
        if label in (PASS, FAIL):
            return label
        return PASS if _score(label, where) >= threshold else FAIL

    for label in classes:
        recode(label)
    return LabelKind(made=f"{PASS} from {threshold:g} on, else {FAIL}", recode=recode)


def _range(numbers: Sequence[float]) -> tuple[float, float]:
    """Return where scores begin and end: at round numbers where they may."""
    low, high = min(numbers), max(numbers)
    end = next((end for end in RANGES if low >= 0 and high <= end), None)
    return (low, high) if end is None else (0.0, end)


def _in_bins(classes: Sequence[ClassLabel], bins: int, where: str) -> LabelKind:
    scores = [_score(label, where) for label in classes]
    low, high = _range(scores) if scores else (0.0, 1.0)
    if high <= low:
        high = low + 1.0
    width = (high - low) / bins
    edges = [float(f"{low + k * width:.6g}") for k in range(bins + 1)]
    names = [f"{edges[k]:g} to {edges[k + 1]:g}" for k in range(bins)]

    def recode(label: ClassLabel) -> ClassLabel:
        if label in names:
            return label
        score = _score(label, where)
        place = sum(score >= edge for edge in edges[1:-1])
        return names[place]

    places = {name: (edges[k] + edges[k + 1]) / 2 for k, name in enumerate(names)}
    made = f"{bins} bins from {low:g} to {high:g}"
    return LabelKind("scale", places=places, made=made, recode=recode)


def _score(label: ClassLabel, where: str) -> float:
    number = None if isinstance(label, bool) else as_number(label)
    if number is None:
        raise InputError(where, "numbers only, to be cut into classes", shorten(label))
    return number


def suggestion(classes: Sequence[ClassLabel], kind: LabelKind, how: str = "--{}") -> str | None:
    """Say that labels may lie on a scale, where they look so and nobody said."""
    ends = looks_like_scale(classes) if kind.name == "classes" and not kind.made else ""
    if not ends:
        return None
    ordinal = "ordinal=True" if "=" in how else "--ordinal"
    return f"labels are {ends}: if that is a scale, add {ordinal}"
