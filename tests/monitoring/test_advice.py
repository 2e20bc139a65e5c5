"""Whom to pay, coach or drop follows from what is known of a worker; tasks, from what they need."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdstream import Stream
from crowdstream.estimators import Adaptive, AgreementBased, Estimator, MajorityVote
from crowdstream.estimators.worker_table import _flags
from crowdstream.models.model import WorkerReading
from crowdstream.monitoring import monitor, tasks_to_resend
from crowdstream.monitoring.resend import LOOKED_AT
from crowdstream.simulation import jump, simulate
from crowdstream.statements.advice import REASONS, advice
from tests.monitoring.crowds import crowd_of, monitored


def of_worker(table: pl.DataFrame, worker: str) -> tuple[str, str]:
    row = table.row(by_predicate=pl.col("worker") == worker, named=True)
    return row["advice"], row["reason"]


def test_the_best_is_paid_the_guesser_dropped_the_poor_coached() -> None:
    p = [0.02, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.38, 0.5]
    found = advice(Adaptive().fit(crowd_of(9, 1500, p=p, seed=2).labels()))
    assert of_worker(found, "w0") == ("pay", "better_than_crowd")
    assert of_worker(found, "w7") == ("coach", "worse_than_crowd")
    assert of_worker(found, "w8") == ("drop", "at_chance")
    assert set(found["advice"][1:7]) <= {"keep", "pay"}  # a little better than the mean


def test_who_lies_is_dropped() -> None:
    p = [0.1, 0.1, 0.1, 0.15, 0.15, 0.2, 0.8]
    found = advice(Adaptive().fit(crowd_of(7, 800, p=p, seed=1).labels()))
    assert of_worker(found, "w6") == ("drop", "worse_than_chance")


def test_who_got_worse_is_coached_where_there_are_monitors() -> None:
    made = crowd_of(10, 1000, p=[0.1] * 10, drift=jump(600, [0.4] + [0.1] * 9), seed=3)
    assert of_worker(advice(monitored(made)), "w0") == ("coach", "got_worse")
    unmonitored = advice(Adaptive().fit(made.labels()))
    assert of_worker(unmonitored, "w0")[1] != "got_worse"


def test_nobody_is_coached_for_getting_worse_in_a_crowd_that_does_not_change() -> None:
    crowd = monitored(crowd_of(300, 40_000, p=0.2, per_task=4, seed=5))
    assert (advice(crowd)["reason"] == "got_worse").sum() == 0


def test_who_errs_on_one_class_is_told_which() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for t in range(900):
        truth = "abc"[t % 3]
        for who in range(7):
            error = (0.3 if truth == "b" else 0.0) if who == 0 else 0.1
            wrong = rng.random() < error
            said = str(rng.choice(list("abc".replace(truth, "")))) if wrong else truth
            rows.append((str(t), f"w{who}", said))
    found = advice(Adaptive().fit(rows))
    assert found.row(0) == ("w0", "coach", "errs_on_one_class", "b")
    assert found["on_class"][1:].null_count() == 6


def test_who_has_hardly_answered_is_waited_for() -> None:
    rows = [(str(t), f"w{w}", str(t % 2)) for t in range(200) for w in range(5)]
    rows += [(str(t), "new", str(t % 2)) for t in range(4)]
    crowd = Adaptive().fit(rows)
    assert of_worker(advice(crowd), "new") == ("wait", "few_answers")
    flags = dict(crowd.workers().select("worker", "flags").iter_rows())
    assert "few_answers" in flags["new"]
    assert "few_answers" not in flags["w0"]


def test_few_answers_are_said_of_who_is_better_than_chance_too() -> None:
    known = WorkerReading(
        errors=np.array([0.1, 0.1]),
        weigh=lambda: np.ones(2),
        solved=np.ones(2, np.bool_),
        apart=np.zeros(2, np.bool_),
    )
    said, low, high = np.array([[4.0, 4.0], [20.0, 20.0]]), np.zeros(2), np.full(2, 0.3)
    flags = _flags(0.5, said.sum(axis=1), said, known, low, high)
    assert flags.to_list() == [["better_than_chance", "few_answers"], ["better_than_chance"]]


def test_nothing_is_advised_where_nothing_is_known() -> None:
    rows = [("t1", "ann", "a"), ("t1", "bob", "b"), ("t2", "ann", "a")]
    for crowd in (Adaptive(), AgreementBased()):
        assert set(advice(crowd.fit(rows))["advice"]) == {"wait"}
    assert advice(Adaptive()).height == 0


@pytest.mark.parametrize("kind", [Adaptive, AgreementBased, MajorityVote])
def test_every_code_has_its_advice(kind: type[Estimator]) -> None:
    made = simulate(20, 300, p=np.linspace(0.05, 0.55, 20), per_task=5, classes=3)
    found = advice(
        monitor(kind()).fit(made.labels()) if kind().weighs_ else kind().fit(made.labels())
    )
    assert [REASONS[reason] for reason in found["reason"]] == found["advice"].to_list()


def test_a_question_changes_nothing() -> None:
    crowd = monitored(crowd_of(6, 200, p=0.2))
    labels = crowd_of(6, 200, p=0.2).labels()
    before = crowd.to_bytes()
    advice(crowd)
    tasks_to_resend(crowd, labels, crowd.predict_many(labels))
    assert crowd.to_bytes() == before


# Tasks ----------------------------------------------------------------------------------------


def test_tasks_to_resend_are_those_not_settled_the_most_doubtful_first() -> None:
    labels = simulate(10, 400, p=0.25, per_task=4, seed=1).labels()
    crowd = Adaptive()
    decisions = crowd.fit_predict(labels)
    found = tasks_to_resend(crowd, labels, decisions)
    assert set(found["task"]) == set(decisions.filter(~pl.col("settled"))["task"])
    assert found["confidence"].is_sorted()
    assert found.columns == ["task", "label", "confidence", "votes", "more_labels", "needs"]
    assert (found["more_labels"].drop_nulls() >= 1).all()
    assert (found["more_labels"].is_null() == (found["needs"] == "expert")).all()


def test_a_task_needs_as_many_labels_as_a_stream_would_say() -> None:
    made = simulate(10, 300, p=0.25, per_task=4, seed=1)
    crowd = Adaptive()
    decisions = crowd.fit_predict(made.labels())
    found = tasks_to_resend(crowd, made.labels(), decisions)
    stream = Stream(crowd.clone().fit(made.labels()))
    for task, needed in found.select("task", "more_labels").head(5).iter_rows():
        for worker, label in made.labels().filter(task=task).select("worker", "label").iter_rows():
            stream.observe(f"again {task}", worker, label)
        said = stream.more_labels_needed(f"again {task}")
        # The stream's crowd has met these labels twice, and leaves them out once.
        assert abs(said - needed) <= 2


def test_of_many_tasks_those_alike_need_as_many() -> None:
    labels = simulate(20, 3000, p=0.3, per_task=3, seed=1).labels()
    crowd = Adaptive()
    decisions = crowd.fit_predict(labels)
    whole = tasks_to_resend(crowd, labels, decisions)
    assert whole.height > 10 * LOOKED_AT
    few = decisions.filter(~pl.col("settled")).sample(LOOKED_AT // 2, seed=0)
    exact = tasks_to_resend(crowd, labels, few).select("task", exact="more_labels")
    both = exact.join(whole, on="task")
    off = (both["exact"] - both["more_labels"]).abs()
    assert off.mean() <= 1.0  # type: ignore[operator]


def test_where_labels_cannot_settle_a_task_an_expert_can() -> None:
    """Two tasks in five are coins, on which everybody guesses: errors come together."""
    rng = np.random.default_rng(0)
    rows = []
    for t in range(400):
        truth, error = int(rng.integers(2)), 0.5 if rng.random() < 0.4 else 0.1
        rows += [(str(t), f"w{who}", str(truth ^ int(rng.random() < error))) for who in range(8)]
    crowd, alone = Adaptive(), Adaptive()
    found = tasks_to_resend(crowd, rows, crowd.fit_predict(rows))
    assert crowd.dependence_.verdict == "together"
    independent = simulate(8, 400, p=0.3, per_task=5, seed=0).labels()
    others = tasks_to_resend(alone, independent, alone.fit_predict(independent))
    share, usual = ((table["needs"] == "expert").mean() for table in (found, others))
    assert share > 0.5 > 0.1 > usual  # type: ignore[operator]
