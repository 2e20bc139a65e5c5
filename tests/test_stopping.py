"""When to stop asking, how many labels are still to come, and whom to ask what."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.monitoring.estimator_view import mean_accuracy
from crowdstream.stopping import information, labels_needed

Floats = NDArray[np.float64]


def run(stream: cs.Stream, rates: list[float], tasks: int, seed: int) -> list[tuple[float, int]]:
    """Ask labellers in random order until each task closes.

    Returns, from the hundredth task on and after each label, how many more were said to be needed
    and how many were.
    """
    rng = np.random.default_rng(seed)
    found: list[tuple[float, int]] = []
    for task in range(tasks):
        truth, said = int(rng.integers(2)), []
        for k, i in enumerate(rng.permutation(len(rates)).tolist(), start=1):
            label = truth ^ int(rng.random() < rates[i])
            if stream.observe(task, f"w{i}", label).closed:
                break
            if task >= 100:
                said.append((stream.more_labels_needed(task), k))
        found += [(needed, k - at) for needed, at in said]
    return found


# Stopping ------------------------------------------------------------------------------------


def test_intervals_hold_in_a_stream_that_stops_when_it_is_sure() -> None:
    monitoring = pytest.importorskip("crowdstream.monitoring", reason="intervals are its work")
    inside: list[bool] = []
    for seed in range(5):
        rates = np.random.default_rng(100 + seed).uniform(0.1, 0.4, 10)
        stream = cs.Stream(settle=0.95, max_labels=10)
        monitoring.monitor(stream.crowd)
        run(stream, rates.tolist(), 200, seed)
        table = stream.crowd.workers()
        true = rates[table["worker"].str.slice(1).cast(pl.Int64).to_numpy()]
        low, high = table["error_low"].to_numpy(), table["error_high"].to_numpy()
        inside += ((low <= true) & (true <= high)).tolist()
    # 95 % of fifty, less three standard errors of 3 %.
    assert np.mean(inside) >= 0.95 - 0.09


def test_a_stream_that_stops_asks_for_fewer_labels() -> None:
    stream = cs.Stream(settle=0.95, max_labels=10)
    run(stream, [0.1] * 10, 150, 1)
    assert stream.counts.closed == 150
    assert stream.counts.labels < 0.6 * 1500


def test_an_answer_counts_once_however_often_it_moves() -> None:
    stream, rng = cs.Stream(settle=None), np.random.default_rng(1)
    standing: dict[tuple[int, str], int] = {}
    for _ in range(600):
        task, worker = int(rng.integers(30)), f"w{rng.integers(6)}"
        if rng.random() < 0.2 and (task, worker) in standing:
            stream.retract(task, worker)
            del standing[task, worker]
        else:  # new, the same again, or another
            label = int(rng.integers(2)) if rng.random() < 0.3 else task % 2
            stream.observe(task, worker, label)
            standing[task, worker] = label
    assert min(stream.counts.repeated, stream.counts.replaced, stream.counts.retracted) > 20
    table = stream.crowd.workers()
    answers = dict(table.select("worker", "answers").iter_rows())
    assert answers == Counter(worker for _, worker in standing)
    said = Counter((worker, label) for (_, worker), label in standing.items())
    classes = stream.crowd.classes_
    for i, name in enumerate(stream.crowd.workers_):
        assert stream.crowd._model.sums.said[i].tolist() == [
            said[str(name), int(c)] for c in classes
        ]


@pytest.mark.parametrize("how", ["repeat", "there and back", "retract"])
def test_what_is_undone_leaves_no_trace(how: str) -> None:
    stream = cs.Stream(settle=None)
    run(stream, [0.2] * 6, 100, 2)
    for worker in ("w0", "w1", "w2"):
        stream.observe("t", worker, 1)
    before = stream.crowd.to_bytes()
    if how == "repeat":
        for _ in range(5):
            stream.observe("t", "w2", 1)
    elif how == "there and back":
        stream.observe("t", "w2", 0)
        stream.observe("t", "w2", 1)
    else:
        stream.observe("t", "w3", 1)
        stream.retract("t", "w3")
    assert stream.crowd.to_bytes() == before


# How many more -------------------------------------------------------------------------------


def test_no_more_labels_are_needed_once_a_task_is_settled() -> None:
    stream = cs.Stream(settle=0.9)
    run(stream, [0.1] * 8, 150, 3)
    for task in range(150):
        assert stream.more_labels_needed(task) == 0.0
    stream.observe("open", "w0", 1)
    assert stream.more_labels_needed("open", settle=0.5) == 1.0, "one worker alone settles nothing"
    stream.observe("open", "w1", 1)
    assert stream.more_labels_needed("open", settle=0.5) == 0.0
    stream.close("open")
    assert stream.more_labels_needed("open", settle=0.999) == 0.0


def test_fewer_labels_are_needed_as_agreeing_ones_come() -> None:
    taught = cs.Adaptive()
    block = cs.simulate(10, 300, p=0.25, seed=4)
    taught.learn_many(block.labels())
    stream = cs.Stream(taught, settle=None)
    needed = []
    for i in range(8):
        stream.observe("t", f"w{i}", "1")
        needed.append(stream.more_labels_needed("t", settle=0.99))
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > 3
    assert needed[-1] == 0.0


def test_more_labels_are_needed_to_be_surer_and_where_they_disagree() -> None:
    taught = cs.Adaptive()
    block = cs.simulate(10, 300, p=0.25, seed=5)
    taught.learn_many(block.labels())
    stream = cs.Stream(taught, settle=None)
    stream.observe("t", "w0", "1")
    needed = [stream.more_labels_needed("t", settle=s) for s in (0.9, 0.99, 0.999)]
    assert needed[0] < needed[1] < needed[2]
    for worker, label in (("w0", "0"), ("w1", "1"), ("w2", "0"), ("w3", "1")):
        stream.observe("torn", worker, label)
    assert stream.more_labels_needed("torn", settle=0.99) > needed[1]


def test_no_more_labels_are_needed_than_may_come() -> None:
    stream = cs.Stream(settle=0.999, max_labels=4)
    for k, worker in enumerate(("ann", "bob", "cy"), start=1):
        stream.observe("t", worker, k % 2)
        assert 0 < stream.more_labels_needed("t") <= 4 - k
    stream.offer(["empty"])
    assert 0 < stream.more_labels_needed("empty") <= 4


def test_how_sure_must_be_said_somewhere() -> None:
    stream = cs.Stream(settle=None)
    stream.observe("t", "ann", 1)
    with pytest.raises(InputError, match="settle"):
        stream.more_labels_needed("t")
    for settle in (0.4, 1.5, float("nan")):
        with pytest.raises(InputError, match="settle"):
            stream.more_labels_needed("t", settle=settle)
    with pytest.raises(InputError, match="task"):
        stream.more_labels_needed("no such task", settle=0.9)


@pytest.mark.parametrize("n", [10, 30])
def test_as_many_labels_are_needed_as_was_said(n: int) -> None:
    found: list[tuple[float, int]] = []
    for seed in range(4):
        rates = np.random.default_rng(seed).uniform(0.1, 0.4, n)
        stream = cs.Stream(settle=0.95, max_labels=10 if n == 10 else None)
        found += run(stream, rates.tolist(), 250, seed)
    said, really = np.mean(found, axis=0)
    assert len(found) > 500
    assert said == pytest.approx(really, rel=0.3)


def labels_of(
    rng: np.random.Generator, skills: Floats, tasks: int, copying: float
) -> tuple[Floats, NDArray[np.int64]]:
    """Every worker's label of tasks of varying strength, some of them a common first impression."""
    strength = rng.choice([1.2, 1.0, 0.5, 0.1], tasks, p=[0.3, 0.3, 0.2, 0.2])
    truth = rng.integers(2, size=(tasks, 1))
    wrong = rng.random((tasks, skills.size)) >= (1 + np.minimum(strength[:, None] * skills, 1)) / 2
    common = truth ^ (rng.random((tasks, 1)) < 0.25)
    same = rng.random((tasks, skills.size)) < copying
    return strength, np.where(same, common, truth ^ wrong)


