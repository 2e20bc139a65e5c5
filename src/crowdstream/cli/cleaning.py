"""Options that make labels one spelling each, and the warnings where nobody asked for it.

Knows labels and words; nothing of estimators.
"""

from __future__ import annotations

import itertools
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from crowdstream.cli import options
from crowdstream.errors import InputError
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    from crowdstream.labels import CodedLabels
    from crowdstream.labels.oddities import Oddities

GROUPS = 3
"""Groups of names spelt alike that a warning shows."""

MEMBERS = 4
"""Spellings of each."""

WIDTH = 30
"""Characters of a name that a warning shows."""

BEFORE = 8
"""Characters shown before those by which long names differ."""


class Cleaning(options.Group, panel="Cleaning"):
    """What is done to names before anything is counted."""

    HELP = """
    --normalise  Labels, tasks and workers whose names differ only by upper and lower case, by
        blanks, by Unicode form (NFC) or as 3 and 3.0 do are the same. The commonest spelling is
        shown.
    --skip-label VALUE  This label is no answer: N/A, say, in any spelling. May be repeated.
    """
    normalise: bool = False
    skip_label: list[str] | None = None

    def start(self, *, wide: bool = False, in_batches: bool = False) -> InputCleaner:
        """What cleans the labels that will be read."""
        return InputCleaner(self, wide=wide, in_batches=in_batches)

    @property
    def columns_left_out(self) -> list[str]:
        """Columns that are no workers."""
        return []


class WideCleaning(Cleaning):
    """The same where tables may be wide."""

    HELP = """
    --leave-out COLUMN  With --wide: this column holds no labels. May be repeated.
    """
    leave_out: list[str] | None = None

    @property
    def columns_left_out(self) -> list[str]:
        """Columns that are no workers."""
        return self.leave_out or []


class InputCleaner:
    """Cleans labels as they are read, and remembers what there is to say about them."""

    def __init__(self, chosen: Cleaning, *, wide: bool, in_batches: bool) -> None:
        from crowdstream.labels.cleaning import Cleaner
        from crowdstream.labels.oddities import Inspector

        if chosen.columns_left_out and not wide:
            raise InputError("--leave-out", "--wide too", "none")
        self.wide = wide
        self.cleaner = Cleaner(
            normalise=chosen.normalise,
            skip=chosen.skip_label or (),
            left_out=chosen.columns_left_out,
            in_batches=in_batches,
        )
        self.inspector = Inspector(wide=wide)
        self.known: tuple[list[str], list[str]] = [], []
        self.workers_shown = ""

    def know(self, workers: Iterable[object], classes: Iterable[object]) -> None:
        """Go on from earlier runs, whose spellings these are."""
        self.known = [str(name) for name in workers], [str(name) for name in classes]
        self.cleaner.know(*self.known)
        self.inspector.know(*self.known)

    def restart(self) -> None:
        """The same labels will come once more."""
        from crowdstream.labels.oddities import Inspector

        self.cleaner.restart()
        self.inspector = Inspector(wide=self.wide)
        self.inspector.know(*self.known)

    def clean(self, table: CodedLabels) -> CodedLabels:
        """The labels as they are to be counted."""
        if self.wide and not self.workers_shown:
            self.workers_shown = ", ".join(str(name) for name in list(table.workers)[:MEMBERS])
        table = self.cleaner.clean(table)
        self.inspector.look(table)
        return table

    @property
    def skipped(self) -> int:
        """Labels that were taken for no answer."""
        return self.cleaner.skipped

    def end(self, *, ordinal: bool) -> list[str]:
        """What was done and what looks odd, once all labels have come; bad options are refused.

        ``ordinal``: whether there is nothing to say of labels that look like a scale.
        """
        for name in self.cleaner.left_out:
            if name not in self.cleaner.met:
                expected = f"a column with labels, such as {self.workers_shown}"
                raise InputError("--leave-out", expected, repr(name))
        return [*self._done(), *odd_notes(self.inspector.found(), ordinal=ordinal)]

    def _done(self) -> list[str]:
        cleaner, found = self.cleaner, []
        for noun, spellings in (("label", cleaner.labels), ("worker", cleaner.workers)):
            given = len(spellings.given)
            if given > spellings.shown:
                shown = counted(spellings.shown, noun)
                found.append(f"--normalise: {given:,} spellings of {shown}")
        missing = [text for form, text in cleaner.skip.items() if form not in cleaner.met]
        if cleaner.skipped:
            found.append(f"{counted(cleaner.skipped, 'label')} taken for no answer (--skip-label)")
        if missing:
            found.append(f"no label is spelt {_listed(missing)} (--skip-label)")
        return found


