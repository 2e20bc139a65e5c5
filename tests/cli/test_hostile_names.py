"""Names that would be scripts, markup, colours or pages long: shown as names."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import polars as pl
import pytest

from crowdstream.plain_text import NAME_LENGTH, chart_names, printable, shortened
from crowdstream.theme import LIGHT, inline_svg
from tests.cli.tool import call
from tests.hostile import NAMES, hostile_labels, write_rows


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_rows(tmp_path_factory.mktemp("hostile") / "labels.jsonl", hostile_labels())
    assert (
        call("run", path, "-q", "--in-order", "--state", path.with_name("s"), "-o", "-").code == 0
    )
    return path.with_name("s")


CHARTS = [(), ("--trends",)]


@pytest.mark.parametrize("what", CHARTS)
@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_charts_are_drawn_and_hold_no_markup_of_names(
    state: Path, what: tuple[str, ...], kind: str
) -> None:
    pytest.importorskip("vl_convert")
    target = state.with_name(f"chart{len(what)}.{kind}")
    assert call("workers", state, "-q", "--chart", target, *what).code == 0
    if kind == "png":
        data = target.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 20_000  # rows, names and intervals, not a blank
        return
    text = target.read_text("utf-8")
    for part in ("<script", "<img", "<svg onload", "x" * 100, "\x1b", "\u202e", "\u2028", "\x00"):
        assert part not in text
    if kind == "svg":
        tags = {each.tag.partition("}")[2] for each in ElementTree.fromstring(text).iter()}
        assert tags <= {"svg", "g", "path", "text", "rect", "line", "defs", "clipPath", "tspan"}


def test_every_worker_has_a_row_of_its_own(state: Path) -> None:
    """Though two names are alike but for their ten-thousandth letter."""
    pytest.importorskip("vl_convert")
    chart = state.with_name("rows.svg")
    assert call("workers", state, "-q", "--chart", chart).code == 0
    shown = [each.text or "" for each in ElementTree.fromstring(chart.read_text("utf-8")).iter()]
    known = pl.read_csv(call("workers", state, "-q").out.encode())
    assert known["error_rate"].count() == len(NAMES)
    assert len({text for text in shown if text.startswith("xxx")}) == 2
    assert r"\ufffe\uffff\ufeff\u200b" in shown
    assert "#1f5fbf" in shown


# Terminals --------------------------------------------------------------------------------------


def test_a_terminal_is_shown_escapes_and_the_beginning_of_long_names(state: Path) -> None:
    labels = state.with_name("labels.jsonl")
    run = call("run", labels, tty=True)
    screens = [run.out + run.err]
    for what in ((), ("--pairs",), ("--alarms",), ("--trends",), ("--identifiability",)):
        screens.append(call("workers", state, *what, tty=True).out)
    for screen in screens:
        for part in ("\x1b[31mred", "\x07", "\u202e", "\u2028", "\x00", "\x9b", "\x1b[2J"):
            assert part not in screen
        assert "x" * 3000 not in screen
    assert r"\x1b[31mred" in screens[0] + screens[1]


def test_a_message_is_not_as_long_as_a_name(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("a" * 200_000 + ",b,c\n1,2,3\n")
    result = call("run", path)
    assert result.code == 2
    assert len(result.err) < 3000


# Helpers ------------------------------------------------------------------------------------------


def test_names_stay_as_many_as_they_were() -> None:
    shown = chart_names(NAMES)
    assert len(set(shown)) == len(NAMES)
    assert max(map(len, shown)) <= NAME_LENGTH + len(" (2)")
    assert all(printable(name) == name for name in shown)
    assert chart_names(["a\x1b", r"a\x1b", "a\x1b"]) == [r"a\x1b", r"a\x1b (2)", r"a\x1b"]


@pytest.mark.parametrize("most", [4, 9, 50])
def test_what_is_short_stays(most: int) -> None:
    for length in range(100):
        text = "".join(chr(65 + k % 26) for k in range(length))
        found = shortened(text, most)
        assert len(found) == min(length, most)
        assert found == text or (found[0] == text[0] and found[-1] == text[-1] and "…" in found)


def test_colours_are_changed_where_something_is_painted_and_nowhere_else() -> None:
    blue = LIGHT["accent"]
    svg = f'<svg class="a"><text fill="{blue}" class="{blue}">fill="{blue}"</text></svg>'
    found = inline_svg(svg, '"><script>')
    assert f'<text fill="var(--accent)" class="{blue}">fill="{blue}"</text>' in found
    assert 'aria-label="&quot;&gt;&lt;script&gt;"' in found
