"""How sure an estimator is of its workers, and that saving, merging, undoing keep it so."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.errors import InputError, StateError
from crowdstream.science.simulate import Simulated

monitoring = pytest.importorskip("crowdstream.monitoring", reason="monitoring has not landed yet")

Floats = NDArray[np.float64]
Answers = dict[str | int, str | int | bool | None]

PERFECT, GUESSER = [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]
PARROT, LIAR = [[1.0, 0.0], [1.0, 0.0]], [[0.1, 0.9], [0.9, 0.1]]
GOOD = [[0.85, 0.15], [0.15, 0.85]]
WAYS: list[dict[str, object]] = [
    {},
    {"memory": 100},
    {"families": {"w0": "agency", "w1": "agency"}},
]
NAMES = ["plain", "fading", "families"]


def crowd_of(n: int, tasks: int, **asked: object) -> Simulated:
    (block,) = cs.simulate(n, tasks, block=tasks, **asked)  # type: ignore[arg-type]
    return block


def adaptive(**how: object) -> cs.Adaptive:
    crowd = cs.Adaptive(**how)  # type: ignore[arg-type]
    monitoring.watch(crowd)
    return crowd


def taught(block: Simulated, **how: object) -> cs.Adaptive:
    crowd = adaptive(**how)
    crowd.learn_many(block.labels())
    return crowd


def people(crowd: cs.Estimator) -> pl.DataFrame:
    return crowd.workers().sort("worker")


def width(table: pl.DataFrame) -> Floats:
    return (table["error_high"] - table["error_low"]).to_numpy()


def check_limits(table: pl.DataFrame) -> None:
    low, high = table["error_low"], table["error_high"]
    for limit in (low, high):
        assert limit.null_count() == 0
        assert limit.is_finite().all()
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    known = table.filter(pl.col("error_rate").is_not_null())
    rate = known["error_rate"]
    assert ((known["error_low"] <= rate) & (rate <= known["error_high"])).all()


def watched_alike(one: cs.Estimator, other: cs.Estimator) -> None:
    """To the bit."""
    assert one.workers().equals(other.workers())
    assert monitoring.alarms(one) == monitoring.alarms(other)
    assert monitoring.trends(one).equals(monitoring.trends(other))
    assert monitoring.pairs(one, least=1).equals(monitoring.pairs(other, least=1))
    assert monitoring.families(one) == monitoring.families(other)
    assert one.to_bytes() == other.to_bytes()


# Intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", WAYS, ids=NAMES)
@pytest.mark.parametrize(
    "asked",
    [{"p": 0.2}, {"p": 0.3, "classes": 5}, {"p": 0.25, "adversaries": 0.4}, {"p": 0.0}, {"p": 0.5}],
    ids=["two classes", "five classes", "adversaries", "perfect", "guessers"],
)
def test_there_is_an_interval_from_the_first_answer_on(
    asked: dict[str, object], how: dict[str, object]
) -> None:
    crowd = adaptive(**how)
    block = crowd_of(5, 60, seed=1, **asked)
    for said in block.matrix().tolist():
        crowd.learn_one({f"w{i}": y for i, y in enumerate(said)})
        check_limits(crowd.workers())


def test_one_answer_leaves_everything_open() -> None:
    crowd = cs.Adaptive()
    crowd.learn_one({"ann": "spam"})
    row = crowd.workers().row(0, named=True)
    assert (row["error_rate"], row["error_low"], row["error_high"]) == (None, 0.0, 1.0)
    assert row["flags"] == "too few answers"


@pytest.mark.parametrize(
    "tasks",
    [
        [{"ann": "x", "bob": "x", "cy": "x"}],
        [{"ann": "x", "bob": "x"}, {"ann": "y", "bob": "y"}, {"ann": "x", "bob": "y"}],
        [{"ann": "x"}, {"bob": "y"}, {"cy": "x"}],
    ],
    ids=["one class", "two workers", "nobody meets"],
)
def test_what_cannot_be_known_has_no_rate_and_the_widest_interval(tasks: list[Answers]) -> None:
    crowd = cs.Adaptive()
    for answers in tasks * 20:
        crowd.learn_one(answers)
    table = crowd.workers()
    assert not crowd.identifiable_
    assert table["error_rate"].null_count() == table.height
    assert table["quality"].null_count() == table.height
    assert set(table["error_low"]) == {0.0}
    assert set(table["error_high"]) == {1.0}


def test_no_worker_no_rows() -> None:
    assert cs.Adaptive().workers().height == 0


@pytest.mark.parametrize("classes", [2, 5])
def test_intervals_narrow_as_answers_come(classes: int) -> None:
    rates = np.linspace(0.1, 0.4, 10)
    found = [
        width(people(taught(crowd_of(10, tasks, p=rates, classes=classes, seed=2)))).mean()
        for tasks in (30, 120, 480, 1920)
    ]
    # Four times the answers halve a standard error; a third off is less than that.
    assert all(later < 0.67 * earlier for earlier, later in itertools.pairwise(found))


def test_a_higher_level_makes_wider_intervals_around_the_same_rates() -> None:
    crowd = taught(crowd_of(8, 300, p=0.25, seed=3))
    tables = [crowd.workers(level=level) for level in (0.5, 0.8, 0.95, 0.999)]
    for narrow, wide in itertools.pairwise(tables):
        assert (width(narrow) < width(wide)).all()
        assert narrow["error_rate"].equals(wide["error_rate"])


@pytest.mark.parametrize("level", [0.0, 0.49, 1.0, 1.5, -0.1, float("nan"), "0.95", None])
def test_a_level_that_is_none_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="level"):
        cs.Adaptive().workers(level=level)


@pytest.mark.parametrize(
    ("classes", "kind"), [(2, "unequal"), (2, "adversaries"), (3, "unequal"), (5, "unequal")]
)
@pytest.mark.parametrize("tasks", [50, 500])
def test_intervals_contain_the_truth_about_as_often_as_they_say(
    classes: int, kind: str, tasks: int
) -> None:
    inside: list[bool] = []
    for seed in range(20):
        rates = np.random.default_rng(seed).uniform(0.05, 0.4, 10)
        if kind == "adversaries":
            rates[:2] = 0.7
        rates *= 2 * (classes - 1) / classes
        table = people(taught(crowd_of(10, tasks, p=rates, classes=classes, seed=seed)))
        low, high = table["error_low"].to_numpy(), table["error_high"].to_numpy()
        inside += ((low <= rates) & (rates <= high)).tolist()
    # Asked is 93 to 99 %; three standard errors of 200 intervals are 4.6 % at 95 % and 2.1 % at 99.
    assert 0.93 - 0.046 <= np.mean(inside) <= 1.0


@pytest.mark.parametrize("tasks", [20, 200, 2000])
def test_who_never_errs_may_never_err_by_the_interval(tasks: int) -> None:
    table = people(taught(crowd_of(9, tasks, p=[0.0] * 6 + [0.3] * 3, seed=4)))
    assert table["error_low"].to_list()[:6] == [0.0] * 6


def test_forgetting_remembers_less_and_is_less_sure() -> None:
    block = crowd_of(8, 2000, p=0.25, seed=5)
    kept, faded = people(taught(block)), people(taught(block, memory=100))
    # A hundred answers count instead of 2,000: a factor √20 = 4.5, and twice is well below.
    assert (width(faded) > 2 * width(kept)).all()


# Quality and flags ---------------------------------------------------------------------------


def test_quality_is_one_for_who_knows_and_nothing_for_who_does_not() -> None:
    confusions = np.array([PERFECT] * 5 + [GUESSER, PARROT, LIAR])
    quality = people(taught(crowd_of(8, 1500, confusions=confusions)))["quality"].to_list()
    assert min(quality[:5]) > 0.98  # what the prior of a few tasks leaves
    # One who guesses shows a skill of a standard error, 1/√1500 = 0.026, which squared is 0.0007.
    assert max(quality[5:7]) < 0.01
    # A liar can be turned around: as good as one who is right in nine of ten, 0.8² = 0.64.
    assert quality[7] == pytest.approx(0.64, abs=0.06)


def test_costs_change_the_quality() -> None:
    # w0 mixes up a and b, w1 mixes up b and c.
    eye = np.eye(3)
    mixes = [eye.copy(), eye.copy()]
    mixes[0][:2, :2] = mixes[1][1:, 1:] = 0.5
    block = crowd_of(6, 1500, confusions=np.array([*mixes, *[0.8 * eye + 0.2 / 3] * 4]), classes=3)
    crowd = taught(block)
    plain = people(crowd)["quality"].to_list()
    dear = crowd.workers(costs={"0": {"1": 10}, "1": {"0": 10}}).sort("worker")["quality"]
    assert plain[0] == pytest.approx(plain[1], abs=0.05)
    assert dear[0] < plain[0] - 0.2
    assert dear[1] > plain[1] + 0.1
    assert dear.is_between(0, 1).all()


@pytest.mark.parametrize(
    "costs",
    [
        {"0": {"no such class": 1}},
        {"no such class": {"0": 1}},
        {"0": {"1": -1}},
        {"0": {"1": float("inf")}},
        {"0": {"1": float("nan")}},
        {"0": {"1": "much"}},
        {"0": {"1": None}},
        5,
        {"0": 3},
    ],
    ids=[
        *("unknown inside", "unknown", "negative", "infinite", "nan", "a word", "none"),
        *("no mapping", "no mapping inside"),
    ],
)
def test_costs_that_make_no_sense_are_refused(costs: object) -> None:
    crowd = taught(crowd_of(3, 20, p=0.2))
    with pytest.raises(InputError, match="costs"):
        crowd.workers(costs=costs)  # type: ignore[arg-type]


def test_flags_say_what_is_significant() -> None:
    confusions = np.array([GOOD] * 6 + [GUESSER, PARROT, LIAR])
    crowd = taught(crowd_of(9, 800, confusions=confusions, seed=2))
    crowd.learn_one({"w0": "0", "w1": "0", "newcomer": "0"})
    flags = dict(crowd.workers().select("worker", "flags").iter_rows())
    assert {flags[f"w{i}"] for i in range(6)} == {"better than chance"}
    assert flags["w6"] == "at chance"
    assert flags["w7"] == "at chance; always says 0"
    assert flags["w8"] == "adversarial"
    assert flags["newcomer"] == "too few answers"


def test_nobody_is_flagged_as_a_parrot_where_one_class_is_nearly_all_there_is() -> None:
    crowd = taught(crowd_of(8, 500, p=0.02, balance=[0.97, 0.03]))
    assert not crowd.workers()["flags"].str.contains("always").any()


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_flags_are_rarely_wrong(rate: float) -> None:
    word = {0.1: "better than chance", 0.5: "at chance", 0.9: "adversarial"}[rate]
    others = {"better than chance", "adversarial", "at chance"} - {word}
    wrong = 0
    for seed in range(30):
        block = crowd_of(8, 200, p=[rate] + [0.15] * 7, seed=seed)
        wrong += people(taught(block))["flags"][0] in others
    # At 95 %, one in twenty of those at chance is called something else: 1.5, and 3.6 more by luck.
    assert wrong <= 5


# Gold ----------------------------------------------------------------------------------------


def joint_errors() -> tuple[list[tuple[int, int, int]], dict[int, int], Floats]:
    """A crowd that is wrong together on a quarter of the tasks: agreement cannot see it."""
    rng = np.random.default_rng(0)
    truth, trick = rng.integers(2, size=400), rng.random(400) < 0.25
    rates = np.linspace(0.05, 0.2, 7)
    seen = truth ^ trick
    said = seen[:, None] ^ (rng.random((400, 7)) < rates)
    rows = [(t, i, int(said[t, i])) for t in range(400) for i in range(7)]
    return rows, dict(enumerate(truth.tolist())), np.asarray((said != truth[:, None]).mean(axis=0))


def test_gold_backs_the_intervals() -> None:
    rows, truth, _ = joint_errors()
    crowd = cs.Adaptive()
    crowd.learn_many(rows)
    assert set(crowd.workers()["evidence"]) == {"agreement"}
    told = cs.Adaptive()
    told.learn_many(rows, gold={t: truth[t] for t in range(80)})
    assert set(told.workers()["evidence"]) == {"gold"}


def test_gold_that_the_crowd_gets_wrong_raises_the_upper_limit() -> None:
    rows, truth, really = joint_errors()
    blind, told = cs.Adaptive(), cs.Adaptive()
    blind.learn_many(rows)
    told.learn_many(rows, gold={t: truth[t] for t in range(80)})
    before, after = people(blind), people(told)
    assert (before["error_high"].to_numpy() < really).all()
    assert (after["error_high"].to_numpy() > really).all()
    assert (after["error_high"] > before["error_high"] + 0.1).all()
    check_limits(after)


def test_gold_of_one_worker_backs_that_worker() -> None:
    crowd = taught(crowd_of(5, 100, p=0.2))
    crowd.learn_one({"w0": "0"}, gold="0")
    assert people(crowd)["evidence"].to_list() == ["gold", *["agreement"] * 4]


# Saving, merging, taking back ----------------------------------------------------------------


@pytest.mark.parametrize("how", WAYS, ids=NAMES)
@pytest.mark.parametrize("tasks", [0, 1, 700])
def test_what_was_watched_survives_saving_to_the_bit(how: dict[str, object], tasks: int) -> None:
    block = crowd_of(6, 700, p=0.15, copying={5: (4, 0.95)}, drift=None, seed=6)
    crowd = adaptive(**how)
    crowd.learn_many(block.labels()[: 6 * tasks])
    for again in (cs.load(crowd.to_bytes()), pickle.loads(pickle.dumps(crowd)), crowd.copy()):
        watched_alike(crowd, again)


@pytest.mark.parametrize("how", WAYS, ids=NAMES)
def test_a_saved_watch_goes_on_as_if_nothing_had_happened(how: dict[str, object]) -> None:
    labels = crowd_of(6, 600, p=0.2, seed=7).labels()
    crowd = adaptive(**how)
    crowd.learn_many(labels[:1800])
    again = cs.load(crowd.to_bytes())
    for each in (crowd, again):
        each.learn_many(labels[1800:])
    watched_alike(crowd, again)


@pytest.mark.parametrize("how", WAYS, ids=NAMES)
def test_merged_halves_are_nearly_as_sure_as_one_pass(how: dict[str, object]) -> None:
    labels = crowd_of(8, 1200, p=np.linspace(0.1, 0.4, 8), seed=8).labels()
    one, left, right = (adaptive(**how) for _ in range(3))
    one.learn_many(labels)
    left.learn_many(labels[:4800])
    right.learn_many(labels[4800:])
    left += right
    check_limits(left.workers())
    whole, merged = people(one), people(left)
    gap = (whole["error_rate"] - merged["error_rate"]).abs().max()
    if "forgetting" in how:
        # A merged half is as new as the other, so twice as much is remembered: a standard error
        # of the hundred answers that one pass remembers.
        assert gap < 0.045  # type: ignore[operator]
        rates = whole["error_rate"]
        assert ((merged["error_low"] <= rates) & (rates <= merged["error_high"])).all()
        return
    assert gap < 0.007  # type: ignore[operator]  # half a standard error of 1,200 answers
    for column in ("error_low", "error_high"):
        assert merged[column].to_numpy() == pytest.approx(whole[column].to_numpy(), abs=0.007)


def test_merging_strangers_adds_them() -> None:
    left, right = cs.Adaptive(), cs.Adaptive()
    for k in range(40):
        left.learn_one({"ann": k % 2, "bob": k % 2, "cy": k % 3 % 2})
        right.learn_one({"di": k % 2, "ed": k % 2, "flo": k % 3 % 2, "ann": k % 2})
    left += right
    table = left.workers()
    assert dict(table.select("worker", "answers").iter_rows())["ann"] == 80
    assert table.height == 6
    check_limits(table)
    assert [group.workers for group in monitoring.identifiability(left).groups] == [6]


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9, 0.999])
def test_damaged_bytes_are_refused(place: float) -> None:
    data = bytearray(taught(crowd_of(5, 100, p=0.2)).to_bytes())
    data[int(place * (len(data) - 1))] ^= 0x55
    with pytest.raises(StateError):
        cs.load(bytes(data))
    with pytest.raises(StateError):
        cs.load(bytes(data[: int(place * len(data))]))


def test_a_watch_whose_arrays_do_not_fit_is_refused() -> None:
    crowd = taught(crowd_of(5, 100, p=0.2))
    watch = crowd._watcher
    assert watch is not None
    arrays = {k: (list(v.shape), v.tobytes()) for k, v in watch.pack(5).items()}
    with pytest.raises(StateError):
        watch.unpack(arrays, 6, 2)
    with pytest.raises(StateError):
        watch.unpack({k: v for k, v in arrays.items() if k != "pairs"}, 5, 2)
    shape, data = arrays["said"]
    with pytest.raises(StateError):
        watch.unpack({**arrays, "said": (shape, data[:-8])}, 5, 2)


@pytest.mark.parametrize("how", WAYS, ids=NAMES)
@pytest.mark.parametrize("tasks", [3, 40, 333])
def test_the_last_task_is_taken_back_exactly(how: dict[str, object], tasks: int) -> None:
    crowd = taught(crowd_of(6, tasks, p=0.2, seed=9), **how)
    before, workers = crowd.to_bytes(), crowd.workers()
    answers: Answers = {"w0": "0", "w2": "1", "w5": "1"}
    crowd.learn_one(answers)
    assert not crowd.workers().equals(workers)
    crowd.unlearn_one(answers)
    assert crowd.workers().equals(workers)
    again = cs.load(before)
    assert monitoring.trends(crowd).equals(monitoring.trends(again))
    assert monitoring.pairs(crowd, least=1).equals(monitoring.pairs(again, least=1))
    assert monitoring.alarms(crowd) == monitoring.alarms(again)


def test_a_newcomer_who_is_taken_back_leaves_no_answer() -> None:
    crowd = taught(crowd_of(6, 50, p=0.2, seed=9))
    before = crowd.workers()
    crowd.learn_one({"w0": "0", "newcomer": "1", "w1": "third"})
    crowd.unlearn_one({"w0": "0", "newcomer": "1", "w1": "third"})
    after = crowd.workers()
    assert after.filter(worker="newcomer")["answers"].item() == 0
    kept = after.filter(pl.col("worker") != "newcomer")
    assert kept["answers"].equals(before["answers"])
    check_limits(after)


# Forgetting by itself ------------------------------------------------------------------------


# Difficulty ----------------------------------------------------------------------------------


def with_hard_tasks() -> tuple[list[tuple[int, int, int]], NDArray[np.bool_]]:
    rng = np.random.default_rng(0)
    hard, truth = rng.random(1000) < 0.2, rng.integers(2, size=1000)
    wrong = rng.random((1000, 10)) < np.where(hard, 0.5, 0.1)[:, None]
    said = truth[:, None] ^ wrong
    return [(t, i, int(said[t, i])) for t in range(1000) for i in range(10)], hard


def test_tasks_on_which_all_guess_are_found_harder() -> None:
    rows, hard = with_hard_tasks()
    crowd = cs.Adaptive()
    for table in (crowd.stream_many(rows), crowd.predict_many(rows)):
        found = table["difficulty"].to_numpy()
        assert found[hard].mean() > found[~hard].mean() + 0.05
        assert ((found >= 0) & (found <= 0.5)).all()
    # It is the error rate of an average worker: 0.8 · 0.1 + 0.2 · 0.5 = 0.18 in the mean, and
    # what few strong tasks leave to the prior.
    assert found.mean() == pytest.approx(0.18, abs=0.03)


def test_only_those_who_watch_know_how_hard_a_task_is() -> None:
    rows = [("t", "ann", "x"), ("t", "bob", "y"), ("u", "ann", "x"), ("u", "bob", "x")]
    for crowd in (cs.MajorityVote(), cs.Adaptive()):
        table = crowd.stream_many(rows)
        assert table.schema["difficulty"] == pl.Float64
        assert table["difficulty"].null_count() == 2
        assert cs.Stream(crowd).observe("t", "ann", "x").difficulty is None
    watched = cs.Stream(cs.Adaptive()).observe("t", "ann", "x").difficulty
    assert watched is not None
    assert 0 <= watched <= 0.5
    assert cs.decide(cs.Adaptive(), "t", {"ann": "x"}).difficulty is not None
    assert cs.decide(cs.Adaptive(), "t", {}).difficulty is None
