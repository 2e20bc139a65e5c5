"""The interface people already know: tables back in kind, usual names, crowd-kit's three lines."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdstream as cs
from crowdstream.errors import InputError

ROWS = [
    (f"t{t}", worker, "yes" if t % 3 else "no") for t in range(30) for worker in ("a", "b", "c")
] + [(f"t{t}", "parrot", "yes") for t in range(30)]
COLUMNS = ["task", "worker", "label"]
POLARS = pl.DataFrame(ROWS, COLUMNS, orient="row")

KINDS: dict[str, tuple[Callable[[pl.DataFrame], Any], type]] = {
    "polars": (lambda frame: frame, pl.DataFrame),
    "lazy polars": (lambda frame: frame.lazy(), pl.DataFrame),
    "pandas": (lambda frame: pd.DataFrame(frame.to_dict(as_series=False)), pd.DataFrame),
    "pandas categories": (
        lambda frame: pd.DataFrame(frame.to_dict(as_series=False)).astype("category"),
        pd.DataFrame,
    ),
    "pyarrow": (lambda frame: frame.to_arrow(), pa.Table),
    "duckdb": (lambda frame: duckdb.from_arrow(frame.to_arrow()), duckdb.DuckDBPyRelation),
    "rows": (lambda frame: frame.rows(), pl.DataFrame),
    "dicts": (lambda frame: frame.rows(named=True), pl.DataFrame),
}


def in_polars(table: Any) -> pl.DataFrame:
    return table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_in_the_kind_it_came(kind: str) -> None:
    make, wanted = KINDS[kind]
    reference, crowd = cs.Adaptive(), cs.Adaptive()
    expected = reference.fit_predict(POLARS)
    found = crowd.fit_predict(make(POLARS))
    assert isinstance(found, wanted)
    assert in_polars(found).rows() == expected.rows()
    for verb in ("predict_many", "predict_proba_many", "fit_predict_proba", "stream_many"):
        one = getattr(crowd.copy(), verb)(make(POLARS))
        assert isinstance(one, wanted), verb
        assert in_polars(one).rows() == getattr(reference.copy(), verb)(POLARS).rows(), verb
    for question in ("workers", "confusions"):
        one = getattr(crowd, question)()
        assert isinstance(one, wanted), question
        assert in_polars(one).rows() == getattr(reference, question)().rows(), question


def test_nobody_is_made_to_install_pandas() -> None:
    code = (
        "import sys, crowdstream as cs; cs.Adaptive().fit_predict([('t', 'a', 1), ('t', 'b', 1)]);"
        "print(*{'pandas', 'pyarrow', 'duckdb'} & set(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == ""


@pytest.mark.parametrize(
    "names",
    [
        ("item", "annotator", "answer"),
        ("task_id", "worker_id", "label"),
        ("Task", "Performer", "Label"),
    ],
)
def test_usual_names_are_recognised(names: tuple[str, str, str]) -> None:
    renamed = POLARS.rename(dict(zip(COLUMNS, names, strict=True)))
    assert cs.Adaptive().fit_predict(renamed).rows() == cs.Adaptive().fit_predict(POLARS).rows()


def test_other_names_can_be_told() -> None:
    renamed = POLARS.rename({"task": "document", "worker": "judge no.", "label": "verdict"})
    expected = cs.Adaptive().fit_predict(POLARS)
    found = cs.Adaptive().fit_predict(renamed, task="document", worker="judge no.", label="verdict")
    assert found.rows() == expected.rows()
    with pytest.raises(InputError, match="document"):
        cs.Adaptive().fit_predict(renamed, task="document", worker="judge no.", label="nowhere")


def test_three_lines_of_a_crowd_kit_user() -> None:
    labels = pd.DataFrame(ROWS, columns=COLUMNS)
    crowd = cs.Adaptive()
    decided = crowd.fit_predict(labels)
    shares = crowd.fit_predict_proba(labels)
    skills = pd.Series(crowd.skills_)
    assert decided.set_index("task")["label"].to_dict() == {
        f"t{t}": "yes" if t % 3 else "no" for t in range(30)
    }
    assert np.allclose(shares[["yes", "no"]].sum(axis=1), 1.0)
    assert skills["a"] > 0.5 > skills["parrot"]


def test_probabilities_and_decisions_agree() -> None:
    crowd = cs.Adaptive()
    decisions = crowd.fit_predict(POLARS)
    shares = crowd.predict_proba_many(POLARS).drop("task")
    assert shares.columns == [str(label) for label in crowd.classes_]
    assert np.allclose(shares.to_numpy().max(axis=1), decisions["confidence"])
    best = shares.to_numpy().argmax(axis=1)
    assert [shares.columns[k] for k in best] == decisions["label"].to_list()


def test_a_class_may_be_called_task() -> None:
    rows: list[tuple[str, str, str | int]]
    rows = [("t1", "a", "task"), ("t1", "b", "1"), ("t2", "a", 1)]
    table = cs.MajorityVote().fit_predict_proba(rows)
    assert table.columns == ["task", "class_task", "1", "class_1"]


def test_confusions_are_probabilities() -> None:
    table = cs.Adaptive().fit(POLARS).confusions()
    totals = table.group_by("worker", "true_class").agg(pl.col("probability").sum())
    assert np.allclose(totals["probability"], 1.0)
    parrot = table.filter(worker="parrot", true_class="no", said="yes")["probability"].item()
    assert parrot > 0.6  # always says yes; 20 answers are not enough to believe it altogether


def test_gold_is_settled_and_needs_no_label() -> None:
    found = cs.Adaptive().fit_predict(POLARS, gold={"t0": "yes"}).row(0, named=True)
    assert (found["label"], found["confidence"], found["settled"]) == ("yes", 1.0, True)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("rows", "dicts")])
def test_gold_is_any_table(kind: str) -> None:
    gold = KINDS[kind][0](pl.DataFrame({"task": ["t"], "label": ["y"]}))
    assert cs.Adaptive().fit_predict([("t", "ann", "x")], gold=gold)["label"].item() == "y"


def test_one_rule_settles_tables_and_streams() -> None:
    crowd = cs.Adaptive().fit(POLARS)
    rows = [("n1", "a", "yes"), ("n2", "a", "yes"), ("n2", "b", "yes"), ("n2", "c", "yes")]
    table = crowd.predict_many(rows, settle=0.5)
    assert table["settled"].to_list() == [False, True]  # one label settles nothing
    assert crowd.predict_many(rows, settle=0.5, min_labels=1)["settled"].all()
    assert not crowd.predict_many(rows, settle=None)["settled"].any()
    stream = cs.Stream(crowd, settle=0.5)
    assert [stream.observe(*row).settled for row in rows[:3]] == [False, False, True]
    with pytest.raises(InputError, match=r"settle: expected a number from 0\.5 to 1"):
        crowd.predict_many(rows, settle=95)


@pytest.mark.parametrize("kind", ["polars", "pandas", "rows", "dicts"])
def test_a_stream_takes_many_labels_from_any_table(kind: str) -> None:
    stream, reference = cs.Stream(settle=None), cs.Stream(settle=None)
    found = stream.observe_many(KINDS[kind][0](POLARS), at=0)
    assert found == reference.observe_many(ROWS, at=0)
    assert stream.counts.labels == len(ROWS)
