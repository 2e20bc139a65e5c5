"""`Agreement`: what coefficients of agreement are read from, kept beside an estimator.

Sums of all tasks that were learnt, without forgetting. Only reported: no decision depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import LEVEL
from crowdstream.estimators.estimator import Estimator
from crowdstream.estimators.observer import Observer
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.labels.label import ClassLabel
from crowdstream.labels.meaning.interpreting import QuestionLabels
from crowdstream.models.passes import InMemory, Pass, TaskTable
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.coefficients import Coefficients, read_coefficients
from crowdstream.serialization import Packed
from crowdstream.sums.coincidences import Coincidences


@dataclass(frozen=True, eq=False)
class AddCoincidences(Pass[Coincidences]):
    """Coincidences of labels of so many classes."""

    classes: int

    @property
    def by_name(self) -> bool:
        """No: by codes alone."""
        return False

    def begin(self) -> Coincidences:
        """No tasks."""
        sums = Coincidences()
        sums.make_room(self.classes)
        return sums

    def add(self, sums: Coincidences, batch: LabelBatch) -> None:
        """Add tasks."""
        sums.add(batch)

    def join(self, sums: Coincidences, other: Coincidences) -> None:
        """Add other tasks' sums."""
        sums.merge(other)


def add_up(batch: LabelBatch, classes: int) -> Coincidences:
    """The coincidences of a batch, added up in threads."""
    (found,) = InMemory(batch).add_up([AddCoincidences(classes)])
    assert isinstance(found, Coincidences)
    return found


class Agreement(Observer):
    """Coincidences of all labels that were learnt; `agreement` reads them."""

    adds_up = True

    def __init__(self) -> None:
        self.sums = Coincidences()

    def patience(self, crowd: Estimator) -> int:
        """For as long as there are tasks: nothing is read from the estimator."""
        return 2**62

    def most_workers(self, crowd: Estimator) -> int:
        """Any number: it knows nothing of workers."""
        return 2**62

    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Add tasks, or take them away."""
        self.sums.make_room(len(crowd._classes))
        self.sums.add(batch, sign)

    def see_all(self, table: TaskTable, crowd: Estimator) -> None:
        """Add a table in whatever parts it is."""
        self.see_more(table, crowd, 0, False)

    def see_more(self, table: TaskTable, crowd: Estimator, tasks: int, in_order: bool) -> None:
        """Add more tasks in whatever parts they are."""
        self.sums.make_room(len(crowd._classes))
        if self.sums.kept:
            (found,) = table.add_up([AddCoincidences(self.sums.classes)])
            self.sums.merge(found)

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add another's sums."""
        self.sums.merge(other.sums, classes)

    def pack(self) -> Packed:
        """All sums."""
        return self.sums.pack()

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        self.sums.unpack(arrays)


def watch_agreement(crowd: Estimator) -> None:
    """Attach `Agreement` alone to an estimator that has learnt nothing yet.

    Unlike other monitors it needs no order of tasks, so it may go along on a cluster.
    """
    if view.find_observer(crowd, Agreement) is None:
        crowd.observers.append(Agreement())


def coefficients_of(
    sums: Coincidences,
    classes: Sequence[ClassLabel],
    *,
    places: Mapping[str, float] | None = None,
    scale: str = "nominal",
    level: float = LEVEL,
) -> Coefficients | None:
    """Read the coefficients; None with too many classes, or if no task has two labels.

    Parameters
    ----------
    sums
        Coincidences of labels.
    classes
        By their codes.
    places
        Where classes lie on the scale, by their text: all that are on it.
    scale
        "nominal", "ordinal" (the order of the places counts) or "interval" (their distances).
    level
        Of the intervals.
    """
    if not sums.kept:
        return None
    names = [str(label) for label in classes[: sums.classes]]
    where, moments = None, None
    if scale == "nominal" or places is None:
        # By name, not by code: which class was met first must not change a bit.
        moments = sums.read(np.array(sorted(range(len(names)), key=names.__getitem__), np.int64))
    else:
        ranked = sorted(places, key=places.__getitem__)
        codes = {name: code for code, name in enumerate(names)}
        wide = sums.empty()
        wide.make_room(len({*names, *ranked}))
        wide.merge(sums)
        free = iter(range(len(names), wide.classes))
        order = [codes[name] if name in codes else next(free) for name in ranked]
        if wide.kept:
            moments = wide.read(np.array(order, np.int64))
        if scale == "interval":
            where = np.array([places[name] for name in ranked])
    if moments is None or not (moments.sizes >= 2).any():
        return None
    return read_coefficients(moments, scale=scale, places=where, level=level)


def crowd_coefficients(
    crowd: Estimator,
    *,
    places: Mapping[str, float] | None = None,
    scale: str = "nominal",
    level: float = LEVEL,
) -> Coefficients | None:
    """The coefficients of all labels that a crowd has learnt; None where nothing is known of them.

    Parameters
    ----------
    crowd
        An estimator, with `Agreement` if anything is to be known.
    places, scale, level
        As for `coefficients_of`.
    """
    found = view.find_observer(crowd, Agreement)
    if found is None:
        return None
    return coefficients_of(found.sums, crowd.classes_, places=places, scale=scale, level=level)


def question_coefficients(
    crowd: Estimator, question: QuestionLabels | None, level: float = LEVEL
) -> Coefficients | None:
    """Read a crowd's coefficients for this question's labels: ordinal ones if they are a scale.

    None of choices, which a crowd learns as yes or no to each.
    """
    if question is not None and question.kind.name == "choices":
        return None
    places = None if question is None else question.kind.places
    scale = "ordinal" if places else "nominal"
    return crowd_coefficients(crowd, places=places, scale=scale, level=level)
