"""Executors turn rows into pieces by where their tasks go, and these into blocks. No cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")

import pyarrow as pa

from crowdstream.spark import blocks
from crowdstream.spark.blocks import MakeBlocks, Recode, make_pieces, read_arrays, rows_of

Labels = set[tuple[str, str, str, str | None]]


def rows(number: int, workers: int, parts: int, seed: int = 0) -> pl.DataFrame:
    """Rows in random order, one per worker and task, some without a label, some tasks with a truth.

    ``part`` is one for all rows of a task.
    """
    rng = np.random.default_rng(seed)
    which = rng.choice(workers * (number // 3 + 1), number, replace=False)
    task, worker = which // workers, which % workers
    label = [None if one == 0 else f"c{one}" for one in rng.integers(4, size=number)]
    return pl.DataFrame(
        {
            "part": pl.Series((task * 7) % parts, dtype=pl.Int32),
            "task": [f"t{one}" for one in task],
            "worker": [f"w{one}" for one in worker],
            "label": label,
            "truth": [f"c{one % 4}" if one % 5 == 0 else None for one in task],
        },
        schema_overrides={"label": pl.String, "truth": pl.String},
    )


def batches_of(table: pl.DataFrame, size: int) -> Iterator[Any]:
    """Arrow's batches as Spark makes them."""
    schema = pa.schema([("part", pa.int32()), *((name, pa.string()) for name in blocks.CODED)])
    yield from table.to_arrow().cast(schema).to_batches(max_chunksize=size)


def blocks_of(table: pl.DataFrame, size: int) -> list[Any]:
    """All blocks of a table whose pieces were moved to their parts."""
    pieces = list(make_pieces(batches_of(table, size)))
    parts = sorted({piece["part"][0].as_py() for piece in pieces})
    found: list[Any] = []
    for part in parts:
        here = [piece for piece in pieces if piece["part"][0].as_py() == part]
        found += MakeBlocks()(iter(here))
    return found


def labels_in(found: list[Any]) -> Labels:
    """Task, worker, label and truth of every label in some blocks."""
    labels: Labels = set()
    for row in rows_of(found):
        starts, workers, said, truths = read_arrays(row)
        tasks, who = row.names("tasks").to_list(), row.names("worker_names").to_list()
        classes = [*row.names("class_names").to_list(), None]  # the last is that of −1
        for at, task in enumerate(tasks):
            for place in range(starts[at], starts[at + 1]):
                labels.add((task, who[workers[place]], classes[said[place]], classes[truths[at]]))
    return labels


@pytest.mark.parametrize("parts", [1, 3, 200])
@pytest.mark.parametrize("workers", [5, 300])
@pytest.mark.parametrize("at_once", [1 << 21, 100])
def test_no_label_is_lost_or_changed_on_the_way_to_its_part(
    parts: int, workers: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "ROWS", at_once)
    table = rows(1_000, workers, parts)
    given = table.drop("part").filter(pl.col("label").is_not_null())
    found = blocks_of(table, size=70)
    assert labels_in(found) == set(given.rows())
    assert sum(block["rows"][0].as_py() for block in found) == table.height
    assert sum(block["null_label"][0].as_py() for block in found) == table["label"].null_count()


def test_a_piece_names_only_who_is_in_it() -> None:
    table = rows(200, 300, 50)
    for piece in make_pieces(batches_of(table, 1_000)):
        here = table.filter(pl.col("part") == piece["part"][0].as_py())
        read = blocks.read_piece(blocks.Row(piece, 0))
        assert sorted(read.worker[1]) == sorted(here["worker"].unique())
        assert read.worker[1].gather(read.worker[0]).to_list() == here["worker"].to_list()


@pytest.mark.parametrize("most", [0, 127, 128, 40_000, 2**31 - 1])
def test_codes_of_any_size_come_back_from_the_fewest_bytes(most: int) -> None:
    codes = np.array([-1, 0, most], np.int32)
    packed = blocks.narrow(codes)
    assert len(packed) == 3 * (1 if most < 128 else 2 if most < 2**15 else 4)
    row = blocks.Row(pa.record_batch([[packed]], ["workers"]), 0)
    assert blocks.read_codes(row, "workers", 3).tolist() == codes.tolist()


def test_recoded_blocks_hold_the_same_labels() -> None:
    found = blocks_of(rows(1_000, 20, 4), size=300)
    names = blocks.look_around(found)
    workers, classes = (
        blocks.Names(some, np.arange(len(some), dtype=np.int32)[::-1].copy())
        for some in (names.workers, names.classes)
    )
    expected = labels_in(found)
    again: Labels = set()
    who, what = names.workers.to_list()[::-1], [*names.classes.to_list()[::-1], None]
    for block in Recode(workers, classes)(iter(found)):
        row = blocks.Row(block, 0)
        starts, codes, said, truths = read_arrays(row)
        task = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        tasks = row.names("tasks").to_list()
        for at, worker, label in zip(task, codes, said, strict=True):
            again.add((tasks[at], who[worker], what[label], what[truths[at]]))
    assert again == expected
