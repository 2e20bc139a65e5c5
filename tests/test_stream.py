"""The rules of the stream."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.checks import crowd_of, same_sums, taught
from crowdstream.errors import InputError, StateError
from crowdstream.monitoring.estimator_view import mean_accuracy
from tests.simulated import Crowd


def test_a_label_is_one_worker_on_one_task() -> None:
    stream = cs.Stream(settle=None)
    stream.observe("t", "ann", "spam")
    before = stream.crowd.to_bytes()
    assert stream.observe("t", "ann", "spam").votes == 1
    assert stream.crowd.workers()["answers"].to_list() == [1]
    assert stream.observe("t", "ann", "ham").label == "ham"
    assert stream.observe("t", "ann", "spam").label == "spam"
    assert stream.counts.repeated == 1
    assert stream.counts.replaced == 2
    assert stream.counts.labels == 1
    assert len(stream.crowd.to_bytes()) >= len(before)


def test_true_is_not_the_same_label_as_one() -> None:
    stream = cs.Stream(settle=None)
    stream.observe("t", "ann", True)
    assert stream.observe("t", "ann", 1).label == 1
    assert stream.counts.replaced == 1


def test_a_skip_is_not_a_label() -> None:
    stream = cs.Stream(max_labels=1, settle=None)
    decision = stream.observe("t", "ann", None)
    assert (decision.label, decision.votes, decision.closed) == (None, 0, None)
    stream.observe("t", "ann", "x")
    assert stream.counts.skipped == 1
    assert len(stream.crowd.workers_) == 1


def test_a_task_closes_when_full_and_late_labels_change_nothing() -> None:
    stream = cs.Stream(max_labels=2, settle=None)
    stream.observe("t", "ann", "x")
    decision = stream.observe("t", "bob", "x")
    assert decision.closed == "full"
    before = stream.crowd.to_bytes()
    assert stream.observe("t", "cy", "y") == decision
    assert stream.retract("t", "ann") == decision
    assert stream.gold("t", "y") == decision
    assert stream.close("t") == decision == stream.decision("t")
    assert stream.counts.late == 3
    assert stream.crowd.to_bytes() == before
    assert stream.open_tasks == []


def test_a_task_closes_when_settled() -> None:
    stream = cs.Stream(settle=0.95)
    crowd = Crowd(np.full(9, 0.8), tasks=200)
    votes = []
    for t, answers in enumerate(crowd.answers()):
        for who, label in answers.items():
            decision = stream.observe(t, who, label)
            if decision.closed:
                votes.append(decision.votes)
                assert decision.closed == "settled"
                assert decision.confidence >= 0.95
                break
    assert len(votes) > 150
    assert np.mean(votes[50:]) < 5, "a good crowd settles a task with few labels"


def test_tasks_settle_even_if_all_come_before_any_closes() -> None:
    # By worker: every task is open until the crowd is known well enough.
    stream = cs.Stream(settle=0.9)
    crowd = Crowd(np.full(8, 0.8), tasks=100)
    closed = 0
    for k in range(8):
        for t in range(100):
            closed += stream.observe(t, k, int(crowd.labels[t, k])).closed == "settled"
    assert closed > 90


def test_a_task_closes_when_idle() -> None:
    stream = cs.Stream(idle=60, settle=None)
    stream.observe("a", "ann", "x", at=0)
    stream.observe("b", "ann", "x", at=30)
    stream.observe("a", "bob", "x", at=50)
    assert stream.expire(at=80) == []
    assert [d.task for d in stream.expire(at=95)] == ["b"]
    assert [(d.task, d.closed) for d in stream.expire(at=110)] == [("a", "idle")]
    when = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
    stream.observe("c", "ann", "x", at=when)
    assert stream.expire(at=when + datetime.timedelta(seconds=59)) == []
    assert len(stream.expire(at=when + datetime.timedelta(seconds=60))) == 1


def test_time_does_not_run_backwards() -> None:
    stream = cs.Stream(idle=10, settle=None)
    stream.observe("a", "ann", "x", at=100)
    stream.observe("b", "ann", "x", at=5)
    assert stream.expire(at=105) == []
    assert [d.task for d in stream.expire(at=110)] == ["a", "b"]


def test_the_end_closes_all_in_order_of_opening() -> None:
    stream = cs.Stream(settle=None)
    for task in ("b", "a", "c"):
        stream.observe(task, "ann", "x")
    stream.observe("b", "bob", "x")
    assert [d.task for d in stream.end()] == ["b", "a", "c"]
    assert stream.open_tasks == []


def test_closed_tasks_give_their_memory_back() -> None:
    stream = cs.Stream(max_labels=1, remember=100, settle=None)
    for t in range(5000):  # the sample of tasks that is kept is full
        stream.observe(t, t % 5, t % 2)
    small = len(stream.to_bytes())
    for t in range(5000, 9000):
        stream.observe(t, t % 5, t % 2)
    assert len(stream.to_bytes()) < 1.02 * small
    assert stream.observe(8999, 0, 1).closed == "full", "the last hundred are remembered"
    stream.observe(0, "new", 1)
    assert stream.counts.late == 1


def test_retracting_takes_a_label_back() -> None:
    stream = cs.Stream(settle=None)
    stream.observe("t", "ann", "x")
    stream.observe("t", "bob", "y")
    decision = stream.retract("t", "bob")
    assert (decision.label, decision.votes) == ("x", 1)
    assert stream.retract("t", "ann").label is None
    assert stream.crowd.workers()["answers"].sum() == 0
    assert stream.observe("t", "ann", "x").votes == 1
    with pytest.raises(InputError, match="expected a worker who labelled it, found 'zoe'"):
        stream.retract("t", "zoe")
    with pytest.raises(InputError, match="expected a task that was opened, found 'u'"):
        stream.retract("u", "ann")


def test_a_known_truth_is_the_decision_and_teaches() -> None:
    stream = cs.Stream(cs.AgreementBased(), settle=0.9)
    assert stream.gold("t", "x").label == "x"
    decision = stream.observe("t", "ann", "y")
    assert (decision.label, decision.confidence, decision.closed) == ("x", 1.0, None)
    people = stream.crowd.copy()
    stream.observe("t", "ann", "x")
    assert people.to_bytes() != stream.crowd.to_bytes()
    other = cs.AgreementBased()
    other.learn_one({"ann": "x"}, gold="x")
    # Intervals see a task when it closes.
    drop = ["error_low", "error_high", "evidence", "flags"]
    assert stream.crowd.workers().drop(drop).equals(other.workers().drop(drop))


events = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "take", "gold"]),
        st.integers(0, 4),
        st.integers(0, 5),
        st.sampled_from(["x", "y", "z", None]),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=60)
@given(events)
def test_any_order_of_events_leaves_the_sums_of_the_final_answers(
    happened: list[tuple[str, int, int, str | None]],
) -> None:
    stream = cs.Stream(settle=None)
    told: dict[int, dict[int, str | None]] = {}
    gold: dict[int, str] = {}
    for what, task, worker, label in happened:
        if what == "say":
            stream.observe(task, worker, label)
            answers = told.setdefault(task, {})
            if label is not None or worker not in answers:
                answers[worker] = label
        elif what == "take" and worker in told.get(task, {}):
            stream.retract(task, worker)
            del told[task][worker]
        elif what == "gold" and label is not None:
            stream.gold(task, label)
            gold[task] = label
    other = cs.AgreementBased()
    for task, answers in told.items():
        other.learn_one(answers, gold=gold.get(task))
    here = {who for answers in told.values() for who in answers}
    ours, theirs = (
        x.workers().sort("worker").select("worker", "answers", "agreement", "error_rate")
        for x in (stream.crowd, other)
    )
    mine = ours.filter(ours["worker"].is_in(list(here)))
    # Retracting the only word for a class does not unknow the class; then K differs.
    if set(stream.crowd.classes_) == set(other.classes_):
        assert mine.drop("error_rate").rows() == theirs.drop("error_rate").rows()
    else:
        assert mine["answers"].equals(theirs["answers"])


def test_tasks_one_after_the_other_are_decided_as_by_stream_many() -> None:
    tasks = crowd_of(tasks=150)
    stream = cs.Stream(cs.AgreementBased(seed=3), settle=None)
    said = []
    for t, answers in enumerate(tasks):
        for who, label in answers.items():
            stream.observe(t, who, label)
        said.append(stream.close(t))
    rows = [(t, who, x) for t, answers in enumerate(tasks) for who, x in answers.items()]
    table = cs.AgreementBased(seed=3).stream_many(rows)
    assert [d.label for d in said] == table["label"].to_list()
    # Taking back and learning again moves the solver by its 1e-12, no more.
    assert np.allclose([d.confidence for d in said], table["confidence"], atol=1e-9)
    same_sums(stream.crowd, taught(cs.AgreementBased, tasks))


def test_a_restored_stream_goes_on_as_if_nothing_had_happened() -> None:
    crowd = Crowd(np.linspace(0.2, 0.9, 7), tasks=120, seed=3)
    events = [(t, w, int(crowd.labels[t, w])) for t in range(120) for w in range(7)]
    order = np.random.default_rng(0).permutation(len(events))
    straight = cs.Stream(cs.AgreementBased(memory=100), settle=0.97, max_labels=6, idle=50)
    broken = cs.Stream(cs.AgreementBased(memory=100), settle=0.97, max_labels=6, idle=50)
    for number, k in enumerate(order):
        if number % 97 == 0:
            broken = cs.Stream.load(broken.to_bytes())
        task, who, label = events[k]
        one = straight.observe(task, who, label, at=float(number))
        assert one == broken.observe(task, who, label, at=float(number))
        assert straight.expire(at=float(number)) == broken.expire(at=float(number))
    assert straight.counts == broken.counts
    assert straight.to_bytes() == broken.to_bytes()


def test_damaged_snapshots_are_refused() -> None:
    stream = cs.Stream(settle=None)
    stream.observe("t", "ann", "x")
    saved = stream.to_bytes()
    for data in (b"", saved[:-3], saved[:50] + b"?" + saved[51:], stream.crowd.to_bytes()):
        with pytest.raises(StateError):
            cs.Stream.load(data)
    with pytest.raises(StateError, match="expected a saved crowd, found a saved stream"):
        cs.Estimator.load(saved)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.observe(None, "ann", "x"), "task: expected str or int, found None"),
        (lambda s: s.observe("t", 0.5, "x"), "worker: expected str or int, found float 0.5"),
        (lambda s: s.observe("t", "ann", [1]), "label: expected str, int or bool, found list"),
        (lambda s: s.observe("t", "ann", "x", at="noon"), "at: expected seconds or a datetime"),
        (lambda s: s.gold("t", None), "gold: expected str, int or bool, found None"),
        (lambda s: s.close("unheard"), "task: expected a task that was opened"),
    ],
)
def test_bad_events_are_refused_and_change_nothing(call: object, message: str) -> None:
    stream = cs.Stream(settle=None)
    stream.observe("t", "ann", "x")
    before = stream.to_bytes()
    with pytest.raises(InputError, match=message):
        call(stream)  # type: ignore[operator]
    assert stream.to_bytes() == before


@pytest.mark.parametrize(
    "wrong", [{"settle": 0.3}, {"settle": 2}, {"max_labels": 0}, {"idle": 0}, {"remember": -1}]
)
def test_rules_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        cs.Stream(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", [{}, {"max_labels": 4}, {"settle": 0.9, "max_labels": 6}])
@pytest.mark.parametrize("kind", [cs.Adaptive, cs.AgreementBased])
def test_many_labels_are_taken_as_one_by_one(
    kind: type[cs.Adaptive], rules: dict[str, float]
) -> None:
    crowd = Crowd(np.linspace(0.2, 0.9, 8), tasks=150, seed=4)
    rows = [(t, k, int(crowd.labels[t, k])) for t in range(150) for k in range(8)]
    one, many = cs.Stream(kind(), **rules), cs.Stream(kind(), **rules)  # type: ignore[arg-type]
    last = {row[0]: one.observe(*row, at=0) for row in rows}
    found: dict[cs.TaskId, cs.Decision] = {}
    for at in range(0, len(rows), 331):
        found |= {d.task: d for d in many.observe_many(rows[at : at + 331], at=0)}
    assert found == last
    assert one.to_bytes() == many.to_bytes()


CROWDS: dict[str, Callable[[], cs.Estimator]] = {
    "adaptive": cs.Adaptive,
    "monitored": lambda: cs.monitor(cs.Adaptive()),
    "short memory": lambda: cs.Adaptive(memory=10),
    "families": lambda: cs.Adaptive(families={"w0": "a", "w1": "a"}, ties="lowest"),
    "agreement": cs.AgreementBased,
    "majority": cs.MajorityVote,
}

RULES: dict[str, dict[str, float | int | None]] = {
    "settled or full": {"settle": 0.8, "max_labels": 4},
    "never settled": {"settle": None, "max_labels": 3},
    "forgotten at once": {"settle": 0.7, "min_labels": 1, "remember": 0},
    "some remembered": {"settle": 0.6, "max_labels": 2, "remember": 3},
    "given up": {"settle": 0.9, "max_labels": 4, "give_up": 0.5},
}

rows_of_labels = st.lists(
    st.tuples(
        st.integers(0, 12).map(lambda t: f"t{t}"),
        st.integers(0, 7).map(lambda w: f"w{w}"),
        st.sampled_from(["x", "x", "x", "x", "y", "y", "z", None]),
    ),
    max_size=120,
)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", CROWDS)
@settings(deadline=None, max_examples=12)
@given(rows_of_labels, st.integers(1, 40), st.booleans())
def test_any_rows_at_once_are_the_rows_one_by_one_to_the_bit(
    kind: str,
    rules: str,
    rows: list[tuple[str, str, str | None]],
    size: int,
    taught: bool,
) -> None:
    """Replaced, repeated, skipped and late labels, new workers and classes, tasks that close."""
    streams = []
    for _ in range(2):
        stream = cs.Stream(CROWDS[kind](), **RULES[rules])  # type: ignore[arg-type]
        if taught:  # a crowd that can be identified, gold among what it knows
            for t in range(40):
                stream.observe_many(
                    [(t, f"w{w}", "xy"[(t + (w + t > 43)) % 2]) for w in range(5)], 0
                )
                if t % 8 == 0:
                    stream.gold(t, "xy"[t % 2], at=0)
            stream.end()
        streams.append(stream)
    one, many = streams
    for at in range(0, len(rows), size):
        some = rows[at : at + size]
        found = many.observe_many(some, at=at)
        last = {task: one.observe(task, worker, label, at=at) for task, worker, label in some}
        assert found == list(last.values())
    assert one.to_bytes() == many.to_bytes()
    assert one.counts == many.counts
    restored = cs.Stream.load(many.to_bytes())
    assert restored.to_bytes() == many.to_bytes()
    assert restored.open_tasks == many.open_tasks
    assert restored.closed_tasks == many.closed_tasks


@pytest.mark.parametrize("workers", [20, 60])
@pytest.mark.parametrize("monitored", [False, True])
def test_long_streams_at_once_are_the_same_to_the_bit(workers: int, monitored: bool) -> None:
    """Long enough for all that is due now and then: renewals, looks, monitors, strengths."""
    rng = np.random.default_rng(workers)
    truth, skill = rng.integers(3, size=1500), rng.uniform(0.3, 0.95, workers)
    rows = []
    for n in range(9000):
        t = int(n / 7 + rng.exponential(15))
        w = int(rng.integers(workers))
        x = truth[t] if rng.random() < skill[w] else rng.integers(3)
        rows.append((f"t{t}", w, f"c{x}" if rng.random() < 0.98 else None))
    streams = []
    for many in (False, True):
        crowd = cs.monitor(cs.Adaptive()) if monitored else cs.Adaptive()
        stream = cs.Stream(crowd, settle=0.95, max_labels=6, remember=300)
        for at in range(0, len(rows), 500):
            if many:
                stream.observe_many(rows[at : at + 500], at=at)
            else:
                for row in rows[at : at + 500]:
                    stream.observe(*row, at=at)
            if at % 2000 == 0:
                stream.gold(rows[at][0], "c1", at=at)
        streams.append(stream)
    one, other = streams
    assert one.counts.closed > 1000
    assert one.counts == other.counts
    assert one.to_bytes() == other.to_bytes()


def test_a_bad_row_among_many_is_refused_before_any_is_taken() -> None:
    stream = cs.Stream(settle=None)
    before = stream.to_bytes()
    with pytest.raises(InputError, match="row 2, column 'worker'"):
        stream.observe_many([("t", "ann", "x"), ("t", None, "x")], at=0)
    assert stream.to_bytes() == before


@pytest.mark.parametrize("kind", [cs.Adaptive, cs.AgreementBased])
def test_a_task_counts_once_however_often_its_label_comes_and_goes(
    kind: type[cs.Estimator],
) -> None:
    stream = cs.Stream(kind())
    for _ in range(3):
        stream.observe("t", "ann", "x")
        stream.retract("t", "ann")
    stream.observe("skipped", "ann", None)
    stream.end()
    assert stream.crowd._model.sums.total.tolist() == [2.0, 0.0, 0.0]  # tasks, with labels, labels


def test_a_task_of_known_truth_needs_no_more_labels() -> None:
    stream = cs.Stream(max_labels=1)
    stream.gold("t", "x")
    assert stream.more_labels_needed("t") == 0
    stream.offer(["u"])
    assert stream.more_labels_needed("u") <= 1
    with pytest.raises(InputError, match="tasks"):
        stream.offer("t1")
    with pytest.raises(InputError, match="rows"):
        stream.observe_many(None)  # type: ignore[arg-type]


def test_more_rows_than_room_is_made_for_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(t % 50, f"w{t % 7}", "xy"[t % 3 == 0]) for t in range(400)]
    one, many = cs.Stream(max_labels=4), cs.Stream(max_labels=4)
    found = one.observe_many(rows, at=0)
    monkeypatch.setattr("crowdstream.stream.stream.PART", 30)
    assert many.observe_many(rows, at=0) == found
    assert one.to_bytes() == many.to_bytes()


def settling_stream(crowd: cs.Estimator | None = None) -> cs.Stream:
    """A stream whose crowd is known, and some of whose tasks are open."""
    stream = cs.Stream(crowd, settle=None)
    labels = Crowd(np.linspace(0.3, 0.9, 7), tasks=200, seed=1).labels
    for t in range(150):
        stream.observe_many([(t, f"w{w}", int(labels[t, w])) for w in range(7)], at=0)
        stream.close(t)
    for t in range(150, 200):
        rows = [(t, f"w{w}", int(labels[t, w])) for w in range(1 + t % 7)]
        stream.observe_many(rows, at=t)
    return stream


@pytest.mark.parametrize("kind", [cs.Adaptive, cs.AgreementBased, cs.MajorityVote])
def test_votes_come_in_order_and_add_up_to_the_log_odds(kind: type[cs.Estimator]) -> None:
    stream = settling_stream(kind())
    stream.observe(160, "late", None)
    before = stream.to_bytes()
    for task in stream.open_tasks:
        given, decision = stream.votes(task), stream.decision(task)
        assert [vote.worker for vote in given] == [f"w{w}" for w in range(decision.votes)]
        if kind is cs.MajorityVote:
            assert {vote.effect for vote in given} == {None}
            continue
        effects = [vote.effect for vote in given]
        assert all(effect is not None for effect in effects)
        odds = np.log(decision.confidence / (1 - decision.confidence))
        # Classes are about as frequent; a task's own labels tell of their workers here.
        assert sum(filter(None, effects)) == pytest.approx(odds, abs=0.35)
    assert stream.votes(3) == []
    assert stream.to_bytes() == before
    with pytest.raises(InputError, match="expected a task that was opened"):
        stream.votes("nobody's")


def test_the_most_uncertain_tasks_come_page_by_page() -> None:
    stream = settling_stream()
    stream.offer(["unlabelled"])
    stream.gold(155, 1)
    before = stream.to_bytes()
    pages = [stream.most_uncertain(7)]
    while pages[-1]:
        pages.append(stream.most_uncertain(7, after=pages[-1][-1]))
    found = [one for page in pages for one in page]
    assert [len(page) for page in pages] == [7] * 7 + [0]
    assert found == sorted(found, key=lambda one: (one.confidence, one.opened))
    assert {one.task for one in found} == set(stream.open_tasks) - {"unlabelled", 155}
    assert stream.to_bytes() == before
    assert stream.n_open == len(stream.open_tasks) == 51
    with pytest.raises(InputError, match="n: "):
        stream.most_uncertain(0)


def test_the_next_task_is_the_most_informative_that_a_worker_has_not_seen() -> None:
    stream = settling_stream()
    stream.gold(154, 0)
    for worker in ("w0", "w5", "somebody"):
        asked = [
            task
            for task in stream.open_tasks
            if task != 154 and worker not in {vote.worker for vote in stream.votes(task)}
        ]
        right = min(max(crowd_accuracy(stream.crowd, worker), 0.001), 0.999)
        gains = {
            one.task: cs.information(max(one.confidence, 0.5), right)
            for one in stream.most_uncertain(100)
        }
        best = max(asked, key=lambda task: gains[task], default=None)
        assert stream.next_task(worker) == best


def crowd_accuracy(crowd: cs.Estimator, worker: str) -> float:
    """How often a worker is right, of two classes."""
    return mean_accuracy(crowd) + (crowd.skill_of(worker) - crowd.skill_of(None)) / 2


def test_decisions_on_closed_are_those_of_tasks_that_are_remembered() -> None:
    stream = cs.Stream(max_labels=1, remember=2)
    for task in ("t1", "t2", 3):
        stream.observe(task, "ann", "spam")
    stream.offer(["open"])
    found = stream.decisions_on_closed(["t1", "open", 3, "t2", "t2", "never"])
    assert found == {task: stream.decision(task) for task in (3, "t2")}
    assert stream.decisions_on_closed([]) == {}
    with pytest.raises(cs.InputError, match="task"):
        stream.decisions_on_closed([None])  # type: ignore[list-item]
