"""The loops give the same whether they are compiled or run as Python, or polars does their work."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdstream.labels import (
    LabelBatch,
    Vocabulary,
    batch,
    batch_loops,
    code_table,
    coded_labels,
    grouping,
    grouping_loops,
    text_codes,
    text_loops,
)
from crowdstream.labels.grouping import Grouped
from crowdstream.labels.readers import csv_files, csv_quoting
from crowdstream.labels.readers.bad_rows import BadRows
from tests.reading import coded, shaper
from tests.uncompiled import uncompiled

SLOW = uncompiled(grouping_loops)
SLOW_TASKS = uncompiled(batch_loops).Tasks
CODE = st.integers(-1, 4)
ROWS = st.lists(st.tuples(CODE, CODE, CODE), max_size=40)
TEXT = st.one_of(st.sampled_from(["", "a", "x" * 12, "x" * 13, "x" * 17, "x" * 33]), st.text())
CELL = st.text(st.characters(exclude_characters="\r", codec="utf-8"), min_size=1, max_size=20)


def lists(found: tuple[object, ...]) -> list[object]:
    return [np.asarray(part).tolist() for part in found]


@contextmanager
def as_python() -> Iterator[None]:
    """Group with loops that are not compiled, which see a batch that is not."""
    with (
        mock.patch.object(grouping, "loops", SLOW),
        mock.patch.object(batch, "Tasks", SLOW_TASKS),
    ):
        yield


def test_one_of_the_two_is_compiled() -> None:
    assert text_loops.COMPILED
    assert str(grouping_loops.__file__) != str(SLOW.__file__)
    assert not uncompiled(text_loops).COMPILED


@pytest.mark.skipif("CROWDSTREAM_BOUNDSCHECK" not in os.environ, reason="needs a checked build")
def test_a_checked_build_checks() -> None:
    with pytest.raises(IndexError):
        grouping_loops.recode(np.array([1], np.int32), np.array([0], np.int32))


@given(ROWS, st.booleans())
def test_rows_are_grouped_the_same(rows: list[tuple[int, int, int]], together: bool) -> None:
    rows = sorted(rows) if together else rows
    tasks, workers, labels = np.array(rows, np.int32).reshape(-1, 3).T.copy()

    def told(found: Grouped) -> list[object]:
        arrays = found.batch.starts, found.batch.workers, found.batch.labels
        return lists((*arrays, *found[1:]))

    def group() -> list[object]:
        order, bounds, lost = grouping.sort_rows(tasks, 5)
        ordered = grouping.group(LabelBatch(bounds, workers, labels), order, 5, 5)
        found = [lost, *lists((order, bounds)), *told(ordered)]
        if together:
            whole = np.append(np.flatnonzero(np.diff(tasks, prepend=-9)), tasks.size)
            as_they_stand = LabelBatch(whole, workers, labels)
            found += told(grouping.group(as_they_stand, np.empty(0, np.int64), 5, 5))
        return found

    quick = group()
    with as_python():
        assert group() == quick


@given(st.lists(CODE), st.permutations(range(5)))
def test_codes_are_replaced_the_same(codes: list[int], new: list[int]) -> None:
    quick, slow = np.array(codes, np.int32), np.array(codes, np.int32)
    grouping_loops.recode(quick, np.array(new, np.int32))
    SLOW.recode(slow, np.array(new, np.int32))
    assert quick.tolist() == slow.tolist() == [new[code] if code >= 0 else -1 for code in codes]


@given(st.text('a,"\n'))
def test_the_last_row_ends_at_the_same_place(text: str) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    slow = uncompiled(text_loops)
    assert text_loops.last_row_end(data, ord(",")) == slow.last_row_end(data, ord(","))


@pytest.mark.parametrize("part", ["tasks", "workers", "labels"])
def test_a_code_that_points_outside_is_refused(part: str) -> None:
    codes = {name: np.zeros(1, np.int32) for name in ("tasks", "workers", "labels")}
    codes[part][0] = 1

    def group() -> None:
        order, bounds, _ = grouping.sort_rows(codes["tasks"], 1)
        rows = LabelBatch(bounds, codes["workers"], codes["labels"])
        grouping.group(rows, order, 1, 1)

    with pytest.raises(ValueError, match=f"{part}: expected codes below 1, found 1"):
        group()


def test_columns_of_different_lengths_are_refused() -> None:
    rows = LabelBatch(np.array([0, 2]), np.zeros(2, np.int32), np.zeros(1, np.int32))
    with pytest.raises(ValueError, match="2 rows of 2 workers and 1 labels"):
        grouping.group(rows, np.empty(0, np.int64), 1, 1)


@settings(deadline=None)  # polars starts its threads in the first example
@given(st.lists(st.lists(st.one_of(st.none(), TEXT), max_size=20), max_size=4))
def test_polars_codes_text_the_same(pieces: list[list[str | None]]) -> None:
    column = pl.concat([pl.Series("x", piece, pl.String) for piece in [[], *pieces]], rechunk=False)
    frame = pl.DataFrame({"task": column, "worker": column, "label": column})

    def code() -> list[object]:
        whole = coded_labels.code_frame(frame)
        return [whole.batch.workers.tolist(), list(whole.workers), whole.batch.workers.dtype]

    quick = code()
    with mock.patch.object(text_codes, "QUICK", False):
        assert code() == quick


@settings(deadline=None)  # polars starts its threads in the first example
@given(st.lists(st.tuples(CELL, CELL, st.one_of(st.just(""), CELL)), max_size=20))
def test_a_file_is_read_the_same(rows: list[tuple[str, str, str]]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows([("task", "worker", "label"), *rows])

    def read() -> list[object]:
        data = file.getvalue().encode()
        rows_read = coded(csv_files.read(data, "labels.csv", ",", shaper(), BadRows()))
        workers, classes = Vocabulary(), Vocabulary()
        found, intake = code_table(rows_read, workers, classes)
        arrays = lists((found.starts, found.workers, found.labels))
        return [list(found.tasks), *arrays, intake, list(workers), list(classes)]

    quick = read()
    with (
        as_python(),
        mock.patch.object(text_codes, "QUICK", False),
        mock.patch.object(csv_quoting, "QUICK", False),
        mock.patch.object(coded_labels, "code_frame", None),
    ):
        assert read() == quick
