"""Crowd-kit's verbs over our methods: the same results as crowd-kit's, in the same shapes.

What crowd-kit made of the same tables is in tests/fixtures/crowdkit.json, recorded by
tests/fixtures/make/crowd_kit.py.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream_lab import baselines, crowdkit
from crowdstream_lab.crowdkit.tables import answers_of, code

RECORDED = json.loads((Path(__file__).parents[1] / "fixtures/crowdkit.json").read_text("utf-8"))
TABLES = {
    title: pd.DataFrame(each["rows"], columns=["task", "worker", "label"])
    for title, each in RECORDED["tables"].items()
}
CASES = [(title, name) for title in TABLES for name in RECORDED["tables"][title]["outcomes"]]
EXACT = {"MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene"}
ROUNDING = 2e-10
"""What is recorded has ten digits, and crowd-kit raises probabilities below 1e-10 to it."""

Fitted = tuple[Any, dict[str, Any]]


@cache
def fitted(title: str, name: str) -> Fitted:
    """One of our methods after `fit_predict`, and what crowd-kit's left behind."""
    theirs = RECORDED["tables"][title]["outcomes"][name]
    ours = getattr(crowdkit, theirs["kind"])(**theirs["parameters"])
    assert ours.fit_predict(TABLES[title]) is ours.labels_
    return ours, theirs


def as_pandas(recorded: dict[str, Any]) -> Any:
    index = recorded["index"]
    if "columns" not in recorded:
        return pd.Series(recorded["values"], index=index, name=recorded["name"])
    nested = isinstance(index[0], list)
    index = pd.MultiIndex.from_tuples(map(tuple, index)) if nested else index
    return pd.DataFrame(recorded["values"], index=index, columns=recorded["columns"])


@pytest.mark.parametrize(("title", "name"), CASES)
def test_it_has_crowd_kits_attributes_with_their_names(title: str, name: str) -> None:
    ours, theirs = fitted(title, name)
    for attribute in set(theirs) - {"kind", "parameters", "loss_history_"}:
        found, wanted = getattr(ours, attribute), as_pandas(theirs[attribute])
        assert type(found) is type(wanted), attribute
        assert set(found.index) == set(wanted.index)
        if isinstance(found, pd.DataFrame):
            assert sorted(found.columns) == sorted(wanted.columns)
        else:
            assert found.name == wanted.name


@pytest.mark.parametrize(
    ("title", "name"), [case for case in CASES if case[1].partition(",")[0] in EXACT]
)
def test_it_is_crowd_kits_number_by_number(title: str, name: str) -> None:
    ours, theirs = fitted(title, name)
    for attribute in set(theirs) - {"kind", "parameters", "loss_history_"}:
        found, wanted = getattr(ours, attribute), as_pandas(theirs[attribute])
        if isinstance(found, pd.DataFrame):
            found = found.loc[wanted.index, wanted.columns]
            assert np.abs(found.to_numpy() - wanted.to_numpy()).max() <= ROUNDING, attribute
        elif attribute == "labels_":
            assert found[wanted.index].tolist() == wanted.tolist()
        else:
            assert np.abs(found[wanted.index] - wanted).max() <= ROUNDING, attribute
    if "loss_history_" in theirs:
        assert ours.loss_history_ == pytest.approx(theirs["loss_history_"], abs=ROUNDING)


@pytest.mark.parametrize("name", ["GLAD", "MACE", "KOS"])
def test_it_decides_a_good_crowd_as_crowd_kit_does(name: str) -> None:
    ours, theirs = fitted("good crowd", name)
    wanted = as_pandas(theirs["labels_"])
    assert ours.labels_[wanted.index].tolist() == wanted.tolist()


@pytest.mark.parametrize("title", TABLES)
def test_glad_climbs_at_least_as_high_as_crowd_kits(title: str) -> None:
    """Where they differ, it is as crowd-kit's stopped earlier on the same slope."""
    ours, theirs = fitted(title, "GLAD")
    answers = code(answers_of(TABLES[title]))
    at = baselines.GLAD()
    at.log_likelihood_ = []
    at.abilities_ = as_pandas(theirs["alphas_"])[answers.workers].to_numpy()
    at.ease_ = np.exp(as_pandas(theirs["betas_"])[answers.tasks].to_numpy())
    at._expect(answers.coded)
    assert ours.loss_history_[-1] >= at.log_likelihood_[0] / len(TABLES[title]) - 1e-6


