"""Real crowds with a known truth, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs

DATA = os.environ.get("CROWDSTREAM_DATA")
pytestmark = pytest.mark.skipif(
    not (DATA and Path(DATA).is_dir()),
    reason="CROWDSTREAM_DATA does not name a folder of data sets",
)

# Expected error rates of majority vote, ties at ½, as the sets' own notes give them.
MAJORITY = {"bird": 0.2407, "dog": 0.1778, "rte": 0.1031, "temp": 0.0639, "web": 0.2691}


def load(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    folder = Path(DATA or "") / name
    labels = pl.read_csv(folder / "labels.csv", infer_schema=False)
    gold = pl.read_csv(folder / "gold.csv", infer_schema=False).rename({"label": "gold"})
    return labels, gold


def error_rate(decisions: pl.DataFrame, gold: pl.DataFrame) -> float:
    scored = decisions.join(gold, on="task")
    return float((scored["label"] != scored["gold"]).mean())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MAJORITY)
def test_majority_vote_errs_as_its_source_says(name: str) -> None:
    labels, gold = load(name)
    found = [error_rate(cs.MajorityVote(seed=s).fit_predict(labels), gold) for s in range(20)]
    # Ties are thrown, so the mean of 20 runs is near the expectation: 0.02/√20 a run at the most.
    assert np.mean(found) == pytest.approx(MAJORITY[name], abs=0.006)


@pytest.mark.parametrize("name", sorted(os.listdir(DATA)) if DATA and Path(DATA).is_dir() else [])
def test_every_set_is_decided_in_full_and_without_a_gap(name: str) -> None:
    if name == "README.md":
        pytest.skip("not a data set")
    labels, gold = load(name)
    crowd = cs.AgreementBased()
    for decisions in (crowd.stream_many(labels), crowd.predict_many(labels)):
        assert decisions.height == labels["task"].n_unique()
        assert decisions.null_count().sum_horizontal().item() == 0
        assert decisions["confidence"].is_finite().all()
    assert crowd.identifiable_
    intake = crowd.intake_
    assert intake.rows == labels.height == intake.labels + intake.repeated + intake.replaced
    majority = error_rate(cs.MajorityVote().fit_predict(labels), gold)
    # Noise of the tasks that have gold; on trec two labellers who always say the same pass for
    # good, as agreement alone must think.
    slack = 0.04 if name == "trec" else 0.4 / np.sqrt(gold.height)
    assert error_rate(crowd.predict_many(labels), gold) < majority + slack


def test_agreement_beats_majority_where_the_paper_says_so() -> None:
    for name, most in {"rte": 0.085, "web": 0.22, "temp": 0.065}.items():
        labels, gold = load(name)
        assert error_rate(cs.AgreementBased().fit_predict(labels), gold) < most
