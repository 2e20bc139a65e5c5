"""Two runs of a panel: who changed, by how much, and what cannot be told."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.metrics.paired import holm, mcnemar
from crowdstream.simulation import simulate_judges
from crowdstream.statements.judge_changes import FEWEST, paired_change
from tests.benchmarks import load_benchmark

two_runs = load_benchmark("statements").two_runs


def test_a_run_compared_with_itself_shows_no_change() -> None:
    labels = simulate_judges(100).labels
    found = cs.compare_runs(labels, labels)
    assert found.changed == []
    assert set(found.workers["verdict"]) == {"no_change_seen"}
    assert found.workers["flips"].sum() == 0
    assert found.workers["not_excluded"].max() == pytest.approx(3.8415 / 103.8415, abs=1e-4)


@pytest.mark.parametrize("gold", [False, True])
def test_who_got_worse_is_named_with_an_interval_that_holds_the_change(gold: bool) -> None:
    held, others = [], 0
    for seed in range(20):
        one, two, truths = two_runs(seed, 7, 300, np.full(7, 0.15), more=0.2)
        found = cs.compare_runs(one, two, gold=truths if gold else None)
        assert found.changed[0] == "w0"
        others += len(found.changed) > 1
        assert found.by == ("gold" if gold else "panel")
        row = found.workers.row(0, named=True)
        both = [
            run.filter(worker="w0").join(truths.select("task", truth="label"), on="task")
            for run in (one, two)
        ]
        wrong = [float((each["label"] != each["truth"]).mean()) for each in both]
        if gold:
            assert row["error_change"] == pytest.approx(wrong[1] - wrong[0])
        held.append(row["error_change_low"] <= 0.2 <= row["error_change_high"])
    # Of 20 intervals of 95 % four misses happen once in 60 times; the others' errors pull the
    # estimate a little towards 0.
    assert sum(held) >= 16
    assert others <= 3  # one of 20 is expected at most; four happen once in 60 times


def test_a_judge_that_passes_more_is_found_by_what_it_says_even_alone() -> None:
    before = [(t, "solo", "pass" if t % 2 else "fail") for t in range(100)]
    after = [(t, "solo", "pass" if t % 2 or t % 10 == 0 else "fail") for t in range(100)]
    found = cs.compare_runs(before, after)
    assert found.changed == ["solo"]
    assert found.classes.filter(label="pass")["change"].item() == pytest.approx(0.1)
    assert found.workers["error_change"].to_list() == [None]
    assert any("one judge alone" in note for note in found.notes)
    assert "says 'pass' 10.0 points more often" in found.summary()


def test_flips_that_go_both_ways_are_no_change() -> None:
    def said(task: int, worker: str, run: int) -> str:
        wrong = worker == "a" and task % 10 in ((0, 1), (2, 3))[run]
        return "pass" if (task % 2 == 1) != wrong else "fail"

    one, two = ([(t, w, said(t, w, run)) for t in range(200) for w in "abc"] for run in (0, 1))
    found = cs.compare_runs(one, two)
    row = found.workers.filter(worker="a").row(0, named=True)
    assert (found.changed, row["verdict"]) == ([], "no_change_seen")
    assert row["flip_rate"] == pytest.approx(0.4)
    assert (row["error_before"], row["error_after"]) == pytest.approx((0.2, 0.2))
    assert found.classes.filter(worker="a")["change"].to_list() == [0.0, 0.0]


def test_few_tasks_in_common_tell_nothing_and_it_is_said() -> None:
    labels = simulate_judges(60).labels
    tasks = labels["task"].unique(maintain_order=True)
    one = labels.filter(pl.col("task").is_in(tasks[: 30 + FEWEST // 2].implode()))
    two = labels.filter(pl.col("task").is_in(tasks[30:].implode()))
    found = cs.compare_runs(one, two)
    assert set(found.workers["verdict"]) == {"too_few_tasks"}
    assert found.tasks == FEWEST // 2
    apart = cs.compare_runs(
        labels.filter(pl.col("task") < "q30"), labels.filter(pl.col("task") >= "q30")
    )
    assert apart.tasks == 0
    assert any("no task in common" in note for note in apart.notes)
    assert apart.workers["flip_rate"].null_count() == 13


def test_judges_of_one_run_only_are_named() -> None:
    labels = simulate_judges(40).labels
    found = cs.compare_runs(
        labels.filter(pl.col("worker") != "dune"), labels.filter(pl.col("worker") != "ember")
    )
    assert "only in the first run: ember" in found.notes
    assert "only in the second run: dune" in found.notes
    assert found.workers.height == 11


def test_the_order_of_rows_and_of_the_runs_matters_only_for_the_sign() -> None:
    one, two, _ = two_runs(3, 5, 120, np.full(5, 0.2), more=0.2)
    there, back = cs.compare_runs(one, two), cs.compare_runs(two, one)
    mixed = cs.compare_runs(one.sample(fraction=1.0, shuffle=True, seed=1), two)
    key = ["worker", "flips", "error_change", "p_value"]
    assert mixed.workers.sort("worker").select(key).equals(there.workers.sort("worker").select(key))
    minus = back.workers.sort("worker").with_columns(-pl.col("error_change"))
    assert minus["error_change"].to_list() == pytest.approx(
        there.workers.sort("worker")["error_change"].to_list()
    )


def test_the_exact_test_is_the_binomial_one_also_where_it_is_approximated() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.binomial(12, 0.5, 200_000)
    extreme = float(np.mean(np.abs(drawn - 6) >= 4))
    assert mcnemar(10, 2, exact=True) == pytest.approx(extreme, abs=0.002)  # 3 standard errors
    assert mcnemar(1_050, 940, exact=True) == pytest.approx(
        mcnemar(1_055, 946, exact=True), rel=0.1
    )
    assert holm([]) == []
    change = paired_change(0, 0, 0)
    assert change.low < 0 < change.high
