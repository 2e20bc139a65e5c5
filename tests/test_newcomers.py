"""Newcomers: a name that was never seen settles no task, and helps to settle none."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

import crowdstream as cs
from crowdstream.sums.rows import ENOUGH

TASKS, WARM = 300, 100
CROWDS = (cs.Adaptive, cs.AgreementBased, cs.CentredAgreement)


def honest_answers(seed: int, classes: int, task: int, workers: int = 20) -> tuple[int, dict]:  # type: ignore[type-arg]
    """A task's truth, and what seven workers say who are right on 0.9 of the tasks."""
    draw = random.Random(f"{seed} {task}")
    truth = draw.randrange(classes)
    said = {}
    for who in draw.sample(range(workers), 7):
        wrong = [x for x in range(classes) if x != truth]
        said[f"w{who}"] = truth if draw.random() < 0.9 else draw.choice(wrong)
    return truth, said


class Settled(NamedTuple):
    """How many of 300 tasks settled on the lie that came first, and how many on the truth.

    ``alone``: on the lie, though at most one honest worker had said the same.
    """

    on_lie: int
    alone: int
    on_truth: int


def settled_on(seed: int, classes: int, liars: int) -> Settled:
    stream = cs.Stream(settle=0.95, max_labels=7 + liars)
    on_lie = alone = on_truth = 0
    for task in range(-WARM, TASKS):
        truth, said = honest_answers(seed, classes, task)
        lie = (truth + 1) % classes
        names = [f"new {task} {k}" for k in range(liars)] if task >= 0 else []
        for worker, label in [*((name, lie) for name in names), *said.items()]:
            decision = stream.observe(task, worker, label, at=0)
            if decision.closed:
                break
        if task >= 0 and decision.closed == "settled":
            erring = list(said.values())[: decision.votes - len(names)].count(lie)
            on_lie += decision.label == lie
            alone += decision.label == lie and erring < 2
            on_truth += decision.label == truth
    return Settled(on_lie, alone, on_truth)