def by_hardness(
    copying: float, most: int, seed: int, tasks: int = 150
) -> list[tuple[float, float, int, bool]]:
    """Tasks of varying strength, asked until they close, in a crowd taught by 600 such.

    Of each after each of its first labels: the labels it was said to need, those by an average
    worker's accuracy alone, those that it took, and whether it settled.
    """
    rng = np.random.default_rng(seed)
    skills = rng.uniform(0.2, 0.8, 30)
    _, said = labels_of(rng, skills, 600, copying)
    rows = [(t, i, int(said[t, i])) for t in range(600) for i in rng.permutation(30)[:8].tolist()]
    stream = cs.Stream(cs.Adaptive().fit(rows), settle=0.95, max_labels=most)
    _, said = labels_of(rng, skills, tasks, copying)
    found: list[tuple[float, float, int, bool]] = []
    for t in range(tasks):
        asked = []
        for k, i in enumerate(rng.permutation(30).tolist(), start=1):
            decision = stream.observe(f"new {t}", i, int(said[t, i]))
            if decision.closed:
                break
            if k <= 6:
                plain = labels_needed(decision.confidence, 0.95, mean_accuracy(stream.crowd))
                asked.append((stream.more_labels_needed(f"new {t}"), min(plain, most - k), k))
        settled = decision.closed == "settled"
        found += [(needed, plain, k - at, settled) for needed, plain, at in asked]
    return found


