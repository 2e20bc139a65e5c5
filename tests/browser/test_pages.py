"""Every page that people are given, in a real Chromium, through the same checks.

Pages that are written to files hold hostile names where they hold names at all; of the live page
every view is looked at, of a crowd and of a hostile one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crowdstream.plain_text import chart_names, unlike_names
from tests.chromium import CHROMIUM
from tests.cli.tool import call
from tests.hostile import NAMES, SCRIPT, hostile_labels, write_rows

if CHROMIUM is None:
    pytest.skip("no Chromium to open pages with", allow_module_level=True)
pytest.importorskip("playwright", reason="Playwright, which drives Chromium, is not installed")
pytest.importorskip("vl_convert", reason="the extra report is not installed")

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from crowdstream.report.questions_table import TITLE_LENGTH
from crowdstream_lab.experiments import find
from tests.browser.browsing import WATCH, Visit, ink_of
from tests.browser.conftest import HOSTILE
from tests.serve.running import Running

SET = "<img src=x onerror=alert(1)>|" + "n" * 150
FILE = "<img src=x onerror=alert(1)>\x1b.jsonl"
QUESTIONS = (*NAMES[:3], NAMES[7], NAMES[8], NAMES[12], NAMES[13])
"""Scripts, a text that turns its direction, and two that differ in their last letter only."""

FILES = (
    "report",
    "report of questions",
    "report of a state",
    "workers",
    "trends",
    "savings",
    "compare",
    "paper",
)
VIEWS = ("", "/workers", "/workers/w07", "/tasks", "/tasks/t3", "/alarms", "/export")
LIVE = [f"live crowd{view}" for view in VIEWS]
LIVE += [f"live hostile{view}" for view in ("", "/workers", "/tasks", "/workers/" + "x" * 300)]
PAGES = (*FILES, *LIVE, "live words")

WORKERS = chart_names(name.strip() for name in NAMES)
"""Names of workers are read without blanks around them, of whatever kind."""

NAMED = {
    "report": WORKERS,
    "report of questions": unlike_names(QUESTIONS, TITLE_LENGTH),
    "report of a state": WORKERS,
    "workers": WORKERS,
    "trends": WORKERS,
    "savings": chart_names([FILE]),
    "compare": [SET[:40]],
    "live hostile/workers": HOSTILE,
}
"""Names that a page shows, and shows as text."""

FEW = {"fig1": 10, "fig2": 40, "fig3": 10, "fig4": 20, "fig5": 3, "fig6": 10, "theorems": 20}
DRAWN = ("worked", *FEW, "lemmas")
"""Experiments with a figure that need no data sets, and how often they are repeated here: what is
asked is whether they are drawn, not whether they are right."""


def make_workers(folder: Path, *what: str) -> Path:
    labels = write_rows(folder / "labels.jsonl", hostile_labels())
    how = ("-q", "--in-order", "--state", folder / "s", "-o", folder / "d.csv")
    assert call("run", labels, *how).code == 0
    assert call("workers", folder / "s", "-q", "--chart", folder / "page.html", *what).code == 0
    return folder / "page.html"


def make_report(folder: Path) -> Path:
    labels = write_rows(folder / "labels.jsonl", hostile_labels())
    truths = [{"task": row["task"], "label": SCRIPT} for row in hostile_labels()]
    truth = write_rows(folder / "truth.jsonl", truths)
    how = ("--in-order", "--truth", truth, "--price", "0.05", "--title", NAMES[0])
    assert call("report", labels, *how, "-q", "-o", folder / "page.html").code == 0
    return folder / "page.html"


def make_report_of_questions(folder: Path) -> Path:
    """Several questions of such names, of which workers are asked again and leave out some."""
    rows = []
    for place, question in enumerate(QUESTIONS):
        for number, row in enumerate(hostile_labels(25)):
            for run in "ab":
                said = row["label"] if number % 9 or run == "a" else NAMES[1]
                if row["worker"] == NAMES[1] and said == SCRIPT and place:
                    said = ""
                rows.append({**row, "question": question, "run": run, "label": said})
    labels = write_rows(folder / "labels.jsonl", rows)
    result = call("report", labels, "-q", "--in-order", "-o", folder / "page.html")
    assert result.code == 0, result.err
    return folder / "page.html"


def make_report_of_a_state(folder: Path) -> Path:
    make_workers(folder)
    assert call("report", folder / "s", "-q", "-o", folder / "page.html").code == 0
    return folder / "page.html"


def make_savings(folder: Path) -> Path:
    labels, page = write_rows(folder / FILE, hostile_labels(40)), folder / "page.html"
    assert call("savings", labels, "-q", "--orders", "1", "--chart", page).code == 0
    return page


def make_compare(folder: Path) -> Path:
    (folder / SET).mkdir()
    made = ("--truth", folder / SET / "gold.csv", "-o", folder / SET / "labels.csv")
    assert call("simulate", "-n", "12", "-t", "40", *made, "--quiet").code == 0
    how = ("--methods", "majority,adaptive", "--shuffles", "0", "-q", "-o", folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROWDSTREAM_DATA", str(folder))
        assert call("compare", SET, *how).code == 0
    assert "\n## &lt;img" in (folder / "out" / "benchmark.md").read_text("utf-8")
    return folder / "out" / "index.html"


def make_paper(folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        for name, few in FEW.items():
            times = "TIMES" if name == "theorems" else "REPETITIONS"
            patch.setattr(find(name), times, {True: few})
        call("paper", *DRAWN, "--quick", "-o", folder)
    return folder / "index.html"


MAKE: dict[str, Callable[[Path], Path]] = {
    "report": make_report,
    "report of questions": make_report_of_questions,
    "report of a state": make_report_of_a_state,
    "workers": make_workers,
    "trends": lambda folder: make_workers(folder, "--trends"),
    "savings": make_savings,
    "compare": make_compare,
    "paper": make_paper,
}
CHARTS = {
    "report": 7,
    "report of questions": 5 * len(QUESTIONS),
    "report of a state": 3,
    "compare": 3,
    "paper": len(DRAWN),
}
"""Charts that a page has at least; the others have one."""


@dataclass
class Opened:
    """A page in a tab, what it complained of, and what it asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


