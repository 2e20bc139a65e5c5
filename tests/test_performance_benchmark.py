"""`benchmarks/performance.py` makes tables and puts them into docs/performance.md."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from tests.benchmarks import FOLDER, load_benchmark

PAGE = FOLDER.parent / "docs" / "performance.md"


@pytest.fixture(scope="module")
def performance() -> ModuleType:
    return load_benchmark("performance")


def test_a_table_has_its_text_on_the_left_and_its_numbers_on_the_right(
    performance: ModuleType,
) -> None:
    made = performance.markdown(["file", "s"], [["csv", "1.20"], ["parquet", "0.90"]])
    assert made == "| file | s |\n| --- | ---: |\n| csv | 1.20 |\n| parquet | 0.90 |\n"


def test_a_table_takes_the_place_of_the_one_before(performance: ModuleType) -> None:
    page = "a\n<!-- run: begin -->\nold\n<!-- run: end -->\nb\n"
    once = performance.put(page, "run", r"| new \1 |" + "\n")
    assert once == "a\n<!-- run: begin -->\n| new \\1 |\n<!-- run: end -->\nb\n"
    assert performance.put(once, "run", r"| new \1 |") == once


@pytest.mark.parametrize("times", [0, 2])
def test_a_page_without_a_place_for_a_table_is_refused(performance: ModuleType, times: int) -> None:
    page = "<!-- run: begin -->\n<!-- run: end -->\n" * times
    with pytest.raises(ValueError, match=f"found them {times} times"):
        performance.put(page, "run", "new")


def test_the_page_has_a_place_for_every_part(performance: ModuleType) -> None:
    page = PAGE.read_text("utf-8")
    for part in (*performance.PARTS, "about"):
        assert "what was measured" in performance.put(page, part, "what was measured")


def test_what_was_measured_is_written_into_the_page(
    performance: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "performance.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(
        performance, "in_another_process", lambda part, quick, chart: f"{part} in {chart.name}"
    )
    performance.main(["--write", str(page), "run", "spark", "growth"])
    text = page.read_text("utf-8")
    assert "<!-- run: begin -->\nrun in run-cost.svg\n<!-- run: end -->" in text
    assert "<!-- spark: begin -->\nspark in run-cost.svg\n<!-- spark: end -->" in text
    assert f"growth in run-cost.svg\n![{performance.PICTURE}]({performance.CHART})\n<!--" in text
    assert f"polars {pl.__version__}" in text


def test_cost_against_sizes_is_a_row_of_each(
    performance: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = load_benchmark("shapes")
    monkeypatch.setitem(sys.modules, "shapes", shapes)
    monkeypatch.setattr(
        shapes,
        "grow",
        lambda rounds, quick: pl.DataFrame(
            [
                {"against": against, "of": of, "program": program, "ns": ns * of}
                for against in shapes.GROWTH
                for of in (10, 1_000)
                for program, ns in (("run", 3.0), ("polars", 2.0))
            ]
        ),
    )
    rows = performance.growth(True).splitlines()[2:]
    assert rows[0] == "| tasks | 10 · 1,000 | 30 · 3,000 | 1.50 · 1.50 |"
    assert len(rows) == len(shapes.GROWTH)
