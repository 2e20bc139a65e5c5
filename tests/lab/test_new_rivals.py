"""GLAD, MACE, ZenCrowd, BCC, EBCC, PTBCC, BWA, IWMV, LA, CATD, PM, Wawa, ZeroBasedSkill, Ising.

Sound on anything, and on real crowds as other implementations; formulas are tested apart.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from crowdstream.errors import InputError
from crowdstream.metrics import error_rate
from crowdstream.simulation import Simulated, simulate
from crowdstream_lab import baselines
from crowdstream_lab.baselines import (
    BCC,
    BWA,
    CATD,
    EBCC,
    GLAD,
    IWMV,
    MACE,
    PM,
    PTBCC,
    IsingVote,
    LightweightOnePass,
    LightweightTwoPass,
    MajorityVote,
    OracleVote,
    Wawa,
    ZenCrowd,
    ZeroBasedSkill,
)
from crowdstream_lab.baselines.common import Baseline, LabelsOnly
from crowdstream_lab.compare.methods import METHODS
from crowdstream_lab.datasets import available, load
from tests.lab.sound import check_sound
from tests.real import DATA, needs_data
from tests.simulated import ROWS

RIVALS: dict[str, Callable[[], LabelsOnly]] = {
    "bcc": BCC,
    "bwa": BWA,
    "catd": CATD,
    "ebcc": EBCC,
    "glad": GLAD,
    "ising-vote": IsingVote,
    "iwmv": IWMV,
    "la-one-pass": LightweightOnePass,
    "la-two-pass": LightweightTwoPass,
    "mace": MACE,
    "mace by em": lambda: MACE(variational=False, knows=0.005, taste=0.005),
    "pm": PM,
    "ptbcc": PTBCC,
    "wawa": Wawa,
    "zencrowd": ZenCrowd,
    "zero-based-skill": ZeroBasedSkill,
}
every_rival = pytest.mark.parametrize("name", RIVALS)


def crowd_of(classes: int, tasks: int = 2000, seed: int = 1) -> Simulated:
    """Twenty workers from good to nearly guessing, each asked half of the tasks."""
    p = np.linspace(0.05, 0.45 if classes == 2 else 0.6, 20)
    return simulate(20, tasks, p=p, answer_rate=0.5, classes=classes, seed=seed)


# In the paper's model and on anything ------------------------------------------------------

LOSES = {
    "catd": 0.03,
    "la-one-pass": 0.015,
    "ptbcc": 0.02,
    "wawa": 0.015,
    "zero-based-skill": 0.015,
}
"""Error beyond the oracle's that is the method's own: shares as weights are far from log-odds (with
two classes a guesser has half of the best's), CATD lets few decide alone, and PTBCC has two kinds
of worker for twenty skills."""


@every_rival
@pytest.mark.parametrize("classes", [2, 5])
def test_in_the_papers_model_each_errs_about_as_little_as_the_oracle(
    name: str, classes: int
) -> None:
    block = crowd_of(classes)
    found = error_rate(RIVALS[name]().fit_predict(block.labels()), block.truths())
    best = error_rate(OracleVote(block.error_rates).fit_predict(block.labels()), block.truths())
    # Of an error rate of 2 %, 2,000 tasks have a standard error of 0.003; three of them.
    assert found <= best + 0.009 + LOSES.get(name, 0.0)


@every_rival
@given(rows=ROWS)
@settings(max_examples=25, deadline=None)
def test_any_rows_give_the_estimators_table_without_a_nan(
    name: str, rows: list[tuple[int, str, str | None]]
) -> None:
    crowd = RIVALS[name]()
    check_sound(crowd.fit_predict(rows), MajorityVote().fit_predict(rows))
    for attribute, value in vars(crowd).items():
        if attribute.endswith("_") and isinstance(value, np.ndarray):
            assert np.isfinite(value).all(), attribute


@every_rival
def test_small_crowds_are_believed(name: str) -> None:
    make = RIVALS[name]
    assert make().fit_predict([("t", "ann", "x")])["label"].to_list() == ["x"]
    alone = [(t, "ann", "xyz"[t % 3]) for t in range(9)]
    assert "".join(make().fit_predict(alone)["label"]) == "xyz" * 3
    one_task = [("t", who, x) for who, x in zip("abcde", "xxxyz", strict=True)]
    assert make().fit_predict(one_task)["label"].to_list() == ["x"]


@every_rival
@pytest.mark.parametrize("classes", ["x", "xy", "xyz"])
def test_where_all_agree_they_are_believed(name: str, classes: str) -> None:
    for crowd in ("ab", "abcde"):
        rows = [(t, who, classes[t % len(classes)]) for t in range(30) for who in crowd]
        found = RIVALS[name]().fit_predict(rows)["label"]
        assert found.to_list() == [classes[t % len(classes)] for t in range(30)]


@every_rival
def test_groups_without_a_common_task_are_decided_each(name: str) -> None:
    one, other = crowd_of(2, 200, seed=1), crowd_of(2, 200, seed=2)
    task = pl.format("apart {}", "task")
    apart = other.labels().with_columns(task, pl.format("apart {}", "worker"))
    labels = pl.concat([one.labels().with_columns(pl.col("task").cast(pl.String)), apart])
    here = one.truths().with_columns(pl.col("task").cast(pl.String))
    truths = pl.concat([here, other.truths().with_columns(task)])
    found = RIVALS[name]().fit_predict(labels)
    # Majority vote has 0.05; nobody is turned around.
    assert error_rate(found, truths) < 0.1


@every_rival
def test_the_same_seed_gives_the_same_decisions_again(name: str) -> None:
    labels, crowd = crowd_of(5, 100).labels(), RIVALS[name]()
    first = crowd.fit_predict(labels)
    assert first.equals(crowd.fit_predict(labels))
    assert first.equals(RIVALS[name]().fit_predict(labels))


def test_bad_settings_are_refused() -> None:
    for make in (
        lambda: BCC(right=0),
        lambda: BWA(prior_answers=0),
        lambda: CATD(0.0),
        lambda: EBCC(0),
        lambda: EBCC(restarts=0),
        lambda: GLAD(tolerance=-1),
        lambda: IsingVote(0.0),
        lambda: IsingVote(max_steps=0),
        lambda: IWMV(max_iterations=0),
        lambda: LightweightOnePass(right=1.0),
        lambda: LightweightTwoPass(wrong=0.5),
        lambda: MACE(taste=0),
        lambda: MACE(trial=0),
        lambda: PM(max_iterations=0),
        lambda: PTBCC(tolerance=-1),
        lambda: ZenCrowd(1.2),
        lambda: ZeroBasedSkill(0),
    ):
        with pytest.raises(InputError, match="expected"):
            make()


def test_all_are_compared_and_a_deviation_is_a_phrase() -> None:
    known = {method.name: method.kind for method in METHODS}
    for name in RIVALS.keys() - {"mace by em"}:
        kind = getattr(baselines, known[name])
        assert issubclass(kind, Baseline)
        assert len(kind.deviation) <= 80


# Real crowds -------------------------------------------------------------------------------

REFERENCE = {
    # Crowd-kit 1.4.2; its MACE with workers and labels numbered as they come (see `MACE`).
    "glad": {"bird": 0.278, "rte": 0.075, "temp": 0.065},
    "mace": {"bird": 0.139, "rte": 0.074, "temp": 0.056},
    "wawa": {"bird": 0.241, "rte": 0.081, "temp": 0.056, "dog": 0.171, "weather": 0.143},
    "zero-based-skill": {"bird": 0.241, "rte": 0.079, "temp": 0.056, "dog": 0.170, "web": 0.174},
    # Li, Rubinstein and Cohn's own runs.
    "bcc": {"bird": 0.111, "rte": 0.0725, "dog": 0.161, "product": 0.062, "music_genre": 0.210},
    "bwa": {"bird": 0.241, "rte": 0.0725, "product": 0.081, "music_genre": 0.214, "web": 0.178},
    # The program of LA's authors, tasks in the file's order; ties drawn, the mean of ten runs (of
    # four for their IWMV).
    "la-one-pass": {"bird": 0.204, "rte": 0.080, "dog": 0.166, "web": 0.182, "labelme": 0.229},
    "la-two-pass": {"bird": 0.213, "rte": 0.076, "dog": 0.167, "web": 0.162, "labelme": 0.2265},
    "iwmv": {"bird": 0.278, "rte": 0.072, "dog": 0.170, "web": 0.154, "music_genre": 0.204},
    # A reconstruction by others from the paper, whose mean accuracy it has on the paper's sets.
    "ptbcc": {"bird": 0.194, "rte": 0.074, "dog": 0.176, "web": 0.181, "music_genre": 0.206},
    # On web 399 of 400 starts of their program; the other, as the best of their 40, has 0.231
    # (docs/benchmark-protocol.md).
    "ebcc": {"bird": 0.139, "rte": 0.069, "dog": 0.160, "product": 0.065, "web": 0.256},
}
"""Error rates of other implementations."""


@needs_data
@pytest.mark.parametrize(
    ("name", "crowd", "error"),
    [(name, crowd, e) for name, errors in REFERENCE.items() for crowd, e in errors.items()],
)
def test_errors_are_those_of_other_implementations(name: str, crowd: str, error: float) -> None:
    data = load(crowd)
    found = error_rate(RIVALS[name]().fit_predict(data.labels), data.gold)
    # Ties, and where iterations stop: at most one task of bird.
    assert found == pytest.approx(error, abs=0.01)


@needs_data
@pytest.mark.parametrize("crowd", available() if Path(DATA or "nowhere").is_dir() else ["none"])
def test_every_real_set_is_finished(crowd: str) -> None:
    data = load(crowd)
    if data.labels.height > 10_000:
        pytest.skip("too slow for all ten: measured by the benchmark")
    for make in RIVALS.values():
        found = make().fit_predict(data.labels)
        assert found["label"].null_count() == 0
        assert found["confidence"].is_finite().all()
