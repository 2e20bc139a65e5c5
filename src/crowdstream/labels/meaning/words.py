"""Notes on what was done to labels. Knows nothing of tables or of where the words are shown."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crowdstream.labels.choice_cells import find_separator, split_cell
from crowdstream.labels.label import ClassLabel
from crowdstream.labels.meaning.kinds import LabelKind
from crowdstream.plain_text import counted

CLASSES = 6
"""Classes that are named in one line."""

GROUPS = 3
"""Groups of names spelt alike that a note shows."""

MEMBERS = 4
"""Spellings of each."""

WIDTH = 30
"""Characters of a name that a note shows."""

BEFORE = 8
"""Characters shown before those by which long names differ."""


class Done(NamedTuple):
    """Record of what was done to a question's labels, and of names that are twins of others."""

    joined: Sequence[Sequence[str]]
    no_answer: Mapping[str, int]
    twins: Mapping[str, Sequence[Sequence[str]]]


def class_words(classes: Sequence[ClassLabel], kind: LabelKind) -> str:
    """The classes, not too many.

    >>> class_words(["spam", "ham"], LabelKind())
    'spam, ham'
    """
    if kind.made:
        return kind.made
    ordered = [str(label) for label in classes]
    if kind.name == "choices":
        separator = kind.separator or find_separator(ordered)
        ordered = list(dict.fromkeys(part for x in ordered for part in split_cell(x, separator)))
    if kind.places:
        ordered = [label for label in kind.places if label in set(ordered)]
    shown = ", ".join(short_name(label) for label in ordered[:CLASSES])
    more = f" and {len(ordered) - CLASSES:,} more" if len(ordered) > CLASSES else ""
    name = {"scale": "a scale: ", "choices": "choices: "}.get(kind.name, "")
    return f"{name}{shown}{more}" if ordered else "no labels"


def short_name(name: str) -> str:
    """A label as a line shows it: short, and without anything that a terminal would obey."""
    name = " ".join(name.split())
    shown = name if len(name) <= WIDTH else name[: WIDTH - 1] + "…"
    return shown if shown.isprintable() else ascii(shown)


def done_notes(done: Done, how: str = "--{}") -> list[str]:
    """Say which spellings were joined, which cells are no answers, which names look alike.

    >>> done_notes(Done([["yes", "YES", "Yes "]], {"N/A": 3}, {}))
    ["3 spellings are 1 class: 'yes' = 'YES' = 'Yes ' (--exact keeps them apart)", \
"'N/A' (3) is no answer (--keep N/A makes it a class)"]
    """
    notes = []
    if done.joined:
        spellings = sum(map(len, done.joined))
        noun = "class" if len(done.joined) == 1 else "classes"
        exact = how.format("exact") + ("True" if "=" in how else "")
        notes.append(
            f"{spellings:,} spellings are {len(done.joined):,} {noun}: {group_words(done.joined)} "
            f"({exact} keeps them apart)"
        )
    named = {name: count for name, count in done.no_answer.items() if name.strip() and count}
    if named:
        shown = ", ".join(f"{quoted(name)} ({count:,})" for name, count in named.items())
        is_none = "is no answer" if len(named) == 1 else "are no answers"
        keep = " ".join(f"{how.format('keep')} {name.strip()}" for name in list(named)[:1])
        notes.append(f"{shown} {is_none} ({keep} makes it a class)")
    for noun, groups in done.twins.items():
        names = counted(sum(map(len, groups)), noun)
        notes.append(f"{names} differ only in spelling and are kept apart: {group_words(groups)}")
    return notes


def group_words(groups: Sequence[Sequence[str]]) -> str:
    """Names that are spelt alike, a few groups of them."""
    shown = "; ".join(
        " = ".join(_apart(group[:MEMBERS])) + (" = …" if len(group) > MEMBERS else "")
        for group in groups[:GROUPS]
    )
    return shown + ("; …" if len(groups) > GROUPS else "")


def _apart(names: Sequence[str]) -> list[str]:
    """Names that begin alike; long ones are shown from just before they differ.

    >>> _apart(["http://example.org/page/of/Anna", "http://example.org/page/of/anna"])
    ["'…page/of/Anna'", "'…page/of/anna'"]
    """
    if max(map(len, names)) <= WIDTH:
        return [quoted(name) for name in names]
    letters = zip(*names, strict=False)
    alike = sum(1 for _ in itertools.takewhile(lambda same: len(set(same)) == 1, letters))
    start = max(alike - BEFORE, 0)
    return [quoted(("…" if start else "") + name[start:]) for name in names]


def quoted(name: str) -> str:
    """A name in quotes, shortened; what looks like another name is written out."""
    shown = name if len(name) <= WIDTH else name[: WIDTH - 1] + "…"
    # Letters that are put together of two look like those that are not.
    return repr(shown) if unicodedata.is_normalized("NFC", name) else ascii(shown)
