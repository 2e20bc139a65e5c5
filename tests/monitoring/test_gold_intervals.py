"""Intervals of workers with 20 or more gold answers: no wider than Wilson's, and as often right."""

from __future__ import annotations

import itertools
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.estimators import Adaptive, AgreementBased, CentredAgreement, Estimator
from crowdstream.metrics import wilson
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.intervals import ENOUGH
from crowdstream.simulation import Simulated
from crowdstream.simulation.dependent import simulate_dependent
from tests.monitoring.crowds import crowd_of

KINDS: list[type[Estimator]] = [Adaptive, AgreementBased, CentredAgreement]
IGNORED = pytest.mark.filterwarnings(
    "ignore::crowdstream.errors.SureInDoubt", "ignore::crowdstream.errors.NotIdentifiable"
)


def learnt(kind: type[Estimator], how: str, labels: pl.DataFrame, gold: pl.DataFrame) -> Estimator:
    """A crowd that has learnt a table at once, as a stream, in merged parts, or was saved."""
    crowd = kind()
    if how == "stream":
        crowd.stream_many(labels, gold=gold)
    elif how == "merged":
        half = labels["task"].cast(pl.String).hash() % 2 == 0
        parts = [kind(), kind()]
        for part, some in zip(parts, (labels.filter(half), labels.filter(~half)), strict=True):
            part.learn_many(some, gold=gold.filter(gold["task"].is_in(some["task"].implode())))
        crowd = parts[0]
        crowd += parts[1]
    else:
        crowd.learn_many(labels, gold=gold)
    return kind.load(crowd.to_bytes()) if how == "saved" else crowd


def with_own_gold(table: pl.DataFrame, labels: pl.DataFrame, gold: pl.DataFrame) -> pl.DataFrame:
    """The rows of workers with enough gold answers, with how many they are and how many wrong."""
    own = (
        labels.join(gold.rename({"label": "truth"}), on="task")
        .group_by("worker")
        .agg(known=pl.len(), wrong=(pl.col("label") != pl.col("truth")).sum())
    )
    return table.join(own.filter(pl.col("known") >= ENOUGH), on="worker")


