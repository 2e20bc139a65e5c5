"""Names that would be scripts, markup, colours or pages long: shown as names, in a real browser."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crowdstream.plain_text import NAME_LENGTH, chart_names, printable, shortened
from crowdstream.theme import LIGHT, inline_svg
from tests.chromium import DARK, needs_chromium, open_page, picture
from tests.cli.tool import call

SCRIPT = "</script><script>alert(1)</script>"
NAMES = (
    SCRIPT,
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "]]><!--</style></svg>",
    "&lt;b&gt;&amp;",
    "\x1b[31mred\x1b[0m\x07",
    "\u202eevil\u2066",
    "line\u2028end\nnew\ttab\r",
    "\x00\x01\x08\x0b\x1f\x7f\x9b",
    "\ufffe\uffff\ufeff\u200b",
    "x" * 10_000,
    "x" * 9_999 + "y",
    "=1+1",
    "#1f5fbf",
    "${alert(1)}{{7*7}}",
)


def hostile_labels(tasks: int = 150) -> list[dict[str, str]]:
    """Workers of those names on tasks of those names with such labels."""
    draw = random.Random(1)
    rows = []
    for number in range(tasks):
        truth = draw.choice((SCRIPT, "\x1b[2J"))
        for name in draw.sample(NAMES, 7):
            wrong = draw.random() < 0.2
            said = {SCRIPT: "\x1b[2J", "\x1b[2J": SCRIPT}[truth] if wrong else truth
            rows.append(
                {"task": f"{NAMES[number % len(NAMES)]}{number}", "worker": name, "label": said}
            )
    return rows


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in hostile_labels()), "utf-8")
    assert call("run", path, "-q", "--state", path.with_name("s"), "-o", "-").code == 0
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


@needs_chromium
@pytest.mark.parametrize("flags", [(), (DARK,)])
@pytest.mark.parametrize("what", CHARTS)
def test_a_page_of_workers_runs_nothing(
    state: Path, what: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    pytest.importorskip("vl_convert")
    page = state.with_name("page.html")
    assert call("workers", state, "-q", "--chart", page, *what).code == 0
    found, complaints = open_page(page, *flags)
    assert complaints == []
    assert found["ran"] == []
    assert (found["odd"], found["scripts"], found["wide"]) == (0, 0, False)
    shown = found["charts"][0]["text"]
    assert len(set(shown) & set(chart_names(NAMES))) >= 10  # there are trends of twelve only
    assert found["charts"][0]["outside"] == []
    # The dots are there, in the accent of the reader's screen.
    accent = (125, 176, 255) if flags else (31, 95, 191)
    pixels = picture(page, *flags).astype(np.int64)
    assert int((np.abs(pixels - accent).sum(axis=2) < 12).sum()) > 40


@needs_chromium
def test_every_worker_has_a_row_of_its_own(state: Path) -> None:
    """Though two names are alike but for their ten-thousandth letter."""
    pytest.importorskip("vl_convert")
    page = state.with_name("rows.html")
    assert call("workers", state, "-q", "--chart", page).code == 0
    shown = open_page(page).found["charts"][0]["text"]
    known = pl.read_csv(call("workers", state, "-q").out.encode())
    assert known["error_rate"].count() == len(NAMES)
    drawn = [text for text in shown if text.startswith("xxx")]
    assert len(set(drawn)) == 2
    assert r"\ufffe\uffff\ufeff\u200b" in shown
    assert "#1f5fbf" in shown


@needs_chromium
def test_a_narrow_screen_scrolls_the_chart_and_not_the_page(state: Path) -> None:
    pytest.importorskip("vl_convert")
    page = state.with_name("narrow.html")
    assert call("workers", state, "-q", "--chart", page).code == 0
    found = open_page(page, width=500).found
    assert found["wide"] is False
    assert found["charts"][0]["width"] >= 860
    assert found["charts"][0]["smallest"] > 9  # pixels of a line of text that can still be read


@needs_chromium
def test_savings_of_a_file_with_such_a_name(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    path, page = tmp_path / "<img src=x onerror=alert(1)>\x1b.jsonl", tmp_path / "page.html"
    path.write_text("".join(json.dumps(row) + "\n" for row in hostile_labels(40)), "utf-8")
    assert call("savings", path, "-q", "--repeats", "1", "--chart", page).code == 0
    found, complaints = open_page(page)
    assert (complaints, found["ran"], found["odd"]) == ([], [], 0)
    shown = chart_names([path.name])[0]
    assert shown.startswith("<img src=x")
    assert any(text.startswith(shown) for text in found["charts"][0]["text"])
    pixels = picture(page).astype(np.int64)
    assert int((np.abs(pixels - (31, 95, 191)).sum(axis=2) < 12).sum()) > 40


@needs_chromium
def test_a_comparison_of_a_set_with_such_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    name = "<img src=x onerror=alert(1)>|" + "n" * 150
    folder = tmp_path / name
    folder.mkdir()
    made = ("-n", "12", "-t", "40", "-o", folder / "labels.csv", "--truth", folder / "gold.csv")
    assert call("simulate", *made, "--quiet").code == 0
    monkeypatch.setenv("CROWDSTREAM_DATA", str(tmp_path))
    methods = "majority,adaptive,spectral-meta-learner"
    how = ("--methods", methods, "--shuffles", "0", "-q", "-o", tmp_path / "out")
    assert call("compare", name, *how).code == 0
    page = tmp_path / "out" / "index.html"
    found, complaints = open_page(page)
    assert (complaints, found["ran"], found["odd"], found["scripts"]) == ([], [], 0, 0)
    assert found["wide"] is False
    assert len(found["charts"]) >= 3
    assert [chart["outside"] for chart in found["charts"]] == [[]] * len(found["charts"])
    assert any("spectral-meta-learner" in chart["text"] for chart in found["charts"])
    table = (tmp_path / "out" / "benchmark.md").read_text("utf-8")
    assert "\n## &lt;img" in table
    pixels = picture(page).astype(np.int64)
    assert int((np.abs(pixels - (31, 95, 191)).sum(axis=2) < 12).sum()) > 40


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
    svg = f'<svg class="a"><text fill="{blue}" aria-label="{blue}">fill="{blue}"</text></svg>'
    found = inline_svg(svg, '"><script>')
    assert f'<text fill="var(--accent)" aria-label="{blue}">fill="{blue}"</text>' in found
    assert 'aria-label="&quot;&gt;&lt;script&gt;"' in found