class Tabs:
    """Every page, made and opened when it is first asked for."""

    def __init__(self, browser: Browser, server: Running, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.visit = Visit(browser, server).sign_in()
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.add_init_script(WATCH)
        self.blank = self.context.new_page()
        self.files: dict[str, Path] = {}
        self.opened: dict[str, Opened] = {}

    def __getitem__(self, name: str) -> Opened:
        if name.startswith("live "):
            return self._live(name.removeprefix("live "))
        if name not in self.opened:
            self.opened[name] = self._file(name)
        return self.opened[name]

    def _live(self, place: str) -> Opened:
        """One tab for all views: each keeps a connection open, and a browser has six of them."""
        if "live" not in self.opened:
            self.opened["live"] = self._tab(self.visit.context)
        found = self.opened["live"]
        found.complaints.clear()
        found.page.goto("/#/-/words/settled" if place == "words" else f"/#/{place}")
        found.page.evaluate("() => new Promise((done) => setTimeout(done))")
        found.page.wait_for_selector("main[aria-busy=false]")
        found.page.wait_for_selector("h1", state="attached")
        found.page.wait_for_timeout(100)
        return found

    def _file(self, name: str) -> Opened:
        folder = self.folder / name.replace(" ", "-")
        folder.mkdir()
        self.files[name] = MAKE[name](folder)
        found = self._tab(self.context)
        found.page.goto(self.files[name].as_uri())
        return found

    @staticmethod
    def _tab(context: BrowserContext) -> Opened:
        found = Opened(context.new_page())
        page = found.page

        def hear(told: ConsoleMessage) -> None:
            if told.type in ("error", "warning"):
                found.complaints.append(told.text)

        page.on("console", hear)
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("request", lambda asked: found.requests.append(asked.url))
        return found


@pytest.fixture(scope="module")
def tabs(
    browser: Browser, server: Running, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tabs]:
    yield (found := Tabs(browser, server, tmp_path_factory.mktemp("pages")))
    found.visit.close()
    found.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_runs_breaks_or_leaves_the_page(tabs: Tabs, name: str) -> None:
    opened = tabs[name]
    page = opened.page
    assert opened.complaints == []
    assert page.evaluate("window.seen") == []
    assert page.evaluate("[...document.images].filter((one) => !one.naturalWidth).length") == 0
    if name in FILES:
        assert opened.requests == [tabs.files[name].as_uri()]
        assert page.locator("script, link, iframe, object, embed").count() == 0
    else:
        assert all(url.startswith(tabs.server.url) for url in opened.requests)
    assert page.locator("main img:not([alt]), [onload], [onerror], [onmouseover]").count() == 0


@pytest.mark.parametrize("name", NAMED)
def test_hostile_names_are_shown_as_text(tabs: Tabs, name: str) -> None:
    shown = tabs[name].page.evaluate("document.body.textContent")
    found = [one for one in NAMED[name] if one in shown]
    least = 12 if name == "trends" else len(NAMED[name])  # there are trends of twelve only
    assert len(found) >= least, set(NAMED[name]) - set(found)
    for part in ("\x1b", "\u202e", "\u2028", "\x00", "x" * 301):
        assert part not in shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_that_keeps_readers_out(tabs: Tabs, name: str, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = tabs[name].page
    rules: dict[str, Any] = {"resultTypes": ["violations"]}
    if scheme == "dark":  # only colours differ
        rules["runOnly"] = ["color-contrast"]
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    try:
        found = Axe().run(page, options=rules).response["violations"]
    finally:
        page.emulate_media(color_scheme="light")
    # Of the live page nothing at all was found before.
    bad = [x for x in found if name not in FILES or x["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in bad] == []


SEEN = [(name, "light") for name in (*FILES, "live crowd")]
SEEN += [("report", "dark"), ("live crowd", "dark")]  # the charts of all files change colours alike


@pytest.mark.parametrize(("name", "scheme"), SEEN)
def test_every_chart_is_seen(tabs: Tabs, name: str, scheme: Any) -> None:
    page = tabs[name].page
    page.emulate_media(color_scheme=scheme)
    try:
        charts = page.locator(
            "figure" if name in FILES else "main svg.banddot, main svg.histogram"
        ).all()
        assert len(charts) >= CHARTS.get(name, 1)
        for place, chart in enumerate(charts):
            share, colours = ink_of(tabs.blank, chart.screenshot())
            # An axis with its numbers alone has less ink than a hundredth and few shades.
            assert share > 0.01, (place, share)
            assert colours > 12, (place, colours)
    finally:
        page.emulate_media(color_scheme="light")


OUTSIDE = """() => [...document.querySelectorAll("figure svg")].flatMap((svg) => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const b = text.getBoundingClientRect();
    return text.textContent && (b.left < box.left - 1 || b.right > box.right + 1);
  }).map((text) => text.textContent);
})"""


FONTS = """() => new Set([...document.querySelectorAll("figure svg text")].map(
  (text) => getComputedStyle(text).fontFamily)).size"""


@pytest.mark.parametrize("name", FILES)
def test_text_of_a_chart_is_inside_it_in_one_font_and_in_the_pages_colours(
    tabs: Tabs, name: str
) -> None:
    page = tabs[name].page
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(FONTS) == 1
    for svg in re.findall(r"<figure.*?</figure>", tabs.files[name].read_text("utf-8"), re.S):
        assert 'role="img" aria-label="' in svg
        assert not re.findall(r'(?:fill|stroke)="#[0-9a-f]{3,6}"', svg)


SMALLEST = """() => Math.min(...[...document.querySelectorAll("figure svg text")].map(
  (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().d || 99))"""


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_does_not_scroll_sideways(tabs: Tabs, name: str) -> None:
    page = tabs[name].page
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        page.wait_for_timeout(50)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if name in FILES:  # letters that can still be read
            assert page.evaluate(SMALLEST) > 6
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})


def test_every_question_is_one_click_away_and_back(tabs: Tabs) -> None:
    page = tabs["report of questions"].page
    links = page.locator("#questions tbody a").all()
    assert len(links) == len(QUESTIONS)
    for link in links:
        shown = link.text_content()
        link.click()
        article = page.locator("article:target")
        assert article.locator("h2").text_content() == shown
        article.get_by_role("link", name="All questions").click()
        assert page.locator("#questions:target").count() == 1
    lost = """() => [...document.querySelectorAll("a")].filter(
      (a) => !document.getElementById(a.hash.slice(1))).length"""
    assert page.evaluate(lost) == 0