def check_held(table: pl.DataFrame, level: float) -> None:
    """No interval is wider than Wilson's of the same answers, and each holds its estimate."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    least, most = wilson(table["wrong"].to_numpy(), table["known"].to_numpy(), z)
    low, high = table["error_low"].to_numpy(), table["error_high"].to_numpy()
    assert ((low >= 0.0) & (high <= 1.0)).all()
    assert (high - low <= most - least + 1e-12).all()  # rounding
    error = table["error_rate"].fill_null(pl.lit(table["error_low"])).to_numpy()
    assert ((low <= error) & (error <= high)).all()


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Simulated, int]:
    """Any crowd, and how many of its tasks are gold."""
    n, classes = draw(st.sampled_from([3, 8, 32, 33, 45])), draw(st.integers(2, 5))
    tasks, seed = draw(st.integers(40, 200)), draw(st.integers(0, 10_000))
    per = min(n, draw(st.sampled_from([3, 6, 45])))
    kind = draw(st.sampled_from(["independent", "guessers", "difficulty", "class", "tricky"]))
    gold = draw(st.integers(0, tasks))
    if kind in ("independent", "guessers"):
        p = np.random.default_rng(seed).uniform(0.0, 0.8, n) if kind == "independent" else 0.5
        return crowd_of(n, tasks, p=p, classes=classes, per_task=per, seed=seed), gold
    return simulate_dependent(kind, n, tasks, per_task=per, classes=classes, seed=seed), gold  # type: ignore[arg-type]


@IGNORED
@settings(max_examples=60, deadline=None)
@given(
    crowds(),
    st.sampled_from(KINDS),
    st.sampled_from(["table", "stream", "merged", "saved"]),
    st.floats(0.5, 0.999),
)
def test_none_is_wider_than_wilsons_and_all_hold_their_estimate(
    found: tuple[Simulated, int], kind: type[Estimator], how: str, level: float
) -> None:
    made, size = found
    labels, gold = made.labels(), made.truths().sample(size, seed=1)
    crowd = learnt(kind, how, labels, gold)
    check_held(with_own_gold(crowd.workers(level=level), labels, gold), level)
    everybody = crowd.workers(level=level).drop_nulls("error_rate")
    assert everybody.filter(~pl.col("error_rate").is_between("error_low", "error_high")).is_empty()


@pytest.mark.parametrize(
    ("n", "tasks", "per", "size"), [(10, 400, None, 50), (10, 400, None, 200), (40, 600, 5, 300)]
)
@pytest.mark.parametrize("kind", ["independent", "difficulty", "class", "copying", "tricky"])
def test_they_contain_the_truth_about_as_often_as_they_say(
    kind: str, n: int, tasks: int, per: int | None, size: int
) -> None:
    found: dict[float, list[bool]] = {0.8: [], 0.95: [], 0.99: []}
    for seed in range(200 // n):
        if kind == "independent":
            p = np.random.default_rng(seed).uniform(0.05, 0.45, n)
            made = crowd_of(n, tasks, p=p, per_task=per, seed=seed)
        else:
            made = simulate_dependent(kind, n, tasks, per_task=per, seed=seed)  # type: ignore[arg-type]
        gold = made.truths().sample(size, seed=seed)
        crowd = Adaptive().fit(made.labels(), gold=gold)
        for level, held in found.items():
            table = with_own_gold(crowd.workers(level=level), made.labels(), gold)
            who = table["worker"].str.slice(1).cast(pl.Int64).to_numpy()
            true = pl.Series(made.error_rates[who])
            held += true.is_between(table["error_low"], table["error_high"]).to_list()
    for level, held in found.items():
        assert len(held) >= 150
        # Three standard errors of 150 to 200 intervals. Workers of one crowd share its gold tasks,
        # so that they count for half as many.
        noise = 3 * np.sqrt(level * (1 - level) / (len(held) / 2))
        assert np.mean(held) >= level - noise


def test_gold_that_contradicts_an_estimate_moves_it() -> None:
    """Everybody is wrong on the same quarter of the tasks, which agreement cannot see."""
    rng = np.random.default_rng(0)
    truth, trick = rng.integers(2, size=600), rng.random(600) < 0.25
    said = (truth ^ trick)[:, None] ^ (rng.random((600, 7)) < np.linspace(0.05, 0.2, 7))
    rows = [(t, i, int(said[t, i])) for t in range(600) for i in range(7)]
    really = (said != truth[:, None]).mean(axis=0)
    gold: dict[str | int, str | int | bool] = {t: int(truth[t]) for t in range(0, 600, 4)}
    for kind in (AgreementBased, CentredAgreement):
        crowd = kind()
        crowd.learn_many(rows, gold=gold)
        by_model = view.estimates(crowd)[0]
        table = crowd.workers().sort("worker")
        off = np.abs(table["error_rate"].to_numpy() - really)
        assert off.mean() < np.abs(by_model - really).mean() / 2
        held = pl.Series(really).is_between(table["error_low"], table["error_high"])
        assert held.sum() >= 6  # all seven err on the same tasks, of which 150 are a sample


@IGNORED
def test_an_error_rate_does_not_depend_on_the_level() -> None:
    made = simulate_dependent("tricky", 10, 300, seed=2)
    crowd = Adaptive().fit(made.labels(), gold=made.truths()[::3])
    tables = [crowd.workers(level=level) for level in (0.5, 0.8, 0.95, 0.999)]
    for narrow, wide in itertools.pairwise(tables):
        assert narrow["error_rate"].equals(wide["error_rate"])
        widths = [table["error_high"] - table["error_low"] for table in (narrow, wide)]
        assert (widths[0] < widths[1]).all()


def test_fewer_than_twenty_gold_answers_change_no_estimate() -> None:
    made = crowd_of(40, 300, p=0.25, per_task=5, seed=3)
    labels, gold = made.labels(), made.truths()[:120]
    crowd = Adaptive().fit(labels, gold=gold)
    table, answers = crowd.workers(), view.gold_record(crowd)[0]
    few = answers < ENOUGH
    assert 0 < few.sum() < 40
    assert (table["error_rate"].to_numpy() == view.estimates(crowd)[0])[few].all()


def test_gold_speaks_for_workers_who_share_no_task_with_the_others() -> None:
    rows = [(t, w, (t + (t * 7 + w * 3) % 11 // 9) % 2) for t in range(60) for w in range(4)]
    alone = [(1000 + t, 9, (t % 2) ^ (t % 10 == 0)) for t in range(60)]
    gold: dict[str | int, str | int | bool] = {1000 + t: t % 2 for t in range(40)}
    crowd = Adaptive().fit([*rows, *alone], gold=gold)
    row = crowd.workers().filter(pl.col("worker") == 9).row(0, named=True)
    least, most = wilson(4, 40)
    assert row["error_high"] - row["error_low"] <= most - least + 1e-12
    assert row["error_low"] <= 0.1 <= row["error_high"]


@pytest.mark.parametrize("n", [8, 40])
def test_gold_that_is_forgotten_counts_less(n: int) -> None:
    made = crowd_of(n, 900, p=0.25, per_task=8, seed=4)
    crowd = Adaptive(memory=200)
    crowd.learn_many(made.labels(), gold=made.truths())
    answers, wrong = view.gold_record(crowd)
    table = crowd.workers().with_columns(known=pl.Series(answers), wrong=pl.Series(wrong))
    assert (answers < view.answers_of(Adaptive().fit(made.labels()))).all()
    check_held(table.filter(pl.col("known") >= ENOUGH), 0.95)


def test_gold_taken_back_is_no_evidence() -> None:
    made = crowd_of(6, 100, p=0.2, seed=5)
    crowd = Adaptive().fit(made.labels())
    before = view.gold_record(crowd)[0]
    answers = {f"w{i}": "0" for i in range(6)}
    for _ in range(25):
        crowd.learn_one(answers, gold="1")
    assert (view.gold_record(crowd)[0] == 25).all()
    for _ in range(25):
        crowd.unlearn_one(answers, gold="1")
    assert (view.gold_record(crowd)[0] == before).all()


def test_in_a_stream_of_single_labels_gold_holds_them_too() -> None:
    made = crowd_of(5, 120, p=[0.1, 0.2, 0.3, 0.4, 0.25], seed=6)
    labels, truths = made.labels(), made.truths()
    stream = cs.Stream(Adaptive(), settle=None)
    known = dict(truths[::3].iter_rows())
    for task, worker, label in labels.select("task", "worker", "label").iter_rows():
        stream.observe(task, worker, label)
    for task in truths["task"]:
        if task in known:
            stream.gold(task, known[task])
        stream.close(task)
    check_held(with_own_gold(stream.crowd.workers(), labels, truths[::3]), 0.95)
