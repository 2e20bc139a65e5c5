"""Crowds that the tests of monitors share."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdstream.estimators import (
    Adaptive,
    AgreementBased,
    CentredAgreement,
    Estimator,
    MajorityVote,
)
from crowdstream.monitoring import monitor
from crowdstream.simulation import Simulated, simulate

ESTIMATORS: list[type[Estimator]] = [MajorityVote, AgreementBased, CentredAgreement, Adaptive]


def crowd_of(n: int, tasks: int, **asked: object) -> Simulated:
    return simulate(n, tasks, **asked)  # type: ignore[arg-type]


def monitored(block: Simulated, **how: object) -> Adaptive:
    crowd = monitor(Adaptive(**how))  # type: ignore[arg-type]
    crowd.learn_many(block.labels())
    return crowd


def rows_of(block: Simulated) -> list[dict[str | int, str | int | bool | None]]:
    """The answers of each task, in order."""
    said = block.matrix().tolist()
    return [{f"w{i}": str(x) for i, x in enumerate(row) if x >= 0} for row in said]


def inside(table: pl.DataFrame, rates: np.ndarray) -> list[bool]:
    """Whether the intervals of the workers contain their error rates."""
    who = table["worker"].str.slice(1).cast(pl.Int64).to_numpy()
    low, high = table["error_low"].to_numpy(), table["error_high"].to_numpy()
    return list((low <= rates[who]) & (rates[who] <= high))
