"""What once went wrong, or nearly did."""

from __future__ import annotations

import enum
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.decisions.decision import Vote
from crowdstream.errors import InputError, MergeError
from crowdstream.estimators.open_tasks import OpenTasks
from crowdstream.labels.open_task import OpenTask
from tests.simulated import Crowd


def test_predicting_for_strangers_reads_nothing_past_the_crowd() -> None:
    # More labellers than fit the cache, so that records are read ahead.
    def table(n: int, first: int) -> pl.DataFrame:
        rows = np.arange(n)
        return pl.DataFrame({"task": rows // 5, "worker": rows + first, "label": rows % 2})

    crowd = cs.MajorityVote()
    crowd.learn_many(table(6_000, 0))
    assert crowd.predict_many(table(50_000, 10**6)).height == 10_000


def test_text_that_cannot_be_written_is_refused() -> None:
    crowd = cs.AgreementBased()
    crowd.learn_one({"a": "x"})
    with pytest.raises(InputError, match="text that can be written"):
        crowd.learn_one({"a": "\ud800"})
    with pytest.raises(InputError, match="text that can be written"):
        crowd.learn_one({"\ud800": "x"})
    assert crowd.predict_one({"a": "x"}) == "x"
    assert cs.Estimator.load(crowd.to_bytes()).classes_ == ["x"]


def test_an_open_task_survives_being_almost_forgotten() -> None:
    stream = cs.Stream(cs.AgreementBased(memory=10), settle=None)
    stream.observe("old", "ann", "x", at=0)
    for t in range(400):
        stream.observe(t, "bob", "x", at=0)
    stream.observe("new", "ann", "x", at=0)
    stream.retract("new", "ann")
    assert stream.observe("old", "cy", "y", at=0).votes == 2
    assert len(stream.end()) == 402
    assert (stream.crowd.workers()["answers"] >= 0).all()


def test_gold_weighs_two_labellers_whom_agreement_cannot() -> None:
    crowd = cs.AgreementBased()
    for i in range(200):
        crowd.learn_one({"good": i % 2, "bad": 1 - i % 2}, gold=i % 2)
    assert crowd.predict_one({"good": 1, "bad": 0, "new": 0}) == 1
    rates = dict(crowd.workers().select("worker", "error_rate").rows())
    assert rates["good"] < 0.1
    assert rates["bad"] > 0.9
    assert crowd.identifiable_ == (True, "only by the truths that were given")


def test_merging_leaves_open_tasks_their_places() -> None:
    def taught(seed: int) -> cs.AgreementBased:
        crowd = cs.AgreementBased(memory=10)
        crowd.learn_many(Crowd(np.full(5, 0.6), tasks=50, seed=seed).table())
        return crowd

    stream = cs.Stream(taught(0), settle=None)
    for who in range(5):
        stream.observe("open", who, 1)
    stream.crowd += taught(1)
    for who in range(5):
        stream.retract("open", who)
    wanted = taught(0)
    wanted.learn_one(dict.fromkeys(range(5), 1))
    wanted += taught(1)
    # The task's place stays behind, empty; its answers are gone.
    assert np.allclose(stream.crowd.workers()["answers"], wanted.workers()["answers"] - 1)


def test_the_largest_group_is_found_anew_when_the_first_shrinks() -> None:
    crowd = cs.AgreementBased()
    small, large = (Crowd(np.full(4, 0.7), tasks=t, seed=t) for t in (200, 300))
    others: list[cs.Answers] = [
        {f"b{who}": x for who, x in told.items()} for told in large.answers()
    ]
    for told in others:
        crowd.learn_one(told)
    for other in small.answers():
        crowd.learn_one(other)
    assert not crowd.identifiable_
    for told in others:
        crowd.unlearn_one(told)
    assert crowd.identifiable_


def test_two_estimators_cannot_share_a_name() -> None:
    with pytest.raises(TypeError, match="an estimator named MajorityVote already"):

        class MajorityVote(cs.AgreementBased):
            pass


@pytest.mark.parametrize("memory", [100, 1000])
def test_forgetting_streams_decide_as_stream_many(memory: float) -> None:
    crowd = Crowd(np.linspace(0.3, 0.9, 6), tasks=120, seed=2)
    stream = cs.Stream(cs.AgreementBased(memory=memory), settle=None)
    said = []
    for t, answers in enumerate(crowd.answers()):
        for who, label in answers.items():
            stream.observe(t, who, label)
        said.append(stream.close(t).confidence)
    table = cs.AgreementBased(memory=memory).stream_many(crowd.table())
    # The first tasks bring the workers and classes themselves. In a stream the open task is the
    # newest, so that pseudo-answers count for 1/memory more.
    assert np.allclose(said[5:], table["confidence"][5:], atol=2 / memory)


def test_numpy_arguments_can_be_saved() -> None:
    crowd = cs.AgreementBased(memory=np.float64(10), seed=np.int64(3))  # type: ignore[arg-type]
    assert cs.Estimator.load(crowd.to_bytes()).get_params() == crowd.get_params()
    stream = cs.Stream(max_labels=np.int64(3), remember=np.int64(5), settle=None)  # type: ignore[arg-type]
    assert cs.Stream.load(stream.to_bytes()).remember == 5


def test_large_integers_of_both_signs_are_told_apart_as_text() -> None:
    crowd = cs.MajorityVote()
    table = crowd.fit_predict([(-1, 2**63, 1), (2**64 - 1, -5, 1)])
    assert table["task"].to_list() == ["-1", str(2**64 - 1)]
    assert crowd.workers()["worker"].to_list() == [str(2**63), "-5"]
    positive = crowd.fit_predict([(2**63, 1, 1)])
    assert positive["task"].to_list() == [2**63]


def test_an_enum_of_strings_is_its_value() -> None:
    class Colour(str, enum.Enum):  # noqa: UP042 the kind whose str() is its name
        RED = "red"

    crowd = cs.MajorityVote()
    crowd.learn_one({"a": Colour.RED, "b": "red"})
    assert crowd.classes_ == ["red"]


def test_columns_of_128_bits_are_held_to_64() -> None:
    frame = pl.DataFrame({"task": [1], "worker": ["a"], "label": [7]})
    crowd = cs.MajorityVote()
    crowd.learn_many(frame.with_columns(pl.col("label").cast(pl.Int128)))
    assert crowd.classes_ == [7]
    with pytest.raises(InputError, match="row 1, column 'label': expected an integer of 64 bits"):
        crowd.learn_many(frame.with_columns(pl.lit(2**100).cast(pl.Int128).alias("label")))


def test_other_columns_may_hold_anything() -> None:
    frame = pd.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]})
    frame["junk"] = [object(), 1j]
    assert cs.MajorityVote().fit_predict(frame)["label"].to_list() == ["x"]


