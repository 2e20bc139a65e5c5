"""`cs.jury`: `Adaptive` on any shape of panel, its two votes, and words where numbers are not."""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from tests.panel.panels import Truths, Votes, accuracy, shared_pull


@pytest.fixture(scope="module")
def panel() -> tuple[Votes, Truths]:
    return shared_pull()


@pytest.fixture(scope="module")
def found(panel: tuple[Votes, Truths]) -> cs.Jury:
    return cs.jury(panel[0])


def long(votes: Votes) -> pl.DataFrame:
    rows = [(item, judge, said) for item, each in votes.items() for judge, said in each.items()]
    return pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")


def verdicts(decisions: Any, column: str) -> Truths:
    table = pl.DataFrame(decisions)
    return dict(zip(table["task"], table[column], strict=True))


def test_every_shape_of_a_panel_gives_the_same(panel: tuple[Votes, Truths]) -> None:
    votes = dict(list(panel[0].items())[:150])
    table = long(votes)
    wide = pl.DataFrame([{"item": item, **each} for item, each in votes.items()])
    shapes: list[Any] = [
        votes,
        table,
        table.to_arrow(),
        pd.DataFrame(table.to_dict(as_series=False)),
        table.rows(),
        wide,
        wide.to_pandas(),
        table.rename({"task": "item", "worker": "judge", "label": "verdict"}),
    ]
    first, *others = [cs.jury(shape) for shape in shapes]
    for other in others:
        assert verdicts(other.decisions, "label") == verdicts(first.decisions, "label")
        assert other.weights == first.weights
    kinds = [type(cs.jury(shape).decisions) for shape in (shapes[2], shapes[3])]
    assert kinds == [pa.Table, pd.DataFrame]
    joint = cs.jury(shapes[3], gold=dict(list(panel[1].items())[:30])).joint_errors
    assert joint is not None
    assert isinstance(joint.without, pd.DataFrame)


@pytest.mark.parametrize("checked", [0, 10, 80])
@pytest.mark.parametrize("kin", [{}, {"judge-5": "one model", "judge-6": "one model"}])
def test_labels_and_confidences_are_those_of_adaptive(
    panel: tuple[Votes, Truths], checked: int, kin: dict[str, str]
) -> None:
    gold = dict(list(panel[1].items())[:checked]) or None
    found = cs.jury(panel[0], gold=gold, families=kin, seed=3)
    decided = cs.Adaptive(families=kin, seed=3).fit_predict(long(panel[0]), gold=gold)
    same = ["task", "label", "confidence", "votes"]
    assert found.decisions.select(same).equals(decided.select(same))
    assert found.decided_by == ("gold" if checked >= 20 else "common_factor_vote")


def test_sparse_panels_scales_and_sets_are_decided_as_by_adaptive() -> None:
    sparse = cs.simulate(20, 300, p=0.2, per_task=4, seed=1).labels()
    ratings = sparse.with_columns(label=pl.col("label").cast(pl.Int64) * 3 + 1)
    both = pl.when(label="0").then(pl.lit("a")).otherwise(pl.lit("a|b"))
    tables: list[tuple[pl.DataFrame, dict[str, Any]]] = [
        (sparse, {}),
        (ratings, {"ordinal": True}),
        (sparse.with_columns(label=both), {"choices": "|"}),
    ]
    for table, meaning in tables:
        found = cs.jury(table, **meaning)
        decided = cs.Adaptive().fit_predict(table, **meaning)
        assert found.decisions["label"].to_list() == decided["label"].to_list()
        assert found.decisions["confidence"].to_list() == decided["confidence"].to_list()
        assert found.decisions["weighted_vote"].to_list() == decided["label"].to_list()


