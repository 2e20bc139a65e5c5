from __future__ import annotations

from dataclasses import asdict

import polars as pl
import pytest

from crowdstream_lab import compare as comparing
from crowdstream_lab.compare import FILE, Difference, Row, Study, choose, leave_out, paired
from tests.cli.tool import labels
from tests.lab.test_compare import made


def test_the_standard_error_is_that_of_paired_differences() -> None:
    # By hand: mean −0.03; squared distances 4, 1, 0, 1, 4 (·10⁻⁴), over 4 is 2.5·10⁻⁴, over 5 sets
    # is 5·10⁻⁵, whose root is 0.00707.
    found = paired([-0.01, -0.02, -0.03, -0.04, -0.05])
    assert found is not None
    assert found.sets == 5
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
