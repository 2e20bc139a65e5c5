"""Adaptive: whom it trusts, how sure it is, what gold does."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.metrics import calibration_error, error_rate
from crowdstream.simulation import Simulated, jump, sine
from crowdstream_lab import datasets
from tests.insides import reading_of

DATA = os.environ.get("CROWDSTREAM_DATA", "")
needs_data = pytest.mark.skipif(
    not Path(DATA or "nowhere").is_dir(),
    reason="CROWDSTREAM_DATA does not name a folder of data sets",
)


def crowd_of(n: int, tasks: int, **asked: object) -> Simulated:
    return cs.simulate(n, tasks, **asked)  # type: ignore[arg-type]


def lead(block: Simulated) -> tuple[float, float]:
    """Adaptive's final error minus majority's on the same labels, and its standard error."""
    labels = block.labels()
    ours, majority = (kind().fit_predict(labels) for kind in (cs.Adaptive, cs.MajorityVote))
    both = ours.join(majority, on="task", suffix="_majority").join(
        block.truths().rename({"label": "truth"}), on="task"
    )
    missed, lost = (both[name] != both["truth"] for name in ("label", "label_majority"))
    gap = missed.to_numpy().astype(float) - lost.to_numpy()
    return float(gap.mean()), float(gap.std() / np.sqrt(gap.size))


# Whom to trust -------------------------------------------------------------------------------


ONE_SIDED = np.array([[[0.95, 0.05], [0.55, 0.45]]] * 20)
CONSTANT = np.array([[[0.8, 0.2], [0.2, 0.8]]] * 14 + [[[1.0, 0.0], [1.0, 0.0]]] * 6)


@pytest.mark.parametrize(
    "asked",
    [
        {"p": 0.3},
        {"p": 0.2, "balance": [0.95, 0.05]},
        {"confusions": CONSTANT},
        {"p": 0.25, "adversaries": 0.2},
        {"p": 0.25, "adversaries": 0.4},
        {"p": 0.4, "classes": 20},
        {"q": 0.35},
        {"q": 0.35, "classes": 4},
    ],
    ids=["equals", "95:5", "parrots", "adversaries", "many adversaries", "K=20", "spammers", "K=4"],
)
def test_never_worse_than_majority_by_more_than_noise(asked: dict[str, object]) -> None:
    found = [lead(crowd_of(20, 2000, per_task=5, seed=s, **asked)) for s in range(3)]
    gap = float(np.mean([g for g, _ in found]))
    noise = float(np.sqrt(np.mean([e**2 for _, e in found]) / len(found)))
    # Three standard errors of the mean difference, and a quarter of a point that learning costs.
    assert gap <= 3 * noise + 0.0025


def test_a_hundred_thousand_unknown_workers_get_majority_vote() -> None:
    gap, noise = lead(crowd_of(100_000, 20_000, p=0.3, per_task=5, seed=1))
    assert abs(gap) <= 3 * noise + 1e-3


@pytest.mark.parametrize("order", ["class", "worker"])
def test_sorted_arrival_does_not_flip_the_labels(order: str) -> None:
    block = crowd_of(20, 2000, q=0.3, per_task=5, seed=2)
    labels = block.labels()
    if order == "class":
        truths = block.truths().rename({"label": "truth"})
        labels = labels.join(truths, on="task", maintain_order="left").sort("truth").drop("truth")
    else:
        labels = labels.sort("worker", maintain_order=True)
    majority = error_rate(cs.MajorityVote().fit_predict(labels), block.truths())
    assert error_rate(cs.Adaptive().stream_many(labels), block.truths()) < majority


def test_who_always_says_the_same_has_no_weight() -> None:
    people = cs.Adaptive()
    people.learn_many(crowd_of(20, 1000, confusions=CONSTANT, per_task=5).labels())
    weights = people.workers().sort("worker")["weight"].to_numpy()
    # A vote of the accurate weighs log 4 at the cap; noise of some 250 answers is about 0.2.
    assert weights[14:].max() < 0.3 < weights[:14].min()


def test_error_rates_are_those_of_the_crowd() -> None:
    rates = np.linspace(0.05, 0.45, 10)
    crowd = cs.Adaptive()
    crowd.learn_many(crowd_of(10, 5000, p=rates).labels())
    found = crowd.workers().sort("worker")["error_rate"].to_numpy()
    # 5,000 answers have a standard error of 0.007; the teacher's cap biases the posteriors it
    # teaches with towards doubt, which shows as up to three points.
    assert found == pytest.approx(rates, abs=0.04)


def test_confusions_that_differ_by_class_are_used() -> None:
    # Half see every positive and cry wolf, half miss most and never do: majority vote cannot know.
    wolf, deaf = [[0.6, 0.4], [0.02, 0.98]], [[0.98, 0.02], [0.6, 0.4]]
    block = crowd_of(10, 4000, confusions=np.array([wolf, deaf] * 5), per_task=5, seed=4)
    majority = error_rate(cs.MajorityVote().fit_predict(block.labels()), block.truths())
    ours = error_rate(cs.Adaptive().fit_predict(block.labels()), block.truths())
    assert ours < majority - 0.01


@needs_data
@pytest.mark.parametrize(("name", "most"), [("rte", 0.08), ("web", 0.20), ("trec", 0.32)])
def test_real_crowds_are_decided_better_than_by_majority(name: str, most: float) -> None:
    data = datasets.load(name)
    crowd = cs.Adaptive()
    online = error_rate(crowd.stream_many(data.labels), data.gold)
    final = error_rate(crowd.predict_many(data.labels), data.gold)
    # Measured on web 0.193 online and 0.176 in the end; majority 0.103, 0.269 and 0.349.
    assert max(online, final) <= most


# How sure ------------------------------------------------------------------------------------


def test_confidence_is_good_where_labellers_err_independently() -> None:
    found = []
    for seed in range(3):
        block = crowd_of(20, 3000, q=0.3, per_task=5, seed=seed)
        found.append(calibration_error(cs.Adaptive().fit_predict(block.labels()), block.truths()))
    assert np.mean(found) < 0.04  # 0.02 measured, as much again is noise of 3,000 tasks


@needs_data
def test_confidence_is_lowered_where_labellers_err_together() -> None:
    for name in ("weather", "llm_relevance"):
        data = datasets.load(name)
        ours, plain = (
            kind().fit_predict(data.labels).join(data.gold.select("task"), on="task")
            for kind in (cs.Adaptive, cs.AgreementBased)
        )
        # How much surer decisions are than they are right. Not the calibration error: with twenty
        # labels a task the discount goes too far on weather.
        error = error_rate(cs.Adaptive().fit_predict(data.labels), data.gold)
        above = [float(table["confidence"].mean()) - (1 - error) for table in (ours, plain)]
        assert above[0] < above[1] - 0.1
        assert above[1] > 0.1


@needs_data
def test_a_few_gold_tasks_recalibrate_the_others() -> None:
    data = datasets.load("medical_cause")
    rng = np.random.default_rng(0)
    given = data.gold.filter(pl.Series(rng.random(data.gold.height) < 0.05))
    rest = data.gold.join(given, on="task", how="anti")
    without = cs.Adaptive().fit_predict(data.labels)
    with_gold = cs.Adaptive().fit_predict(data.labels, gold=given)
    assert calibration_error(with_gold, rest) < calibration_error(without, rest) - 0.05
    again = cs.Adaptive(seed=1).fit_predict(data.labels, gold=given)
    assert (with_gold["label"] != again["label"]).sum() < 10, "recalibration leaves no coins"
    assert error_rate(with_gold, rest) < error_rate(without, rest) + 0.01


# Gold, forgetting, merging, taking back --------------------------------------------------------


def test_gold_fixes_the_sign_of_a_hostile_crowd() -> None:
    block = crowd_of(7, 2000, p=0.8, seed=5)
    gold = block.truths().head(400)
    rest = block.truths().tail(1600)
    plain = error_rate(cs.Adaptive().fit_predict(block.labels()), rest)
    told = error_rate(cs.Adaptive().fit_predict(block.labels(), gold=gold), rest)
    assert plain > 0.9
    assert told < 0.1


def test_decisions_on_gold_tasks_are_the_gold() -> None:
    rows = [("t", who, "no") for who in ("ann", "bob", "cy")] + [("u", "ann", "no")]
    table = cs.Adaptive().fit_predict(rows, gold={"t": "yes"})
    assert table.select("label", "confidence").rows()[0] == ("yes", 1.0)
    assert table["label"].to_list()[1] in ("yes", "no")


@pytest.mark.parametrize("gold", [["t"], pl.DataFrame({"task": ["t"]}), {"t": 0.5}])
def test_gold_that_makes_no_sense_is_refused(gold: object) -> None:
    with pytest.raises(InputError):
        cs.Adaptive().learn_many([("t", "ann", "x")], gold=gold)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [cs.AgreementBased, cs.CentredAgreement, cs.Adaptive])
def test_gold_in_a_table_is_gold_task_by_task(kind: type[cs.Adaptive]) -> None:
    block = crowd_of(5, 40, p=0.3, seed=6)
    gold = {row[0]: row[1] for row in block.truths().head(10).iter_rows()}
    many, one = kind(), kind()
    many.learn_many(block.labels(), gold=gold)
    for (task,), part in block.labels().group_by("task", maintain_order=True):
        answers = dict(part.select("worker", "label").iter_rows())
        one.learn_one(answers, gold=gold.get(str(task)))
    # Intervals see a table at once, so they are those of another moment.
    drop = ["error_low", "error_high", "flags"]
    assert many.workers().drop(drop).equals(one.workers().drop(drop))


def test_forgetting_follows_labellers_who_change() -> None:
    block = crowd_of(10, 4000, p=0.25, drift=sine(0.01), seed=7)
    late = block.truths().tail(3000)
    short, long = (
        error_rate(cs.Adaptive(memory=memory).stream_many(block.labels()), late)
        for memory in (30, 3000)
    )
    # Measured 0.004 and 0.02.
    assert short < 0.5 * long


def test_long_forgetting_stays_finite_and_true() -> None:
    block = crowd_of(5, 3000, p=np.array([0.1, 0.1, 0.1, 0.5, 0.5]), drift=jump(1500, 0.2))
    crowd = cs.Adaptive(memory=5)  # the weight of a task grows by 10^290 on the way
    assert crowd.stream_many(block.labels())["confidence"].is_finite().all()
    assert np.isfinite(crowd.workers()["error_rate"].to_numpy()).all()


def test_merged_halves_decide_nearly_as_one_pass() -> None:
    labels = crowd_of(15, 2000, q=0.35, per_task=5, seed=8).labels()
    one, left, right = cs.Adaptive(), cs.Adaptive(), cs.Adaptive()
    one.learn_many(labels)
    left.learn_many(labels[:5000])
    right.learn_many(labels[5000:])
    left += right
    assert left.tasks_ == one.tasks_
    same = one.predict_many(labels)["label"] == left.predict_many(labels)["label"]
    # Each half started anew: decisions near a tie differ, 0.4 % of them on real crowds.
    assert same.mean() > 0.97


def test_merging_knows_workers_and_classes_by_their_names() -> None:
    one, other = cs.Adaptive(), cs.Adaptive()
    for _ in range(30):
        one.learn_one({"ann": "a", "bob": "a", "cy": "a"})
        one.learn_one({"ann": "b", "bob": "b", "cy": "a"})
        other.learn_one({"di": "b", "bob": "b", "ann": "b"})
        other.learn_one({"di": "a", "bob": "c", "ann": "c"})
    one += other
    assert one.classes_ == ["a", "b", "c"]
    assert one.predict_one({"ann": "c", "bob": "c"}) == "c"
    assert one.skill_of("di") < one.skill_of("ann")


def test_a_stream_in_any_order_of_labels_learns_nearly_the_same() -> None:
    block = crowd_of(6, 60, p=0.2, seed=9)
    rows = list(block.labels().iter_rows())
    stream = cs.Stream(cs.Adaptive(), max_labels=6, settle=None)
    order = np.random.default_rng(0).permutation(len(rows))
    for k in order:
        stream.observe(*rows[k])
    assert stream.counts.closed == 60
    once = cs.Adaptive()
    once.learn_many(rows)
    answers = stream.crowd.workers().sort("worker")["answers"].to_list()
    assert answers == once.workers().sort("worker")["answers"].to_list()
    # The labels came in another order, so the sums differ as with any order of the tasks.
    gap = (
        stream.crowd.workers().sort("worker")["error_rate"]
        - once.workers().sort("worker")["error_rate"]
    )
    assert gap.abs().max() < 0.05


def test_doubt_never_makes_a_tie_of_a_clear_decision() -> None:
    # Copied labels make the dependence test doubt; a skilled minority then wins by little.
    block = crowd_of(
        9, 1500, p=[0.05, 0.05, *[0.45] * 7], copying={8: (7, 0.9), 6: (7, 0.9)}, seed=3
    )
    table = cs.Adaptive().fit_predict(block.labels())
    other = cs.Adaptive(seed=1).fit_predict(block.labels())
    assert (table["label"] == other["label"]).all()
    assert (table["margin"] > 0).all()


@pytest.mark.parametrize(("share", "per_task"), [(0.3, 20), (0.4, 5), (0.4, 20)])
def test_a_large_minority_of_adversaries_does_not_turn_the_crowd(
    share: float, per_task: int
) -> None:
    for seed in (1, 4, 7, 9):  # without the check of the mean skill, two or three of these flip
        block = crowd_of(20, 2000, p=0.25, adversaries=share, per_task=per_task, seed=seed)
        labels, truths = block.labels(), block.truths()
        majority = error_rate(cs.MajorityVote().fit_predict(labels), truths)
        assert error_rate(cs.Adaptive().fit_predict(labels), truths) < majority


@pytest.mark.parametrize("memory", [2, 5, 20])
@pytest.mark.parametrize("kind", [cs.Adaptive, cs.CentredAgreement, cs.AgreementBased])
def test_a_short_memory_neither_overflows_nor_flips(kind: type[cs.Adaptive], memory: int) -> None:
    block = crowd_of(10, 1500, p=0.25, seed=3)
    wrong = cs.metrics.error_rate(kind(memory=memory).stream_many(block.labels()), block.truths())
    majority = cs.metrics.error_rate(cs.MajorityVote().fit_predict(block.labels()), block.truths())
    # A few tasks cannot tell equals apart; a flip would err on most of the tasks.
    assert wrong < majority + 0.05


def test_another_vote_for_the_winner_never_lowers_its_confidence() -> None:
    rows = [(t, who, t % 2) for t in range(40) for who in ("ann", "bob", "cy")]
    crowd = cs.Adaptive().fit(rows + [(t, "parrot", 0) for t in range(40)])
    # As if they erred together far more than confidence can be lowered.
    reading_of(crowd).rho = 0.4
    said: dict[str, int] = {}
    confidences = []
    for who in ("ann", "bob", "cy"):
        said[who] = 1
        confidences.append(crowd.decide_one(said).confidence)
    assert crowd._model.excess_correlation > 0.25, "or this proves nothing"
    assert confidences == sorted(confidences)


@pytest.mark.parametrize("seed", range(4))
def test_workers_who_never_err_are_not_taken_to_err_together(seed: int) -> None:
    """What rounding leaves of their errors is alike: once, nothing settled before all answered."""
    draw = random.Random(seed)
    stream = cs.Stream(settle=0.95)
    for task in range(300):
        truth = draw.randrange(2)
        for worker in draw.sample(range(12), 12):
            decision = stream.observe(task, f"w{worker}", truth, at=0)
            assert decision.label == truth, "no noise is not no number"
            if decision.closed:
                break
    assert stream.crowd.dependence_.verdict != "together"
    assert stream.counts.labels < 3 * 300