def test_mace_gives_workers_their_own_tastes() -> None:
    said = {"zoe": "xyzxyzxyzxyz", "ann": "xyzxyzxyzxyz", "bob": "xyzxyzxyzxyx", "al": "x" * 12}
    rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    crowd = crowdkit.MACE().fit(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    spammer = crowd.spamming_[:, 0].argmax()
    assert spammer == 3, "workers are in order of first appearance"
    assert crowd.thetas_[spammer].argmax() == 0, "x is the first class"


def test_known_truths_are_held() -> None:
    table = TABLES["three classes"]
    task = table["task"].iloc[0]
    for wrong in "abc":
        crowd = crowdkit.DawidSkene().fit(table, pd.Series({task: wrong}))
        assert crowd.labels_[task] == wrong
        assert crowd.probas_.loc[task, wrong] == 1.0
    ours = crowdkit.Adaptive().fit(table, pd.Series({task: "b"}))
    assert ours.labels_[task] == "b"


def matrices(table: pd.DataFrame, right: float) -> pd.DataFrame:
    workers, classes = sorted(set(table["worker"])), sorted(set(table["label"]))
    index = pd.MultiIndex.from_product([workers, classes], names=["worker", "label"])
    one = np.where(np.eye(len(classes)) > 0, right, (1 - right) / (len(classes) - 1))
    return pd.DataFrame(np.tile(one, (len(workers), 1)), index=index, columns=classes)


def test_matrices_from_before_can_be_the_start_or_be_added() -> None:
    table = TABLES["two classes"]
    start = matrices(table, 0.9)
    assigned = crowdkit.DawidSkene(0, initial_error_strategy="assign").fit(
        table, initial_error=start
    )
    assert np.abs(assigned.errors_ - start.loc[assigned.errors_.index]).max(axis=None) <= 1e-12
    many = crowdkit.DawidSkene(0, initial_error_strategy="addition").fit(
        table, initial_error=start * 1e9
    )
    assert np.abs(many.errors_ - start.loc[many.errors_.index]).max(axis=None) <= 1e-6
    turned = crowdkit.DawidSkene(5, initial_error_strategy="assign").fit(
        table, initial_error=matrices(table, 0.1)
    )
    usual = crowdkit.DawidSkene(5).fit(table)
    assert (turned.labels_ != usual.labels_).mean() > 0.5, "who starts reversed is read reversed"


def test_skills_of_before_weigh_votes() -> None:
    table = TABLES["two classes"]
    alone = pd.Series(dict.fromkeys(table["worker"], 0.0) | {"w1": 1.0})
    answered = table[table["worker"] == "w1"].set_index("task")["label"]
    vote = crowdkit.MajorityVote().fit(table, alone)
    assert vote.labels_[answered.index].tolist() == answered.tolist()
    only = pd.Series({"w0": 1.0, "w1": 1.0, "w2": 1.0, "w3": 1.0})
    ignoring = crowdkit.MajorityVote(on_missing_skill="ignore").fit(table, only)
    assert "w4" not in ignoring.skills_.index
    loud = crowdkit.MajorityVote(default_skill=99.0, on_missing_skill="value").fit(table, only)
    said = table[table["worker"] == "w4"].set_index("task")["label"]
    assert loud.labels_[said.index].tolist() == said.tolist()


def test_gold_majority_vote_weighs_by_known_answers() -> None:
    table = TABLES["two classes"]
    truths = pd.Series({f"t{task}": task % 2 for task in range(24)})
    vote = crowdkit.GoldMajorityVote().fit(table, truths)
    right = table["label"] == table["task"].map(truths)
    wanted = right.groupby(table["worker"]).mean()
    assert vote.skills_.to_dict() == pytest.approx(wanted.to_dict())
    assert vote.predict(table) is vote.labels_
    assert vote.predict_proba(table).sum(axis=1).to_numpy() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["Adaptive", "AgreementBased"])
def test_ours_decide_as_without_the_adapter(name: str) -> None:
    table = TABLES["three classes"]
    adapted = getattr(crowdkit, name)(seed=3).fit(table)
    itself = getattr(cs, name)(seed=3)
    decisions = itself.fit_predict(table)
    assert adapted.labels_.name == "agg_label"
    assert adapted.labels_.tolist() == decisions["label"].tolist()
    assert adapted.probas_.columns.tolist() == itself.classes_
    assert adapted.probas_.max(axis=1).tolist() == pytest.approx(decisions["confidence"].tolist())
    errors = adapted.crowd_.workers().set_index("worker")["error_rate"].dropna()
    assert (1 - adapted.skills_[errors.index]).to_dict() == pytest.approx(errors.to_dict())


def everyone() -> list[str]:
    return [name for name in crowdkit.__all__ if name != "GoldMajorityVote"]


@pytest.mark.parametrize("name", everyone())
def test_names_may_be_of_any_kind(name: str) -> None:
    table = TABLES["good crowd"]
    bools = table.assign(label=table["label"] == 1, task=table["task"].astype("category"))
    plain = getattr(crowdkit, name)().fit_predict(table.assign(label=table["label"].map(str)))
    other = getattr(crowdkit, name)().fit_predict(bools)
    assert other.dtype == bool
    assert (other[plain.index] == (plain == "1")).all()


@pytest.mark.parametrize("name", everyone())
def test_a_row_without_a_label_is_no_answer(name: str) -> None:
    table = TABLES["good crowd"]
    blank = pd.DataFrame([("t0", "w9", None)], columns=table.columns)
    more = getattr(crowdkit, name)().fit_predict(pd.concat([table, blank]))
    assert more.to_dict() == getattr(crowdkit, name)().fit_predict(table).to_dict()


