"""Thousands of classes: bounded memory, decisions between the classes themselves, nothing lost."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream import monitoring
from crowdstream.estimators.adaptive import Adaptive
from crowdstream.labels import Vocabulary
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.folding import MOST_CLASSES, PLACES, Folding
from crowdstream.models import independence, passes, reading
from crowdstream.sums import confusions

KINDS: list[type[cs.Estimator]] = [
    cs.Adaptive,
    cs.AgreementBased,
    cs.CentredAgreement,
    cs.MajorityVote,
]
WEIGHING = KINDS[:-1]


@pytest.fixture(autouse=True)
def _expected() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.ManyClasses)
        warnings.simplefilter("ignore", cs.NotIdentifiable)
        yield


@cache
def simulated(
    classes: int, tasks: int = 400, workers: int = 20, per_task: int = 5, seed: int = 0
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Labels and truths; classes are Zipf-like, workers right with 0.4 to 0.95, errors anything."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, classes + 1)
    truths = rng.choice(classes, tasks, p=share / share.sum())
    truths[:classes] = np.arange(min(classes, tasks))
    who = np.argsort(rng.random((tasks, workers)), axis=1)[:, :per_task]
    right = rng.random(who.shape) < rng.uniform(0.4, 0.95, workers)[who]
    said = np.where(right, truths[:, None], rng.integers(0, classes, who.shape))
    task = np.repeat(np.arange(tasks), per_task)
    rows = zip(task.tolist(), who.ravel().tolist(), said.ravel().tolist(), strict=True)
    table = [(f"t{t}", f"w{w}", f"c{x}") for t, w, x in rows]
    labels = pl.DataFrame(table, ["task", "worker", "label"], orient="row")
    return labels, {f"t{t}": f"c{x}" for t, x in enumerate(truths.tolist())}


def errors(decisions: pl.DataFrame, truths: dict[str, str]) -> float:
    return float(np.mean([truths[task] != x for task, x in decisions[["task", "label"]].rows()]))


def sums_of(crowd: cs.Estimator) -> list[bytes]:
    """The agreement sums of workers by name, whatever order they came in."""
    order = np.argsort(crowd.workers_)
    return [crowd._model.sums.rows[order].tobytes(), crowd._model.sums.shares.tobytes()]


def alike(one: cs.Estimator, other: cs.Estimator) -> None:
    """What both learnt is the same, but for where the limit was crossed.

    Before, labels agree if they are the same; after, if their places are, as by chance 1 in 64 that
    differ are: agreements may differ by that share of the disagreements, and as much again by luck.
    """
    mine, theirs = (crowd._model.sums.rows[np.argsort(crowd.workers_)] for crowd in (one, other))
    agree, met = mine[:, 0], mine[:, 1]
    assert (mine[:, 1:5] == theirs[:, 1:5]).all()
    assert (mine[:, 5 : 5 + 2 * PLACES] == theirs[:, 5 : 5 + 2 * PLACES]).all()  # said, own
    assert (np.abs(agree - theirs[:, 0]) <= 4 / PLACES * (met - agree) + 3).all()
    assert np.abs(agree - theirs[:, 0]).sum() <= 2 / PLACES * (met - agree).sum()
    assert (one._model.sums.total == other._model.sums.total).all()


# Memory ------------------------------------------------------------------------------------------

IN_LITTLE_MEMORY = """
import sys, warnings
import numpy as np, polars as pl, crowdstream as cs
warnings.simplefilter("ignore")

