"""`Observer`: what goes along with an estimator. It sees what is learnt and changes nothing.

Intervals, drift alarms, pairs and the like keep sums of their own (crowdstream.monitoring). An
estimator knows them by these verbs only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.models.passes import TaskTable
from crowdstream.serialization import Packed

if TYPE_CHECKING:
    from crowdstream.estimators.estimator import Estimator


class Observer(ABC):
    """Sees every task that its estimator learns.

    Observers are made without arguments and know workers and classes by their codes; `Estimator`
    tells them how many there are.
    """

    kinds: ClassVar[dict[str, type[Observer]]] = {}
    """By name, as saved states know them."""

    adds_up: ClassVar[bool] = False
    """Whether what it keeps of a whole table is sums over tasks, wherever these are."""

    over_time: ClassVar[bool] = False
    """Whether it asks who changed, which makes sense only of tasks in the order of time."""

    standard: ClassVar[list[type[Observer]]] = []
    """Those that go along with every new estimator."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        Observer.kinds[cls.__name__] = cls

    @abstractmethod
    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Tasks were learnt (sign 1) or taken back (−1).

        ``in_order``: labels stand as they came, and whether there are more may hang on what the
        first ones said; a label may then be judged by those before it only.
        """

    def patience(self, crowd: Estimator) -> int:
        """Return how many closed tasks it may see late, in one batch, without changing the result.

        Until something is due that is read from the estimator as it is when a task closes.
        """
        return 0

    def most_workers(self, crowd: Estimator) -> int:
        """Return how many workers may be met before it must see the tasks that closed already.

        Unless it says otherwise, none is met while tasks wait for it.
        """
        return crowd._n_met

    def sees_like(self, other: Observer) -> bool:
        """Return whether tasks are seen in one pass by it and another: by its `see_together`."""
        return False

    def see_together(
        self,
        team: Sequence[Observer],
        batch: LabelBatch,
        crowd: Estimator,
        sign: int,
        in_order: bool,
    ) -> None:
        """Let observers, of which it is the first, `see` tasks in one pass: the same to the bit."""
        for one in team:
            one.see(batch, crowd, sign, in_order)

    def see_all(self, table: TaskTable, crowd: Estimator) -> None:
        """A whole table was fitted, nothing having been seen before: its tasks, in no order."""
        self.see(table.batch, crowd, 1, False)

    def see_more(self, table: TaskTable, crowd: Estimator, tasks: int, in_order: bool) -> None:
        """So many more tasks were learnt as a whole; ``in_order`` as for `see`."""
        self.see(table.batch, crowd, 1, in_order)

    @abstractmethod
    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add what another saw; its worker i is ``names[i]`` here, its class a ``classes[a]``."""

    @abstractmethod
    def pack(self) -> Packed:
        """All it knows, as arrays."""

    @abstractmethod
    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""

    def fold(self, homes: Codes) -> None:  # noqa: B027
        """From now on labels are places that classes share; class a was seen at ``homes[a]``.

        Only observers that keep labels have anything to do.
        """

    def columns(self, crowd: Estimator, level: float) -> dict[str, NDArray[np.generic] | str]:
        """Columns for the table of workers, a text where it is the same of all; none by default."""
        return {}
