"""Decisions on a scale: the median of the votes, moved by how far workers stray from the truth."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.labels import LabelBatch
from crowdstream.ordinal import ScaleVotes, decide_on_scale, expected_steps, make_kinds
from tests.benchmarks import load_benchmark

STARS = np.arange(1.0, 6.0)


def batch_of(
    votes: list[list[int]], truths: list[int] | None = None, workers: list[list[int]] | None = None
) -> LabelBatch:
    """Votes of workers 0, 1, 2, … on each task, as codes."""
    sizes = [len(some) for some in votes]
    who = [list(range(size)) for size in sizes] if workers is None else workers
    return LabelBatch(
        np.append(0, np.cumsum(sizes)).astype(np.int64),
        np.array([w for some in who for w in some], np.int32),
        np.array([x for some in votes for x in some], np.int32),
        np.array(truths or [], np.int32),
    )


def is_sound(found: ScaleVotes) -> bool:
    """Whether every figure is a number and within its bounds."""
    finite = all(np.isfinite(figures).all() for figures in found[1:])
    bounded = (found.confidences >= 0).all() and (found.confidences <= 1 + 1e-9).all()
    return bool(finite and bounded and (found.steps >= 0).all() and (found.spreads >= 0).all())


VOTES = st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=8)

# The median -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "decided"),
    [
        ([5, 5, 5, 1, 1], 5),
        ([5, 5, 1], 5),
        ([1, 1, 3, 4, 5], 3),
        ([1, 5], 3),
        ([4, 5], 4),
        ([2, 5], 3),
        ([1, 1, 5, 5], 3),
        ([2], 2),
        ([4, 4, 4, 4], 4),
    ],
)
def test_votes_that_are_counted_give_their_median(votes: list[int], decided: int) -> None:
    found = decide_on_scale(batch_of([[x - 1 for x in votes]]), STARS, weighted=False)
    assert found.winners.tolist() == [decided - 1]
    assert is_sound(found)


@given(VOTES, st.booleans())
@settings(deadline=None)
def test_a_class_that_nobody_chose_lies_between_two_equal_halves(
    votes: list[list[int]], weighted: bool
) -> None:
    found = decide_on_scale(batch_of(votes), STARS, weighted=weighted)
    assert is_sound(found)
    for some, winner in zip(votes, found.winners.tolist(), strict=True):
        if not some:
            assert winner == -1
        elif winner not in some:
            below = sum(x < winner for x in some)
            assert 2 * below == len(some)


@given(VOTES)
@settings(deadline=None)
def test_counted_votes_give_numpys_median(votes: list[list[int]]) -> None:
    found = decide_on_scale(batch_of(votes), STARS, weighted=False)
    medians = [int(np.floor(np.median(some))) if some else -1 for some in votes]
    assert found.winners.tolist() == medians


def test_alike_votes_are_surer_the_more_there_are() -> None:
    found = decide_on_scale(batch_of([[2], [2, 2], [2, 2, 2], [2] * 6]), STARS, weighted=False)
    assert found.winners.tolist() == [2] * 4
    assert (np.diff(found.confidences) > 0).all()
    assert (np.diff(found.steps) < 0).all()
    assert found.confidences[0] < 0.95  # one vote settles nothing


def test_nothing_is_decided_where_there_is_nothing() -> None:
    nobody = decide_on_scale(batch_of([[], []]), STARS)
    assert nobody.winners.tolist() == [-1, -1]
    assert is_sound(nobody)
    assert decide_on_scale(batch_of([]), STARS).winners.size == 0
    assert decide_on_scale(batch_of([[]]), np.empty(0)).winners.tolist() == [-1]


# The crowd --------------------------------------------------------------------------------------


def crowd(
    spreads: NDArray[np.float64], tasks: int, per_task: int, seed: int = 0, places: int = 5
) -> tuple[LabelBatch, NDArray[np.int64]]:
    """Ratings with normal noise, and the truths."""
    rng = np.random.default_rng(seed)
    truths = rng.integers(0, places, tasks)
    who = np.argsort(rng.random((tasks, spreads.size)), axis=1)[:, :per_task]
    said = np.rint(truths[:, None] + rng.normal(size=who.shape) * spreads[who])
    labels = np.clip(said, 0, places - 1).astype(np.int32).ravel()
    starts = np.arange(tasks + 1, dtype=np.int64) * per_task
    return LabelBatch(starts, who.ravel().astype(np.int32), labels), truths


def test_spreads_order_the_workers() -> None:
    batch, _ = crowd(np.array([0.4, 0.8, 1.2, 2.0, 3.0]), 400, 5)
    assert (np.diff(decide_on_scale(batch, STARS).spreads) > 0).all()


def test_spreads_are_the_mean_distance_of_votes() -> None:
    batch, truths = crowd(np.array([0.5, 0.7, 1.0, 1.4, 2.0]), 2000, 5)
    apart = np.abs(batch.labels - np.repeat(truths, 5))
    true = np.bincount(batch.workers, apart) / 2000
    # 0.03 is twice the standard error of a mean of 2,000; the kinds' spreads lie 19 % apart.
    assert decide_on_scale(batch, STARS).spreads == pytest.approx(true, rel=0.1, abs=0.03)


def test_a_good_workers_vote_moves_the_median() -> None:
    batch, _ = crowd(np.array([0.3, 2.0, 2.0, 2.0]), 600, 4)
    starts = np.append(batch.starts, batch.starts[-1] + 3)
    workers = np.append(batch.workers, [0, 1, 2]).astype(np.int32)
    labels = np.append(batch.labels, [0, 3, 2]).astype(np.int32)
    more = LabelBatch(starts, workers, labels)
    assert decide_on_scale(more, STARS).winners[-1] == 0
    assert decide_on_scale(more, STARS, weighted=False).winners[-1] == 2


def test_neither_order_nor_names_matter() -> None:
    batch, _ = crowd(np.array([0.4, 0.8, 1.2, 1.6, 2.0, 2.5]), 300, 3)
    rng = np.random.default_rng(1)
    names, places = rng.permutation(6), rng.permutation(5)
    tasks = rng.permutation(300)
    rows = (tasks[:, None] * 3 + np.array([2, 0, 1])).ravel()
    other = LabelBatch(
        batch.starts,
        names[batch.workers[rows]].astype(np.int32),
        places[batch.labels[rows]].astype(np.int32),
    )
    where = np.empty(5)
    where[places] = STARS
    found, wanted = decide_on_scale(other, where), decide_on_scale(batch, STARS)
    assert found.winners.tolist() == places[wanted.winners[tasks]].tolist()
    # Messages are kept in single precision.
    assert found.confidences == pytest.approx(wanted.confidences[tasks], abs=1e-4)
    assert found.scores == pytest.approx(wanted.scores[tasks], abs=1e-4)
    assert found.spreads[names] == pytest.approx(wanted.spreads, abs=1e-4)


def test_gold_is_decided_and_teaches() -> None:
    """Two workers who contradict each other: only the truth tells whose votes stray."""
    rng = np.random.default_rng(0)
    truths = rng.integers(0, 5, 200)
    strays = (truths + rng.integers(1, 5, 200)) % 5
    votes = np.stack([truths, strays], axis=1).tolist()
    known = [int(x) if k < 100 else -1 for k, x in enumerate(truths)]
    found = decide_on_scale(batch_of(votes, known), STARS)
    assert (found.winners == truths).all()
    assert found.confidences[:100].tolist() == [1.0] * 100
    assert found.margins[:100].tolist() == [1.0] * 100
    assert found.steps[:100].tolist() == [0.0] * 100
    assert found.scores[:100].tolist() == STARS[truths[:100]].tolist()
    assert found.spreads[0] < 0.2 < 1.0 < found.spreads[1]
    assert not (decide_on_scale(batch_of(votes), STARS).winners == truths).all()


def test_gold_may_be_a_class_that_nobody_chose() -> None:
    found = decide_on_scale(batch_of([[0, 0], [1, 1], []], [4, -1, 3]), STARS)
    assert found.winners.tolist() == [4, 1, 3]
    assert is_sound(found)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("places", [1, 2, 3, 11, 100])
def test_any_number_of_places_will_do(places: int, weighted: bool) -> None:
    batch, truths = crowd(np.array([0.3, 0.6, 1.0, 2.0]), 200, 3, places=places)
    found = decide_on_scale(batch, np.arange(float(places)), weighted=weighted)
    assert is_sound(found)
    assert np.mean(np.abs(found.winners - truths)) < 0.7  # votes stray by one step at most


def test_places_count_by_rank_and_scores_by_value() -> None:
    batch, _ = crowd(np.array([0.3, 0.6, 1.0]), 100, 3, places=3)
    near, far = (
        decide_on_scale(batch, np.arange(3.0)),
        decide_on_scale(batch, np.array([0, 1, 9.0])),
    )
    assert far.winners.tolist() == near.winners.tolist()
    assert far.steps.tolist() == near.steps.tolist()
    assert far.scores.max() > 8
    assert near.scores.max() <= 2


def test_labels_that_were_skipped_do_not_count() -> None:
    found = decide_on_scale(batch_of([[4, -1, 4], [-1], [0, 0, -1]]), STARS)
    assert found.winners.tolist() == [4, -1, 0]
    assert is_sound(found)


def test_kinds_are_distributions_that_leave_nothing_out() -> None:
    for places in (1, 2, 3, 5, 100):
        kinds = make_kinds(places)
        assert (kinds > 0).all()
        assert kinds.sum(axis=2) == pytest.approx(1.0, abs=1e-12)


# Against the plain median -----------------------------------------------------------------------

bench = load_benchmark("ordinal")
SEEDS = 4


@pytest.mark.parametrize("per_task", [2, 3, 5, 10])
@pytest.mark.parametrize(
    ("noise", "few"), [("normal", False), ("laplace", True), ("random", False)]
)
def test_no_worse_than_the_plain_median_and_better_where_raters_differ(
    noise: str, few: bool, per_task: int
) -> None:
    excess, ratios = [], []
    for spread, skewed in itertools.product((0.5, 1.0, 2.0, None), (False, True)):
        found = bench.measure(
            bench.Cell(noise, spread, skewed, few, per_task), 1500, SEEDS, nominal=False
        )
        plain, ours = found.plain.mean(axis=0), found.ours.mean(axis=0)
        # A standard error of 6,000 decisions of which a tenth differ is 0.004.
        assert (ours <= plain + 0.012).all(), (spread, skewed, plain, ours)
        if spread is None:
            assert (ours < plain).all()
        excess.append(ours - plain)
        ratios.append(found.calibration)
    assert (np.mean(excess, axis=0) < 0.0).all()
    for ratio, error in ratios:
        assert max(ratio, 1 / ratio) < 1.2 + 3 * error


# Tables -----------------------------------------------------------------------------------------

ROWS: list[Any] = [
    (f"t{task}", f"w{who}", min(max(1 + task % 5 + (task * who) % 3 - 1, 1), 5))
    for task in range(40)
    for who in range(1, 6)
]


def test_tables_have_score_and_steps_and_come_back_in_kind() -> None:
    table = pl.DataFrame(ROWS, ["task", "worker", "label"], orient="row")
    decisions = cs.Adaptive().fit_predict(table)
    wanted = cs.ordinal_decisions(decisions, table)
    assert wanted.columns == [*decisions.columns, "score", "steps"]
    assert wanted.schema["label"] == decisions.schema["label"]
    assert wanted["task"].equals(decisions["task"])
    found = cs.ordinal_decisions(decisions.to_pandas(), table.to_pandas())
    assert type(found).__module__.startswith("pandas")
    assert pl.DataFrame(found).equals(wanted)
    assert expected_steps(wanted) == pytest.approx(wanted["steps"].mean(), abs=1e-12)
    with pytest.raises(InputError, match="a column 'steps'"):
        expected_steps(decisions)


def test_tasks_come_in_the_order_of_the_decisions() -> None:
    decisions = cs.Adaptive().fit_predict(ROWS)
    wanted = cs.ordinal_decisions(decisions, ROWS)
    found = cs.ordinal_decisions(decisions.reverse().head(7), ROWS)
    assert found.equals(wanted.reverse().head(7))
    with pytest.raises(InputError, match=r"labels.*found none of t0"):
        cs.ordinal_decisions(decisions, ROWS[5:])


def test_names_in_an_order_are_decided_as_numbers_are() -> None:
    words = ["awful", "bad", "fair", "good", "great"]
    rows = [(task, worker, words[label - 1]) for task, worker, label in ROWS]
    wanted = cs.ordinal_decisions(cs.Adaptive().fit_predict(ROWS), ROWS)
    found = cs.ordinal_decisions(cs.Adaptive().fit_predict(rows), rows, words)
    assert found["label"].to_list() == [words[x - 1] for x in wanted["label"]]
    assert found["steps"].to_list() == wanted["steps"].to_list()
    assert found["score"].to_numpy() == pytest.approx(wanted["score"].to_numpy() - 1, abs=1e-9)
    with pytest.raises(InputError, match="all classes"):
        cs.ordinal_decisions(cs.Adaptive().fit_predict(rows), rows, words[1:])


def test_a_task_without_labels_stays_undecided() -> None:
    rows = [("t1", "a", 1), ("t1", "b", 4), ("t2", "a", None), ("t1", "c", 3)]
    decisions = cs.MajorityVote().fit_predict(rows)
    found = cs.ordinal_decisions(decisions, rows, weighted=False)
    assert found["label"].to_list() == [3, None]
    assert found["score"].is_null().to_list() == [False, True]
    assert found.row(1)[:6] == decisions.row(1)
    truth: dict[cs.TaskId, cs.ClassLabel] = {"t1": 1, "t2": 1}
    assert cs.metrics.mean_distance(found, truth) == 2.0  # 2, and 2 to the farthest that is named
    assert cs.metrics.mean_distance(found, truth, order=[1, 2, 3, 4]) == 2.5


def test_gold_settles_and_no_rule_settles_nothing() -> None:
    gold: dict[cs.TaskId, cs.ClassLabel] = {"t0": 5}
    decisions = cs.Adaptive().fit_predict(ROWS, gold=gold)
    found = cs.ordinal_decisions(decisions, ROWS, gold=gold).row(0, named=True)
    assert (found["label"], found["confidence"], found["settled"]) == (5, 1.0, True)
    assert (found["score"], found["steps"]) == (5.0, 0.0)
    never = cs.ordinal_decisions(decisions, ROWS, gold=gold, settle=None)
    assert not never["settled"].any()
    many = cs.ordinal_decisions(decisions, ROWS, min_labels=6)
    assert not many["settled"].any()


def test_an_empty_table_stays_empty() -> None:
    decisions = cs.MajorityVote().fit_predict([])
    found = cs.ordinal_decisions(decisions, [])
    assert found.columns == [*decisions.columns, "score", "steps"]
    assert found.height == 0
    assert expected_steps(found) == 0.0