@pytest.mark.parametrize("copying", [0.0, 0.3])
def test_hard_tasks_need_as_many_labels_as_was_said(copying: float) -> None:
    found = np.array([row for seed in range(2) for row in by_hardness(copying, 15, seed)])
    said, plain, really = found[:, :3].T
    order = np.argsort(said)
    for part in np.array_split(order, 4):  # from tasks said to need few to those that need most
        # A part is some 100 tasks, whose mean is known to 5 %; the rest is the model's.
        assert said[part].mean() == pytest.approx(really[part].mean(), rel=0.15)
    assert np.abs(said - really).mean() < np.abs(plain - really).mean()
    # An average worker's accuracy alone promises a quarter fewer than it takes, or worse.
    assert plain.mean() < 0.8 * really.mean() < said.mean()


def test_a_confidence_out_of_reach_takes_labels_without_end() -> None:
    # Of m labels the log-odds tend to w/ρ, however many there are: logit(0.95) = 2.94.
    assert labels_needed(0.5, 0.95, 0.8, correlation=0.05) < 10
    assert labels_needed(0.5, 0.95, 0.8, correlation=0.5) == math.inf
    assert labels_needed(0.5, 0.6, 0.8, correlation=0.5) < 10
    assert labels_needed(1 / 4, 0.95, 0.8, 4, correlation=0.9) == math.inf
    assert labels_needed(0.9, 0.95, 0.8, correlation=0.1, votes=8) > labels_needed(0.9, 0.95, 0.8)


def test_a_little_correlation_changes_little() -> None:
    for confidence, accuracy in ((0.5, 0.8), (0.7, 0.7), (0.8, 0.65)):
        plain = labels_needed(confidence, 0.95, accuracy)
        assert labels_needed(confidence, 0.95, accuracy, correlation=1e-9) == pytest.approx(
            plain, rel=0.02, abs=0.06
        )


# Giving up -----------------------------------------------------------------------------------


def half_hopeless(give_up: float | None, seed: int = 0) -> tuple[cs.Stream, list[tuple[int, str]]]:
    """Every third task is a coin's toss for all; of each task its number and why it closed."""
    rng = np.random.default_rng(seed)
    stream = cs.Stream(settle=0.98, max_labels=12, give_up=give_up)
    found = []
    for task in range(240):
        truth = int(rng.integers(2))
        rate = 0.5 if task % 3 == 0 else 0.15
        for i in rng.permutation(25).tolist():
            decision = stream.observe(task, i, truth ^ int(rng.random() < rate))
            if decision.closed:
                found.append((task, decision.closed))
                break
    return stream, found


