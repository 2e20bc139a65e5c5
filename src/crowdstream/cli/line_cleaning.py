"""Labels of a stream, one at a time: the same cleaning and the same refusals that files get.

Knows nothing of streams or of how lines are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from crowdstream.cli.options import Scores
from crowdstream.cli.stream_input import LabelEvent
from crowdstream.errors import InputError
from crowdstream.labels.meaning.answers import AnswerCleaner
from crowdstream.labels.meaning.kinds import LabelKind, find_kind
from crowdstream.labels.meaning.words import group_words
from crowdstream.labels.spelling import normalise

if TYPE_CHECKING:
    from crowdstream.labels import ClassLabel

MOST_TASKS = 100_000
"""Names of tasks among which twins are looked for: the latest."""

LOOKED_AT = 200
"""Different labels after which they are taken for the classes that they are."""


class LineCleaner:
    """Cleans labels as they come in, and says what it does as soon as it shows, once.

    Labels that are scores or sets are refused when the first of them comes.
    """

    def __init__(self, chosen: Scores, say: Callable[[str], None]) -> None:
        self.cleaner = AnswerCleaner(exact=chosen.exact, keep=chosen.keep or ())
        self.hints = chosen.hints()
        self.say = say
        self.twins = {"worker": _Twins(), "task": _Twins(MOST_TASKS)}
        self.kind = LabelKind()
        self.met: dict[ClassLabel, None] = {}
        self.rows = 0
        self._told: set[str] = set()

    def know(
        self, tasks: Iterable[object], workers: Iterable[object], classes: Iterable[object]
    ) -> None:
        """Go on from an earlier run, whose spellings these are."""
        known = list(classes)
        self.cleaner.know(known)
        for noun, names in (("task", tasks), ("worker", workers)):
            for name in names:
                self._look_for_twin(noun, str(name))
        if self.hints.threshold is None:
            self.met |= dict.fromkeys(str(name) for name in known)

    @property
    def skipped(self) -> int:
        """Labels that were taken for no answer."""
        return sum(self.cleaner.no_answer.values())

    def clean(self, event: LabelEvent) -> LabelEvent:
        """One label as it is to be counted; without a label if that means no answer."""
        task, worker = _trimmed(event.task), _trimmed(event.worker)
        for noun, name in (("worker", worker), ("task", task)):
            if name is not None:
                self._look_for_twin(noun, name)
        label = self.cleaner.one(event.label)
        if event.label is not None and label is None and event.label.strip():
            self._tell(f"{event.label.strip()!r} is no answer (--keep makes it a class)")
        respelt = label is not None and event.label is not None and label != event.label.strip()
        if respelt and self.hints.threshold is None:
            self._tell(f"{event.label!r} is counted as {label!r} (--exact keeps them apart)")
        gold = self.cleaner.one(event.gold)
        return event._replace(
            task=task, worker=worker, label=self._classed(label), gold=self._classed(gold)
        )

    def _classed(self, label: str | None) -> str | None:
        """The class of a label; scores and sets are refused."""
        if label is None:
            return None
        self.rows += 1
        if label not in self.met and len(self.met) < LOOKED_AT:
            met = [*self.met, label]
            # However few labels have come, some are the same: text shows in files alone.
            rows = max(self.rows, 2 * len(met) + 1)
            try:
                self.kind = find_kind(met, rows, self.hints, "labels", at_once=False)
            except InputError:
                self.rows -= 1
                raise
            self.met[label] = None
        return label if self.kind.recode is None else str(self.kind.recode(label))

    def _tell(self, note: str) -> None:
        kind = note.partition(" is ")[2].partition(" ")[0]
        if kind not in self._told:
            self._told.add(kind)
            self.say(note)

    def _look_for_twin(self, noun: str, name: str) -> None:
        found = self.twins[noun].add(name)
        if found is not None:
            self.say(f"{noun}s differ only in spelling and are kept apart: {group_words([found])}")


class _Twins:
    """Names so far by their normal forms; tells of the first two that differ in spelling only."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.told = False
        self.names: dict[str, str] = {}
        self.seen: dict[str, None] = {}

    def add(self, name: str) -> list[str] | None:
        """Two names that are the same but for their spelling, the first time there are such."""
        if self.told or name in self.seen:
            return None
        self.seen[name] = None
        before = self.names.setdefault(normalise(name), name)
        for known in (self.names, self.seen):
            if self.most is not None and len(known) > self.most:
                del known[next(iter(known))]
        if before == name:
            return None
        self.told, self.names, self.seen = True, {}, {}
        return [before, name]


def _trimmed(name: str | None) -> str | None:
    return None if name is None else name.strip() or None