def odd_notes(found: Oddities, *, ordinal: bool = False) -> list[str]:
    """What to say of labels that look odd, and what to do about it.

    >>> from crowdstream.labels.oddities import Oddities
    >>> odd_notes(Oddities(labels=[["yes", "YES", "Yes "], ["no", "No"]], skips={"N/A": 3}))[0]
    "5 labels look like 2 (--normalise counts them so): 'yes' = 'YES' = 'Yes '; 'no' = 'No'"
    """
    notes = [
        twins_note(noun, twins)
        for noun, twins in (
            ("label", found.labels),
            ("worker", found.workers),
            ("task", found.tasks),
        )
        if twins
    ]
    if found.skips:
        named = ", ".join(f"{_short(name)} ({count:,})" for name, count in found.skips.items())
        one = len(found.skips) == 1
        options = " ".join(f"--skip-label {shlex.quote(name)}" for name in found.skips)
        verbs = ("looks", "counts as a class") if one else ("look", "count as classes")
        notes.append(f"{named} {verbs[0]} like no answer but {verbs[1]}: {options}")
    if found.choices:
        several = counted(len(found.choices), "label")
        holds = "holds" if len(found.choices) == 1 else "hold"
        notes.append(
            f"{several} {holds} several choices, such as {_short(found.choices[0])}: each counts "
            "as a class of its own; give one choice per row"
        )
    for name, distinct in found.columns.items():
        notes.append(
            f"column {_short(name)} has {distinct:,} distinct values: leave it out with "
            f"--leave-out {shlex.quote(name)}"
        )
    if found.distinct:
        notes.append(
            f"{found.distinct:,} different labels in {found.rows:,} rows look like free text, such "
            f"as {_short(found.example)}: name another column with --label"
        )
    if found.steps and not ordinal:
        notes.append(f"labels are {found.steps}: if that is a scale, add --ordinal")
    return notes


def twins_note(noun: str, twins: Sequence[Sequence[str]]) -> str:
    """That names differ in spelling only, with examples."""
    shown = "; ".join(
        " = ".join(_apart(group[:MEMBERS])) + (" = …" if len(group) > MEMBERS else "")
        for group in twins[:GROUPS]
    )
    more = "; …" if len(twins) > GROUPS else ""
    names = counted(sum(map(len, twins)), noun)
    return f"{names} look like {len(twins):,} (--normalise counts them so): {shown}{more}"


def _apart(names: Sequence[str]) -> list[str]:
    """Names that begin alike; long ones are shown from just before they differ.

    >>> _apart(["http://example.org/page/of/Anna", "http://example.org/page/of/anna"])
    ["'…page/of/Anna'", "'…page/of/anna'"]
    """
    if max(map(len, names)) <= WIDTH:
        return [_short(name) for name in names]
    letters = zip(*names, strict=False)
    alike = sum(1 for _ in itertools.takewhile(lambda same: len(set(same)) == 1, letters))
    start = max(alike - BEFORE, 0)
    return [_short(("…" if start else "") + name[start:]) for name in names]


def _short(name: str) -> str:
    shown = name if len(name) <= WIDTH else name[: WIDTH - 1] + "…"
    # Letters that are put together of two look like those that are not.
    return repr(shown) if unicodedata.is_normalized("NFC", name) else ascii(shown)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_short, names))
