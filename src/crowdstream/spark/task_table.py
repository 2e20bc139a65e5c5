"""`SparkTasks`: all tasks of a table, in blocks on a cluster. Every pass is one job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdstream.errors import InputError
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.models.passes import Pass, TaskTable, go_through, join_all
from crowdstream.spark.blocks import ARRAYS, read_blocks
from crowdstream.spark.tree_sum import tree_sum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class GoThrough:
    """What a partition does in a pass: its sums over its blocks."""

    passes: Sequence[Pass[Any]]
    homes: Codes | None

    def __call__(self, batches: Iterable[Any]) -> list[Any]:
        """The sums of all passes."""
        return go_through(self.passes, read_blocks(batches, self.homes))


@dataclass(frozen=True)
class JoinAll:
    """Joins the sums of passes."""

    passes: Sequence[Pass[Any]]

    def __call__(self, sums: list[Any], others: list[Any]) -> None:
        """Add others to these."""
        join_all(self.passes, sums, others)


class SparkTasks(TaskTable):
    """Blocks in codes that all share.

    Parameters
    ----------
    blocks
        Rows that `Recode` made, persisted: they are read once per pass.
    partitions
        How many they are in.
    homes
        The places of the classes, where they share any.
    source
        What the blocks are made of, persisted too: given back once a pass has made them.
    """

    def __init__(
        self,
        blocks: DataFrame,
        partitions: int,
        homes: Codes | None = None,
        source: DataFrame | None = None,
    ) -> None:
        self.blocks, self.partitions, self.homes, self._source = blocks, partitions, homes, source

    def with_homes(self, homes: Codes | None) -> SparkTasks:
        """Return the same tasks, with places for their classes."""
        return SparkTasks(self.blocks, self.partitions, homes, self._source)

    def free(self) -> None:
        """Give the memory of the blocks back."""
        self.blocks.unpersist()
        self._free_source()

    def _free_source(self) -> None:
        if self._source is not None:
            self._source.unpersist()
            self._source = None

    @property
    def batch(self) -> LabelBatch:
        """Refused: a cluster's table has no order."""
        raise InputError(
            "estimator",
            "one that adds up tasks in any order, such as Adaptive() without memory or monitors",
            "one that goes through them in order, which a cluster's table does not have",
        )

    def add_up(self, passes: Sequence[Pass[Any]]) -> list[Any]:
        """One job; only sums reach the driver."""
        columns = ["tasks", *ARRAYS] if any(one.by_name for one in passes) else list(ARRAYS)
        work, join = GoThrough(passes, self.homes), JoinAll(passes)
        found = tree_sum(self.blocks.select(*columns), self.partitions, work, join)
        self._free_source()
        return [one.begin() for one in passes] if found is None else found