@pytest.mark.parametrize("name", everyone())
def test_an_empty_table_has_no_labels(name: str) -> None:
    found = getattr(crowdkit, name)().fit_predict(TABLES["good crowd"].iloc[:0])
    assert len(found) == 0
    assert found.name == "agg_label"


@pytest.mark.parametrize("name", everyone())
@pytest.mark.filterwarnings("ignore:only one class:crowdstream.errors.NotIdentifiable")
def test_everybody_of_one_opinion(name: str) -> None:
    if name == "KOS":
        pytest.skip("KOS is for two classes, as in crowd-kit")
    table = TABLES["good crowd"].assign(label="yes")
    found = getattr(crowdkit, name)()
    decided = found.fit_predict(table)
    assert set(decided) == {"yes"}
    assert (found.probas_["yes"] > 0.5).all()


@pytest.mark.parametrize("name", everyone())
@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_a_missing_column_is_said(name: str, column: str) -> None:
    table = TABLES["good crowd"].drop(columns=column)
    with pytest.raises(InputError, match=f"expected a column '{column}', found") as caught:
        getattr(crowdkit, name)().fit(table)
    assert isinstance(caught.value, KeyError), "what crowd-kit raises"
    assert isinstance(caught.value, ValueError)


def test_mistakes_are_said_plainly() -> None:
    table = TABLES["two classes"]
    mistakes: dict[Callable[[], object], str] = {
        lambda: crowdkit.MajorityVote().fit([1, 2]): "a pandas DataFrame, found list",
        lambda: crowdkit.MajorityVote(on_missing_skill="guess"): "'error' or 'ignore' or 'value'",
        lambda: crowdkit.MajorityVote(default_skill=1.0).fit(table, pd.Series({"w0": 1.0})): (
            "'value' beside a default_skill"
        ),
        lambda: crowdkit.MajorityVote().fit(table, pd.Series({"w0": 1.0})): "none of 4 workers",
        lambda: crowdkit.MajorityVote(on_missing_skill="ignore").fit(
            table, pd.Series(dtype=float)
        ): "none for 24 tasks",
        lambda: crowdkit.MajorityVote(on_missing_skill="value").fit(
            table, pd.Series({"w0": 1.0})
        ): "default_skill: expected a number",
        lambda: crowdkit.Wawa().predict(table): "fit before predict",
        lambda: crowdkit.GoldMajorityVote().fit(table): "a Series of labels by task",
        lambda: crowdkit.KOS().fit(TABLES["three classes"]): "two classes, found 3",
        lambda: crowdkit.DawidSkene(-1): "n_iter: expected a whole number from 0",
        lambda: crowdkit.DawidSkene(initial_error_strategy="x"): "'assign', 'addition' or None",
        lambda: crowdkit.DawidSkene().fit(table, pd.Series({"t0": 7})): "classes that somebody",
        lambda: crowdkit.DawidSkene(initial_error_strategy="assign").fit(
            table, initial_error=matrices(table, 0.9).iloc[:2]
        ): "4 incomplete",
        lambda: crowdkit.DawidSkene(initial_error_strategy="assign").fit(
            table, initial_error=matrices(table, 0.9) / 2
        ): "sums from 0.5 to 0.5",
        lambda: crowdkit.GLAD(labels_priors=pd.Series({0: 0.5})): "the priors are those",
        lambda: crowdkit.MACE(alpha=1.0).fit(table): "alpha, which is 1.0",
        lambda: crowdkit.MajorityVote().fit(table.assign(task=None)): "a missing value",
    }
    for wrong, words in mistakes.items():
        with pytest.raises(InputError, match=words):
            wrong()


@pytest.mark.parametrize("name", everyone())
def test_it_can_be_kept(name: str) -> None:
    ours = getattr(crowdkit, name)()
    ours.fit_predict(TABLES["good crowd"])
    again = pickle.loads(pickle.dumps(ours))
    assert again.labels_.equals(ours.labels_)
    assert again.get_params() == ours.get_params()


@pytest.mark.parametrize("name", sorted(EXACT))
@pytest.mark.filterwarnings("ignore")  # crowd-kit's own, of pandas
def test_it_is_crowd_kits_where_crowd_kit_is(name: str) -> None:
    theirs = pytest.importorskip(
        "crowdkit.aggregation", reason="crowd-kit is not here: pip install 'crowdstream[bench]'"
    )
    major, minor = map(int, version("scikit-learn").split(".")[:2])
    if name in ("Wawa", "ZeroBasedSkill") and (major, minor) >= (1, 6):
        pytest.skip("crowd-kit's own fails beside scikit-learn 1.6 or later")
    made = cs.simulate(12, 60, q=0.3, per_task=5, seed=4).labels().to_pandas()
    wanted = getattr(theirs, name)().fit_predict(made)
    found = getattr(crowdkit, name)().fit_predict(made)
    assert (found[wanted.index] == wanted).all()
