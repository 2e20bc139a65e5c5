"""Rows of CSV are those that polars writes, byte by byte."""

from __future__ import annotations

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

from crowdstream.writers import csv_rows
from crowdstream.writers.csv_loops import COMPILED


def rows_of(table: pl.DataFrame, separator: str = ",") -> bytes:
    return b"".join(bytes(piece) for piece in csv_rows.csv_pieces(table, separator))


def expected(table: pl.DataFrame, separator: str = ",") -> bytes:
    rounded = table.with_columns(cs.float().round(6))
    return rounded.write_csv(include_header=False, separator=separator).encode()


def decisions(names: list[str]) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    number = len(names)
    return pl.DataFrame(
        {
            "task": names,
            "label": rng.choice(["spam", "ham", "neither of the two"], number),
            "confidence": rng.random(number),
            "votes": rng.integers(10**12, size=number),
            "settled": rng.random(number) < 0.5,
        }
    )


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "SMALL", 1)
    monkeypatch.setattr(csv_rows, "PIECE", 1000)


def test_rows_are_those_of_polars() -> None:
    table = decisions([f"task-{k}" + "x" * (k % 40) for k in range(5_500)])
    assert rows_of(table) == expected(table)
    assert rows_of(table, "\t") == expected(table, "\t")


def test_all_numbers_of_six_decimals_are_written_as_polars_writes_them() -> None:
    table = pl.DataFrame({"share": np.arange(1_000_001) / 1e6})
    assert rows_of(table) == expected(table)


def test_numbers_are_rounded_as_polars_rounds_them() -> None:
    ties = (np.arange(200_000) * 5 + 0.5) / 1e6
    shares = np.concatenate([ties, np.random.default_rng(1).random(500_000), [0.0, 1e-9, 1.0]])
    table = pl.DataFrame({"share": shares})
    assert rows_of(table) == expected(table)


@pytest.mark.parametrize(
    "name",
    ["a,b", 'say "x"', "two\nlines", "back\r", "", "a long name, with a comma", "naïve", "é,"],
)
@pytest.mark.parametrize("place", [0, 1700, 2999])
def test_text_that_needs_quotes_has_them(name: str, place: int) -> None:
    names = [f"task-{k}" for k in range(3_000)]
    names[place] = name
    table = decisions(names)
    assert rows_of(table) == expected(table)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -0.25, 17.125, 1.0000001])
def test_numbers_beyond_shares_are_left_to_polars(odd: float) -> None:
    table = pl.DataFrame({"share": [0.5] * 1500 + [odd] + [0.25] * 1500})
    assert rows_of(table) == expected(table)


def test_nulls_and_other_columns_are_left_to_polars() -> None:
    table = pl.DataFrame({"task": ["a", None] * 1000, "share": [0.5, None] * 1000})
    assert rows_of(table) == expected(table)
    dates = pl.DataFrame(
        {"day": pl.date_range(pl.date(2020, 1, 1), pl.date(2025, 1, 1), eager=True)}
    )
    assert rows_of(dates) == expected(dates)
    wide = pl.DataFrame({"task": ["x" * 2000] * 1500})
    assert rows_of(wide) == expected(wide)
    negative = pl.DataFrame({"votes": [-1, 2] * 1000})
    assert rows_of(negative) == expected(negative)


@pytest.mark.skipif(not COMPILED, reason="the loop needs a compiler")
def test_the_loop_is_used_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    table = decisions([f"task-{k}" for k in range(2_000)])
    wanted = expected(table)

    def refuse(*_: object) -> bytes:
        raise AssertionError("polars was asked")

    monkeypatch.setattr(csv_rows, "by_polars", refuse)
    assert rows_of(table) == wanted