def test_judges_who_err_together_are_decided_by_the_common_factor(
    panel: tuple[Votes, Truths], found: cs.Jury
) -> None:
    votes, truths = panel
    assert found.decided_by == "common_factor_vote"
    assert "the common-factor vote decides" in found.summary()
    assert verdicts(found.decisions, "label") == verdicts(found.decisions, "common_factor_vote")
    majority = cs.MajorityVote().fit_predict(long(votes))
    plain = accuracy(dict(zip(majority["task"], majority["label"], strict=True)), truths)
    # Two standard errors of a difference of 600 paired items are about 0.02.
    assert accuracy(verdicts(found.decisions, "label"), truths) > plain + 0.02


def test_the_default_vote_is_the_second_look(panel: tuple[Votes, Truths], found: cs.Jury) -> None:
    crowd = cs.Adaptive().fit(long(panel[0]))
    reading = crowd._model.reading  # type: ignore[attr-defined]
    reading.crowd.panel = False  # as if the panel were none
    default = crowd.predict_many(long(panel[0]))
    said = dict(zip(default["task"], default["label"], strict=True))
    assert verdicts(found.decisions, "weighted_vote") == said


def test_where_verdicts_differ_a_human_is_asked_and_gold_would_tell(found: cs.Jury) -> None:
    table = found.decisions
    differ = table.filter(~pl.col("votes_agree"))
    assert differ.height > 0
    assert differ["reason"].unique().to_list() == ["votes_differ"]
    assert found.to_check is not None
    assert found.to_check.differ == differ.height
    assert set(found.to_check.first) <= set(differ["task"])
    assert len(found.to_check.first) == found.to_check.enough == min(30, differ.height)
    assert f"differ on {differ.height} tasks" in found.summary()


def test_independent_judges_are_decided_by_the_default() -> None:
    found = cs.jury(cs.simulate(9, 400, p=0.25, seed=2).labels())
    assert found.decided_by == "weighted_vote"
    assert found.decisions["label"].to_list() == found.decisions["weighted_vote"].to_list()
    assert found.effective is not None
    assert found.effective > 7


def test_gold_gives_the_effective_number_and_is_not_sent_to_a_human(
    panel: tuple[Votes, Truths], found: cs.Jury
) -> None:
    votes, truths = panel
    gold = dict(list(truths.items())[:80])
    told = cs.jury(votes, gold=gold)
    assert told.joint_errors is not None
    assert told.joint_errors.tasks == 80
    assert told.effective is not None
    assert found.effective is not None
    assert told.effective < found.effective, "agreement cannot see joint errors"
    assert told.decided_by == "gold"
    assert "gold weighs the votes" in told.summary()
    checked = told.decisions.filter(pl.col("task").is_in(list(gold)))
    assert not checked["needs_human"].any()
    for column in ("label", "weighted_vote", "common_factor_vote"):
        assert verdicts(checked, column) == gold
    assert told.to_check is not None
    assert told.to_check.differ == told.decisions.filter(~pl.col("votes_agree")).height


def test_what_gold_puts_in_doubt_is_said_and_nothing_warns() -> None:
    votes, truths = shared_pull(7, 400, hard=0.0, seed=5)
    other = {"yes": "no", "no": "yes"}
    fooled = {item: other[str(truth)] for item, truth in list(truths.items())[::4]}
    gold = dict(list((truths | fooled).items())[:150])  # every fourth item fools all of them
    found = cs.jury(votes, gold=gold)
    assert any("confidence was lowered" in note for note in found.notes), found.notes


def test_a_crowd_too_large_for_pairs_is_decided_all_the_same() -> None:
    made = cs.simulate(1100, 300, p=0.2, per_task=9, seed=1)
    found = cs.jury(made.labels(), gold=dict(made.truths().head(20).iter_rows()))
    assert found.joint_errors is None
    assert found.tasks == 300


