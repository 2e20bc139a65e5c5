"""The gate: three outcomes, each right for nearly all panels of its kind."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.metrics.binomial import exact_limits
from crowdstream.metrics.kappa import cohen_kappa, kappa_interval
from crowdstream.simulation import simulate
from crowdstream.statements.gating import as_markdown

DRAWS = 200
MINIMA = {"min_kappa": 0.6, "min_accuracy": 0.9, "min_effective": 2.0}


def outcomes(workers: int, p: float, gold: int, **minima: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in range(DRAWS):
        made = simulate(workers, 250, p=p, seed=seed)
        known = made.truths().sample(gold, seed=seed)
        found[cs.gate(made.labels(), known, seed=seed, **minima).outcome] += 1
    return found


def test_good_panels_are_trusted() -> None:
    assert outcomes(7, 0.1, 150, **MINIMA)["passed"] >= 0.95 * DRAWS


def test_bad_panels_are_not_trusted() -> None:
    assert outcomes(5, 0.4, 100, **MINIMA)["failed"] >= 0.95 * DRAWS


@pytest.mark.parametrize("gold", [30, 100])
def test_of_a_judge_at_the_minimum_nothing_is_said(gold: int) -> None:
    """One that errs on a tenth has an accuracy of 0.9 and, with even classes, a kappa of 0.8."""
    found = outcomes(1, 0.1, gold, min_accuracy=0.9, min_kappa=0.8)
    assert found["cannot_tell"] >= 0.95 * DRAWS


def test_a_panel_that_errs_as_one_is_not_worth_two() -> None:
    made = simulate(4, 400, p=0.3, copying={1: (0, 0.97), 2: (0, 0.97), 3: (0, 0.97)}, seed=1)
    found = cs.gate(made.labels(), made.truths(), min_effective=2)
    assert found.outcome == "failed"
    assert found.checks[0].high is not None
    assert found.checks[0].high < 2


def test_one_judge_can_be_checked_alone() -> None:
    made = simulate(5, 400, p=[0.02, 0.4, 0.1, 0.1, 0.1], seed=2)
    best, worst = (
        cs.gate(made.labels(), made.truths(), min_accuracy=0.9, only=who) for who in ("w0", "w1")
    )
    assert (best.outcome, worst.outcome) == ("passed", "failed")


def test_gold_does_not_decide_the_tasks_it_checks() -> None:
    """A panel that is wrong on every task is wrong on gold, also though gold is known."""
    rows = [(t, who, "yes") for t in range(60) for who in "abc"]
    found = cs.gate(rows, dict.fromkeys(range(60), "no"), min_accuracy=0.5)
    assert (found.outcome, found.checks[0].value) == ("failed", 0.0)


def test_more_gold_is_asked_for_where_it_cannot_be_told() -> None:
    made = simulate(7, 300, p=0.15, seed=1)
    found = cs.gate(made.labels(), made.truths().head(40), min_accuracy=0.93)
    assert found.outcome == "cannot_tell"
    more = found.checks[0].more_gold
    assert more is not None
    assert 1 <= more <= 1000


def test_one_class_only_has_no_kappa() -> None:
    rows = [(t, who, "yes") for t in range(40) for who in "abc"]
    found = cs.gate(rows, dict.fromkeys(range(40), "yes"), min_kappa=0.5)
    assert (found.outcome, found.checks[0].value) == ("cannot_tell", None)


def test_gold_of_one_class_tells_no_kappa() -> None:
    """It is 0 then, however good the decisions are."""
    made = simulate(5, 200, p=0.1, seed=1)
    gold = made.truths().filter(pl.col("label") == "1").head(50)
    found = cs.gate(made.labels(), gold, min_kappa=0.5)
    assert (found.outcome, found.checks[0].value) == ("cannot_tell", None)
    [first, *_] = cs.judges_against_gold(made.labels(), gold).workers
    assert first.kappa is None


def test_few_gold_tasks_foresee_nothing() -> None:
    made = simulate(5, 200, p=0.3, seed=1)
    found = cs.gate(made.labels(), made.truths().head(2), min_accuracy=0.6)
    assert found.checks[0].more_gold == 18


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "gate needs a minimum"),
        ({"min_kappa": 2.0}, "min_kappa"),
        ({"min_effective": 2.0, "only": "w0"}, "cannot be combined"),
        ({"min_kappa": 0.5, "only": "nobody"}, "nobody"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(asked: dict, words: str) -> None:  # type: ignore[type-arg]
    made = simulate(5, 50, p=0.1, seed=1)
    with pytest.raises(cs.CrowdstreamError, match=words):
        cs.gate(made.labels(), made.truths(), **asked)


def test_gold_of_other_tasks_is_refused() -> None:
    made = simulate(5, 50, p=0.1, seed=1)
    with pytest.raises(cs.InputError, match="none of them"):
        cs.gate(made.labels(), {"elsewhere": "0"}, min_kappa=0.5)


def test_markdown_shows_names_as_they_are() -> None:
    made = simulate(5, 50, p=0.1, seed=1)
    found = cs.gate(made.labels(), made.truths(), min_kappa=0.5)
    text = as_markdown({"<img src=x> | `rm` [a](b)": found})
    assert "<img" not in text
    assert r"\|" in text
    assert r"\[a\](b)" in text


@pytest.mark.parametrize(("hits", "of"), [(0, 5), (5, 5), (3, 40), (199, 200)])
def test_exact_limits_are_scipys(hits: int, of: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    found = stats.binomtest(hits, of).proportion_ci(0.95, "exact")
    assert exact_limits(hits, of, 0.95) == pytest.approx((found.low, found.high), abs=1e-9)


@pytest.mark.parametrize("accuracy", [0.7, 0.85, 0.95])
@pytest.mark.parametrize("tasks", [30, 100])
def test_intervals_of_kappa_hold(accuracy: float, tasks: int) -> None:
    """Of 1,000 draws 95 %: at least 0.93, two points for what 30 tasks cannot do."""
    rng = np.random.default_rng(1)
    even = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]]) / 2
    true = cohen_kappa(even)
    assert true is not None
    held = 0
    for _ in range(1000):
        table = rng.multinomial(tasks, even.ravel()).reshape(2, 2)
        low, high = kappa_interval(table, 0.95)
        held += low <= true[0] <= high
    assert held >= 930


def test_a_table_of_pandas_will_do() -> None:
    pandas = pytest.importorskip("pandas")
    made = simulate(5, 100, p=0.1, seed=1)
    table = pandas.DataFrame(made.labels().to_dict(as_series=False))
    gold = pl.DataFrame(made.truths())
    assert cs.gate(table, gold, min_kappa=0.3).outcome == "passed"
