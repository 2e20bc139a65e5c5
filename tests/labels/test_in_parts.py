"""A file of columns is read alike at once and some rows at a time."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import code_frame, code_frames
from crowdstream.labels.readers import columnar

NAME = st.sampled_from(["a", "b", "c", "task-9", "task-10", "a name of more than sixteen bytes"])
ROWS = st.lists(st.tuples(NAME, NAME, st.one_of(st.none(), NAME)), max_size=12)
SCHEMA = dict.fromkeys(("task", "worker", "label"), pl.String)


@given(rows=ROWS, size=st.integers(1, 5))
def test_tables_in_parts_are_coded_as_one(rows: list[tuple[str, str, str]], size: int) -> None:
    whole = pl.DataFrame(rows, SCHEMA, orient="row")
    parts = [whole[at : at + size] for at in range(0, max(len(rows), 1), size)]
    found, expected = code_frames(iter(parts)), code_frame(whole)
    assert found.batch.workers.tolist() == expected.batch.workers.tolist()
    assert found.batch.labels.tolist() == expected.batch.labels.tolist()
    assert found.batch.starts.tolist() == expected.batch.starts.tolist()
    assert list(found.batch.tasks) == list(expected.batch.tasks)
    assert list(found.workers) == list(expected.workers)
    assert list(found.classes) == list(expected.classes)


@given(rows=ROWS)
def test_tasks_keep_the_order_in_which_they_first_appear(rows: list[tuple[str, str, str]]) -> None:
    table = code_frame(pl.DataFrame(rows, SCHEMA, orient="row"))
    places, names = table.task_order()
    in_runs = [list(names)[place] for place in places]
    assert in_runs == list(table.batch.tasks)
    assert list(names) == list(dict.fromkeys(task for task, _, _ in rows))


@pytest.mark.parametrize("rows", [2, 3, 6, 7])
def test_a_file_is_read_some_rows_at_a_time(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.DataFrame(
        {
            "task": [1, 1, 1, 2, 2, 3],
            "worker": ["ann", "bob", "cy", "ann", "dora", "bob"],
            "label": ["x", "y", None, "y", "x", "x"],
        }
    )
    path = tmp_path / "labels.parquet"
    table.write_parquet(path)
    expected = table.cast(pl.String).rows()
    monkeypatch.setattr(columnar, "BATCH_ROWS", rows)
    assert cs.read_labels(path).rows() == expected
    table.clear().write_parquet(path)
    assert cs.read_labels(path).height == 0


def test_a_row_without_worker_is_told_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "labels.parquet"
    worker = ["ann", "bob", "ann", "bob", None]
    pl.DataFrame({"task": [1, 1, 2, 2, 3], "worker": worker, "label": list("xxyyx")}).write_parquet(
        path
    )
    monkeypatch.setattr(columnar, "BATCH_ROWS", 2)
    with pytest.raises(InputError, match="row 5, column 'worker': expected a value"):
        cs.read_labels(path)