def test_a_task_whose_rows_name_no_worker_is_one_that_nobody_answered() -> None:
    crowd, rows = cs.AgreementBased(), [(1, None, "x"), (2, "a", "x")]
    with pytest.raises(cs.InputError, match="row 1: expected a task and a worker"):
        crowd.stream_many(rows)
    table = crowd.stream_many(rows, on_error="skip")
    assert table["label"].to_list() == [None, "x"]
    assert crowd._model.sums.total.tolist() == [2, 1, 1], "of two tasks one has a label"
    assert crowd.intake_.null_worker == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda crowd: crowd.unlearn_one({"never": None}),
        lambda crowd: crowd.unlearn_one({"a": "x"}, gold="x"),
        lambda crowd: crowd.unlearn_one({"a": "y"}),
        lambda crowd: crowd.workers(level=95),
        lambda crowd: crowd.workers(costs={"x": {"never": 1}}),
        lambda crowd: crowd.stream_many([(1, "a", "x")], settle=95),
        lambda crowd: crowd.stream_many([(1, "a", "x")], settle=0.4),
    ],
)
def test_misuse_is_refused_and_changes_nothing(call: object) -> None:
    crowd = cs.AgreementBased()
    crowd.learn_one({"a": "x", "b": "y"})
    before = crowd.to_bytes()
    with pytest.raises(InputError):
        call(crowd)  # type: ignore[operator]
    assert crowd.to_bytes() == before


def test_faded_tasks_cannot_be_taken_back_one_after_the_other() -> None:
    crowd = cs.AgreementBased(memory=10)
    tasks = list(Crowd(np.full(3, 0.6), tasks=3000).answers())
    for told in tasks:
        crowd.learn_one(told)
    refused = 0
    for told in reversed(tasks):
        try:
            crowd.unlearn_one(told)
        except InputError:
            refused += 1
        assert (crowd.workers()["answers"] < 20).all(), "about 1/β answers at the most"
    assert refused


def test_a_stream_that_fails_half_way_has_learnt_nothing() -> None:
    class Fragile(OpenTasks):
        def put(self, task: OpenTask, worker: cs.WorkerId, label: cs.ClassLabel | None) -> Vote:
            if task.size == 2:
                raise RuntimeError("no")
            return super().put(task, worker, label)

    stream = cs.Stream(cs.MajorityVote(), settle=None)
    stream._row_by_row, stream._tasks = True, Fragile(stream.crowd)
    stream.observe("t", "ann", "x", at=0)
    stream.observe("t", "bob", "x", at=0)
    before = stream.to_bytes()
    with pytest.raises(RuntimeError, match="no"):
        stream.observe("t", "cy", "x", at=0)
    assert stream.to_bytes() == before


