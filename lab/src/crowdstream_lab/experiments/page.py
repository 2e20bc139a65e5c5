"""Outcomes of experiments → files, and a page that sets claim, figure and verdict side by side."""

from __future__ import annotations

import base64
import html
import importlib.metadata
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from crowdstream.theme import PNG_SCALE, STYLE, html_figure, page_head, theme
from crowdstream_lab.experiments import notes
from crowdstream_lab.experiments.common import Claim, Source

__all__ = ["STYLE", "Outcome", "counted", "save_figure", "write_page"]

WIDE = "<div class=wide tabindex=0 role=region aria-label=table>"
"""Around a table, which scrolls inside itself."""

WHOSE = {"paper": "paper", "ours": "ours"}
"""Whose claim it is, in words."""


@dataclass
class Outcome:
    """What became of an experiment."""

    name: str
    title: str
    paper: str
    claims: list[Claim] = field(default_factory=list)
    seconds: float = 0.0
    """Of processor time."""
    skipped: str = ""
    picture: str = ""
    """The figure as SVG, empty if there is none."""

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.skipped:
            return "not checked"
        failed = sum(not claim.holds for claim in self.claims)
        return "holds" if not failed else f"{failed} of {len(self.claims)} do not hold"


def save_figure(name: str, data: pl.DataFrame, chart: object, folder: Path) -> str:
    """Write the CSV, the SVG and the PNG; the PNG in base64, which looks alike everywhere."""
    drawn = theme(chart)
    data.write_csv(folder / f"{name}.csv")
    drawn.save(str(folder / f"{name}.png"), scale_factor=PNG_SCALE)
    drawn.save(str(folder / f"{name}.svg"))
    return base64.b64encode((folder / f"{name}.png").read_bytes()).decode()


def counted(outcomes: Iterable[Outcome], source: Source) -> tuple[int, int]:
    """How many claims of the paper, or of ours, hold, and how many were checked."""
    claims = [c for outcome in outcomes for c in outcome.claims if c.source == source]
    return sum(claim.holds for claim in claims), len(claims)


def summary(outcomes: Sequence[Outcome]) -> str:
    """One sentence for both."""
    theirs, ours = counted(outcomes, "paper"), counted(outcomes, "ours")
    return (
        f"{theirs[0]} of {theirs[1]} claims of the paper hold; "
        f"{ours[0]} of {ours[1]} promises of ours hold"
    )


def versions() -> str:
    """What the numbers were computed with."""
    names = ("crowdstream", "numpy", "polars")
    shown = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return f"{shown}, Python {platform.python_version()}"


def write_page(outcomes: Sequence[Outcome], path: Path, quick: bool) -> None:
    """The page, all in one file."""
    how = "Quick run, fewer repetitions. " if quick else ""
    parts = [
        page_head("The paper, reproduced"),
        "<h1>A Streaming Algorithm for Crowdsourced Data Classification, reproduced</h1>",
        "<p>T. Bonald and R. Combes, 2016. Every number below was computed in this run, except "
        "those marked as printed.</p>",
        f"<p><strong>{summary(outcomes)}.</strong> "
        f"<span class=note>{how}{html.escape(versions())}.</span></p>",
        f"<p>{_code(notes.SCOPE)}</p>",
        f"{WIDE}<table><thead><tr><th>experiment<th>verdict<th>processor seconds</tr></thead>",
        *(
            f"<tr><td><a href='#{o.name}'>{html.escape(o.title)}</a><td>{_mark(o.verdict)}"
            f"<td>{o.seconds:.1f}</tr>"
            for o in outcomes
        ),
        "</table></div>",
        *(_section(outcome) for outcome in outcomes),
        "<h2>How it was repeated</h2><ul>",
        *(f"<li>{_code(note)}" for note in notes.CHOICES),
        "</ul><h2>Sentences that were not checked</h2>",
        f"{WIDE}<table>",
        *(f"<tr><td>{_code(s)}<td>{_code(why)}</tr>" for s, why in notes.UNCHECKED.items()),
        "</table></div></html>",
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
        parts.append(html_figure(outcome.picture, outcome.title))
    head = "".join(f"<th>{name}" for name in ("claim", "whose", "read as", "measured", "verdict"))
    parts.append(f"{WIDE}<table><thead><tr>{head}</tr></thead>")
    for claim in outcome.claims:
        cells = (_code(claim.text), WHOSE[claim.source], _code(claim.wanted), _code(claim.measured))
        parts.append(f"<tr><td>{'<td>'.join(cells)}<td>{_mark(claim.verdict)}</tr>")
    return "\n".join([*parts, "</table></div>"])


def _code(text: str) -> str:
    """Escaped, with what stands in backquotes set as code."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{x}</code>" if k % 2 else x for k, x in enumerate(pieces))


def _mark(verdict: str) -> str:
    kind = "holds" if verdict == "holds" else "" if verdict == "not checked" else "fails"
    return f"<span class='{kind}'>{html.escape(verdict)}</span>"