@pytest.mark.parametrize("classes", [2, 4])
def test_none_of_300_tasks_settles_on_a_lie_that_comes_first(classes: int) -> None:
    """A lie and one honest error settle nothing. Before, 7 to 28 of 300 tasks settled on the lie.

    Two honest workers who err alike settle a task at 0.95 as they would without a liar: no rule
    that believes them when they are right can tell.
    """
    assert [settled_on(seed, classes, liars=1).alone for seed in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("liars", [1, 2])
def test_lies_settle_no_more_tasks_wrongly_than_honest_errors_do(liars: int) -> None:
    """Of two classes: before, one liar a task made it 16 to 28 of 300, two made it 117 to 171."""
    lied = sum(settled_on(seed, classes=2, liars=liars).on_lie for seed in range(3))
    without = sum(settled_on(seed, classes=2, liars=0).on_lie for seed in range(3))
    assert without > 0
    assert lied <= without


def test_the_honest_majority_still_settles_nearly_all() -> None:
    assert settled_on(0, classes=2, liars=1).on_truth > 0.9 * TASKS


@pytest.mark.parametrize("make", CROWDS)
def test_one_known_worker_and_a_newcomer_settle_nothing(make: type[cs.Estimator]) -> None:
    crowd = make()
    crowd.learn_many([(t, f"w{k}", t % 2) for t in range(200) for k in range(5)])
    stream = cs.Stream(crowd, settle=0.8)
    assert not stream.observe("t", "new", 1).settled
    decision = stream.observe("t", "w0", 1)
    assert decision.confidence >= 0.8
    assert not decision.settled
    for worker in ("w1", "w2", "w3"):
        decision = stream.observe("t", worker, 1)
    assert decision.closed == "settled"
    known = cs.Stream(crowd, settle=0.8)
    known.observe("t", "w0", 1)
    assert known.observe("t", "w1", 1).closed == "settled"


@pytest.mark.parametrize("make", CROWDS)
def test_tables_single_tasks_and_streams_agree_on_who_settles(make: type[cs.Estimator]) -> None:
    crowd = make()
    crowd.learn_many([(t, f"w{k}", t % 2) for t in range(200) for k in range(5)])
    for answers, settled in (
        ({"new": 1, "w0": 1}, False),
        ({"new": 1, "other": 1}, False),
        ({"w0": 1, "w1": 1}, True),
        ({"new": 0, "w0": 1, "w1": 1, "w2": 1, "w3": 1}, True),
    ):
        one = crowd.decide_one(answers, settle=0.8)
        rows = [("t", worker, label) for worker, label in answers.items()]
        table = crowd.predict_many(rows, settle=0.8)
        stream = cs.Stream(crowd.copy(), settle=0.8)
        several = stream.observe_many(rows)[0]
        assert one.label == table["label"][0] == 1
        assert one.settled is bool(table["settled"][0]) is settled
        assert several.settled is settled
        assert (several.closed == "settled") is settled


def test_observing_many_labels_settles_what_observing_each_does() -> None:
    rows = []
    for task in range(120):
        truth, said = honest_answers(9, 2, task)
        rows.append((task, f"new {task}", 1 - truth))
        rows += [(task, worker, label) for worker, label in said.items()]
    one, many = (cs.Stream(max_labels=8) for _ in range(2))
    for row in rows:
        one.observe(*row, at=0)
    many.observe_many(rows, at=0)
    assert one.counts.closed == many.counts.closed
    for task in range(120):
        first, second = one.decision(task), many.decision(task)
        assert (first.label, first.settled, first.votes) == (
            second.label,
            second.settled,
            second.votes,
        )


def test_a_new_crowd_settles_once_it_is_known() -> None:
    rows = [(t, f"w{k}", t % 2) for t in range(40) for k in range(5)]
    decided = cs.Adaptive().stream_many(rows)
    assert not decided["settled"][: int(ENOUGH)].any()
    assert decided["settled"][-20:].all()
    stream = cs.Stream()
    closed = [stream.observe(*row, at=0).closed for row in rows]
    assert "settled" in closed


def test_a_table_counts_who_has_few_answers_in_all() -> None:
    rows: list[tuple[int | str, str, int]] = [
        (t, f"w{k}", t % 2) for t in range(100) for k in range(4)
    ]
    rows += [(f"once {t}", f"new {t} {k}", t % 2) for t in range(20) for k in range(4)]
    rows += [(f"once {t}", "w0", t % 2) for t in range(20)]
    decided = cs.Adaptive().fit_predict(rows)
    assert decided["settled"][:100].all()
    sure = decided[100:]
    assert (sure["confidence"] >= 0.95).any()
    assert not sure["settled"].any()


def test_a_short_memory_still_settles() -> None:
    """With a memory of 4 tasks nobody's answers count as many as they would without one."""
    rows = [(t, f"w{k}", t % 2) for t in range(300) for k in range(5)]
    stream = cs.Stream(cs.Adaptive(memory=4))
    closed = [stream.observe(*row, at=0).closed for row in rows]
    assert closed.count("settled") > 100


def test_asking_changes_nothing() -> None:
    crowd = cs.Adaptive()
    crowd.learn_many([(t, f"w{k}", t % 2) for t in range(50) for k in range(5)])
    stream = cs.Stream(crowd, settle=0.8)
    for worker in ("new", "w0"):
        stream.observe("t", worker, 1, at=0)
    before = stream.to_bytes()
    assert not stream.decision("t").settled
    assert stream.to_bytes() == before


def test_gold_makes_a_worker_known() -> None:
    crowd = cs.Adaptive()
    rows: list[tuple[int | str, str, int]] = [
        (t, f"w{k}", t % 2) for t in range(100) for k in range(5)
    ]
    rows += [(f"g{t}", "tested", t % 2) for t in range(20)]
    crowd.learn_many(rows, gold={f"g{t}": t % 2 for t in range(20)})
    assert crowd.decide_one({"tested": 1, "w0": 1}, settle=0.8).settled
    assert not crowd.decide_one({"new": 1, "w0": 1}, settle=0.8).settled


@pytest.mark.parametrize("kind", CROWDS)
def test_a_task_that_newcomers_alone_are_sure_of_needs_more_labels(
    kind: type[cs.Estimator],
) -> None:
    """As many as a task without their labels, which settle nothing; not none, as it once said."""
    crowd = kind().fit(cs.simulate(10, 300, p=0.15, per_task=5, seed=3).labels())
    stream = cs.Stream(crowd, settle=0.95)
    for k in range(6):
        decision = stream.observe("asked", f"new{k}", "1")
    assert decision.confidence > 0.95
    assert not decision.settled
    stream.offer(["empty"])
    assert stream.more_labels_needed("asked") == stream.more_labels_needed("empty") > 1
    stream.observe("asked", "w0", "1")
    assert 1 <= stream.more_labels_needed("asked") < stream.more_labels_needed("empty")


@pytest.mark.parametrize("kind", CROWDS)
def test_tasks_of_workers_nobody_knows_can_be_sent_out_again(kind: type[cs.Estimator]) -> None:
    crowd = kind().fit(cs.simulate(10, 300, p=0.15, per_task=5, seed=3).labels())
    rows = [(f"t{t}", f"new{w}", label) for t in range(5) for w, label in enumerate("01z")]
    found = cs.monitoring.tasks_to_resend(crowd, rows, crowd.predict_many(rows))
    assert found.height == 5
    assert (found["more_labels"] >= 2).all()
