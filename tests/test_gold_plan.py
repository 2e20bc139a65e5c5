"""The tasks to be checked are spread, favour doubt, and tell how wrong the whole set is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.gold_plan.filled import read_filled
from crowdstream.gold_plan.strata import (
    allocate,
    draw,
    make_strata,
    stratified_share,
    sum_by,
    task_spreads,
    task_worth,
)
from crowdstream.simulation import Simulated
from tests.real import DATA, needs_data

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@cache
def made(tasks: int = 600) -> Simulated:
    return cs.simulate(12, tasks, p=0.3, per_task=4, seed=4)


def fill(plan: pl.DataFrame, truths: pl.DataFrame) -> pl.DataFrame:
    known = truths.select("task", gold=pl.col("label").cast(pl.String))
    return plan.drop("gold").join(known, on="task", how="left", maintain_order="left")


# Choosing ------------------------------------------------------------------------------------


def test_every_class_and_every_level_of_confidence_is_there() -> None:
    crowd = cs.Adaptive()
    decisions = crowd.fit_predict(made().labels())
    plan = cs.gold_needed(made().labels(), 30)
    assert plan.height == plan["task"].n_unique() == 30
    assert set(plan["label"]) == set(decisions["label"])
    for low, high in ((0.0, 0.7), (0.7, 0.95), (0.95, 1.01)):
        assert plan["confidence"].is_between(low, high, closed="left").any()
    assert plan["gold"].null_count() == 30


def test_doubt_is_favoured() -> None:
    decisions = cs.Adaptive().fit_predict(made().labels())
    plan = cs.gold_needed(made().labels(), 60)
    # By Neyman's rule about half as often again; 60 tasks leave a standard error of 0.06.
    assert (plan["confidence"] < 0.7).mean() > 1.2 * (decisions["confidence"] < 0.7).mean()


def test_a_plan_says_what_the_workers_said() -> None:
    rows = [("t1", "ann", "x"), ("t1", "bob", "y"), ("t1", "cy", "y"), ("t2", "ann", "x")]
    plan = cs.gold_needed(rows, 2, crowd=cs.MajorityVote())
    assert dict(plan.select("task", "votes").iter_rows()) == {"t1": "y: 2, x: 1", "t2": "x: 1"}


def test_the_same_seed_gives_the_same_tasks_and_another_gives_others() -> None:
    plans = [cs.gold_needed(made().labels(), 30, seed=seed) for seed in (0, 0, 1)]
    assert plans[0].equals(plans[1])
    assert not plans[0]["task"].equals(plans[2]["task"])


def test_the_first_rows_are_spread_over_the_strata_as_all_are() -> None:
    plan = cs.gold_needed(made().labels(), 60)
    for rows in (10, 20, 40):
        for number, count in plan["stratum"].value_counts().iter_rows():
            first = int((plan["stratum"].head(rows) == number).sum())
            assert abs(first - count * rows / 60) < 2  # each stratum's turns are evenly spaced


def test_what_is_known_is_not_asked_again() -> None:
    known = made().truths().head(300)
    plan = cs.gold_needed(made().labels(), 50, gold=known)
    assert not set(plan["task"]) & set(known["task"])
    everything = dict(made().truths().iter_rows())
    with pytest.raises(cs.InputError, match="none that is not gold already"):
        cs.gold_needed(made().labels(), 50, gold=everything)


def test_all_tasks_are_to_be_checked_where_there_are_no_more() -> None:
    plan = cs.gold_needed(made().labels(), 10_000)
    assert plan.height == 600
    sizes = plan.group_by("stratum").agg(pl.len(), pl.col("stratum_tasks").first())
    assert sizes["len"].cast(pl.Int64).equals(sizes["stratum_tasks"], check_names=False)


def test_a_table_comes_back_in_its_kind_and_an_iterator_will_do() -> None:
    table = pd.DataFrame(made().labels().to_dict(as_series=False))
    assert isinstance(cs.gold_needed(table.rename(columns={"task": "item"}), 5), pd.DataFrame)
    rows = made().labels().select("task", "worker", "label").iter_rows()
    assert cs.gold_needed(rows, 5).height == 5


@given(
    st.lists(st.tuples(st.integers(1, 500), st.floats(0.05, 0.5)), min_size=1, max_size=12),
    st.integers(0, 400),
)
def test_a_sample_is_shared_out_whole(strata: list[tuple[int, float]], more: int) -> None:
    sizes = np.array([size for size, _ in strata])
    spreads = np.array([size * spread for size, spread in strata])
    n = min(len(strata) + more, int(sizes.sum()))
    found = allocate(sizes, spreads, n)
    assert found.sum() == n
    assert (found >= 1).all()
    assert (found <= sizes).all()


@given(st.integers(1, 40), st.integers(1, 60), st.integers(1, 80))
def test_strata_are_few_enough(classes: int, n: int, tasks: int) -> None:
    rng = np.random.default_rng(classes)
    strata = make_strata(rng.integers(classes, size=tasks), rng.random(tasks), 0.95, n)
    assert set(strata) == set(range(strata.max() + 1))
    assert strata.max() + 1 <= max(n // 2, 1)


# Estimating ----------------------------------------------------------------------------------


def population(kind: str, classes: int) -> tuple[Ints, Floats, Bools]:
    """Decided classes, confidences and errors of 2,000 tasks."""
    rng = np.random.default_rng(7)
    confidences = np.clip(1 - rng.beta(0.4, 3, 2000), 1 / classes, 0.999)
    wrong = 1 - confidences
    if kind == "overconfident":
        wrong = np.minimum(3 * wrong + 0.05, 0.9)
    elif kind == "fooled":  # some tasks fool nearly everybody, and nobody doubts
        wrong = np.where(rng.random(2000) < 0.15, 0.9, wrong)
    elif kind == "better":
        wrong = wrong / 5
    return rng.integers(classes, size=2000), confidences, rng.random(2000) < wrong


DRAWS = 1000


@cache
def estimates(kind: str, classes: int, n: int) -> tuple[Floats, Floats, float, float]:
    """Of many planned samples and of many random ones; coverage of the former; the truth."""
    names, confidences, wrong = population(kind, classes)
    strata = make_strata(names, confidences, 0.95, n)
    sizes = np.bincount(strata)
    numbers = allocate(sizes, sum_by(strata, task_spreads(confidences)), n)
    members = [np.flatnonzero(strata == stratum) for stratum in range(sizes.size)]
    rng, truth, covered = np.random.default_rng(0), float(wrong.mean()), 0
    planned, random = np.empty(DRAWS), np.empty(DRAWS)
    for k in range(DRAWS):
        drawn = [draw(each, names, int(m), rng) for each, m in zip(members, numbers, strict=True)]
        share = stratified_share(sizes, numbers, np.array([wrong[each].sum() for each in drawn]))
        covered += share.low <= truth <= share.high
        planned[k] = share.value
        random[k] = wrong[rng.choice(2000, n, replace=False)].mean()
    return planned, random, covered / DRAWS, truth


CASES = [
    (kind, classes, n)
    for kind in ("calibrated", "overconfident", "fooled", "better")
    for classes, n in ((2, 30), (5, 50), (20, 50))
]


@pytest.mark.parametrize(("kind", "classes", "n"), CASES)
def test_the_estimate_is_unbiased_and_its_interval_covers(kind: str, classes: int, n: int) -> None:
    planned, _, covered, truth = estimates(kind, classes, n)
    assert abs(planned.mean() - truth) < 4 * planned.std() / DRAWS**0.5  # four standard errors
    # Wilson's own interval of a random sample of this size covers 0.91 to 0.98 here.
    assert covered >= 0.91


def test_tasks_of_suspects_are_a_stratum_and_the_estimate_stays_unbiased() -> None:
    copied = dict.fromkeys(range(1, 8), (0, 0.9))
    made = cs.simulate(20, 800, p=[0.35] * 8 + [0.3] * 12, copying=copied, seed=1)
    crowd = cs.Adaptive()
    decisions = crowd.fit_predict(made.labels()).join(made.truths(), on="task", suffix="_true")
    differ = cs.suspect_tasks(crowd, made.labels())["task"]
    wrong = (decisions["label"] != decisions["label_true"]).to_numpy()
    apart = decisions["task"].is_in(differ.implode()).to_numpy()
    classes = decisions["label"].rank("dense").to_numpy().astype(np.int64)
    sure, n, rng = decisions["confidence"].to_numpy(), 40, np.random.default_rng(0)
    strata = make_strata(classes, sure, 0.95, n, apart)
    assert set(strata[apart]).isdisjoint(strata[~apart])
    assert np.unique(strata[apart]).size == 1
    sizes = np.bincount(strata)
    numbers = allocate(sizes, sum_by(strata, task_worth(sure, apart)), n)
    assert numbers.sum() == n
    found = []
    for _ in range(DRAWS):
        drawn = [
            draw(np.flatnonzero(strata == k), classes, int(number), rng)
            for k, number in enumerate(numbers)
        ]
        hits = np.array([wrong[tasks].sum() for tasks in drawn])
        found.append(stratified_share(sizes, numbers, hits).value)
    assert abs(np.mean(found) - wrong.mean()) < 4 * np.std(found) / DRAWS**0.5  # standard errors
    # The crowd is wrong where suspects differ from the rest, so a plan tells far more.
    assert np.std(found) < 0.7 * (wrong.mean() * (1 - wrong.mean()) / n) ** 0.5
    plan = cs.gold_needed(made.labels(), n)
    mine = plan.filter(pl.col("task").is_in(differ.implode()))
    assert mine.height == numbers[strata[apart][0]]
    assert mine["stratum"].n_unique() == 1
    assert mine["stratum_tasks"][0] == apart.sum()


def test_gold_by_the_plan_shows_who_copies() -> None:
    copied = dict.fromkeys(range(1, 8), (0, 0.9))
    made = cs.simulate(20, 800, p=[0.35] * 8 + [0.3] * 12, copying=copied, seed=1)
    truths = dict(made.truths().iter_rows())
    gold = {task: truths[task] for task in cs.gold_needed(made.labels(), 10)["task"]}
    crowd = cs.Adaptive().fit(made.labels(), gold=gold)
    assert set(cs.families(crowd)["found_by"]) == {"gold"}


@pytest.mark.parametrize(("kind", "classes", "n"), CASES)
def test_a_plan_tells_more_than_a_random_sample(kind: str, classes: int, n: int) -> None:
    planned, random, _, _ = estimates(kind, classes, n)
    # Where confidence says nothing of the errors, as with tasks that fool everybody, a plan gains
    # nothing; the ratio of variances of 1,000 draws each strays by about 6 % (two: 12 %).
    most = 1.12 if kind == "fooled" else 0.9
    assert planned.var() / random.var() < most


@needs_data
@pytest.mark.parametrize("name", ["rte", "temp", "web", "zencrowd_us"])
def test_on_real_crowds_the_interval_covers(name: str) -> None:
    truths = pl.read_csv(Path(DATA, name, "gold.csv"), infer_schema=False)
    labels = pl.read_csv(Path(DATA, name, "labels.csv"), infer_schema=False)
    labels = labels.join(truths, on="task", how="semi")
    decisions = (
        cs.Adaptive().fit_predict(labels).join(truths.select("task", truth="label"), on="task")
    )
    wrong = float((decisions["label"] != decisions["truth"]).mean())
    covered = 0
    for seed in range(20):
        filled = fill(cs.gold_needed(labels, 30, seed=seed), truths)
        answers = read_filled(filled, decisions["task"], sorted(set(truths["label"]))).answers
        strata = np.array([answer.stratum for answer in answers]) - 1
        sizes = np.zeros(strata.max() + 1, np.int64)
        sizes[strata] = [answer.stratum_tasks for answer in answers]
        said = dict(decisions.select("task", "label").iter_rows())
        bad = np.array([said[answer.task] != answer.gold for answer in answers])
        checked = np.bincount(strata)
        share = stratified_share(sizes, checked, np.bincount(strata[bad], minlength=sizes.size))
        covered += share.low <= wrong <= share.high
    assert covered >= 16  # of twenty draws: with a coverage of 0.95, 15 or fewer is one in 400


# Checking ------------------------------------------------------------------------------------


def test_the_whole_set_checked_is_the_error_rate_itself() -> None:
    plan = fill(cs.gold_needed(made().labels(), 600), made().truths())
    found = cs.gold_check(made().labels(), plan)
    decisions = cs.Adaptive().fit_predict(made().labels())
    right = decisions.join(made().truths().select("task", truth="label"), on="task")
    share = float((right["label"] != right["truth"]).mean())
    assert found.error_rate.value == pytest.approx(share)
    assert found.error_rate.low == found.error_rate.high == found.error_rate.value
    assert found.right == 600 - round(600 * share)
    assert found.flips == 0
    assert found.more_gold == "No more gold is to be had: all tasks were checked."


def test_a_check_adds_up() -> None:
    plan = fill(cs.gold_needed(made().labels(), 60), made().truths())
    blanks = pl.when(pl.int_range(60) % 3 > 0).then("gold")
    found = cs.gold_check(made().labels(), plan.with_columns(gold=blanks))
    assert (found.tasks, found.checked, found.blank) == (600, 40, 20)
    assert sum(each.checked for each in found.classes) == 40
    assert sum(each.right for each in found.classes) == found.right
    assert sum(each.tasks for each in found.mistakes) == 40 - found.right
    assert sum(each.decided for each in found.classes) == 600
    assert sum(each.decided_with_gold for each in found.classes) == 600
    assert len(found.flipped) == min(found.flips, 5)
    assert found.settled.checked <= found.settled.decided


def test_flips_are_the_decisions_that_gold_changes_elsewhere() -> None:
    plan = fill(cs.gold_needed(made().labels(), 80), made().truths())
    gold = made().truths().join(plan, on="task", how="semi")
    before = cs.Adaptive().fit_predict(made().labels())
    after = cs.Adaptive().fit_predict(made().labels(), gold=gold)
    changed = (before["label"] != after["label"]) & ~before["task"].is_in(gold["task"].to_list())
    assert changed.sum() > 0
    assert cs.gold_check(made().labels(), plan).flips == changed.sum()


def fooled(tasks: int = 800) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Eight workers who are nearly always right, but for every fifth task, which fools them all."""
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=tasks)
    tricky = np.arange(tasks) % 5 == 0
    rows = [
        (f"t{t}", f"w{w}", str(int(truth[t] ^ (tricky[t] or rng.random() < 0.1))))
        for t in range(tasks)
        for w in range(8)
    ]
    names = [f"t{t}" for t in range(tasks)]
    labels = pl.DataFrame(rows, ["task", "worker", "label"], orient="row")
    return labels, pl.DataFrame({"task": names, "label": [str(k) for k in truth]})