def test_a_declared_family_counts_less(panel: tuple[Votes, Truths]) -> None:
    votes = {
        item: {**each, "copy-1": each["judge-6"], "copy-2": each["judge-6"]}
        for item, each in list(panel[0].items())[:300]
    }
    family = dict.fromkeys(("judge-6", "copy-1", "copy-2"), "one model")
    before, after = cs.jury(votes), cs.jury(votes, families=family)
    assert "copy one another: judge-6, copy-1, copy-2" in before.notes
    assert not any("copy one another" in note for note in after.notes)
    assert after.workers.filter(worker="copy-1")["family"].item() == "one model"
    truths: Truths = {item: truth for item, truth in panel[1].items() if item in votes}
    # Paired, 300 items: three copies of the worst judge do not outvote better ones, found or
    # declared; each worth a vote of its own they would.
    right = [accuracy(verdicts(one.decisions, "weighted_vote"), truths) for one in (before, after)]
    assert right[0] == right[1]
    alone = cs.Adaptive(copies="report").fit_predict(long(votes))
    said = dict(zip(alone["task"], alone["label"], strict=True))
    assert accuracy(said, truths) < right[0]


def test_a_sparse_panel_has_one_verdict() -> None:
    found = cs.jury(cs.simulate(20, 300, p=0.2, per_task=4).labels())
    assert found.to_check is None
    assert found.decisions["common_factor_vote"].null_count() == 300
    assert found.decisions["votes_agree"].all()
    assert any("sparse panel" in note for note in found.notes)


def test_a_panel_with_very_many_classes_has_one_verdict_and_is_not_called_sparse() -> None:
    found = cs.jury([(t, who, f"c{t % 150}") for t in range(300) for who in "abcd"])
    assert (found.decided_by, found.density, found.to_check) == ("weighted_vote", 1.0, None)
    assert found.notes[0].startswith("150 classes: decided by agreement alone")
    assert not any("sparse" in note for note in found.notes)


CASES: dict[str, Votes] = {
    "two judges": {f"q{k}": {"a": "yes", "b": "no" if k % 3 else "yes"} for k in range(30)},
    "one judge": {f"q{k}": {"a": "yes"} for k in range(30)},
    "all agree": {f"q{k}": dict.fromkeys("abc", "yes") for k in range(30)},
    "no verdict at all": {"q1": {"a": None, "b": None}, "q2": {}},
    "one item": {"q1": {"a": "yes", "b": "no", "c": "yes"}},
}


@pytest.mark.parametrize("case", CASES)
def test_panels_of_which_little_is_known_get_words_and_no_nan(case: str) -> None:
    found = cs.jury(CASES[case])
    text = found.summary()
    assert "nan" not in text.lower()
    assert found.decisions.height == len(CASES[case])
    for table in (found.decisions, found.workers):
        for column in table.select(pl.selectors.float()):
            assert not column.drop_nulls().is_nan().any()
    assert found.notes, "what cannot be told is said"
    assert all(math.isfinite(weight) for weight in found.weights.values())


def test_a_judge_that_always_says_the_same_is_named_and_weighs_little() -> None:
    votes, _ = shared_pull(5, 300, hard=0.0, seed=3)
    for each in votes.values():
        each["parrot"] = "yes"
    found = cs.jury(votes)
    assert any("parrot" in note and "always the same" in note for note in found.notes)
    assert found.weights["parrot"] == min(found.weights.values())
    assert found.weights["parrot"] < 0.2


def test_missing_verdicts_are_no_verdicts() -> None:
    votes, _ = shared_pull(5, 200, hard=0.2, seed=4)
    votes["q0"] = dict.fromkeys(votes["q0"])
    votes["q1"] = {
        judge: said if judge == "judge-0" else None for judge, said in votes["q1"].items()
    }
    table = cs.jury(votes).decisions
    assert table.filter(task="q0").select("label", "reason").row(0) == (None, "no_votes")
    assert table.filter(task="q1")["reason"].item() == "one_vote"
    wide = pl.DataFrame([{"item": item, **each} for item, each in votes.items()])
    assert cs.jury(wide).decisions.filter(task="q0")["reason"].item() == "no_votes"