def test_tasks_that_no_label_will_settle_are_given_up() -> None:
    spent, hard = {None: 0, 0.1: 0}, []
    for seed in range(12):
        for give_up in spent:
            stream, found = half_hopeless(give_up, seed)
            spent[give_up] += stream.counts.labels
            given_up = [task for task, why in found if why == "hard"]
            assert stream.counts.hard == len(given_up)
            assert not given_up or give_up
            hard += given_up
    assert spent[0.1] < 0.95 * spent[None]  # 0.87 ± 0.04 over 16 seeds
    # Coins are a third of all tasks and most of those that are given up.
    assert np.mean([task % 3 == 0 for task in hard]) > 0.55


def test_nothing_is_given_up_early_or_where_nothing_settles() -> None:
    crowd = cs.Adaptive().fit(cs.simulate(12, 300, p=0.3, seed=1).labels())
    stream = cs.Stream(crowd, settle=0.999999, max_labels=6, give_up=0.5)
    for i in range(6):  # even a new task would not settle: the rule asks for too much
        decision = stream.observe("t", f"w{i}", str(i % 2))
    assert decision.closed == "full"
    stream = cs.Stream(crowd.copy(), settle=0.95, max_labels=10, give_up=0.9)
    closed = [stream.observe("u", f"w{i}", str(i % 2)).closed for i in range(5)]
    assert closed[:4] == [None] * 4, "half of the labels have not come"
    cold = cs.Stream(settle=0.95, max_labels=6, give_up=0.9)
    assert [cold.observe("t", i, i % 2).closed for i in range(5)] == [None] * 5, "nobody is known"


