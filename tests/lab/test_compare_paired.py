from __future__ import annotations

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

from crowdstream_lab import compare as comparing
from crowdstream_lab.compare import (
    FILE,
    METHODS,
    OURS,
    Difference,
    Row,
    Study,
    TaskDifference,
    choose,
    leave_out,
    paired,
    paired_tasks,
)
from crowdstream_lab.compare.wording import answer
from tests.cli.tool import labels
from tests.lab.test_compare import made


def test_the_standard_error_is_that_of_paired_differences() -> None:
    # By hand: mean −0.03; squared distances 4, 1, 0, 1, 4 (·10⁻⁴), over 4 is 2.5·10⁻⁴, over 5 sets
    # is 5·10⁻⁵, whose root is 0.00707.
    found = paired([-0.01, -0.02, -0.03, -0.04, -0.05])
    assert found is not None
    assert found.count == 5
    assert found.mean == pytest.approx(-0.03)
    assert found.error == pytest.approx(0.0070710678, abs=1e-9)
    assert paired([]) is None
    assert paired([0.1]) == Difference(1, 0.1, None)


@pytest.mark.parametrize(
    ("difference", "word"),
    [
        (Difference(5, -0.03, 0.0071), "better"),
        (Difference(5, 0.03, 0.0071), "worse"),
        (
            Difference(18, 0.0142, 0.0071),
            "cannot be told apart",
        ),  # two standard errors are not more
        (Difference(18, -0.0142, 0.0071), "cannot be told apart"),
        (Difference(18, 0.0, 0.0), "cannot be told apart"),
        (Difference(4, -0.3, 0.0001), "too few sets"),
        (Difference(1, -0.3, None), "too few sets"),
    ],
)
def test_a_word_needs_more_than_two_standard_errors(difference: Difference, word: str) -> None:
    assert difference.verdict == word


@pytest.mark.parametrize(
    ("difference", "same"),
    [
        # Student's t with 17 degrees of freedom: 2.1098 standard errors.
        (Difference(18, 0.0, 0.005 / 2.1099), True),
        (Difference(18, 0.0, 0.005 / 2.1097), False),
        (Difference(18, 0.003, 0.002 / 2.1099), True),
        (Difference(18, -0.003, 0.002 / 2.1099), True),
        (Difference(18, -0.003, 0.002 / 2.1097), False),
        (Difference(18, 0.006, 0.0), False),
        # With five sets: 2.7764.
        (Difference(5, 0.0, 0.005 / 2.7766), True),
        (Difference(5, 0.0, 0.005 / 2.7762), False),
        (Difference(4, 0.0, 0.0), False),
        (Difference(1, 0.0, None), False),
    ],
)
def test_equivalent_is_an_interval_within_half_a_point(difference: Difference, same: bool) -> None:
    assert difference.equivalent is same


def test_worse_for_certain_may_be_equivalent() -> None:
    found = Difference(18, 0.002, 0.0005)
    assert (found.verdict, found.equivalent) == ("worse", True)


def test_of_tasks_thirty_are_needed_and_six_that_differ() -> None:
    found = paired_tasks([-1.0] * 12 + [1.0] * 2 + [0.0] * 86)
    assert found is not None
    # By hand: mean −0.1, squares 14 − 100·0.01 = 13, over 99 and over 100, root 0.03624.
    assert (found.count, found.differing) == (100, 14)
    assert found.mean == pytest.approx(-0.1)
    assert found.error == pytest.approx((13 / 9900) ** 0.5)
    assert found.verdict == "better"
    assert not found.equivalent
    assert TaskDifference(29, -0.5, 0.01, 20).verdict == "too few tasks"
    for differing, word in ((5, "cannot be told apart"), (6, "worse")):
        each = paired_tasks([1.0] * differing + [0.0] * (1000 - differing))
        assert each is not None
        assert each.verdict == word
    assert paired_tasks([]) is None


def test_a_word_about_tasks_is_wrong_one_time_in_twenty_or_less() -> None:
    draw = np.random.default_rng(0)
    told = 0
    for _ in range(1000):
        wrong = draw.random((2, 200)) < 0.15  # two methods that err alike
        found = paired_tasks((wrong[0].astype(float) - wrong[1]).tolist())
        assert found is not None
        told += found.verdict != "cannot be told apart"
    # Two standard errors: 4.6 %; and two standard errors of a thousand draws of 5 %.
    assert told / 1000 < 0.05 + 0.014