def test_hostile_names_are_shown_escaped() -> None:
    votes: Votes = {f"q{k}\x1b[31m": {"a\x1b[2J": "yes", "b": "no", "c": "no"} for k in range(20)}
    assert "\x1b" not in cs.jury(votes).summary()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"votes": "panel.csv"}, "votes: expected a table"),
        ({"votes": {"q1": "yes"}}, r"votes\['q1'\]: expected a dict of judge"),
        ({"votes": CASES["two judges"], "sure": 2}, "sure: expected a number"),
        ({"votes": CASES["two judges"], "families": "gpt"}, "families: expected a mapping"),
        ({"votes": CASES["two judges"], "gold": {"other": "yes"}}, "gold: expected tasks"),
    ],
)
def test_mistakes_are_said(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(cs.InputError, match=words):
        cs.jury(**arguments)


def test_a_family_of_nobody_is_named(panel: tuple[Votes, Truths]) -> None:
    votes = dict(list(panel[0].items())[:30])
    judge = next(iter(next(iter(votes.values()))))
    notes = cs.jury(votes, families={judge: "one", "gpt-5": "one"}).notes
    assert "families: no judges of this panel: gpt-5" in notes


@pytest.mark.parametrize("votes", [None, 5, "votes.csv"])
def test_what_is_no_panel_is_refused(votes: Any) -> None:
    with pytest.raises(InputError, match="votes: expected a table, rows, or a dict"):
        cs.jury(votes)


def test_pandas_is_summed_up_where_there_is_no_pyarrow(panel: tuple[Votes, Truths]) -> None:
    found = cs.jury(long(dict(list(panel[0].items())[:60])).to_pandas())
    assert isinstance(found.workers, pd.DataFrame)
    expected = found.summary()
    missing = ImportError("pyarrow is required")
    with mock.patch("polars.dataframe.frame.pandas_to_pydf", side_effect=missing) as tried:
        assert found.summary() == expected
    assert tried.called


def test_tables_have_the_columns_of_any_run_and_then_what_a_panel_adds(
    panel: tuple[Votes, Truths],
) -> None:
    table = long(panel[0])
    crowd = cs.monitor(cs.Adaptive())
    decided = crowd.fit_predict(table)
    found = cs.jury(table)
    added = ["needs_human", "reason", "weighted_vote", "common_factor_vote", "votes_agree"]
    assert found.decisions.columns == [*decided.columns, *added]
    assert found.decisions.select(decided.columns).equals(decided)
    assert found.workers.columns == [*crowd.workers().columns, "family"]
    assert found.workers.drop("family").equals(crowd.workers())
    documented = cs.Jury.__doc__ or ""
    for name in (*found.decisions.columns, *found.workers.columns):
        assert f"``{name}``" in documented, name


def test_flips_and_gaps_are_told_per_judge_and_class() -> None:
    def said(task: int, worker: str, epoch: int) -> str | None:
        if worker == "c" and task % 2 and task < 40:
            return None
        flipped = worker == "b" and epoch == 1 and task < 15
        return "yes" if (task % 2 == 1) != flipped else "no"

    found = cs.jury(
        [
            {"task": t, "worker": w, "epoch": e, "label": said(t, w, e)}
            for t in range(60)
            for w in "abcd"
            for e in range(2)
        ]
    )
    moody = found.workers.filter(worker="b").row(0, named=True)
    assert moody["flip_rate"] == 0.25
    assert moody["flip_low"] < 0.25 < moody["flip_high"]
    assert found.workers.filter(worker="c")["missing"].item() == pytest.approx(1 / 3)
    assert found.missing_by_class is not None
    gaps = found.missing_by_class.select("worker", "label", "asked", "missing").rows()
    assert gaps == [("c", "no", 30, 0), ("c", "yes", 30, 20)]
