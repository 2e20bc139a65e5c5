"""Sums of partitions joined by tree: one job, of which only the last sums reach the driver."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Sums = TypeVar("Sums")

DIRECT = 16
"""Partitions whose sums go to the driver at once; of more, some executors join them first."""


@dataclass(frozen=True)
class Work:
    """What each partition does: its sums, one row of bytes."""

    work: Callable[[Iterable[Any]], Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The pickled sums; none of an empty partition."""
        found = self.work(batch for batch in batches if batch.num_rows)
        if found is not None:
            yield pa.record_batch([[pickle.dumps(found, 5)]], ["sums"])


@dataclass(frozen=True)
class Join:
    """Joins the sums of several partitions."""

    join: Callable[[Any, Any], None]

    def __call__(self, batches: Iterable[Any]) -> Any:
        """The sums of all that came, or ``None``."""
        found = None
        for batch in batches:
            for value in batch.column("sums"):
                other = pickle.loads(value.as_buffer())
                if found is None:
                    found = other
                else:
                    self.join(found, other)
        return found


def tree_sum(
    frame: DataFrame,
    partitions: int,
    work: Callable[[Iterable[Any]], Sums | None],
    join: Callable[[Sums, Sums], None],
) -> Sums | None:
    """What ``work`` makes of the batches of every partition, joined; ``None`` if there are none.

    ``join`` adds the second to the first. Both are pickled, and so are the sums.
    """
    from pyspark.sql import functions as F

    sums = frame.mapInArrow(Work(work), "sums binary")
    joined = Join(join)
    if partitions > DIRECT:
        sums = sums.repartition(math.isqrt(partitions), F.spark_partition_id())
        sums = sums.mapInArrow(Work(joined), "sums binary")
    found: Sums | None = joined(sums.toArrow().to_batches())
    return found
