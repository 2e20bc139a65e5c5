"""`Places`: where classes are learnt and scored, so that very many of them cost no more than few.

Up to `MOST_CLASSES` every class has its own place, and nothing here does anything. Beyond, labels
are learnt by places that classes share, and scored with the classes of a task apart
(`crowdstream.labels.folding`). What a model does otherwise then, it does from `Model.fold` on.
Knows no sums.
"""

from __future__ import annotations

import numpy as np

from crowdstream.labels import Vocabulary
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.folding import MOST_CLASSES, PLACES, Folding


class Places:
    """The places of a crowd's classes.

    ``shares``: whether very many classes share places at all, or each has its own for ever.

    >>> places = Places()
    >>> places.number(Vocabulary(["spam", "ham"])), places.folded
    (2, False)
    """

    def __init__(self, shares: bool = True) -> None:
        self._shares = shares
        self._folding: Folding | None = None

    @property
    def folded(self) -> bool:
        """Return whether classes share places."""
        return self._folding is not None

    def are_shared(self, classes: Vocabulary) -> bool:
        """Return whether with these classes, the learnt ones first, classes would share places."""
        return self.folded or (self._shares and len(classes) > MOST_CLASSES)

    def number(self, classes: Vocabulary) -> int:
        """Return how many places there would be with these classes."""
        return PLACES if self.are_shared(classes) else len(classes)

    def knows(self, classes: Vocabulary) -> bool:
        """Return whether all of these classes have their places."""
        if self._folding is None:
            return not self.are_shared(classes)
        return len(self._folding) == len(classes)

    def update(self, classes: Vocabulary) -> bool:
        """Give new classes their places; whether from now on they are shared."""
        begins = not self.folded and self.are_shared(classes)
        if begins:
            self.start(classes)
        elif self._folding is not None:
            self._folding.update(classes)
        return begins

    def start(self, classes: Vocabulary) -> None:
        """Let these classes share places from now on, however many they are."""
        self._folding = Folding()
        self._folding.update(classes)

    def homes(self, classes: int) -> Codes | None:
        """The places of the first classes; ``None`` where each has its own."""
        return None if self._folding is None else self._folding.homes(classes)

    def learnt(self, batch: LabelBatch) -> LabelBatch:
        """Tasks as they are learnt: each label by its class's place."""
        return batch if self._folding is None else self._folding.at_home(batch)

    def scored(self, batch: LabelBatch, classes: Vocabulary) -> LabelBatch:
        """Tasks as they are scored: within a task no two classes share a place."""
        if not self.are_shared(classes):
            return batch
        return (self._folding or Folding()).apart(batch, classes)

    def common(self, classes: Ints) -> Ints:
        """Return where what another crowd learnt of its classes goes, which are these here."""
        return classes if self._folding is None else np.arange(PLACES)
