"""Promises that must not break: majority where nothing is known, asking changes nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import crowdstream as cs
from crowdstream.errors import NotIdentifiable
from tests.simulated import Crowd

WEIGHERS = [
    kind
    for kind in cs.Estimator._kinds.values()
    if kind.__module__.startswith("crowdstream.")
    and kind is not cs.DictEstimator
    and kind()._model.weighs
]
EVERYONE = [*WEIGHERS, cs.MajorityVote]


# Two workers: nobody can tell who of them is right, so the votes are counted. -----------------


def two_workers() -> list[tuple[int, str, str]]:
    """{yes, no, yes} and {yes, yes, no}, over and over: they agree on a third of the tasks."""
    said = {"ann": ["yes", "no", "yes"], "bob": ["yes", "yes", "no"]}
    return [(t, who, said[who][t % 3]) for t in range(60) for who in said]


@pytest.mark.parametrize("kind", WEIGHERS)
def test_two_workers_are_decided_by_majority_and_it_is_said(kind: type[cs.Estimator]) -> None:
    rows = two_workers()
    crowd = kind()
    with pytest.warns(NotIdentifiable, match="fell back to majority vote"):
        found = crowd.fit_predict(rows)
    wanted = cs.MajorityVote().fit_predict(rows)
    assert found.rows() == wanted.rows()
    assert not crowd.identifiable_
    assert crowd.workers()["error_rate"].null_count() == 2, "an error rate was invented"


@pytest.mark.parametrize("kind", WEIGHERS)
def test_in_a_stream_two_workers_are_decided_by_majority(kind: type[cs.Estimator]) -> None:
    ours, plain = cs.Stream(kind(), settle=None), cs.Stream(cs.MajorityVote(), settle=None)
    for task, worker, label in two_workers():
        a, b = (stream.observe(task, worker, label, at=0) for stream in (ours, plain))
        assert a == b
    assert ours.end() == plain.end()


def a_third_apart() -> list[tuple[int, str, str]]:
    return [*two_workers(), *((100 + t, "cy", "yes") for t in range(60))]


def two_groups_apart() -> list[tuple[int, str, str]]:
    return [(2 * t + g, f"{who} of {g}", x) for t, who, x in simulated() for g in (0, 1)]


@pytest.mark.parametrize("crowd_of", [a_third_apart, two_groups_apart])
@pytest.mark.parametrize("kind", WEIGHERS)
def test_workers_who_share_no_task_are_decided_by_majority(
    kind: type[cs.Estimator], crowd_of: Callable[[], list[tuple[int, str, str]]]
) -> None:
    rows, crowd = crowd_of(), kind()
    with pytest.warns(NotIdentifiable):
        found = crowd.fit_predict(rows)
    assert found.rows() == cs.MajorityVote().fit_predict(rows).rows()


@pytest.mark.parametrize("kind", WEIGHERS)
def test_guessers_are_decided_by_majority(kind: type[cs.Estimator]) -> None:
    table = Crowd(np.zeros(8), tasks=1000, seed=1).table()
    with pytest.warns(NotIdentifiable, match="chance"):
        found = kind().fit_predict(table)
    assert found.equals(cs.MajorityVote().fit_predict(table))


# The same label again changes nothing. --------------------------------------------------------


def simulated(tasks: int = 40) -> list[tuple[int, str, str]]:
    crowd = Crowd(np.linspace(0.1, 0.9, 6), tasks=tasks, seed=3)
    return [
        (t, f"w{who}", f"c{label}")
        for t, told in enumerate(crowd.answers())
        for who, label in told.items()
    ]


@pytest.mark.parametrize("kind", EVERYONE)
def test_a_label_sent_again_changes_no_weight(kind: type[cs.Estimator]) -> None:
    once, again = cs.Stream(kind(), settle=None), cs.Stream(kind(), settle=None)
    for task, worker, label in simulated():
        first = once.observe(task, worker, label, at=0)
        again.observe(task, worker, label, at=0)
        for _ in range(3):
            assert again.observe(task, worker, label, at=0) == first
        assert again.crowd.to_bytes() == once.crowd.to_bytes()
    assert again.counts.repeated == 3 * len(simulated())
    assert again.end() == once.end()
    assert again.crowd.to_bytes() == once.crowd.to_bytes()


@pytest.mark.parametrize("kind", EVERYONE)
def test_a_row_given_again_changes_no_weight(kind: type[cs.Estimator]) -> None:
    once, again = kind(), kind()
    rows = simulated()
    once.learn_many(rows)
    again.learn_many([row for row in rows for _ in range(3)])
    assert again.intake_.repeated == 2 * len(rows)
    again.intake_ = once.intake_
    assert again.to_bytes() == once.to_bytes()


# Asking changes nothing. ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERYONE)
def test_questions_leave_the_stream_as_it_was(kind: type[cs.Estimator]) -> None:
    stream = cs.Stream(kind(), settle=0.99, max_labels=6, budget=10_000)
    stream.offer(["empty"], at=0)
    for task, worker, label in simulated(12)[:-3]:
        stream.observe(task, worker, label, at=0)
    stream.gold(11, "c0", at=0)
    before = stream.to_bytes()
    for _ in range(2):
        for name in (*stream.open_tasks, 0):
            stream.decision(name)
            stream.more_labels_needed(name)
        for worker in ("w0", "w5", "nobody knows"):
            stream.next_task(worker)
        stream.crowd.workers()
        stream.crowd.workers(level=0.5)
        assert stream.crowd.identifiable_ is not None
        assert repr(stream)
        assert stream.to_bytes() == before


# Families keep learn-many what learn-one is. --------------------------------------------------


def test_families_learn_a_table_as_they_learn_its_tasks() -> None:
    families = {"w0": "twins", "w1": "twins", "w4": "model", "w5": "model"}
    one, many = cs.Adaptive(families=families), cs.Adaptive(families=families)
    rows = simulated(60)
    everybody = {f"w{i}": f"c{i % 2}" for i in range(6)}
    for crowd in (one, many):
        crowd.learn_one(everybody)
    for t in range(60):
        one.learn_one({worker: label for task, worker, label in rows if task == t})
    many.learn_many(rows)
    theirs = many._model.pack()
    for name, mine in one._model.pack().items():
        if not name.startswith("sample."):  # which goes by the tasks' names, that learn_one lacks
            assert mine.tobytes() == theirs[name].tobytes(), name
    # Intervals see a table at once, so they are those of another moment.
    drop = ["error_low", "error_high", "flags"]
    assert one.workers().drop(drop).rows() == many.workers().drop(drop).rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert one.predict_many(rows).rows() == many.predict_many(rows).rows()


def test_families_are_not_counted_as_independent_votes() -> None:
    """So that the test above is not passed by leaving families out."""
    rows = simulated(60)
    plain, kin = cs.Adaptive(), cs.Adaptive(families=dict.fromkeys(("w0", "w1", "w2"), "twins"))
    plain.learn_many(rows)
    kin.learn_many(rows)
    assert plain.predict_many(rows)["confidence"].to_list() != (
        kin.predict_many(rows)["confidence"].to_list()
    )
