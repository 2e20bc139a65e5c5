"""Workers who copy are found and count about as one; honest crowds are left in peace."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.estimators.parameters import Copying
from crowdstream.models.copies import (
    BY_LABELS,
    IN_DOUBT,
    Copies,
    as_one,
    copies_by_gold,
    find_copies,
)
from tests.copying import HONEST, Ints, batch_of, copying, crowd, thinned


def members(found: Copies, kind: int = BY_LABELS) -> list[list[int]]:
    return [group.members.tolist() for group in found if group.kind == kind]


def found_in(labels: Ints) -> Copies:
    return find_copies(batch_of(labels), max(int(labels.max()) + 1, 2))


# The rule -----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 0.97])
@pytest.mark.parametrize(("workers", "group"), [(20, 8), (10, 3), (20, 12)])
@pytest.mark.parametrize("k", [2, 3])
def test_close_copies_are_found_whole_and_alone(
    workers: int, group: int, share: float, k: int
) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        labels = copying(rng, 1000, k, group, share=share, workers=workers)
        assert members(found_in(labels)) == [list(range(group))]


def test_loose_copies_are_suspects() -> None:
    for seed in range(3):
        found = found_in(copying(np.random.default_rng(seed), 1000, group=8, share=0.9))
        assert members(found) == []
        assert members(found, IN_DOUBT) == [list(range(8))]


def test_two_groups_are_two() -> None:
    rng = np.random.default_rng(0)
    labels = copying(rng, 2000, group=4, share=0.98)
    copied = rng.random((2000, 3)) < 0.98
    labels[:, 5:8] = np.where(copied, labels[:, 4:5], labels[:, 5:8])
    assert sorted(members(found_in(labels))) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_five_labels_per_task_of_twenty_are_enough() -> None:
    rng = np.random.default_rng(0)
    labels = thinned(rng, copying(rng, 10_000, group=8, share=0.98), 5)
    assert members(found_in(labels)) == [list(range(8))]


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_crowd_has_neither_copies_nor_suspects(name: str) -> None:
    for seed in range(5):
        assert not len(found_in(HONEST[name](np.random.default_rng(seed))))


@pytest.mark.parametrize("seed", range(8))
def test_experts_who_meet_the_same_few_do_not_copy(seed: int) -> None:
    """Each worker meets 22 of 200 others; some pairs of experts meet weak ones only."""
    rng = np.random.default_rng(seed)
    tasks, workers = 40_000, 200
    who = np.argsort(rng.random((tasks, 12)), axis=1)[:, :5] * (workers // 12)
    who = (who + rng.integers(workers, size=(tasks, 1))) % workers
    truth = rng.integers(2, size=(tasks, 1))
    right = rng.random((tasks, 5)) < 0.5 + rng.uniform(size=workers)[who] / 2
    said = np.where(right, truth, 1 - truth)
    table = pl.DataFrame(
        {"task": np.repeat(np.arange(tasks), 5), "worker": who.ravel(), "label": said.ravel()}
    )
    flags = cs.Adaptive().fit(table).workers()["flags"].explode()
    assert not flags.is_in(["copy", "suspect"]).any()


@pytest.mark.parametrize("kind", ["difficulty", "class", "tricky"])
def test_crowds_that_err_together_do_not_copy(kind: str) -> None:
    from crowdstream.simulation.dependent import simulate_dependent

    for seed in range(3):
        made = simulate_dependent(kind, 15, 1000, per_task=8, seed=seed)  # type: ignore[arg-type]
        crowd = cs.Adaptive().fit(made.labels())
        assert cs.families(crowd).is_empty()


def test_names_and_order_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    labels = thinned(rng, copying(rng, 3000, 3, group=7, share=0.96), 12)
    before = found_in(labels)
    order, tasks = rng.permutation(20), rng.permutation(3000)
    classes = np.array([2, 0, 1])
    moved = labels[tasks][:, order]
    after = found_in(np.where(moved >= 0, classes[moved], -1))
    assert [sorted(order[group.members].tolist()) for group in after] == members(before)
    for one, other in zip(before, after, strict=True):
        assert (one.cases, one.met, one.same) == (other.cases, other.met, other.same)
        assert one.beyond == pytest.approx(other.beyond)


def test_declared_families_are_left_as_declared() -> None:
    labels = copying(np.random.default_rng(0), 1000, group=8, share=1.0)
    family = np.full(20, -1, np.int32)
    family[:3] = 0
    found = find_copies(batch_of(labels), 2, family)
    assert members(found) == [[3, 4, 5, 6, 7]]


def test_gold_tells_copies_from_experts() -> None:
    assert copies_by_gold(2, 0)
    assert not copies_by_gold(1, 0)
    assert not copies_by_gold(10, 9)
    assert copies_by_gold(10, 5)


def test_copies_as_one_have_one_label_a_task() -> None:
    labels = copying(np.random.default_rng(0), 500, group=5, share=0.97)
    batch = batch_of(labels)
    copies = found_in(labels)
    one = as_one(batch, copies.places(20), 2)
    assert set(one.workers.tolist()) == {0, *range(5, 20)}
    assert (one.sizes == 16).all()
    most = (labels[:, :5].sum(axis=1) > 2).astype(int)
    assert (one.labels[one.workers == 0] == most).all()
    for worker in range(5, 20):
        assert (one.labels[one.workers == worker] == labels[:, worker]).all()
    assert as_one(batch, Copies().places(20), 2) is batch


# Decisions ----------------------------------------------------------------------------------


def errors(made: object, found: pl.DataFrame) -> float:
    both = found.join(made.truths(), on="task", suffix="_true")  # type: ignore[attr-defined]
    return float((both["label"] != both["label_true"]).mean())  # type: ignore[arg-type]


def simulated(workers: int, group: int, share: float, tasks: int = 1000, seed: int = 0) -> object:
    p = np.where(np.arange(workers) < group, 0.35, 0.3)
    copied = dict.fromkeys(range(1, group), (0, share))
    return cs.simulate(workers, tasks, p=p, copying=copied, seed=seed)


# Section 10 of ESTIMATOR.md has the means; two standard errors of a crowd's error rate are 0.02,
# and another 0.02 is for other crowds.
@pytest.mark.parametrize(
    ("workers", "group", "share", "error"),
    [(20, 8, 1.0, 0.058), (20, 8, 0.97, 0.058), (10, 3, 1.0, 0.112), (20, 12, 1.0, 0.098)],
)
def test_copies_count_about_as_one(workers: int, group: int, share: float, error: float) -> None:
    made = simulated(workers, group, share)
    labels = made.labels()  # type: ignore[attr-defined]
    crowd = cs.Adaptive()
    assert errors(made, crowd.fit_predict(labels)) == pytest.approx(error, abs=0.04)
    found = cs.families(crowd)
    assert found["worker"].to_list() == crowd.workers_[:group]
    assert set(found["kind"]) == {"copy"}
    assert crowd.workers()["flags"].list.contains("copy").sum() == group
    only = cs.Adaptive(copies="report")
    assert errors(made, only.fit_predict(labels)) > 0.3
    assert cs.families(only).equals(found)


def test_twenty_gold_tasks_show_loose_copies() -> None:
    made = simulated(20, 8, 0.9)
    labels, truths = made.labels(), made.truths()  # type: ignore[attr-defined]
    crowd = cs.Adaptive()
    assert errors(made, crowd.fit_predict(labels)) > 0.3
    assert set(cs.families(crowd)["kind"]) == {"suspect"}
    assert crowd.workers()["flags"].list.contains("suspect").sum() == 8
    told = cs.Adaptive()
    found = told.fit_predict(labels, gold=truths.sample(20, seed=1))
    assert errors(made, found) == pytest.approx(0.065, abs=0.04)
    assert set(cs.families(told)["found_by"]) == {"gold"}


def test_gold_acquits_experts() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=1000)
    said = truth[:, None] ^ (rng.random((1000, 12)) < 0.35)
    good = truth ^ (rng.random(1000) < 0.05)
    for i in range(3):
        said[:, i] = np.where(rng.random(1000) < 0.97, good, said[:, i])
    rows = [(t, w, int(said[t, w])) for t in range(1000) for w in range(12)]
    gold: dict[cs.TaskId, cs.ClassLabel] = {t: int(truth[t]) for t in range(40)}
    assert "gold" not in set(cs.families(cs.Adaptive().fit(rows, gold=gold))["found_by"])


def test_where_nobody_copies_decisions_are_those_of_a_crowd_that_only_reports() -> None:
    made = cs.simulate(15, 600, p=np.linspace(0.05, 0.45, 15), per_task=6, seed=4)
    one, two = cs.Adaptive(), cs.Adaptive(copies="report")
    assert one.fit_predict(made.labels()).equals(two.fit_predict(made.labels()))
    same = [mine.tobytes() for mine in one._model.arrays()]
    assert same == [theirs.tobytes() for theirs in two._model.arrays()]


# Streams, merging, saving -------------------------------------------------------------------


def test_a_stream_finds_them_and_decides_better_from_then_on() -> None:
    made = simulated(20, 8, 1.0, tasks=1500)
    truths = dict(made.truths().iter_rows())  # type: ignore[attr-defined]
    late = {}
    ways: list[Copying] = ["discount", "report"]
    for copies in ways:
        crowd = cs.Adaptive(copies=copies)
        stream, said = cs.Stream(crowd, settle=None, max_labels=20), {}
        for task, worker, label in made.labels().iter_rows():  # type: ignore[attr-defined]
            said[task] = stream.observe(task, worker, label).label
        assert cs.families(crowd)["worker"].to_list() == crowd.workers_[:8]
        late[copies] = np.mean([said[task] != truths[task] for task in list(said)[700:]])
    assert late["discount"] < 0.12
    assert late["report"] > 0.3


def test_gold_shows_them_in_a_stream_too() -> None:
    made = simulated(20, 8, 0.9, tasks=1200)
    crowd = cs.Adaptive()
    crowd.learn_many(
        made.labels(),  # type: ignore[attr-defined]
        gold=made.truths().head(60),  # type: ignore[attr-defined]
    )
    assert set(cs.families(crowd)["found_by"]) == {"gold"}


def test_saved_and_loaded_is_the_same_crowd() -> None:
    made = simulated(20, 8, 0.98)
    labels, gold = made.labels(), made.truths().head(10)  # type: ignore[attr-defined]
    crowd = cs.Adaptive().fit(labels, gold=gold)
    again = cs.load(crowd.to_bytes())
    assert isinstance(again, cs.Adaptive)
    assert again.to_bytes() == crowd.to_bytes()
    assert cs.families(again).equals(cs.families(crowd))
    assert again.predict_many(labels).equals(crowd.predict_many(labels))
    again.learn_many(labels.with_columns("task" + pl.col("task").cast(pl.String)))
    assert cs.families(again).height == 8


def test_merged_crowds_find_them_again() -> None:
    made = simulated(20, 8, 1.0, tasks=1600)
    labels = made.labels()  # type: ignore[attr-defined]
    middle = labels.height // 2
    one, two = (cs.Adaptive().fit(part) for part in (labels[:middle], labels[middle:]))
    turned = two.copy()
    turned += one
    one += two
    assert cs.families(one)["worker"].to_list() == one.workers_[:8]
    assert errors(made, one.predict_many(labels)) < 0.1
    assert cs.families(turned).equals(cs.families(one))
    for mine, theirs in zip(one._model.sums.arrays(), turned._model.sums.arrays(), strict=True):
        assert (mine == theirs).all()


def test_the_order_of_a_table_does_not_matter() -> None:
    made = simulated(20, 8, 1.0, tasks=2500)
    labels = made.labels()  # type: ignore[attr-defined]
    whole = cs.Adaptive().fit(labels)
    order = np.random.default_rng(0).permutation(2500)
    moved = labels.with_columns(pl.Series("order", order[np.repeat(np.arange(2500), 20)])).sort(
        "order", maintain_order=True
    )
    other = cs.Adaptive().fit(moved.drop("order"))
    assert cs.families(other).equals(cs.families(whole))


def test_a_task_can_be_taken_back() -> None:
    made = simulated(20, 8, 1.0)
    crowd = cs.Adaptive().fit(made.labels())  # type: ignore[attr-defined]
    before = [array.copy() for array in crowd._model.sums.arrays()]
    task = dict.fromkeys(crowd.workers_[:12], "0")
    crowd.learn_one(task)
    crowd.unlearn_one(task)
    for mine, old in zip(crowd._model.sums.arrays(), before, strict=True):
        assert (mine == old).all()


# What users are shown -----------------------------------------------------------------------


def test_suspects_come_with_the_tasks_to_check() -> None:
    made = simulated(20, 8, 0.9)
    labels = made.labels()  # type: ignore[attr-defined]
    crowd = cs.Adaptive().fit(labels)
    found = cs.suspect_tasks(crowd, labels)
    assert (found["group_label"] != found["rest_label"]).all()
    suspects = cs.families(crowd)["worker"]
    for task, _, group_label, rest_label in found.head(20).iter_rows():
        said = labels.filter(pl.col("task") == task)
        inside = pl.col("worker").is_in(suspects.implode())
        for part, label in ((inside, group_label), (~inside, rest_label)):
            votes = said.filter(part)["label"].value_counts(sort=True)
            assert votes["label"][0] == label
    assert 200 < found.height < 500
    nobody = cs.Adaptive().fit(labels.filter(~pl.col("worker").is_in(suspects.implode())))
    assert cs.suspect_tasks(nobody, labels).is_empty()


def test_who_does_not_look_for_copies_says_so() -> None:
    with pytest.raises(InputError, match="looks for copies"):
        cs.families(cs.MajorityVote())


def test_only_two_ways_to_treat_copies() -> None:
    with pytest.raises(InputError, match="copies"):
        cs.Adaptive(copies="drop").fit([("t", "a", 1)])  # type: ignore[arg-type]


def test_a_label_few_gave_is_needed() -> None:
    """Two who always say the same label do not copy, however often they meet."""
    rng = np.random.default_rng(0)
    labels = crowd(rng, 1000, rng.uniform(0.1, 0.4, 10))
    labels[:, :2] = 0
    assert not len(found_in(labels))