def test_giving_up_is_kept_and_takes_rows_alike() -> None:
    one, many = (cs.Stream(settle=0.98, max_labels=8, give_up=0.2) for _ in range(2))
    rows = [(t, i, int((t + (i * 7 + t * 3) % 10 // 6) % 2)) for t in range(80) for i in range(8)]
    for row in rows:
        one.observe(*row)
    many.observe_many(rows)
    assert one.counts == many.counts
    again = cs.Stream.load(one.to_bytes())
    assert (again.give_up, again.counts) == (0.2, one.counts)
    assert again.to_bytes() == one.to_bytes()
    for give_up in (0.0, 1.5, "often"):
        with pytest.raises(InputError, match="give_up"):
            cs.Stream(give_up=give_up)  # type: ignore[arg-type]


def test_the_chance_to_settle_is_borne_out() -> None:
    found: list[tuple[float, bool]] = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        skills = rng.uniform(0.2, 0.8, 30)
        _, said = labels_of(rng, skills, 700, 0.0)
        stream = cs.Stream(settle=0.95, max_labels=8)
        for t in range(700):
            asked = []
            for i in rng.permutation(30).tolist():
                decision = stream.observe(t, i, int(said[t, i]))
                if decision.closed:
                    break
                if t >= 300:
                    asked.append(stream.chance_to_settle(t))
            found += [(chance, decision.closed == "settled") for chance in asked]
    chance, settled = np.array(found).T
    for part in np.array_split(np.argsort(chance), 4):
        # A quarter is some 200 tasks, whose share is known to 0.035; the rest is the model's.
        assert chance[part].mean() == pytest.approx(settled[part].mean(), abs=0.1)
    closed = stream.decision(stream.closed_tasks[0])
    assert stream.chance_to_settle(closed.task) == float(closed.settled)


def walk(confidence: float, settle: float, accuracy: float, classes: int, runs: int) -> float:
    """Mean number of labels until the posterior of a class reaches ``settle``, by simulation."""
    rng = np.random.default_rng(0)
    start = np.full(classes, (1 - confidence) / (classes - 1))
    start[0] = confidence
    truth = rng.choice(classes, size=runs, p=start)
    odds = np.tile(np.log(start), (runs, 1))
    step = math.log(accuracy * (classes - 1) / (1 - accuracy))
    labels, going = 0, np.arange(runs)
    while going.size:
        shares = np.exp(odds[going] - odds[going].max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        going = going[shares.max(axis=1) < settle - 1e-9]
        labels += going.size
        other = (truth[going] + rng.integers(1, classes, size=going.size)) % classes
        said = np.where(rng.random(going.size) < accuracy, truth[going], other)
        odds[going, said] += step
    return labels / runs


@pytest.mark.parametrize(
    ("confidence", "settle", "accuracy"),
    [(0.5, 0.95, 0.8), (0.7, 0.95, 0.7), (0.5, 0.99, 0.9), (0.8, 0.97, 0.6), (0.5, 0.95, 0.6)],
)
def test_labels_needed_are_those_of_the_walk(
    confidence: float, settle: float, accuracy: float
) -> None:
    found = labels_needed(confidence, settle, accuracy)
    # Exact for two classes but for rounding to 0.05; the mean of 20,000 walks is known to 1 %.
    really = walk(confidence, settle, accuracy, 2, 20_000)
    assert found == pytest.approx(really, rel=0.03, abs=0.06)


@pytest.mark.parametrize(
    ("confidence", "settle", "accuracy", "classes"),
    [(1 / 3, 0.95, 0.7, 3), (0.5, 0.95, 0.7, 3), (0.2, 0.95, 0.6, 5), (0.6, 0.99, 0.5, 4)],
)
def test_labels_needed_are_nearly_those_of_the_walk_of_many_classes(
    confidence: float, settle: float, accuracy: float, classes: int
) -> None:
    found = labels_needed(confidence, settle, accuracy, classes)
    really = walk(confidence, settle, accuracy, classes, 5_000)
    # The walk of the leader against all others is not one of equal steps: asked are 30 %.
    assert found == pytest.approx(really, rel=0.3)


def test_labels_needed_at_the_edges() -> None:
    assert labels_needed(0.9, 0.9, 0.7) == 0.0
    assert labels_needed(0.6, 1.0, 0.7) == math.inf
    assert labels_needed(0.6, 0.9, 0.5) == math.inf
    assert labels_needed(0.6, 0.9, 0.2) == math.inf
    assert labels_needed(0.5, 0.95, 1.0) == 1.0
    assert labels_needed(0.25, 0.9, 1 / 4, 4) == math.inf


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_a_label_tells_between_nothing_and_all_there_is_to_know(classes: int) -> None:
    grid = np.linspace(1 / classes, 0.999, 15)
    for accuracy in grid:
        told = [information(confidence, accuracy, classes) for confidence in grid]
        assert all(0 <= bits <= math.log2(classes) for bits in told)
        # The surer, the less there is to tell, but for rounding.
        assert all(later <= earlier + 1e-9 for earlier, later in pairwise(told))
    assert information(1 / classes, 1.0, classes) == pytest.approx(math.log2(classes))
    assert information(0.7, 1 / classes, classes) == pytest.approx(0.0, abs=1e-12)
    assert information(1.0, 0.9, classes) == pytest.approx(0.0, abs=1e-12)


# Whom to ask what ----------------------------------------------------------------------------


def test_nobody_is_offered_a_task_twice() -> None:
    stream, rng = cs.Stream(settle=0.95, max_labels=5), np.random.default_rng(0)
    stream.offer(range(25))
    asked: set[tuple[int | str, str]] = set()
    idle = 0
    while idle < 40:
        worker = f"w{rng.integers(8)}"
        task = stream.next_task(worker)
        if task is None:
            idle += 1
            continue
        assert (task, worker) not in asked
        asked.add((task, worker))
        label = int(task) % 2 if rng.random() < 0.8 else 1 - int(task) % 2
        stream.observe(task, worker, label if rng.random() < 0.9 else None)
    assert len(asked) > 50


def test_nothing_is_asked_where_nothing_is_open() -> None:
    stream = cs.Stream(max_labels=1, settle=None)
    assert stream.next_task("ann") is None
    stream.offer(["t"])
    assert stream.next_task("ann") == "t"
    stream.observe("t", "bob", 1)
    assert stream.next_task("ann") is None
    stream.offer(["t"])  # closed tasks stay closed
    assert stream.open_tasks == []


def test_a_task_whose_truth_is_known_is_not_asked() -> None:
    stream = cs.Stream(settle=None)
    stream.gold("known", 1)
    stream.offer(["unknown"])
    assert stream.next_task("ann") == "unknown"
    stream.gold("unknown", 0)
    assert stream.next_task("ann") is None


def test_a_spent_budget_asks_for_nothing() -> None:
    stream = cs.Stream(budget=7, settle=None)
    stream.offer(range(10))
    for left in range(7, 0, -1):
        assert stream.budget_left == left
        task = stream.next_task("ann")
        assert task is not None
        stream.observe(task, "ann", 1)
    assert stream.budget_left == 0
    assert stream.next_task("ann") is None
    assert stream.next_task("bob") is None
    stream.observe(9, "bob", 1)  # what comes all the same is taken
    assert stream.budget_left == 0
    assert cs.Stream(settle=None).budget_left is None
    assert cs.Stream(budget=0, settle=None).next_task("ann") is None


def test_what_is_asked_is_the_most_doubtful() -> None:
    crowd = cs.Adaptive()
    block = cs.simulate(8, 300, p=0.2, seed=6)
    crowd.learn_many(block.labels())
    stream = cs.Stream(crowd, settle=None)
    for worker in ("w0", "w1", "w2"):
        stream.observe("clear", worker, "1")
    stream.observe("torn", "w0", "1")
    stream.observe("torn", "w1", "0")
    stream.observe("begun", "w0", "1")
    order = []
    for _ in range(3):
        task = stream.next_task("w7")
        assert task is not None
        order.append(task)
        stream.observe(task, "w7", None)
    assert order == ["torn", "begun", "clear"]
    assert stream.next_task("w7") is None


def test_a_budget_spent_where_there_is_doubt_makes_fewer_errors() -> None:
    errors = {True: 0, False: 0}
    for seed in range(3):
        for chooses in errors:
            rng = np.random.default_rng(seed)
            rates, truth = rng.uniform(0.1, 0.4, 15), rng.integers(2, size=80)
            stream = cs.Stream(budget=320, settle=None)
            stream.offer(range(80))
            turn = 0
            while stream.budget_left:
                i = int(rng.integers(15))
                task = stream.next_task(f"w{i}") if chooses else turn % 80
                turn += 1
                if task is not None:
                    wrong = int(rng.random() < rates[i])
                    stream.observe(task, f"w{i}", int(truth[int(task)]) ^ wrong)
            errors[chooses] += sum(d.label != truth[int(d.task)] for d in stream.end())
    assert errors[True] < errors[False]


@pytest.mark.parametrize("budget", [-1, 1.5, "10", True])
def test_a_budget_that_is_none_is_refused(budget: int) -> None:
    with pytest.raises(InputError, match="budget"):
        cs.Stream(budget=budget, settle=None)


def test_a_snapshot_keeps_the_budget_and_what_was_asked() -> None:
    stream = cs.Stream(settle=0.95, budget=30)
    stream.offer(["a", "b", "c"])
    for worker, task in (("ann", "a"), ("bob", "a"), ("ann", "b")):
        stream.observe(task, worker, 1)
    again = cs.Stream.load(stream.to_bytes())
    assert again.budget == 30
    assert again.budget_left == stream.budget_left == 27
    assert again.open_tasks == stream.open_tasks
    for worker in ("ann", "bob", "cy"):
        assert again.next_task(worker) == stream.next_task(worker)
    for task in ("a", "b", "c"):
        assert again.more_labels_needed(task) == stream.more_labels_needed(task)
    assert again.crowd.workers().equals(stream.crowd.workers())
    assert cs.Stream.load(cs.Stream(settle=None).to_bytes()).budget is None
