"""Change: followed where it is shown, and nothing is lost where nobody changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import ArrayLike

import crowdstream as cs
from crowdstream.metrics import error_rate
from crowdstream.models.committee import Committee
from crowdstream.simulation import Simulated, jump, replacement, simulate, sine
from crowdstream_lab import datasets
from crowdstream_lab.compare import dataset_error, shuffled

Task = dict[cs.WorkerId, cs.ClassLabel | None]

HALF = np.where(np.arange(20) < 10, 0.45, 0.1)
"""Error rates of ten who nearly guess and ten experts."""


def crowd_of(n: int, tasks: int, **asked: object) -> Simulated:
    return simulate(n, tasks, **asked)  # type: ignore[arg-type]


def paper(omega: float, tasks: int) -> Callable[[int], Simulated]:
    return lambda seed: crowd_of(10, tasks, p=0.25, drift=sine(omega), seed=seed)


def swap(tasks: int, per_task: int | None = None) -> Callable[[int], Simulated]:
    """Return crowds whose experts and guessers change places half way."""
    drift = jump(tasks // 2, HALF[::-1])
    return lambda seed: crowd_of(20, tasks, p=HALF, per_task=per_task, drift=drift, seed=seed)


def leap(p: ArrayLike, to: ArrayLike) -> Callable[[int], Simulated]:
    return lambda seed: crowd_of(10, 4000, p=p, drift=jump(2000, to), seed=seed)


def online(crowd: cs.Estimator, block: Simulated) -> float:
    return error_rate(crowd.stream_many(block.labels()), block.truths())


def steady() -> cs.Adaptive:
    """Return an estimator that never looks whether workers change."""
    crowd = cs.Adaptive()
    assert isinstance(crowd._model, Committee)
    crowd._model.reading.horizons.change.watching = False
    return crowd


def is_changing(crowd: cs.Estimator) -> bool:
    return cs.identifiability(crowd).changing


def tasks_of(block: Simulated) -> list[Task]:
    found: list[Task] = [{} for _ in block.truth]
    for t, i, x in zip(block.tasks, block.workers, block.said, strict=True):
        found[t][f"w{i}"] = f"c{x}"
    return found


# Workers who change --------------------------------------------------------------------------

DRIFTS: dict[str, tuple[float, Callable[[int], Simulated]]] = {
    "the paper's, ω = 0.01": (0.00290, paper(0.01, 5000)),
    "the paper's, ω = 0.05": (0.00837, paper(0.05, 5000)),
    "the paper's, ω = 0.001": (0.00127, paper(0.001, 20_000)),
    "seldom met, ω = 0.001": (
        0.0601,
        lambda s: crowd_of(100, 20_000, p=0.25, per_task=5, drift=sine(0.001), seed=s),
    ),
    "a swap": (0.00169, swap(6000)),
    "a swap, five a task": (0.0813, swap(4000, 5)),
    "half from 0.1 to 0.4": (0.00508, leap(0.1, [0.4] * 5 + [np.nan] * 5)),
    "the best three guess": (0.0357, leap(np.linspace(0.05, 0.35, 10), [0.5] * 3 + [np.nan] * 7)),
    "newcomers in old places": (
        0.1347,
        lambda s: crowd_of(
            20, 4000, p=np.linspace(0.05, 0.5, 20), per_task=5, drift=replacement(50, s), seed=s
        ),
    ),
}
"""Crowds by seed, and the error on the first three of `Tracking`, the estimator before, which
followed whatever came."""


@pytest.mark.parametrize("name", DRIFTS)
def test_change_is_followed_as_by_one_who_does_nothing_else(name: str) -> None:
    before, make = DRIFTS[name]
    blocks = [make(seed) for seed in range(3)]
    found = float(np.mean([online(cs.Adaptive(), block) for block in blocks]))
    # Measured on the same labels, so that chance has little part in it: a tenth is the goal.
    assert found <= 1.1 * before
    assert found < np.mean([online(cs.MajorityVote(), block) for block in blocks])


def test_it_is_shown_soon_after_a_swap_and_not_before() -> None:
    labels = swap(2000)(1).labels()
    early = pl.col("task").cast(pl.Int64) < 1000
    soon = pl.col("task").cast(pl.Int64) < 1040
    crowd = cs.Adaptive()
    crowd.learn_many(labels.filter(early))
    assert not is_changing(crowd)
    crowd.learn_many(labels.filter(soon & ~early))
    assert is_changing(crowd)


def test_the_skill_of_one_who_changed_is_todays() -> None:
    to = np.full(10, np.nan)
    to[0] = 0.45
    block = crowd_of(10, 1300, p=0.1, drift=jump(1000, to), seed=2)
    crowd = cs.Adaptive()
    crowd.learn_many(block.labels())
    assert is_changing(crowd)
    # After 300 answers at skill 0.1 (1,000 at 0.8 before): a horizon of 64 answers has a standard
    # error of 1/√64.
    assert crowd.skill_of("w0") == pytest.approx(0.1, abs=0.3)
    assert min(crowd.skill_of(f"w{i}") for i in range(1, 10)) > 0.6
    table = crowd.workers()
    assert table.filter(pl.col("worker") == "w0")["error_rate"].item() > 0.3
    assert table.filter(pl.col("worker") == "w0")["weight"].item() == table["weight"].min()
    assert crowd.confusions().null_count().sum_horizontal().item() == 0


def test_what_was_shown_is_given_back_once_all_that_was_learnt_foresees_better() -> None:
    p = np.linspace(0.05, 0.45, 10)
    block = crowd_of(10, 10_000, p=p, balance=(0.85, 0.15), drift=jump(300, p[::-1]), seed=1)
    labels = block.labels()
    crowd, shown = cs.Adaptive(), []
    for at in range(0, labels.height, 1000):
        crowd.learn_many(labels[at : at + 1000])
        shown.append(crowd._model.changing)
    assert all(shown[3:10])
    # Horizons do not know how frequent classes are, confusions do; the first 300 tasks weigh
    # little among 10,000.
    assert not any(shown[-20:])


# Nobody changes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"n": 10, "tasks": 4000, "p": np.linspace(0.1, 0.45, 10)},
        {"n": 100, "tasks": 4000, "q": 0.3, "per_task": 5},
        {"n": 10, "tasks": 4000, "p": np.linspace(0.1, 0.4, 10), "balance": (0.9, 0.1)},
        {"n": 30, "tasks": 4000, "p": 0.4, "classes": 4, "per_task": 5},
        {"n": 20, "tasks": 4000, "p": 0.25, "adversaries": 0.3},
    ],
    ids=["all answer", "five a task", "90:10", "four classes", "adversaries"],
)
def test_a_crowd_in_which_nobody_changes_is_decided_to_the_bit_as_without(
    asked: dict[str, object],
) -> None:
    labels = crowd_of(**asked, seed=3).labels()  # type: ignore[arg-type]
    crowd = cs.Adaptive()
    assert crowd.stream_many(labels).equals(steady().stream_many(labels))
    assert not is_changing(crowd)


def test_a_table_sorted_by_class_is_no_change_where_errors_hang_on_the_class() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0.02, 0.15, 10), rng.uniform(0.2, 0.5, 10)
    confusions = np.stack([1 - first, first, second, 1 - second], axis=1).reshape(-1, 2, 2)
    block = crowd_of(10, 4000, confusions=confusions, seed=1)
    order = np.argsort(block.truth, kind="stable")
    places = pl.DataFrame({"task": [f"t{t}" for t in order], "at": range(4000)})
    labels = block.labels().with_columns(task=pl.format("t{}", "task"))
    in_turn = labels.join(places, on="task").sort("at", maintain_order=True).drop("at")
    truths = block.truths().with_columns(task=pl.format("t{}", "task"))
    found = error_rate(cs.Adaptive().stream_many(in_turn), truths)
    # Class after class, what workers did lately is what they do on this class: followed or not,
    # nothing is lost.
    assert found <= error_rate(steady().stream_many(in_turn), truths) + 0.01


def test_a_table_as_a_whole_knows_no_change() -> None:
    labels = swap(600)(0).labels()
    crowd = cs.Adaptive()
    table = crowd.fit_predict(labels)
    assert table.equals(steady().fit_predict(labels))
    assert not is_changing(crowd)


def test_who_says_how_much_to_remember_gets_that() -> None:
    crowd = cs.Adaptive(memory=100)
    crowd.learn_many(swap(600)(0).labels())
    assert not is_changing(crowd)
    assert not [name for name in crowd._model.pack() if name.startswith("change")]


def sets() -> list[str]:
    folder = os.environ.get("CROWDSTREAM_DATA", "")
    return datasets.names() if folder and Path(folder).is_dir() else []


@pytest.mark.skipif(not sets(), reason="CROWDSTREAM_DATA does not name a folder of data sets")
@pytest.mark.parametrize("name", sets())
def test_no_real_set_is_over_a_point_worse_for_it(name: str) -> None:
    data = datasets.load(name)
    for labels in (data.labels, shuffled(data.labels, 1)):
        found, without = (
            dataset_error(crowd.stream_many(labels), data) for crowd in (cs.Adaptive(), steady())
        )
        assert found <= without + 0.01


# The verbs, while workers change -------------------------------------------------------------


@pytest.fixture(scope="module")
def changed() -> tuple[list[Task], cs.Adaptive]:
    """Return tasks in which a swap has been shown, and a crowd that learnt all but 50."""
    tasks = tasks_of(swap(500)(2))
    crowd = cs.Adaptive()
    for told in tasks[:-50]:
        crowd.learn_one(told)
    assert is_changing(crowd)
    return tasks, crowd


def test_a_table_is_decided_as_task_by_task_to_the_bit() -> None:
    tasks = tasks_of(swap(500)(3))
    rows = [(t, who, x) for t, told in enumerate(tasks) for who, x in told.items()]
    gold: dict[cs.TaskId, cs.ClassLabel] = {t: "c1" for t in range(240, 300) if t % 3 == 0}
    for known in ({}, gold):
        one, many = cs.Adaptive(), cs.Adaptive()
        one.learn_many(rows[:40])
        many.learn_many(rows[:40])
        said = []
        for t, told in enumerate(tasks[2:], 2):
            said.append(one.decide_one(told, task=t))
            one.learn_one(told, gold=known.get(t))
        table = many.stream_many(rows[40:], gold=known)
        assert is_changing(many)
        found = table.select("label", "confidence", "margin").rows()
        wanted = [(vote.label, vote.confidence, vote.margin) for vote in said]
        for t in range(2, 500):
            if t not in known:
                assert found[t - 2] == wanted[t - 2]
        assert one._model.skills().tolist() == many._model.skills().tolist()


def test_a_stream_decides_as_the_table_does() -> None:
    tasks = tasks_of(swap(400)(4))
    stream, crowd = cs.Stream(cs.Adaptive(), max_labels=20, settle=None), cs.Adaptive()
    for t, told in enumerate(tasks):
        if t > 250:
            assert is_changing(stream.crowd)
        for who, x in told.items():
            decision = stream.observe(t, who, x)
        # What an open task teaches of agreement is left out of its score up to rounding.
        assert decision.label == crowd.predict_one(told)
        crowd.learn_one(told)
    found = stream.crowd._model.skills()
    assert found == pytest.approx(crowd._model.skills(), abs=1e-6)


def test_asking_changes_nothing(changed: tuple[list[Task], cs.Adaptive]) -> None:
    _, crowd = changed
    before = crowd.to_bytes()
    crowd.predict_proba_one({"w1": "c0", "stranger": "unheard of"})
    crowd.predict_many([("t", "w1", "c0"), ("t", "stranger", "unheard of")])
    crowd.workers()
    crowd.confusions()
    assert crowd.skill_of("stranger") == crowd.skill_of(None)
    assert crowd.to_bytes() == before


def test_one_task_is_decided_as_in_a_table(changed: tuple[list[Task], cs.Adaptive]) -> None:
    tasks, crowd = changed
    rows = [(t, who, x) for t, told in enumerate(tasks[-50:]) for who, x in told.items()]
    table = crowd.predict_many(rows)
    alone = [crowd.decide_one(told, task=t) for t, told in enumerate(tasks[-50:])]
    assert table["label"].to_list() == [vote.label for vote in alone]
    assert table["confidence"].to_list() == [vote.confidence for vote in alone]


def test_copies_go_on_alike(changed: tuple[list[Task], cs.Adaptive]) -> None:
    tasks, crowd = changed[0], changed[1].copy()
    twin = cs.Estimator.load(crowd.to_bytes())
    assert twin.to_bytes() == crowd.to_bytes()
    for told in tasks[-50:]:
        assert twin.decide_one(told) == crowd.decide_one(told)
        crowd.learn_one(told)
        twin.learn_one(told)
    assert twin.to_bytes() == crowd.to_bytes()


def test_taking_back_the_last_task_is_nearly_as_if_it_had_not_been(
    changed: tuple[list[Task], cs.Adaptive],
) -> None:
    tasks, want = changed
    crowd = want.copy()
    crowd.learn_one(tasks[-50])
    crowd.unlearn_one(tasks[-50])
    # What is left is the task's say on the horizons' weights, and a judgement a task later.
    assert crowd._model.skills() == pytest.approx(want._model.skills(), abs=0.05)


def test_taking_everything_back_leaves_strangers() -> None:
    tasks = tasks_of(crowd_of(5, 12, p=0.2))
    crowd = cs.Adaptive()
    for told in tasks:
        crowd.learn_one(told)
    for told in reversed(tasks):
        crowd.unlearn_one(told)
    assert crowd.tasks_ == 0
    assert np.isfinite(crowd._model.skills()).all()
    assert np.isfinite(crowd._model.pack()["change.rows"]).all()


def test_merging_with_nothing_changes_nothing(changed: tuple[list[Task], cs.Adaptive]) -> None:
    _, crowd = changed
    merged = cs.Adaptive()
    merged += crowd
    assert is_changing(merged)
    assert merged._model.skills() == pytest.approx(crowd._model.skills(), abs=1e-12)
    other = crowd.copy()
    other += cs.Adaptive()
    assert other._model.skills() == pytest.approx(crowd._model.skills(), abs=1e-12)


def test_workers_and_classes_may_come_late(changed: tuple[list[Task], cs.Adaptive]) -> None:
    tasks, crowd = changed[0], changed[1].copy()
    for at, told in enumerate(tasks[-50:]):
        more: Task = {f"new {k}": "c0" if k % 3 else "never heard" for k in range(25)}
        crowd.learn_one({**told, **more})
        assert is_changing(crowd) or at > 0
    assert np.isfinite(crowd._model.skills()).all()
    assert crowd.predict_one({"w1": "never heard", "w2": "never heard"}) == "never heard"


def test_beyond_100_classes_it_goes_on_by_agreement_alone(
    changed: tuple[list[Task], cs.Adaptive],
) -> None:
    crowd = changed[1].copy()
    for k in range(130):
        crowd.learn_one({f"w{i}": f"k{k}" for i in range(4)})
    assert crowd.many_classes_
    assert not is_changing(crowd)
    assert crowd.predict_one({"w1": "k9", "w2": "k9", "w3": "k8"}) == "k9"


def test_families_count_less_while_workers_change_too() -> None:
    family = {f"copy {k}": "same" for k in range(8)}
    crowd = cs.Adaptive(families=family)
    for told in tasks_of(swap(600)(5)):
        copied: Task = dict.fromkeys(family, told["w0"])
        crowd.learn_one({**told, **copied})
    assert is_changing(crowd)
    relatives: Task = dict.fromkeys(family, "c0")
    others: Task = {f"w{k}": "c0" for k in range(8)}
    all_of_them, strangers = (crowd.predict_proba_one(told) for told in (relatives, others))
    assert 0.5 < all_of_them["c0"] < strangers["c0"]


def test_many_labels_on_one_task_stay_finite() -> None:
    block = crowd_of(3000, 4, p=0.2, classes=5)
    crowd = cs.Adaptive()
    assert crowd.stream_many(block.labels())["confidence"].is_finite().all()
    assert np.isfinite(crowd._model.pack()["change.rows"]).all()
