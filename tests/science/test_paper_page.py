"""The page of the paper, opened in Chromium: every chart is there, wide, and has marks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from crowdstream.science.experiments import find
from tests.cli.tool import call

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to open the page with")

DRAWN = ("worked", "fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "lemmas", "theorems")
"""Experiments with a figure that need no data sets."""

LOOK = """
<script>
addEventListener("load", () => {
  const charts = [...document.querySelectorAll("figure")].map(figure => {
    const svg = figure.querySelector("svg"), box = svg.getBoundingClientRect();
    const seen = mark => {
      const b = mark.getBoundingClientRect(), style = getComputedStyle(mark);
      const inside = b.left >= box.left - 1 && b.right <= box.right + 1;
      const painted = style.fill !== "none" || style.stroke !== "none";
      return inside && painted && b.width + b.height > 1;
    };
    const marks = [...svg.querySelectorAll(
      ".role-mark.mark-line path, .role-mark.mark-symbol path, .role-mark.mark-area path")];
    const texts = [...svg.querySelectorAll("text")];
    return {
      id: figure.previousElementSibling.previousElementSibling.id,
      share: box.width / document.body.clientWidth,
      marks: marks.filter(seen).length,
      legend: svg.querySelectorAll(".role-legend-symbol path").length,
      fonts: [...new Set(texts.map(text => getComputedStyle(text).fontFamily))],
      outside: texts.filter(text => {
        const b = text.getBoundingClientRect();
        return b.left < box.left - 1 || b.right > box.right + 1;
      }).length,
    };
  });
  const wide = document.documentElement.scrollWidth > innerWidth;
  const found = JSON.stringify({charts, wide, ink: getComputedStyle(document.body).color});
  document.title = "seen " + found;
});
</script>
"""
"""What a reader would see of the charts, as numbers in the page's title."""


def look(page: Path, *flags: str) -> dict[str, object]:
    """Open a copy of the page that says what is in it."""
    copy = page.with_name("look.html")
    copy.write_text(page.read_text("utf-8").replace("</html>", LOOK + "</html>"), "utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", *flags]
    command += ["--window-size=1300,900", "--virtual-time-budget=10000", "--dump-dom"]
    told = subprocess.run(
        [*command, copy.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    title = re.search(r"<title>seen (.*?)</title>", told.stdout, re.S)
    assert title, told.stderr
    found: dict[str, object] = json.loads(title[1].replace("&amp;", "&"))
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With few repetitions: what is asked is whether it is drawn, not whether it is right."""
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        for name, few in FEW.items():
            patch.setattr(find(name), "TIMES" if name == "theorems" else "REPETITIONS", few)
        call("paper", *DRAWN, "--quick", "-o", folder)
    return folder / "index.html"


FEW = {
    "fig1": {True: 10},
    "fig2": {True: 40},
    "fig3": {True: 10},
    "fig4": {True: 20},
    "fig5": {True: 3},
    "fig6": {True: 10},
    "theorems": {True: 20},
}

INK = {(): "rgb(27, 31, 36)", ("--blink-settings=preferredColorScheme=0",): "rgb(232, 234, 237)"}
"""The colour of text without flags and where the reader's screen is dark."""


@needs_chromium
@pytest.mark.parametrize("flags", INK)
def test_every_chart_is_drawn(page: Path, flags: tuple[str, ...]) -> None:
    found = look(page, *flags)
    assert found["ink"] == INK[flags]
    charts = found["charts"]
    assert isinstance(charts, list)
    assert [chart["id"] for chart in charts] == list(DRAWN)
    for chart in charts:
        assert chart["marks"] >= 2, chart
        assert chart["legend"] >= 2, chart
        assert chart["share"] > 0.9, chart
        assert chart["outside"] == 0, chart
        assert len(chart["fonts"]) == 1, chart
    assert found["wide"] is False


def test_charts_take_the_colours_of_the_page(page: Path) -> None:
    """So that they are legible where the page is dark."""
    text = page.read_text("utf-8")
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        assert "var(--soft)" in svg
        assert 'role="img" aria-label="' in svg
        assert not re.findall(r'(?:fill|stroke)="#[0-9a-f]{3,6}"', svg)