def test_a_promise_that_is_broken_is_seen() -> None:
    labels, truths = fooled()
    found = cs.gold_check(labels, fill(cs.gold_needed(labels, 60), truths))
    assert found.settled.kept is False
    assert found.settled.wrong is not None
    assert found.settled.wrong.low < 0.2 < found.settled.wrong.high
    assert found.error_rate.low > found.expected_error.high


def test_a_promise_that_is_kept_is_seen_and_few_answers_tell_nothing() -> None:
    crowd = cs.simulate(9, 1500, p=0.15, seed=1)
    plan = fill(cs.gold_needed(crowd.labels(), 150), crowd.truths())
    assert cs.gold_check(crowd.labels(), plan).settled.kept is True
    few = cs.gold_check(crowd.labels(), plan.head(8))
    assert few.settled.kept is None
    assert few.more_gold.startswith("More gold is worth having")


def test_without_strata_tasks_are_taken_for_a_random_sample() -> None:
    truths = made().truths().sample(80, seed=2)
    found = cs.gold_check(made().labels(), truths)
    assert not found.stratified
    assert found.error_rate.value == pytest.approx(1 - found.right_rate.value)


def test_one_answer_is_enough_and_majority_vote_will_do() -> None:
    plan = fill(cs.gold_needed(made().labels(), 10), made().truths()).head(1)
    assert cs.gold_check(made().labels(), plan, crowd=cs.MajorityVote()).checked == 1


