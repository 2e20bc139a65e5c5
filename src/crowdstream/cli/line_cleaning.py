"""Labels of a stream, one at a time: the same cleaning and warnings that files get.

Knows nothing of streams or of how lines are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from crowdstream.cli.cleaning import Cleaning, odd_notes, twins_note
from crowdstream.cli.stream_input import LabelEvent

if TYPE_CHECKING:
    from crowdstream.labels.one_spelling import Spellings

MOST_TASKS = 100_000
"""Names of tasks among which twins are looked for: the latest."""

LOOKED_AT = 1_000
"""Labels after which one that looks like no answer is known to be rare."""


class LineCleaner:
    """Cleans labels as they come in, and says what looks odd as soon as it shows, once."""

    def __init__(self, chosen: Cleaning, say: Callable[[str], None]) -> None:
        from crowdstream.labels.cleaning import Cleaner
        from crowdstream.labels.matching import NameIndex

        self.cleaner = Cleaner(normalise=chosen.normalise, skip=chosen.skip_label or ())
        self.say = say
        self.twins = {"label": _Twins(), "worker": _Twins(), "task": _Twins(MOST_TASKS)}
        self.classes = NameIndex()
        self.labels: dict[str, int] = {}
        self.rows = 0

    def know(
        self, tasks: Iterable[object], workers: Iterable[object], classes: Iterable[object]
    ) -> None:
        """Go on from an earlier run, whose spellings these are."""
        if self.cleaner.normalise:
            self.cleaner.know(workers, classes, tasks)
            return
        for noun, names in (("task", tasks), ("worker", workers), ("label", classes)):
            for name in names:
                self._look_for_twin(noun, str(name))
        self.classes.add(map(str, classes))

    def clean(self, event: LabelEvent) -> LabelEvent:
        """One label as it is to be counted; without a label if that means no answer."""
        if self.cleaner.skip and event.label is not None:
            from crowdstream.labels.spelling import normalise

            if normalise(event.label) in self.cleaner.skip:
                self.cleaner.skipped += 1
                event = event._replace(label=None)
        if self.cleaner.normalise:
            return self._respelt(event)
        self._look(event)
        if event.gold is None:
            return event
        known = self.classes.find(event.gold)  # gold may be spelt otherwise than labels are
        return event if known is None else event._replace(gold=str(known))

    def _respelt(self, event: LabelEvent) -> LabelEvent:
        cleaner = self.cleaner
        return event._replace(
            task=_one(cleaner.tasks, event.task),
            worker=_one(cleaner.workers, event.worker),
            label=_one(cleaner.labels, event.label),
            gold=_one(cleaner.labels, event.gold),
        )

    def _look(self, event: LabelEvent) -> None:
        names = {"label": event.label, "worker": event.worker, "task": event.task}
        for noun, name in names.items():
            if name is not None:
                self._look_for_twin(noun, name)
        self.rows += 1
        if event.label is not None:
            self.classes.add((event.label,))
        if event.label is not None and self.rows <= LOOKED_AT:
            self.labels[event.label] = self.labels.get(event.label, 0) + 1
            if self.rows == LOOKED_AT:
                self.end()

    def _look_for_twin(self, noun: str, name: str) -> None:
        found = self.twins[noun].add(name)
        if found is not None:
            self.say(twins_note(noun, [found]))

    def end(self) -> None:
        """Say what looks odd about the labels so far, if that has not been done."""
        if not self.labels:
            return
        from crowdstream.labels.oddities import label_oddities

        for note in odd_notes(label_oddities(self.labels, min(self.rows, LOOKED_AT)), ordinal=True):
            self.say(note)
        self.labels = {}


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
        from crowdstream.labels.spelling import normalise

        self.seen[name] = None
        before = self.names.setdefault(normalise(name), name)
        for known in (self.names, self.seen):
            if self.most is not None and len(known) > self.most:
                del known[next(iter(known))]
        if before == name:
            return None
        self.told, self.names, self.seen = True, {}, {}
        return [before, name]


def _one(spellings: Spellings, name: str | None) -> str | None:
    return None if name is None or not name.strip() else spellings.one(name)
