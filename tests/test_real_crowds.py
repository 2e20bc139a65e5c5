"""Real crowds with a known truth, where they are at hand."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import NotIdentifiable
from crowdstream.metrics import error_rate
from crowdstream_lab import datasets

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


def as_fallen(decisions: pl.DataFrame, gold: pl.DataFrame) -> float:
    scored = decisions.join(gold, on="task")
    return float((scored["label"] != scored["gold"]).mean())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MAJORITY)
def test_majority_vote_errs_as_its_source_says(name: str) -> None:
    labels, gold = load(name)
    found = [as_fallen(cs.MajorityVote(seed=s).fit_predict(labels), gold) for s in range(20)]
    # Ties are thrown, so the mean of 20 runs is near the expectation: 0.02/√20 a run at the most.
    assert np.mean(found) == pytest.approx(MAJORITY[name], abs=0.006)


STREAMED = 3000
"""Tasks that are decided one after the other: the fixed point is solved anew for each of them."""


@pytest.mark.parametrize("name", sorted(os.listdir(DATA)) if DATA and Path(DATA).is_dir() else [])
def test_every_set_is_decided_in_full_and_without_a_gap(name: str) -> None:
    if name == "README.md":
        pytest.skip("not a data set")
    labels, gold = load(name)
    crowd = cs.AgreementBased()
    early = labels["task"].is_in(
        labels["task"].unique(maintain_order=True).head(STREAMED).to_list()
    )
    streamed = crowd.stream_many(labels.filter(early))
    crowd.learn_many(labels.filter(~early))
    for table, decisions in (
        (labels.filter(early), streamed),
        (labels, crowd.predict_many(labels)),
    ):
        assert decisions.height == table["task"].n_unique()
        assert decisions.null_count().sum_horizontal().item() == 0
        assert decisions["confidence"].is_finite().all()
    assert crowd.identifiable_
    intake = crowd.intake_
    assert intake.rows == labels.height == intake.labels + intake.repeated + intake.replaced
    majority = as_fallen(cs.MajorityVote().fit_predict(labels), gold)
    # Noise of the tasks that have gold; on trec two workers who always say the same pass for
    # good, as agreement alone must think.
    slack = 0.04 if name == "trec" else 0.4 / np.sqrt(gold.height)
    assert as_fallen(crowd.predict_many(labels), gold) < majority + slack


def test_agreement_beats_majority_where_the_paper_says_so() -> None:
    for name, most in {"rte": 0.085, "web": 0.22, "temp": 0.065}.items():
        labels, gold = load(name)
        assert as_fallen(cs.AgreementBased().fit_predict(labels), gold) < most


# Adaptive on all sets --------------------------------------------------------------------------


def all_sets() -> list[str]:
    return sorted(path.parent.name for path in Path(DATA or "").glob("*/labels.csv"))


@pytest.fixture(scope="module")
def errors() -> pl.DataFrame:
    """Expected errors of majority and of Adaptive, in the end and online in the file's order."""
    rows = []
    for name in all_sets():
        data = datasets.load(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)
            majority = cs.MajorityVote().fit_predict(data.labels)
            finals = [cs.Adaptive(seed=s).fit_predict(data.labels) for s in range(3)]
            online = cs.Adaptive().stream_many(data.labels)
        classes = len(set(data.labels["label"]) | set(data.gold["label"]))
        rows.append(
            {
                "set": name,
                "majority": error_rate(majority, data.gold, labels=data.labels, classes=classes),
                # The seed tosses coins and chooses the sample: 0.0004 in the mean over all sets.
                "final": float(np.mean([error_rate(one, data.gold) for one in finals])),
                "online": error_rate(online, data.gold),
            }
        )
    return pl.DataFrame(rows)


def test_adaptive_errs_as_little_as_its_recipe(errors: pl.DataFrame) -> None:
    assert errors.height == 18
    mean = float(errors["final"].mean())  # type: ignore[arg-type]
    # The recipe of 200 lines that was studied errs on 0.1913, and on 0.187 where the common factor
    # decides dense panels and copies are discounted; differences of 0.001 are noise.
    assert mean == pytest.approx(0.187, abs=0.001)


def test_adaptive_decides_a_stream_nearly_as_well(errors: pl.DataFrame) -> None:
    # 0.1946 in the mean over four orders; one order varies by 0.001.
    assert float(errors["online"].mean()) <= 0.1965  # type: ignore[arg-type]


def test_adaptive_is_nowhere_over_a_point_worse_than_majority(errors: pl.DataFrame) -> None:
    worse = errors.filter(pl.col("final") > pl.col("majority") + 0.01)
    assert worse.height == 0, worse


@pytest.mark.parametrize("name", ["rte", "temp"])
def test_two_labels_per_task_are_not_decided_worse_than_by_majority(name: str) -> None:
    # Two views do not identify confusions: swept, they drifted to one class (0.38 and 0.28).
    data = datasets.load(name)
    ours, majority = [], []
    for seed in range(3):
        shuffled = data.labels.sample(fraction=1, shuffle=True, seed=seed)
        two = shuffled.group_by("task", maintain_order=True).head(2)
        ours.append(error_rate(cs.Adaptive().fit_predict(two), data.gold))
        majority.append(error_rate(cs.MajorityVote().fit_predict(two), data.gold))
    # Measured 0.19 and 0.15, majority 0.27: a third of the gain is left as room.
    assert sum(ours) / 3 < sum(majority) / 3 - 0.03
