"""`cs.preferences`: ratings with intervals, and judges weighed by how they tell items apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crowdstream as cs

Rows = list[tuple[str, str, str, str]]


def compare(
    discriminations: dict[str, float],
    n: int,
    *,
    items: int = 8,
    leans: dict[str, float] | None = None,
    ties: float = 0.0,
    seed: int = 0,
) -> tuple[Rows, dict[str, float]]:
    """Comparisons by the model itself; the true ratings, on the scale of mean discrimination 1."""
    rng = np.random.default_rng(seed)
    ratings = np.linspace(-1.2, 1.2, items)
    names = list(discriminations)
    first = rng.integers(0, items, n)
    second = (first + rng.integers(1, items, n)) % items
    who = rng.integers(0, len(names), n)
    steep = np.array([discriminations[name] for name in names])[who]
    lean = np.array([(leans or {}).get(name, 0.0) for name in names])[who]
    chance = 1 / (1 + np.exp(-(steep * (ratings[first] - ratings[second]) + lean)))
    won = np.where(rng.random(n) < chance, "a", "b")
    won = np.where(rng.random(n) < ties, "tie", won)
    rows = [
        (f"m{a}", f"m{b}", names[j], str(w))
        for a, b, j, w in zip(first, second, who, won, strict=True)
    ]
    scale = float(np.mean(list(discriminations.values())))
    return rows, {f"m{k}": rating * scale for k, rating in enumerate(ratings)}


def column(table: pl.DataFrame, name: str, of: str) -> dict[str, Any]:
    return dict(zip(table[of], table[name], strict=True))


ALIKE = {f"j{k}": 1.0 for k in range(5)}
UNLIKE = {"sharp": 2.5, "good": 1.5, "weak": 0.5, "random": 0.0, "reversed": -1.0}


def test_judges_who_are_alike_give_bradley_and_terrys_ratings() -> None:
    rows, _ = compare(ALIKE, 4000)
    found = cs.preferences(rows).items
    gap = (found["rating"] - found["plain"]).abs().max()
    error = ((found["high"] - found["low"]) / 3.92).max()
    assert gap is not None
    assert gap < error, "no further apart than the standard error"


def test_bradley_and_terrys_own_answer_for_two_items() -> None:
    rows = [("x", "y", "j", "a")] * 30 + [("y", "x", "j", "a")] * 10
    rating = column(cs.preferences(rows, position="none").items, "plain", "item")
    # log(30/10); the prior, of standard deviation 3, shrinks it a little.
    assert rating["x"] - rating["y"] == pytest.approx(np.log(3), abs=0.02)


def test_intervals_cover_about_as_often_as_they_say() -> None:
    hits: list[bool] = []
    of_judges: list[bool] = []
    for seed in range(20):
        rows, truth = compare(UNLIKE, 900, leans={"good": 0.8}, seed=seed)
        found = cs.preferences(rows)
        for item, low, high in found.items.select("item", "low", "high").iter_rows():
            hits.append(low < truth[item] < high)
        mean = np.mean(list(UNLIKE.values()))
        for judge, low, high in found.workers.select("worker", "low", "high").iter_rows():
            of_judges.append(low < UNLIKE[judge] / mean < high)
    # 160 and 100 intervals, of one fit not independent: at 0.95 a share below 0.87 is rare.
    assert np.mean(hits) > 0.87
    assert np.mean(of_judges) > 0.87


def test_judges_who_differ_are_weighed_and_ratings_gain() -> None:
    gains = []
    for seed in range(8):
        rows, truth = compare(UNLIKE, 500, seed=seed)
        table = cs.preferences(rows).items
        order = [truth[item] for item in table["item"]]
        ours, plain = (np.corrcoef(table[name], order)[0, 1] for name in ("rating", "plain"))
        gains.append(ours - plain)
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_random_and_reversed_judges_are_found() -> None:
    rows, _ = compare(UNLIKE, 4000, seed=1)
    judges = cs.preferences(rows).workers
    found, flags = column(judges, "discrimination", "worker"), column(judges, "flag", "worker")
    assert abs(found["random"]) < 0.2, "three standard errors"
    assert found["reversed"] < -0.7
    assert flags["random"] == "may_guess"
    assert flags["reversed"] == "prefers_the_worse"
    assert judges["worker"].to_list()[:2] == ["sharp", "good"]
    assert judges["discrimination"].to_numpy().mean() == pytest.approx(1.0), "the scale"


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_one_sided_judge_has_no_influence(side: str) -> None:
    rows, _ = compare({"good": 1.5, "fair": 0.8}, 600, seed=2)
    more = [(a, b, "stuck", side) for a, b, _, _ in rows[:300]]
    before, after = cs.preferences(rows), cs.preferences(rows + more)
    assert column(after.items, "rating", "item") == pytest.approx(
        column(before.items, "rating", "item"), abs=1e-6
    )
    stuck = after.workers.filter(worker="stuck").row(0, named=True)
    assert (stuck["discrimination"], stuck["flag"]) == (0.0, "one_sided")
    assert any("stuck" in note for note in after.notes)


def test_a_lean_to_the_first_is_not_taken_for_an_opinion() -> None:
    rows, _ = compare(ALIKE, 5000, leans={"j0": 1.5, "j1": -1.0}, seed=3)
    found = cs.preferences(rows)
    lean = column(found.workers, "lean", "worker")
    assert lean["j0"] == pytest.approx(1.5, abs=0.3), "three standard errors"
    assert lean["j1"] == pytest.approx(-1.0, abs=0.3)
    shared, _ = compare(ALIKE, 3000, leans=dict.fromkeys(ALIKE, 1.0), seed=4)
    one = cs.preferences(shared, position="shared").workers["lean"]
    assert one.n_unique() == 1
    assert one[0] == pytest.approx(1.0, abs=0.15)
    assert "lean" not in cs.preferences(shared, position="none").workers.columns


def test_swapping_positions_changes_only_the_lean() -> None:
    rows, _ = compare(UNLIKE, 800, leans={"good": 1.0}, seed=5)
    other = {"a": "b", "b": "a", "tie": "tie"}
    swapped = [(b, a, who, other[won]) for a, b, who, won in rows]
    one, two = cs.preferences(rows), cs.preferences(swapped)
    for table, name, of in (("items", "rating", "item"), ("workers", "discrimination", "worker")):
        assert column(getattr(one, table), name, of) == pytest.approx(
            column(getattr(two, table), name, of), abs=1e-5
        )
    leans = column(one.workers, "lean", "worker"), column(two.workers, "lean", "worker")
    assert leans[0] == pytest.approx({who: -lean for who, lean in leans[1].items()}, abs=1e-5)


def test_groups_that_nothing_connects_are_said() -> None:
    rows: Rows = [("x", "y", "j", "a"), ("u", "v", "j", "b")] * 20 + [("y", "x", "j", "a")] * 5
    found = cs.preferences(rows, position="none")
    assert found.groups == 2
    assert any("2 groups" in note for note in found.notes)
    sums = found.items.group_by("group").agg(pl.col("rating").sum())["rating"]
    assert sums.abs().max() == pytest.approx(0.0, abs=1e-9), "each group has a mean of 0"


def test_every_kind_of_table_and_name_of_a_winner() -> None:
    rows, _ = compare(UNLIKE, 300, ties=0.1, seed=6)
    first = cs.preferences(rows)
    names = ["model_a", "model_b", "judge", "winner"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    by_name = frame.with_columns(
        winner=pl.when(pl.col("winner") == "a").then("model_a")
        .when(pl.col("winner") == "b").then("model_b").otherwise(pl.lit("tie"))
    )  # fmt: skip
    shapes: list[Any] = [frame, frame.to_pandas(), frame.to_arrow(), frame.to_dicts(), by_name]
    for shape in shapes:
        found = cs.preferences(shape)
        assert pl.DataFrame(found.items)["item"].to_list() == first.items["item"].to_list()
    assert isinstance(cs.preferences(frame.to_pandas()).items, pd.DataFrame)
    upper = frame.with_columns(pl.col("winner").str.to_uppercase())
    assert cs.preferences(upper).ties == first.ties


EXTREME: dict[str, Rows] = {
    "one comparison": [("x", "y", "j", "a")],
    "only ties": [("x", "y", "j", "tie")] * 20,
    "never lost": [("x", "y", "j", "a"), ("y", "x", "j", "b")] * 50,
    "all one-sided": [("x", "y", "j", "a"), ("y", "x", "j", "a")] * 10,
    "all guess": [("x", "y", f"j{k % 3}", "ab"[k * 7 % 11 % 2]) for k in range(60)],
}


@pytest.mark.parametrize("case", EXTREME)
def test_extreme_comparisons_stay_finite(case: str) -> None:
    found = cs.preferences(EXTREME[case])
    for table in (found.items, found.workers):
        for values in table.select(pl.selectors.float()):
            assert values.drop_nulls().is_finite().all()
    assert "nan" not in found.summary().lower()
    assert found.notes


def test_rows_without_a_winner_are_counted() -> None:
    found = cs.preferences([("x", "y", "j", "a"), ("x", "y", "j", None), ("x", "x", "j", "a")])
    assert found.comparisons == 1
    assert any("2 rows left out" in note for note in found.notes)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "comparisons: expected at least one"),
        ("arena.csv", "comparisons: expected a table or rows"),
        ([("x", "y", "a")], "row 1: expected item_a, item_b, judge, winner"),
        ([("x", "y", "j", "z")], "row 1, winner: expected 'a', 'b', 'tie'"),
        ([("b", "a", "j", "a")], "row 1, winner: expected a winner that is either"),
        ([(None, "a", "j", "a")], "row 1: expected two items"),
        (pl.DataFrame({"one": ["x"], "two": ["y"]}), "expected columns item_a, item_b, winner"),
    ],
)
def test_mistakes_are_said(data: Any, words: str) -> None:
    with pytest.raises(cs.InputError, match=words):
        cs.preferences(data)
