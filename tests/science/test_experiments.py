"""The paper's experiments, quickly: every claim holds, and a false one is caught."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crowdstream.errors import NotIdentifiable
from crowdstream.science.experiments import NAMES, fig4, find, worked
from crowdstream.science.experiments.common import log_odds, paper_crowd, summary, vote_errors
from tests.cli.tool import call, refused
from tests.real import needs_data

TABLES = ("table1", "table2")


@pytest.mark.filterwarnings("ignore::crowdstream.NotIdentifiable")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_data) if name in TABLES else name for name in NAMES]
)
def test_every_claim_holds_in_a_quick_run(name: str) -> None:
    done: list[float] = []
    experiment = find(name)
    data = experiment.compute(True, done.append)
    assert sum(done) == pytest.approx(1)
    claims = experiment.claims(data)
    assert claims
    assert [claim for claim in claims if not claim.holds] == []


def test_a_claim_that_is_false_is_told_so() -> None:
    rows = [
        {"method": method, "q": q, "t": t, "mean": 0.01 * t, "low": 0.0, "high": 0.0}
        for method in ("AB", "majority")
        for q in fig4.Q
        for t in range(20, 1001, 20)
    ]
    claims = fig4.claims(pl.DataFrame(rows))
    assert not any(claim.holds for claim in claims if "small" in claim.text or "flat" in claim.text)


def test_ties_count_a_half_and_certain_workers_have_finite_weights() -> None:
    scores, truth = np.array([1.0, -1.0, 0.0]), np.array([0, 0, 1])
    assert vote_errors(scores, truth).tolist() == [0.0, 1.0, 0.5]
    assert np.isfinite(log_odds(np.array([0.0, 0.5, 1.0]))).all()


def test_a_band_is_two_standard_errors_wide_on_either_side() -> None:
    found = summary(np.array([0.0, 2.0]))
    assert found["high"] - found["mean"] == pytest.approx(1.96 * np.sqrt(2) / np.sqrt(2))


# The command ---------------------------------------------------------------------------------


def test_the_command_draws_and_judges(tmp_path: Path) -> None:
    told = call("paper", "worked", "--quick", "-o", tmp_path / "out")
    assert told.code == 0
    assert "4 of 4 claims hold" in told.out
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["index.html", "worked.csv", "worked.png", "worked.svg"]
    page = (tmp_path / "out" / "index.html").read_text()
    assert worked.TITLE in page
    assert "data:image/png;base64" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_failed_claim_ends_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worked, "PRINTED", {"majority": 0.09, "weighted": 0.007})
    told = call("paper", "worked", "--quick", "-o", tmp_path)
    assert (told.code, "3 of 4 claims hold" in told.out) == (1, True)
    assert "fails" in (tmp_path / "index.html").read_text()


def test_tables_without_data_are_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CROWDSTREAM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.retrieve", _no_network)
    told = call("paper", "table1", "--quick", "-o", tmp_path / "out")
    assert told.code == 1
    assert "not checked" in told.out


def _no_network(*_: object, **__: object) -> None:
    raise OSError("no network")


def test_an_experiment_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    refused(call("paper", "fig7", "-o", tmp_path), "fig7")


def test_early_tasks_without_a_fixed_point_are_no_news() -> None:
    with pytest.warns(NotIdentifiable):
        paper_crowd().fit_predict([("t", "u", 0), ("t", "v", 1), ("t", "w", 1)])