def measure(kind, classes, tasks, per_task):
    rng = np.random.default_rng(0)
    truths = rng.permutation(np.arange(tasks) % classes if classes < tasks else
                             rng.integers(0, classes, tasks))
    said = np.where(rng.random((tasks, per_task)) < 0.6, truths[:, None],
                    rng.integers(0, classes, (tasks, per_task)))
    who = (np.arange(tasks)[:, None] * 7 + np.arange(per_task) * 11) % 300
    table = pl.DataFrame({"task": np.repeat(np.arange(tasks), per_task), "worker": who.ravel(),
                          "label": said.ravel()})
    crowd = cs.monitor(getattr(cs, kind)())
    found = crowd.fit_predict(table, as_classes=True)["label"].to_numpy()
    workers = crowd.workers()
    cs.pairs(crowd), cs.alarms(crowd), cs.difficulty(crowd, table)
    crowd.to_bytes()
    status = open("/proc/self/status").read()  # what was there before exec does not count
    peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
    print(peak, (found != truths).mean(), workers.height, len(crowd.classes_))

for job in sys.argv[1:]:
    kind, *size = job.split()
    measure(kind, *map(int, size))
"""

Measured = tuple[float, float, int, int]
"""Peak memory in MB, error rate, workers and classes."""

JOBS = {kind.__name__: "6000 10000 5" for kind in KINDS}
AS_MANY = "Adaptive 1000000000 50000 2"
"""Classes, tasks and labels of a task; as many classes as labels come last, being the largest."""


@pytest.fixture(scope="module")
def measured() -> dict[str, Measured]:
    """Measure estimators one after the other in a process; a peak counts for all after it."""
    jobs = [*(f"{name} {size}" for name, size in JOBS.items()), AS_MANY]
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, *jobs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    made = {}
    for job, line in zip([*JOBS, AS_MANY], done.stdout.splitlines(), strict=True):
        peak, error, workers, classes = line.split()
        made[job] = float(peak), float(error), int(workers), int(classes)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_6000_classes_need_no_more_memory_than_the_labels(
    kind: type[cs.Estimator], measured: dict[str, Measured]
) -> None:
    peak, error, workers, classes = measured[kind.__name__]
    assert (workers, classes) == (300, 6000)
    # Python with polars takes 150 MB; confusions of 300 workers would take 86 GB each.
    assert peak < 500
    assert error < 0.1  # 0.07: of five labels, at most one is right in 0.087 of the tasks


def test_as_many_classes_as_labels_need_bounded_memory(measured: dict[str, Measured]) -> None:
    peak, _, workers, classes = measured[AS_MANY]
    assert workers == 300
    assert classes > 65_000
    assert peak < 400  # 200 with Python and polars; n × K sums would take 450 MB more


# Decisions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WEIGHING)
def test_weighed_votes_beat_majority_among_many_classes(kind: type[cs.Estimator]) -> None:
    labels, truths = simulated(1500, tasks=3000, per_task=3)
    weighed = errors(kind().fit_predict(labels), truths)
    counted = errors(cs.MajorityVote().fit_predict(labels), truths)
    assert weighed < counted - 0.02  # 0.13 against 0.18 on a crowd like this


def test_the_switch_costs_little_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, truths = simulated(MOST_CLASSES + 20, tasks=2000, per_task=5)
    shared = errors(cs.Adaptive().fit_predict(labels), truths)
    monkeypatch.setattr(cs.Adaptive, "shares_places", False)
    full = errors(cs.Adaptive().fit_predict(labels), truths)
    assert shared < full + 0.01  # the standard error of their difference is about 0.005


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ties", ["coin", "lowest"])
def test_majority_of_a_task_is_a_class_that_was_named(kind: type[cs.Estimator], ties: Any) -> None:
    labels, _ = simulated(2000, tasks=400, per_task=3)
    crowd = kind(ties=ties)
    named = labels.group_by("task").agg(pl.col("label").alias("named"))
    for decisions in (crowd.fit_predict(labels, as_classes=True), crowd.stream_many(labels)):
        both = decisions.join(named, on="task")
        assert both.select(pl.col("label").is_in("named").all()).item()
        assert both["confidence"].is_between(0, 1).all()


def test_classes_that_share_a_place_are_two_in_a_task() -> None:
    names = [f"c{number}" for number in range(1000)]
    folding = Folding()
    folding.update(Vocabulary(names))
    homes = folding.homes(1000)
    one, other = next((a, b) for a in range(99) for b in range(a + 1, 99) if homes[a] == homes[b])
    crowd = cs.MajorityVote()
    crowd.learn_many([("seen", f"w{i}", x) for i, x in enumerate(names)], as_classes=True)
    answers = {"ann": names[one], "bob": names[other], "cy": names[other], "di": names[one]}
    votes = crowd.predict_proba_one(answers)
    assert votes[names[one]] == votes[names[other]] < 0.1  # not four votes for one class
    assert crowd.predict_one({**answers, "ed": names[other]}) == names[other]


def test_the_lowest_of_tied_classes_wins_where_that_is_the_rule() -> None:
    names = [f"c{number:04}" for number in range(500)]
    crowd = cs.MajorityVote(ties="lowest")
    crowd.learn_many([("seen", f"w{i}", x) for i, x in enumerate(names)], as_classes=True)
    for pair in (("c0400", "c0007"), ("c0123", "c0124"), ("c0499", "c0000")):
        assert crowd.predict_one({"ann": pair[0], "bob": pair[1]}) == min(pair)
        rows = [("t", "ann", pair[0]), ("t", "bob", pair[1])]
        assert crowd.predict_many(rows)["label"].item() == min(pair)


def test_the_coin_does_not_depend_on_the_order_of_labels() -> None:
    labels, _ = simulated(1000, tasks=300, per_task=2)
    once = cs.MajorityVote().fit_predict(labels, as_classes=True).sort("task")
    again = cs.MajorityVote().fit_predict(labels.reverse(), as_classes=True).sort("task")
    assert once["label"].to_list() == again["label"].to_list()


def test_a_task_with_more_classes_than_places_is_decided() -> None:
    rows = [("t", f"w{i}", f"text {i}") for i in range(5 * PLACES)]
    rows += [("t", f"v{i}", "the same") for i in range(3)]
    decided = cs.MajorityVote().fit_predict(rows, as_classes=True)
    assert decided["label"].to_list() == ["the same"]
    assert decided["votes"].to_list() == [5 * PLACES + 3]


def test_places_are_apart_within_a_task_and_depend_on_no_order() -> None:
    names = Vocabulary(f"c{number}" for number in range(3000))
    folding = Folding()
    folding.update(names)
    rng = np.random.default_rng(0)
    for size in (2, 10, 40):
        said = rng.integers(0, 3000, (200, size)).astype(np.int32)
        starts = np.arange(201) * size
        nobody = np.zeros(said.size, np.int32)
        places = folding.apart(LabelBatch(starts, nobody, said.ravel()), names).labels
        turned = folding.apart(LabelBatch(starts, nobody, said[:, ::-1].ravel()), names).labels
        assert (places.reshape(said.shape) == turned.reshape(said.shape)[:, ::-1]).all()
        for row, there in zip(said, places.reshape(said.shape), strict=True):
            assert len(set(zip(row, there, strict=True))) == len(set(row)) == len(set(there))


def test_free_text_is_refused_or_at_chance_and_falls_back_to_majority() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (t, f"w{w}", f"text {t} {w}") for t in range(5000) for w in rng.permutation(50)[:3].tolist()
    ]
    crowd = cs.Adaptive()
    with pytest.raises(cs.InputError, match="15,000 different ones in 15,000"):
        crowd.fit_predict(rows)
    crowd.fit_predict(rows, as_classes=True)
    assert crowd.identifiable_.reason == "workers are not shown to agree more than by chance"


# What is said ------------------------------------------------------------------------------------


def test_many_classes_are_said() -> None:
    labels, _ = simulated(150)
    crowd = cs.Adaptive()
    with pytest.warns(cs.ManyClasses, match="classes: decided by agreement alone"):
        crowd.fit_predict(labels)
    assert crowd.many_classes_.startswith(f"{len(crowd.classes_)} classes: decided by agreement")
    assert cs.Adaptive().fit(simulated(20)[0]).many_classes_ == ""


def test_confusions_of_too_many_classes_are_refused() -> None:
    crowd = cs.Adaptive().fit(simulated(300)[0])
    with pytest.raises(cs.InputError, match="at most 100 classes to tell apart"):
        crowd.confusions()
    with pytest.raises(cs.InputError, match="at most 100 classes"):
        crowd.workers(costs={"c1": {"c2": 3.0}})


def test_probabilities_that_no_memory_holds_are_refused() -> None:
    crowd = cs.MajorityVote()
    rows = [(t, "ann", f"c{t}") for t in range(20_000)]
    with pytest.raises(cs.InputError, match="20,000 tasks × 20,000 classes"):
        crowd.predict_proba_many(rows, as_classes=True)
    found = crowd.fit(rows, as_classes=True).predict_proba_many(rows[:3])
    assert found.shape == (3, 20_001)
    assert found.drop("task").to_numpy().sum(axis=1) == pytest.approx(1.0)


# Nothing lost ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cs.AgreementBased, cs.CentredAgreement, cs.MajorityVote])
def test_once_classes_share_places_no_order_changes_a_bit(kind: type[cs.Estimator]) -> None:
    labels, _ = simulated(800)
    at_once, in_parts, backwards = kind(), kind(), kind()
    for crowd in (at_once, in_parts, backwards):  # as many classes as there may be, and one more
        rows = [(f"first {t}", "w0", f"c{t}") for t in range(MOST_CLASSES + 1)]
        crowd.learn_many(rows, as_classes=True)
    at_once.learn_many(labels)
    for part in labels.partition_by("task", maintain_order=True):
        in_parts.learn_one(dict(part.select("worker", "label").iter_rows()))
    for begin in range(labels.height - 50, -1, -50):  # ten tasks of five labels at a time
        backwards.learn_many(labels[begin : begin + 50])
    assert backwards.tasks_ == at_once.tasks_
    assert sums_of(at_once) == sums_of(in_parts) == sums_of(backwards)
    assert in_parts.predict_many(labels).equals(at_once.predict_many(labels))


def test_a_stream_that_grows_beyond_keeps_what_it_learnt() -> None:
    few, _ = simulated(40, tasks=200)
    many, truths = simulated(800, tasks=200, seed=1)
    grown, fresh = cs.Stream(cs.Adaptive(), settle=None, max_labels=5), cs.Adaptive()
    grown.observe_many(few.rows())
    skills = grown.crowd.skills_
    first = [(f"n{task}", worker, label) for task, worker, label in many.rows()]
    last: dict[str, Any] = {}
    for row in first:
        decision = grown.observe(*row)
        last[str(decision.task)] = decision
    assert isinstance(grown.crowd, Adaptive)
    assert len(grown.crowd.classes_) > MOST_CLASSES
    assert grown.crowd._model.sums.total[0] == 400
    fresh.learn_many(few)
    fresh.learn_many(first)
    alike(grown.crowd, fresh)
    assert grown.crowd.skills_.keys() == skills.keys()
    wrong = np.mean([truths[task[1:]] != decision.label for task, decision in last.items()])
    assert wrong < 0.1
    assert cs.Stream.load(grown.to_bytes()).crowd.skills_ == grown.crowd.skills_


@pytest.mark.parametrize("kind", WEIGHING)
def test_newcomers_settle_nothing_among_many_classes_either(kind: type[cs.Estimator]) -> None:
    """Scores by class were written where there was room by place: the process ended with that."""
    labels, _ = simulated(150, tasks=200)
    stream = cs.Stream(kind(), settle=0.9)
    stream.observe_many(labels.rows())
    crowd = stream.crowd
    assert len(crowd.classes_) > MOST_CLASSES
    new = {f"new{k}": "c120" for k in range(8)}
    best = sorted(crowd.skills_, key=lambda who: crowd.skills_[who])[-6:]
    old = dict.fromkeys(best, "c120")
    for worker, label in new.items():
        decision = stream.observe("asked", worker, label)
    assert (decision.label, decision.settled) == ("c120", False)
    assert not crowd.decide_one(new, settle=0.9).settled
    for who in best:
        decision = stream.observe("asked", who, "c120")
    assert (decision.label, decision.settled) == ("c120", True)
    assert crowd.decide_one(old | {"nobody": "c120"}, settle=0.9).settled
    rows = [("asked", who, label) for who, label in (old | {"nobody": "c120"}).items()]
    assert crowd.predict_many(rows, settle=0.9)["settled"].all()


@pytest.mark.parametrize("kind", KINDS)
def test_an_open_task_may_name_more_classes_than_there_are_places(kind: type[cs.Estimator]) -> None:
    labels, _ = simulated(150, tasks=200)
    stream = cs.Stream(kind(), settle=0.9999)  # one very good worker is not sure enough
    stream.observe_many(labels.rows())
    rows = [("wide", f"w{k}", f"z{k % (2 * PLACES - 8)}") for k in range(2 * PLACES)]
    for row in rows:
        decision = stream.observe(*row)
    assert str(decision.label).startswith("z")
    assert not decision.settled
    assert stream.more_labels_needed("wide") > 0
    found = monitoring.tasks_to_resend(stream.crowd, rows, stream.crowd.predict_many(rows))
    assert found["task"].to_list() == ["wide"]


@pytest.mark.parametrize("kind", KINDS)
def test_states_on_both_sides_of_the_limit_merge(kind: type[cs.Estimator]) -> None:
    few, _ = simulated(30, tasks=200)
    many, _ = simulated(500, tasks=300, seed=1)
    many = many.with_columns("n" + pl.col("task"))
    whole = cs.monitor(kind())
    whole.learn_many(few)
    whole.learn_many(many)
    for tables in ((few, many), (many, few)):
        one, other = cs.monitor(kind()), cs.monitor(kind())
        one.learn_many(tables[0])
        other.learn_many(tables[1])
        before = other.to_bytes()
        one += other
        assert other.to_bytes() == before
        alike(one, whole)
        assert one.tasks_ == whole.tasks_ == 500
        one.predict_many(many)


def test_two_small_states_can_exceed_the_limit_together() -> None:
    one, other = cs.Adaptive(), cs.Adaptive()
    one.learn_many([(t, w, f"a{t}") for t in range(80) for w in "xyz"])
    other.learn_many([(t, w, f"b{t}") for t in range(80, 160) for w in "xyz"])
    one += other
    assert len(one.classes_) == 160
    assert one.many_classes_
    assert one.predict_one({"x": "a3", "y": "a3", "z": "b90"}) == "a3"


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_it_is_the_same(kind: type[cs.Estimator]) -> None:
    labels, _ = simulated(300)
    crowd = cs.monitor(kind())
    crowd.learn_many(labels)
    again = cs.Estimator.load(crowd.to_bytes())
    assert again.to_bytes() == crowd.to_bytes()
    assert again.predict_many(labels).equals(crowd.predict_many(labels))
    again.learn_many(labels)
    crowd.learn_many(labels)
    assert again.predict_many(labels).equals(crowd.predict_many(labels))


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_taken_back_leaves_the_sums_as_they_were(kind: type[cs.Estimator]) -> None:
    labels, _ = simulated(300)
    crowd = kind()
    crowd.learn_many(labels)
    crowd.learn_one({"w1": "c5", "w2": "c7", "w3": "c5"})
    before = sums_of(crowd)
    crowd.learn_one({"w1": "c9", "w2": "c11", "w3": "c9"}, gold="c9")
    crowd.unlearn_one({"w3": "c9", "w2": "c11", "w1": "c9"}, gold="c9")
    assert sums_of(crowd) == before
    with pytest.raises(cs.InputError, match="a task that was learnt"):
        crowd.unlearn_one({"w1": "never said"})


@pytest.mark.parametrize("kind", KINDS)
def test_gold_overrides_and_scores_are_kept(kind: type[cs.Estimator]) -> None:
    labels, truths = simulated(400)
    gold: dict[str | int, str | int | bool] = dict(list(truths.items())[:50])
    decided = kind().fit_predict(labels, gold=gold)
    found = dict(decided[["task", "label"]].rows())
    assert all(found[task] == label for task, label in gold.items())
    assert errors(decided, truths) < 0.2


def test_asking_about_new_classes_changes_nothing() -> None:
    crowd = cs.Adaptive().fit(simulated(95)[0])
    before = crowd.to_bytes()
    rows = [(t, w, f"new {t}") for t in range(50) for w in ("w1", "w2")]
    assert crowd.predict_many(rows)["label"].to_list() == [f"new {t}" for t in range(50)]
    assert crowd.predict_one({"w1": "another", "w2": "another"}) == "another"
    assert crowd.to_bytes() == before


def test_always_one_class_is_still_seen() -> None:
    labels, _ = simulated(300, tasks=400)
    parrot = [(f"t{t}", "parrot", "c1") for t in range(400)]
    crowd = cs.Adaptive().fit([*labels.rows(), *parrot])
    flags = dict(crowd.workers()[["worker", "flags"]].rows())
    assert "always_one_class" in flags["parrot"]
    assert sum("always_one_class" in found for found in flags.values()) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_labels_are_saved_as_the_same_bytes(kind: type[cs.Estimator]) -> None:
    """Arrays that nothing was written to held whatever was in memory, and were saved."""
    saved = set()
    for filling in (1.0, 2.0):
        used = [np.full((size, size), filling) for size in range(PLACES - 2, PLACES + 3)]
        del used  # what is allocated next may lie where these lay
        crowd = kind()
        crowd.learn_many(simulated(MOST_CLASSES + 20)[0])
        saved.add(crowd.to_bytes())
    assert len(saved) == 1


# Confusions of many classes -------------------------------------------------------------------


def decided(classes: int) -> list[pl.DataFrame]:
    labels, truths = simulated(classes, tasks=1500, workers=60)
    gold: dict[str | int, str | int | bool] = {t: truths[t] for t in list(truths)[:40]}
    return [
        Adaptive().fit_predict(labels),
        Adaptive().fit_predict(labels, gold=gold),
        Adaptive().stream_many(labels),
    ]


def test_counts_that_are_not_kept_change_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share below 2⁻¹³ of a task is counted for no class: confidence moves by less than that.

    What is counted of a stream's tasks depends on what was counted before, so there by some more.
    """
    few = decided(60)
    for module in (confusions, passes, reading, independence):  # every count gets a place
        monkeypatch.setattr(module, "FEW_CLASSES", MOST_CLASSES)
    for kept, whole, most in zip(few, decided(60), (1e-3, 1e-3, 1e-2), strict=True):
        both = kept.join(whole, on="task", suffix="_whole")
        assert both.height == kept.height
        assert (both["label"] != both["label_whole"]).sum() == 0
        off = both["confidence"].to_numpy() - both["confidence_whole"].to_numpy()
        assert np.abs(off).max() < most


def test_many_classes_are_saved_to_the_same_bytes_in_any_batches() -> None:
    labels, _ = simulated(60, tasks=300, workers=30)
    rows, saved = labels.rows(), []
    for size in (1, 7, 1000):
        stream = cs.Stream(Adaptive(), settle=0.95, min_labels=2, max_labels=5)
        for at in range(0, len(rows), size):
            stream.observe_many(rows[at : at + size], at=0)
        saved.append(stream.to_bytes())
    assert saved[0] == saved[1] == saved[2]
    again = cs.Stream.load(saved[0])
    assert again.to_bytes() == saved[0]
    for one in (stream, again):
        one.observe_many([(f"t{t}", f"v{t % 5}", f"c{t % 60}") for t in range(500)], at=0)
    assert again.to_bytes() == stream.to_bytes()