def test_an_algorithm_is_counted_once_and_what_is_ours_is_not() -> None:
    algorithms = {method.name: method.algorithm for method in METHODS}
    assert algorithms["dawid-skene"] == algorithms["ck:DawidSkene"] is not None
    for method in METHODS:
        if method.family == OURS or method.deviation().startswith("ours") or method.majority:
            assert method.algorithm is None, method.name
    names = [x for x in algorithms.values() if x is not None]
    assert len(set(names)) == len(names) - 7  # so many of crowd-kit's are baselines here too


def test_the_answer_counts_algorithms_by_their_best_row() -> None:
    sets = [made(name, labels(4)) for name in "abcdef"]
    behind = {
        "majority": 0.1,
        "adaptive": 0.0,
        "dawid-skene": 0.05,
        "ck:DawidSkene": 0.001,
        "glad": 0.2,
        "one-coin-map": -0.3,
    }
    rows = [
        Row(name, method, FILE, final=0.4 + x + 0.0002 * (i % 2) * (method != "adaptive"))
        for method, x in behind.items()
        for i, name in enumerate("abcdef")
    ]
    table = pl.DataFrame([asdict(row) for row in rows], comparing.measures.COLUMNS)
    methods = [method for method in METHODS if method.name in behind]
    assert answer(Study(sets, methods, table, "")) == (
        "Of 2 published algorithms, with all labels in, 0 are better than adaptive, 0 cannot be "
        "told apart from it, and 2 are worse (Dawid and Skene; GLAD). Within half a point of it at "
        "95 %: 1 (Dawid and Skene)."
    )
    assert "| ck:DawidSkene | 6/6 |" in comparing.markdown(Study(sets, methods, table, ""))
    assert "| worse, equivalent |" in comparing.markdown(Study(sets, methods, table, ""))


def test_a_word_that_hangs_on_one_set_shows_when_it_is_left_out() -> None:
    differences = {"a": -0.04, "b": -0.06, "c": -0.03, "d": -0.04, "e": -0.05, "odd": 0.06}
    found = leave_out(differences)
    assert found is not None
    (lowest, without), (highest, and_without) = found.lowest, found.highest
    assert [lowest, highest] == pytest.approx([-0.22 / 5, (-0.16 + 0.06) / 5])
    assert (without, and_without) == ("odd", "b")
    whole = paired(list(differences.values()))
    assert whole is not None
    assert whole.verdict == "cannot be told apart"
    assert found.turning == ["odd"]  # without it: better
    assert leave_out({"a": 0.1}) is None


def test_the_summary_has_paired_errors_over_the_sets_both_ran_on() -> None:
    sets = [made(name, labels(4)) for name in "abcdef"]
    errors = {"majority": [0.2] * 6, "adaptive": [0.1, 0.1, 0.2, 0.1, 0.1, 0.1]}
    errors["dawid-skene"] = [0.3, 0.2, 0.3, 0.2, 0.3]
    rows = [
        Row(name, method, FILE, final=x, ece=0.0, brier=0.0, ns_fit=1.0, memory_mb=0.0)
        for method, column in errors.items()
        for name, x in zip("abcdef", column, strict=False)
    ]
    rows.append(Row("f", "dawid-skene", FILE, "failed", "KeyError"))
    table = pl.DataFrame([asdict(row) for row in rows], comparing.measures.COLUMNS)
    study = Study(sets, choose(["adaptive", "dawid-skene"]), table, "")
    found = {row["method"]: row for row in study.summary().to_dicts()}
    rival = found["dawid-skene"]
    # Differences 0.2, 0.1, 0.1, 0.1, 0.2: mean 0.14, variance 0.003, over 5 sets 0.0006.
    assert (rival["behind"], rival["behind_se"]) == (
        pytest.approx(0.14),
        pytest.approx(0.0006**0.5),
    )
    assert (rival["sets"], rival["final"], rival["verdict"]) == (5, None, "worse")
    assert (found["adaptive"]["behind"], found["adaptive"]["verdict"]) == (0.0, "")
    told = comparing.markdown(study)
    line = "| dawid-skene | 5/6 | failed | +0.0600 ± 0.0245 | +0.1400 ± 0.0245 | worse |  | 3 |"
    assert line in told
    assert "dawid-skene: 0.01 answers of smoothing a cell" in told
