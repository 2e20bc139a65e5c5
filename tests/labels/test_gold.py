"""True labels from anywhere: one reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from crowdstream.errors import InputError
from crowdstream.labels import read_truths
from crowdstream.labels.gold import truth_table

WANTED = {"t1": "spam", "t2": "ham"}
FRAME = pl.DataFrame({"item": ["t1", "t2", "t3", None], "truth": ["spam", "ham", None, "ham"]})


@pytest.mark.parametrize(
    "gold",
    [
        WANTED,
        {**WANTED, "t3": None},
        FRAME,
        FRAME.lazy(),
        FRAME.to_arrow(),
        FRAME.to_pandas(),
        FRAME.rename({"truth": "label"}),
        FRAME.rename({"truth": "Gold Label"}).with_columns(label=pl.lit("what somebody said")),
        pd.Series(WANTED),
        pl.concat([FRAME, FRAME]),
    ],
)
def test_truths_are_read_from_mappings_and_tables(gold: Any) -> None:
    assert read_truths(gold) == WANTED
    assert read_truths(truth_table(read_truths(gold))) == WANTED


@pytest.mark.parametrize("name", ["g.csv", "g.tsv", "g.jsonl", "g.parquet", "g.arrow"])
def test_truths_are_read_from_files_of_every_kind(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("sv"):
        FRAME.write_csv(path, separator="\t" if name == "g.tsv" else ",")
    else:
        write = {"jsonl": "write_ndjson", "parquet": "write_parquet", "arrow": "write_ipc"}
        getattr(FRAME, write[name[2:]])(path)
    assert read_truths(path) == read_truths(str(path)) == WANTED


def test_no_gold_is_no_truth() -> None:
    assert read_truths(None) == {}
    assert truth_table({}).columns == ["task", "label"]


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (7, "gold: expected a mapping, a table or a file of true labels, found int"),
        (["t1"], "found list"),
        (FRAME.select("truth"), "gold: expected columns task, label, found truth"),
        ({"t1": 0.5}, r"gold\['t1'\]: expected str, int or bool, found float 0.5"),
        ({True: "x"}, "gold, task: expected str or int"),
        (
            pl.DataFrame({"task": [1, 1], "gold": ["a", "b"]}),
            "gold: expected one true label per task, found several of 1",
        ),
        ("no such file.csv", "files: expected a file that exists"),
    ],
)
def test_gold_that_makes_no_sense_is_refused(gold: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_truths(gold)
