"""Tables of any kind: read alike, and answered in the kind they came."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdstream.errors import InputError
from crowdstream.labels import ColumnNames, code_rows, in_kind, kind_of
from crowdstream.labels.columns import find_columns

ROWS = [("t1", "ann", "spam"), ("t1", "bob", None), ("t2", "ann", "ham")]
FRAME = pl.DataFrame(ROWS, ["item", "rater", "label"], orient="row")
ANSWER = pl.DataFrame(
    {
        "task": ["t1", "t2"],
        "label": ["spam", None],
        "votes": [2, 1],
        "confidence": [0.75, 1.0],
        "settled": [True, False],
        "flags": [["few_answers", "at_chance"], []],
    }
)


def run(code: str) -> list[str]:
    """What a process of its own prints."""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return told.stdout.splitlines()


def pandas_frame(**kinds: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: pd.Series(FRAME[name].to_list(), dtype=kinds.get(name, "object"))
            for name in FRAME.columns
        }
    )


@pytest.mark.parametrize(
    "table",
    [
        FRAME,
        FRAME.lazy(),
        FRAME.to_arrow(),
        FRAME.to_arrow().to_batches()[0],
        FRAME.to_arrow().to_reader(),
        FRAME.to_pandas(),
        pandas_frame(),
        pandas_frame(item="str", rater="str", label="str"),
        pandas_frame(item="category", rater="category", label="category"),
        pandas_frame().set_index(pd.Index([7, 7, 3])),
        pandas_frame().assign(more=[object(), 1, "x"]),
    ],
)
def test_tables_of_any_kind_are_read_alike(table: Any) -> None:
    found = code_rows(table).frame()
    assert found.columns == ["task", "worker", "label"]
    assert found.select(pl.all().cast(pl.String)).rows() == ROWS


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "float64"])
def test_whole_numbers_with_gaps_are_whole_numbers(kind: str) -> None:
    table = pd.DataFrame(
        {"task": [1, 1], "worker": [7, 8], "label": pd.Series([2, None], dtype=kind)}
    )
    assert code_rows(table).frame().rows() == [(1, 7, 2), (1, 8, None)]


def test_pandas_is_read_where_there_is_no_pyarrow() -> None:
    table = pandas_frame(item="str", label="str").assign(rater=[1.0, np.nan, 3.0])
    with mock.patch("polars.from_pandas", side_effect=ModuleNotFoundError("pyarrow")) as tried:
        found = code_rows(table, on_error="skip").frame()
        scores = code_rows(table.assign(label=[0.5, 1.0, np.nan]), bins=2, on_error="skip")
    assert tried.called
    assert found.rows() == [("t1", 1, "spam"), ("t1", None, None), ("t2", 3, "ham")]
    assert scores.frame()["label"].to_list() == ["0.5 to 1", "0.5 to 1", None]


def test_a_column_that_comes_twice_is_refused_where_it_matters() -> None:
    table = pd.DataFrame([["t", "w", "x", 1, 2]], columns=["task", "worker", "label", "a", "a"])
    assert code_rows(table).frame().rows() == [("t", "w", "x")]
    table.columns = pd.Index(["task", "worker", "label", "a", "label"])
    with pytest.raises(InputError, match="expected one column 'label', found several"):
        code_rows(table).frame()


@pytest.mark.parametrize("frame", [ANSWER, ANSWER.clear()], ids=["rows", "empty"])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (FRAME, pl.DataFrame),
        (FRAME.lazy(), pl.DataFrame),
        (FRAME.rows(), pl.DataFrame),
        (FRAME.to_dicts(), pl.DataFrame),
        (iter(FRAME.rows()), pl.DataFrame),
        (FRAME.to_pandas(), pd.DataFrame),
        (FRAME.to_arrow(), pa.Table),
        (FRAME.to_arrow().to_reader(), pa.Table),
    ],
)
def test_results_go_back_in_the_kind_that_came(
    data: Any, kind: type[Any], frame: pl.DataFrame
) -> None:
    found = in_kind(frame, kind_of(data))
    assert type(found) is kind
    back = pl.DataFrame(found)
    assert (back.columns, back.rows()) == (frame.columns, frame.rows())


def test_pandas_gets_the_types_it_would_choose() -> None:
    found = in_kind(ANSWER, kind_of(pd.DataFrame()))
    assert found.dtypes.astype(str).to_dict() == {
        "task": "str",
        "label": "str",
        "votes": "int64",
        "confidence": "float64",
        "settled": "bool",
        "flags": "object",
    }
    assert found["flags"].tolist() == [["few_answers", "at_chance"], []]
    assert found.index.tolist() == [0, 1]


def test_a_duckdb_relation_goes_back_to_its_connection() -> None:
    # In a process of its own: duckdb prints what it did not clean up when its process ends.
    code = """
import gc
import duckdb, polars as pl
from crowdstream.labels import code_rows, in_kind, kind_of
with duckdb.connect() as connection:
    connection.sql("create table frame as select 't1' as item, 'ann' as rater, 1 as label")
    relation = connection.table("frame")
    print(code_rows(relation).frame().rows())
    answer = pl.DataFrame({"task": ["t1", "t2"], "votes": [2, 1], "flags": [["at_chance"], []]})
    found = in_kind(answer, kind_of(relation))
    empty = in_kind(answer.clear(), kind_of(relation))
    del answer
    gc.collect()
    print(type(found).__name__, found.columns, empty.columns, empty.fetchall())
    print(found.select("flags").fetchall())
    print(found.join(relation.set_alias("given"), "task = item").select("votes").fetchall())
"""
    assert run(code) == [
        "[('t1', 'ann', 1)]",
        "DuckDBPyRelation ['task', 'votes', 'flags'] ['task', 'votes', 'flags'] []",
        "[(['at_chance'],), ([],)]",
        "[(2,)]",
    ]


def test_nothing_is_imported_that_the_data_does_not_need() -> None:
    code = """
import sys
from crowdstream.labels import Vocabulary, code_table, in_kind, kind_of
rows = [("t1", "ann", "spam")]
code_table(rows, Vocabulary(), Vocabulary())
import polars as pl
frame = pl.DataFrame(rows, ["task", "worker", "label"], orient="row")
code_table(frame, Vocabulary(), Vocabulary(), gold=frame)
assert in_kind(frame, kind_of(frame)) is frame
print(sorted({"pandas", "pyarrow", "duckdb", "narwhals"} & set(sys.modules)))
"""
    assert run(code) == ["[]"]


def test_the_only_column_left_is_meant() -> None:
    with pytest.raises(InputError, match="did you mean 'opinion'"):
        find_columns(ColumnNames(), ["item", "rater", "opinion"], "opinions.csv")