def test_a_time_without_end_is_refused() -> None:
    stream = cs.Stream(idle=5, settle=None)
    with pytest.raises(InputError, match="at: expected seconds or a datetime, found inf"):
        stream.observe("t", "ann", "x", at=float("inf"))
    assert stream.observe("t", "ann", "x", at=np.int64(5)).votes == 1  # type: ignore[arg-type]


def test_what_was_never_learnt_cannot_be_taken_back() -> None:
    crowd = cs.AgreementBased()
    crowd.learn_one({"a": "x", "b": "y"}, gold="x")
    crowd.learn_one({"a": "y", "c": "x"})
    before = crowd.to_bytes()
    with pytest.raises(InputError, match="learnt"):
        crowd.unlearn_one({"a": "x", "b": "y"}, gold="y")  # another truth
    with pytest.raises(InputError, match="learnt"):
        crowd.unlearn_one({"a": "x", "c": "x"})  # answers of two tasks
    assert crowd.to_bytes() == before


def test_a_monitored_crowd_is_not_merged_with_one_nobody_watched() -> None:
    one, other = cs.monitor(cs.Adaptive()), cs.Adaptive()
    other.learn_one({"a": 1, "b": 1})
    with pytest.raises(MergeError, match="without Pairs, Agreement"):
        one += other


def test_every_table_decided_as_a_whole_by_majority_says_so() -> None:
    rows = [(t, who, t % 2) for t in range(9) for who in "xy"]
    crowd = cs.Adaptive()
    for verb in ("fit_predict", "fit_predict_proba", "predict_many", "predict_proba_many"):
        with pytest.warns(cs.NotIdentifiable, match="fewer than three workers") as found:
            getattr(crowd, verb)(rows)
        assert found[0].filename == __file__


def test_an_estimator_of_ones_own_may_have_parameters() -> None:
    class Weighted(cs.DictEstimator):
        def __init__(self, k: int = 3) -> None:
            self.k = k

        def predict_proba_one(self, answers: cs.Answers) -> dict[cs.ClassLabel, float]:
            if self.k > 100:
                return {"x": float("nan")}
            return {label: self.k for label in answers.values() if label is not None}

    assert Weighted(k=7).clone().get_params() == {"k": 7}
    assert Weighted(k=7).fit([("t", "a", "x")]).k == 7
    with pytest.raises(InputError, match="predict_proba_one"):
        Weighted(k=101).predict_one({"a": "x"})


def test_questions_from_several_threads_are_answered_alike() -> None:
    rows = [(t, f"w{w}", (t * w) % 3) for t in range(50) for w in range(1, 8)]
    crowd = cs.Adaptive().fit(rows)
    asked = [{f"w{w}": (w * k) % 3 for w in range(1, 8)} for k in range(20)]
    alone = [crowd.predict_proba_one(answers) for answers in asked]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(crowd.predict_proba_one, asked * 50))
    assert together == alone * 50


@pytest.mark.parametrize(
    "crowd",
    [cs.AgreementBased(), cs.AgreementBased(memory=50), cs.CentredAgreement(memory=50)],
    ids=repr,
)
def test_very_many_classes_are_followed_task_by_task(crowd: cs.Estimator) -> None:
    """A part of the tasks was scored before any of it was learnt, and in units of its first."""
    rng = np.random.default_rng(0)
    skill, rows = rng.uniform(0.4, 0.9, 30), []
    for t in range(150):
        truth = rng.integers(130)
        for w in rng.choice(30, 4, replace=False).tolist():
            said = truth if rng.random() < skill[w] else rng.integers(130)
            rows.append((f"t{t}", f"w{w}", f"c{said}"))
    one, many = crowd.clone(), crowd.clone()
    for each in (one, many):
        for k in range(130):
            each.learn_one({f"w{k % 30}": f"c{k}"})
    answers: dict[str, dict[str, str]] = {}
    for task, worker, label in rows:
        answers.setdefault(task, {})[worker] = label
    wanted = []
    for task, given in answers.items():
        wanted.append(one.decide_one(given, task=task).confidence)
        one.learn_one(given)
    found = many.stream_many(rows, as_classes=True)["confidence"].to_numpy()
    assert one.many_classes_
    assert found == pytest.approx(wanted, abs=1e-12)  # weights are a product or a power
    assert max(wanted) > 0.9, "votes are weighed"
