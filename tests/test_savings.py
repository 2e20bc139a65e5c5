from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.savings import FIXED, MAJORITY, STOP, Savings, draw, redundancies, savings
from crowdstream.savings import replay as module
from crowdstream.savings.result import SAME
from crowdstream.simulation import simulate
from crowdstream_lab import datasets
from tests.real import needs_data

LEVELS = (0.8, 0.9, 0.95, 0.98, 0.99)


def made(tasks: int = 600, n: int = 25, per_task: int = 12) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels and truths of a uniform crowd, errors 0.1 to 0.4."""
    block = simulate(n, tasks, p=np.linspace(0.1, 0.4, n), per_task=per_task, seed=3)
    return block.labels(), block.truths()


@pytest.fixture(scope="module")
def found() -> Savings:
    labels, gold = made()
    return savings(labels, gold, settles=LEVELS, repeats=2)


def no_worse_than_fixed(found: Savings) -> None:
    """No level errs more than a fixed number of labels at its cost, within the noise of tasks."""
    levels = found.levels().drop_nulls("settle")
    # Two error rates on the same tasks differ by no more than two of independent tasks would;
    # two standard deviations of that.
    rates = levels["fixed"].to_numpy()
    noise = 2 * np.sqrt(2 * rates * (1 - rates) / found.scored)
    assert (levels["error"].to_numpy() <= rates + noise).all(), levels


# What a replay is -----------------------------------------------------------------------------


def test_the_table_has_every_way_and_no_other(found: Savings) -> None:
    rows = found.table
    assert rows["rule"].unique(maintain_order=True).to_list() == [STOP, FIXED, MAJORITY]
    assert rows.filter(pl.col("rule") == STOP)["settle"].to_list() == [*LEVELS, None]
    for rule in (FIXED, MAJORITY):
        here = rows.filter(pl.col("rule") == rule)
        assert here["redundancy"].to_list() == redundancies(12) == [*range(1, 11), 12]
        assert here["labels_per_task"].to_list() == here["redundancy"].to_list()


def test_the_same_seed_gives_the_same_and_another_another() -> None:
    labels, gold = made(60)
    one, again, other = (savings(labels, gold, repeats=1, seed=s).table for s in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_to_be_surer_costs_more_and_never_costs_all(found: Savings) -> None:
    levels = found.levels()
    assert levels["labels_per_task"].is_sorted()
    assert levels["saved"].is_sorted(descending=True)
    assert levels["labels_per_task"][-1] == 12
    assert found.table.filter(pl.col("rule") == STOP)["error"][-1] == levels["fixed"][-1]


def test_majority_with_all_labels_errs_as_majority_does(found: Savings) -> None:
    labels, gold = made()
    decided = cs.MajorityVote().fit_predict(labels).join(gold.rename({"label": "gold"}), on="task")
    wrong = (pl.col("label") != pl.col("gold")).cast(pl.Float64)
    tied = pl.when(pl.col("margin") == 0).then(0.5).otherwise(wrong)
    assert found.target == pytest.approx(decided.select(tied.mean()).item())


def test_each_beginning_is_decided_as_the_crowd_would() -> None:
    labels, gold = made(30, n=6, per_task=4)
    rows, truths = module._ready(labels, gold)
    replay = module._Replay(rows, truths, cs.AgreementBased(), np.random.default_rng(1))
    crowd = replay.new_crowd()
    crowd.learn_many(replay.rows)
    sure = replay._confidences(crowd, 3, 9)
    for task in range(3, 9):
        for size in range(1, 5):
            first = replay.starts[task]
            one = crowd.predict_many(replay.rows[int(first) : int(first) + size])
            place = first - replay.starts[3] + size - 1
            assert sure[place] == pytest.approx(one["confidence"].item())


def test_buying_stops_at_the_first_label_that_makes_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, gold = made(50, n=6, per_task=6)
    rows, truths = module._ready(labels, gold)
    replay = module._Replay(rows, truths, cs.Adaptive(), np.random.default_rng(1))
    sure_at = np.random.default_rng(2).integers(0, 6, size=50)  # the rank from which on it is sure

    def sure(crowd: cs.Estimator, first: int, last: int) -> np.ndarray:
        begin, end = replay.starts[first], replay.starts[last]
        return (replay.rank[begin:end] >= np.repeat(sure_at[first:last], 6)).astype(float)

    monkeypatch.setattr(replay, "_confidences", sure)
    bought, decided = replay.until_sure(0.5)
    wanted = sure_at + 1
    # The blocks are 1, 2, 4, 8, 16 and what is left: the first five begin before task 20.
    wanted[:31] = np.maximum(wanted[:31], module.COLD_LABELS)
    counts = bought.group_by("task", maintain_order=True).len()
    assert counts["len"].to_list() == wanted.tolist()
    assert decided["task"].to_list() == counts["task"].to_list()


@pytest.mark.parametrize("rows", [1, 50, 10**6])
def test_blocks_cover_every_task_once_whatever_their_bound(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_ROWS", rows)
    labels, _ = made(700, n=6, per_task=3)
    replay = module._Replay(
        module._ready(labels, None)[0], None, cs.MajorityVote(), np.random.default_rng(0)
    )
    blocks = list(replay._blocks())
    assert [first for first, _ in blocks] == [0, *(last for _, last in blocks[:-1])]
    assert blocks[-1][1] == 700
    assert all(1 <= last - first <= max(1, min(module.BLOCK, rows // 6)) for first, last in blocks)


def test_without_gold_all_labels_together_are_the_truth() -> None:
    labels, _ = made(200)
    found = savings(labels, settles=(0.8, 0.95), repeats=1)
    assert not found.has_gold
    assert found.levels()["error"][-1] == 0
    assert found.target == SAME
    assert found.enough is not None
    assert "95 % of the tasks" in found.answer()
    assert found.report()["error_against"] == "the decision from all labels"


def test_a_crowd_that_is_never_good_enough_saves_nothing() -> None:
    table = pl.DataFrame(
        {
            "rule": [STOP, STOP, FIXED, MAJORITY],
            "settle": [0.9, None, None, None],
            "redundancy": [None, None, 4, 4],
            "labels_per_task": [2.0, 4.0, 4.0, 4.0],
            "error": [0.3, 0.1, 0.1, 0.2],
            "spread": [0.0] * 4,
        }
    )
    found = Savings(table, tasks=10, labels=40, scored=10, has_gold=True, repeats=1)
    assert found.enough is None
    assert "is not reached" in found.answer()


def test_a_level_that_is_good_by_chance_does_not_count() -> None:
    table = pl.DataFrame(
        {
            "rule": [STOP] * 4 + [FIXED, MAJORITY],
            "settle": [0.8, 0.9, 0.95, None, None, None],
            "redundancy": [None] * 4 + [5, 5],
            "labels_per_task": [1.0, 2.0, 3.0, 5.0, 5.0, 5.0],
            "error": [0.1, 0.3, 0.15, 0.1, 0.1, 0.2],
            "spread": [0.0] * 6,
        }
    )
    found = Savings(table, tasks=10, labels=50, scored=10, has_gold=True, repeats=1)
    assert found.enough == {
        "settle": 0.95,
        "labels_per_task": 3.0,
        "error": 0.15,
        "saved": pytest.approx(0.4),
    }


def test_ids_of_any_kind_and_repeated_labels_are_taken() -> None:
    labels = pl.DataFrame(
        {
            "task": [1, 1, 1, 2, 2],
            "worker": [7, 8, 7, 7, 8],
            "label": [True, True, False, True, None],
        }
    )
    gold = pl.DataFrame({"task": [1, 2, 3], "label": [True, True, False]})
    found = savings(labels, gold, repeats=1)
    assert (found.tasks, found.labels, found.scored) == (2, 3, 2)


@pytest.mark.parametrize(
    ("labels", "gold", "word"),
    [
        ({"task": ["a"], "worker": ["w"]}, None, "no label"),
        ({"task": ["a"], "worker": ["w"], "label": [None]}, None, "expected some"),
        ({"task": ["a", "b"], "worker": ["w", "w"], "label": ["x", "x"]}, None, "one each"),
        (None, {"task": ["0"]}, "no label"),
        (None, {"task": ["elsewhere"], "label": ["0"]}, "none in common"),
        (None, {"task": ["0", "0"], "label": ["0", "1"]}, "more for task '0'"),
    ],
)
def test_what_cannot_be_replayed_is_refused(
    labels: dict[str, list[str]] | None, gold: dict[str, list[str]] | None, word: str
) -> None:
    table = made(5)[0] if labels is None else pl.DataFrame(labels)
    with pytest.raises(InputError, match=word):
        savings(table, None if gold is None else pl.DataFrame(gold))


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"seed": -1}, {"settles": (0.5, 1.5)}])
def test_settings_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        savings(*made(5), **wrong)  # type: ignore[arg-type]


def test_the_work_is_told_of_as_it_is_done() -> None:
    told: list[float] = []
    savings(*made(20), repeats=2, tick=told.append)
    assert sum(told) == pytest.approx(1.0)


@pytest.mark.parametrize("has_gold", [True, False])
def test_the_chart_names_every_way(has_gold: bool) -> None:
    pytest.importorskip("altair")
    labels, gold = made(60)
    found = savings(labels, gold if has_gold else None, repeats=1)
    drawn = draw(found, "mine.csv").to_json()
    for word in (STOP, FIXED, MAJORITY, "mine.csv", "labels per task", "1 random order"):
        assert word in drawn


# What it saves --------------------------------------------------------------------------------


@pytest.mark.parametrize("crowd", [cs.Adaptive(), cs.AgreementBased()], ids=str)
def test_a_uniform_crowd_needs_far_fewer_labels_when_it_stops_when_sure(
    crowd: cs.Estimator,
) -> None:
    found = savings(*made(), crowd=crowd, settles=LEVELS, repeats=2)
    # Full runs (1,000 tasks and more) save 41 to 47 %; here majority's error with all labels is of
    # 17 tasks, so that one level more or less may be needed, which is 10 to 15 %.
    assert found.enough is not None
    assert found.enough["saved"] > 0.25
    no_worse_than_fixed(found)


@needs_data
@pytest.mark.parametrize("name", ["rte", "temp", "weather", "dog"])
@pytest.mark.parametrize("kind", [cs.AgreementBased, cs.Adaptive])
def test_real_crowds_need_far_fewer_labels_when_they_stop_when_sure(
    name: str, kind: type[cs.Estimator]
) -> None:
    data = datasets.load(name)
    # Half of the usual levels: the cheapest that is good enough can only be found later, so that
    # less is saved than the full run finds, never more. One level more or less is 10 to 15 %.
    levels = 0.8, 0.9, 0.95, 0.98, 0.99, 0.999
    found = savings(data.labels, data.gold, crowd=kind(), settles=levels, repeats=3)
    assert found.enough is not None
    assert found.enough["saved"] >= 0.25
    no_worse_than_fixed(found)