# Filled in by people -------------------------------------------------------------------------

PLAN = "task,label,confidence,votes,gold,stratum,stratum_tasks\n"
LABELS = [(f"t{t}", f"w{w}", "ham" if t % 2 else "spam") for t in range(20) for w in range(4)]


def check(tmp_path: Path, text: str, **more: object) -> cs.GoldCheck:
    path = tmp_path / "plan.csv"
    path.write_text(PLAN + text)
    return cs.gold_check(LABELS, path, **more)  # type: ignore[arg-type]


def test_rows_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    rows = ("t0,spam,.9,,spam,1,20", "t2,spam,.9,,spma,1,20", "t3,ham,.9,, ,1,20",
            "t99,ham,.9,,ham,1,20", "t5,ham,.9,, Ham ,1,20")  # fmt: skip
    found = check(tmp_path, "\n".join(rows))
    assert (found.checked, found.right, found.blank) == (2, 2, 1)
    misspelt, unknown = found.warnings[:2]
    assert "plan.csv, row 2 (task t2): 'spma' is not one of the classes" in misspelt
    assert "perhaps 'spam'?" in misspelt
    assert "plan.csv, row 4: no labels for task 't99'" in unknown


def test_a_file_that_a_spreadsheet_has_saved_is_read(tmp_path: Path) -> None:
    path, rows = tmp_path / "saved.csv", [(t, w, t % 2) for t in range(20) for w in "abcd"]
    path.write_bytes(
        "\ufefftask;votes;gold;stratum;stratum_tasks\r\n"
        "0;0: 3, 1: 1;0;1;20\r\n1;1: 4;1.0;1;20\r\n2;0: 4;;1;20\r\n".encode()
    )
    found = cs.gold_check(rows, path)
    assert (found.checked, found.right, found.blank) == (2, 2, 1)


