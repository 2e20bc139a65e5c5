"""Text in codes: the compiled table against polars, on columns in pieces, slices and with nulls."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdstream.labels.coded_labels import CodedLabels, code_frame
from crowdstream.labels.text_codes import code_text

TEXT = st.one_of(
    st.sampled_from(
        ["", "a", "abc", "abc\0", "x" * 12, "x" * 13, "x" * 16, "x" * 17, "x" * 17 + "y"]
    ),
    st.text(max_size=30),
)


@settings(deadline=None)  # the first example may compile
@given(st.lists(st.lists(st.one_of(st.none(), TEXT), max_size=20), max_size=4), st.integers(0, 5))
def test_codes_are_those_of_first_appearance(pieces: list[list[str | None]], cut: int) -> None:
    column = pl.concat([pl.Series("x", piece, pl.String) for piece in [[], *pieces]], rechunk=False)
    column = column[cut:]
    codes, firsts = code_text(column)
    values = column.gather(firsts).to_list()
    assert values == column.drop_nulls().unique(maintain_order=True).to_list()
    assert [None if code < 0 else values[code] for code in codes] == column.to_list()


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), TEXT), max_size=20))
def test_a_run_begins_where_the_text_changes(texts: list[str | None]) -> None:
    rows = [text for text in texts for _ in range(2)]
    column = pl.Series(rows, dtype=pl.String)
    wanted = [k for k in range(len(rows)) if k == 0 or rows[k] != rows[k - 1]]
    frame = pl.DataFrame({"task": column, "worker": column, "label": column})
    assert code_frame(frame).batch.starts.tolist() == [*wanted, len(rows)]


def test_a_table_grows_with_what_it_holds() -> None:
    rng = np.random.default_rng(0)
    names = pl.Series([f"{'long ' * (k % 7)}{k}" for k in range(50_000)])
    column = names.gather(rng.integers(len(names), size=200_000))
    codes, firsts = code_text(column)
    assert (column.gather(firsts).gather(codes) == column).all()
    assert len(firsts) == column.n_unique()


@settings(deadline=None)  # the first example may compile
@given(st.lists(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), max_size=6), max_size=4))
def test_columns_one_after_another_are_the_rows_one_after_another(
    parts: list[list[tuple[str, str, str]]],
) -> None:
    schema = {"task": pl.String, "worker": pl.String, "label": pl.String}
    frames = [pl.DataFrame(part, schema, orient="row") for part in [[], *parts]]
    joined = CodedLabels.concat([code_frame(frame) for frame in frames])
    whole = code_frame(pl.concat(frames))
    assert joined.frame().rows() == pl.concat(frames).rows()
    assert list(joined.batch.tasks) == list(whole.batch.tasks)
    assert joined.batch.starts.tolist() == whole.batch.starts.tolist()


@settings(deadline=None)  # polars starts its threads in the first example
@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), max_size=12), st.data())
def test_some_runs_are_the_rows_of_some_runs(
    rows: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    schema = {"task": pl.String, "worker": pl.String, "label": pl.String}
    coded = code_frame(pl.DataFrame(rows, schema, orient="row"))
    size = len(coded.batch)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool)
    wanted = coded.frame().filter(pl.Series(np.repeat(kept, coded.batch.sizes), dtype=pl.Boolean))
    found = coded.select(kept)
    assert found.frame().rows() == wanted.rows()
    assert found.batch.starts.tolist() == code_frame(wanted).batch.starts.tolist()
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, size)] * 2)))
    between = coded.frame()[coded.batch.starts[first] : coded.batch.starts[last]]
    assert coded.part(first, last).frame().rows() == between.rows()
