"""Skills by group of tasks: better where workers specialise, nothing where they do not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.errors import InputError

Floats = NDArray[np.float64]
ROLES = ["task", "worker", "label", "group"]


def crowd_of(
    rates: Floats, tasks: int, classes: int, seed: int
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Five labels a task of workers with these error rates by group."""
    rng = np.random.default_rng(seed)
    workers, groups = rates.shape
    group, truth = rng.integers(groups, size=tasks), rng.integers(classes, size=tasks)
    rows = []
    for t in range(tasks):
        for i in rng.permutation(workers)[:5].tolist():
            wrong = rng.random() < rates[i, group[t]]
            said = (truth[t] + wrong * rng.integers(1, classes)) % classes
            rows.append((t, f"w{i}", int(said), f"g{group[t]}"))
    return pl.DataFrame(rows, ROLES, orient="row"), truth


def specialists(workers: int, groups: int, seed: int) -> Floats:
    """Everybody is good at one group and poor at the others."""
    best = np.random.default_rng(1000 + seed).integers(groups, size=(workers, 1))
    return np.where(best == np.arange(groups), 0.08, 0.42)


def errors(decisions: pl.DataFrame, truth: NDArray[np.int64]) -> float:
    return float(np.mean(decisions["label"].to_numpy() != truth[decisions["task"].to_numpy()]))


@pytest.mark.parametrize(("workers", "groups", "classes"), [(12, 2, 2), (20, 4, 2), (30, 3, 3)])
def test_specialists_are_believed_in_their_own_group(
    workers: int, groups: int, classes: int
) -> None:
    without, by = [], []
    for seed in range(3):
        rates = specialists(workers, groups, seed)
        table, truth = crowd_of(rates, 600, classes, seed)
        without.append(errors(cs.Adaptive().fit_predict(table.drop("group")), truth))
        found = cs.by_group(table)
        by.append(errors(found.decisions, truth))
        assert found.spread > 0.2
        at = found.workers.with_columns(
            pl.col("worker").str.slice(1).cast(pl.Int64), pl.col("group").str.slice(1).cast(int)
        )
        real = rates[at["worker"].to_numpy(), at["group"].to_numpy()]
        gaps = [np.abs(at[name].to_numpy() - real).mean() for name in ("error_rate", "overall")]
        assert gaps[0] < 0.6 * gaps[1], "nearer to the rate in the group than the overall one"
    # A tenth fewer errors at the least; when this was written, a fifth to a half.
    assert np.mean(by) < 0.9 * np.mean(without)


def test_groups_that_do_not_matter_change_nothing_to_speak_of() -> None:
    gains = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rates = np.repeat(rng.uniform(0.1, 0.4, (20, 1)), 3, axis=1)
        table, truth = crowd_of(rates, 500, 2, seed)
        plain = cs.Adaptive().fit_predict(table.drop("group"))
        found = cs.by_group(table)
        assert found.spread < 0.1
        if found.spread == 0.0:
            assert found.decisions.equals(plain)
        gains.append(errors(found.decisions, truth) - errors(plain, truth))
    # Over 3,000 tasks at an error of 0.1 the standard error of a mean is 0.0055.
    assert np.mean(gains) < 0.0055


def test_one_group_is_none() -> None:
    table, _ = crowd_of(np.full((6, 1), 0.2), 100, 2, 0)
    found = cs.by_group(table)
    assert found.spread == 0.0
    assert found.decisions.equals(cs.Adaptive().fit_predict(table.drop("group")))
    assert found.workers["answers"].sum() == table.height


def test_gold_overrides_and_the_kind_is_kept() -> None:
    table, _ = crowd_of(specialists(8, 2, 0), 120, 2, 0)
    found = cs.by_group(
        table.rename({"group": "topic"}).to_arrow(), group="topic", gold={0: 1, 1: 0}
    )
    assert type(found.decisions).__module__.startswith("pyarrow")
    columns = (found.decisions[name].to_pylist() for name in ("task", "label"))
    decided = dict(zip(*columns, strict=True))
    assert (decided[0], decided[1]) == (1, 0)


def test_rows_may_come_in_any_order_and_the_estimator_stays_new() -> None:
    table, _ = crowd_of(specialists(8, 2, 1), 150, 2, 1)
    crowd = cs.AgreementBased()
    once = cs.by_group(table, crowd=crowd)
    again = cs.by_group(table.sample(fraction=1.0, shuffle=True, seed=3), crowd=crowd)
    assert crowd.tasks_ == 0
    assert once.spread == pytest.approx(again.spread)
    both = once.decisions.join(again.decisions, on="task", suffix="_again")
    assert both["confidence"].to_numpy() == pytest.approx(both["confidence_again"].to_numpy())


def test_what_is_wrong_with_groups_is_said() -> None:
    rows = [(1, "ann", "x", "a"), (1, "bob", "x", "b"), (2, "ann", "y", None)]
    table = pl.DataFrame(rows, ROLES, orient="row")
    with pytest.raises(InputError, match="one group per task"):
        cs.by_group(table.head(2))
    with pytest.raises(InputError, match="a group for every task"):
        cs.by_group(table.tail(1))
    with pytest.raises(InputError, match="'topic'"):
        cs.by_group(table, group="topic")
    with pytest.raises(InputError, match="a table with a column"):
        cs.by_group([(1, "ann", "x")])
