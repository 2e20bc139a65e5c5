"""Outcomes of experiments → files, and a page that sets claim, figure and verdict side by side."""

from __future__ import annotations

import base64
import html
import importlib.metadata
import platform
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from crowdstream.science.experiments.common import Claim

SCALE = 2.0
"""Pixels of a PNG for each of the chart's own: sharp on most screens."""

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 2rem auto; max-width: 1100px;
       padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #ddd;
         vertical-align: top; }
.holds { color: #1a7f37; font-weight: 600; } .fails { color: #b42318; font-weight: 600; }
blockquote { border-left: 3px solid #bbb; margin: .5rem 0; padding: .1rem 1rem; color: #555; }
img { max-width: 100%; zoom: 0.5; } .note { color: #666; font-size: .9rem; }
"""


@dataclass
class Outcome:
    """What became of an experiment."""

    name: str
    title: str
    paper: str
    claims: list[Claim] = field(default_factory=list)
    seconds: float = 0.0
    skipped: str = ""
    picture: str = ""

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.skipped:
            return "not checked"
        failed = sum(not claim.holds for claim in self.claims)
        return "holds" if not failed else f"{failed} of {len(self.claims)} claims fail"


def save_figure(name: str, data: pl.DataFrame, chart: object, folder: Path) -> str:
    """Write the CSV, the SVG and the PNG; the PNG in base64, which looks alike everywhere."""
    data.write_csv(folder / f"{name}.csv")
    chart.save(str(folder / f"{name}.png"), scale_factor=SCALE)  # type: ignore[attr-defined]
    chart.save(str(folder / f"{name}.svg"))  # type: ignore[attr-defined]
    return base64.b64encode((folder / f"{name}.png").read_bytes()).decode()


def write_page(outcomes: list[Outcome], path: Path, quick: bool) -> None:
    """The page, all in one file."""
    checked = [claim for outcome in outcomes for claim in outcome.claims]
    held = sum(claim.holds for claim in checked)
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("crowdstream", "numpy", "polars")
    )
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>The paper, reproduced</title><style>{STYLE}</style>",
        "<h1>A Streaming Algorithm for Crowdsourced Data Classification, reproduced</h1>",
        "<p>T. Bonald and R. Combes, 2016. Every number below was computed in this run, except "
        "those marked as the paper's.</p>",
        f"<p><strong>{held} of {len(checked)} claims hold.</strong> "
        f"<span class=note>{'Quick run, fewer repetitions. ' if quick else ''}"
        f"{versions}, Python {platform.python_version()}.</span></p>",
        "<table><tr><th>experiment<th>verdict<th>seconds</tr>",
        *(
            f"<tr><td><a href='#{o.name}'>{html.escape(o.title)}</a><td>{_mark(o.verdict)}"
            f"<td>{o.seconds:.0f}</tr>"
            for o in outcomes
        ),
        "</table>",
        *(_section(outcome) for outcome in outcomes),
        "</html>",
    ]
    path.write_text("\n".join(parts), encoding="utf-8")


def _section(outcome: Outcome) -> str:
    parts = [
        f"<h2 id='{outcome.name}'>{html.escape(outcome.title)}</h2>",
        f"<blockquote>{html.escape(outcome.paper)}</blockquote>",
    ]
    if outcome.skipped:
        return "\n".join([*parts, f"<p>Not checked: {html.escape(outcome.skipped)}</p>"])
    if outcome.picture:
        title = html.escape(outcome.title, quote=True)
        parts.append(f"<p><img alt='{title}' src='data:image/png;base64,{outcome.picture}'></p>")
    parts.append("<table><tr><th>claim<th>wanted<th>measured<th>verdict</tr>")
    for claim in outcome.claims:
        shown = "</td><td>".join(html.escape(x) for x in (claim.text, claim.wanted, claim.measured))
        verdict = _mark("holds" if claim.holds else "fails")
        parts.append(f"<tr><td>{shown}</td><td>{verdict}</td></tr>")
    return "\n".join([*parts, "</table>"])


def _mark(verdict: str) -> str:
    kind = "holds" if verdict == "holds" else "" if verdict == "not checked" else "fails"
    return f"<span class='{kind}'>{html.escape(verdict)}</span>"
