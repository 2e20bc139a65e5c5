"""Cost of a run's labels, and cost had each task been stopped once it was settled.

Knows nothing of options or terminals.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdstream.errors import NotIdentifiable

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.labels import CodedLabels

REPLAYED = 20_000
"""Labels that are bought again at most: a fifth of a second for a figure to the nearest per cent
(`crowdstream savings` buys all of them, in several orders)."""


class Spending(NamedTuple):
    """Cost of all labels, and cost had each task been stopped once settled.

    ``saved``: the share not spent then; ``other_decisions``: the share of tasks that would have
    been decided otherwise; ``replayed_tasks``: how many it was tried on. None: not tried.
    """

    price: float
    total: float
    per_decision: float
    enough: float | None
    saved: float | None
    other_decisions: float | None
    replayed_tasks: int | None


class Replay:
    """Some of a run's tasks bought again label by label, each until its decision is settled.

    ``crowd``: as it was before the run. ``compared``: whether the run decided as a stream would,
    so that it can be said of how many tasks the decision would be another.
    """

    def __init__(
        self, crowd: Estimator, settle: float, min_labels: int, seed: int, *, compared: bool = True
    ) -> None:
        from crowdstream.stream.stream import Stream

        self.compared = compared
        crowd.observers = []  # nobody asks them, and they take longer than all else
        self.stream = Stream(crowd, settle=settle, min_labels=min_labels, remember=2**30)
        self.rng = np.random.default_rng(seed)
        self.tasks = self.labels = self.other = 0

    def take(self, table: CodedLabels, decisions: pl.DataFrame) -> None:
        """Buy again as many of these tasks as there is room for, in random order."""
        import polars as pl

        room = REPLAYED - self.labels
        votes = decisions["votes"].to_numpy()
        order = self.rng.permutation(decisions.height)
        order = order[: np.searchsorted(np.cumsum(votes[order]), room, side="right")]
        chosen = decisions[order].select("task", decided="label")
        if not chosen.height:
            return
        names = pl.Series(table.batch.tasks)
        runs = names.is_in(chosen["task"].cast(names.dtype).implode()).fill_null(False)
        rows = table.select(runs.to_numpy()).frame().drop_nulls()
        rows = rows.unique(["task", "worker"], keep="last", maintain_order=True)
        mixed = rows[self.rng.permutation(rows.height)]
        places = chosen.with_row_index("place")
        mixed = mixed.join(places, on="task", maintain_order="left").sort(
            "place", maintain_order=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)  # a crowd that begins
            made = self.stream.observe_many(mixed.select("task", "worker", "label").rows())
        before = dict(chosen.iter_rows())
        self.tasks += len(made)
        self.labels += mixed.height
        self.other += sum(before[decision.task] != decision.label for decision in made)

    def cost(self, price: float, labels: int, decided: int) -> Spending:
        """Return the cost of all labels and of those that were enough."""
        total = price * labels
        each = total / decided if decided else 0.0
        if not self.tasks:
            return Spending(price, total, each, None, None, None, None)
        saved = 1.0 - self.stream.counts.labels / self.labels
        other = self.other / self.tasks if self.compared else None
        return Spending(price, total, each, total * (1.0 - saved), saved, other, self.tasks)