def test_two_answers_for_a_task_must_agree(tmp_path: Path) -> None:
    assert check(tmp_path, "t0,,,,spam,1,20\nt0,,,,spam,1,20").checked == 1
    with pytest.raises(cs.InputError, match=r"row 2 \(task t0\): .*'spam' and 'ham'"):
        check(tmp_path, "t0,,,,spam,1,20\nt0,,,,ham,1,20")


def test_a_class_that_no_worker_gave_must_be_announced(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match="an answer that can be used"):
        check(tmp_path, "t0,,,,eggs,1,20")
    found = check(tmp_path, "t0,,,,eggs,1,20", also=["eggs"])
    assert (found.checked, found.right) == (1, 0)


def test_the_decided_label_is_never_taken_for_the_truth(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text("task,label,stratum,stratum_tasks\nt0,spam,1,20\n")
    with pytest.raises(cs.InputError, match="gold"):
        cs.gold_check(LABELS, path)


def test_a_row_that_was_added_teaches_and_is_not_counted(tmp_path: Path) -> None:
    found = check(tmp_path, "t0,,,,spam,1,20\nt1,,,,spam,,")
    assert (found.checked, found.right, found.stratified) == (2, 1, True)
    assert found.error_rate.value == 0
    assert any("nothing in column stratum" in note for note in found.warnings)


def test_an_empty_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match="at least one row filled in"):
        check(tmp_path, "t0,,,,,1,20")
