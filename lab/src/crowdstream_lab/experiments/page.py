"""Outcomes of experiments → files, and a page that sets claim, figure and verdict side by side."""

from __future__ import annotations

import base64
import html
import importlib.metadata
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from crowdstream.theme import (
    PNG_SCALE,
    STYLE,
    Markup,
    html_figure,
    html_table,
    page_head,
    theme,
)
from crowdstream_lab.experiments import notes
from crowdstream_lab.experiments.common import VERDICTS, Claim, Verdict

__all__ = ["STYLE", "Outcome", "counted", "save_figure", "summary", "write_page"]

WIDE = "<div class=wide tabindex=0 role=region aria-label=table>"
"""Around a table, which scrolls inside itself."""

WHOSE = {"paper": "paper", "ours": "ours"}
"""Words for whose claim it is."""


@dataclass
class Outcome:
    """Outcome of an experiment."""

    name: str
    title: str
    paper: str
    claims: list[Claim] = field(default_factory=list)
    seconds: float = 0.0
    """Seconds of processor time."""
    skipped: str = ""
    picture: str = ""
    """The figure as SVG, empty if there is none."""

    @property
    def bugs(self) -> list[Claim]:
        """Promises of ours that do not hold."""
        return [claim for claim in self.claims if claim.is_our_bug]

    def judge(self, found: Sequence[Claim], compared: Sequence[Claim]) -> None:
        """Take the claims; where our code is not the algorithm, nothing is said of the paper.

        ``compared``: what came of comparing the product with the paper's algorithm.
        """
        if any(claim.is_our_bug for claim in compared):
            found = [
                replace(claim, decided=False) if claim.source == "paper" else claim
                for claim in found
            ]
        self.claims = [*found, *compared]


def save_figure(name: str, data: pl.DataFrame, chart: object, folder: Path) -> str:
    """Write the CSV, the SVG and the PNG; the PNG in base64, which looks alike everywhere."""
    drawn = theme(chart)
    data.write_csv(folder / f"{name}.csv")
    drawn.save(str(folder / f"{name}.png"), scale_factor=PNG_SCALE)
    drawn.save(str(folder / f"{name}.svg"))
    return base64.b64encode((folder / f"{name}.png").read_bytes()).decode()


def counted(outcomes: Iterable[Outcome]) -> dict[Verdict, int]:
    """Count the paper's claims by verdict."""
    found = [c.verdict for outcome in outcomes for c in outcome.claims if c.source == "paper"]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def kept(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """Count our promises that hold, and those that were checked."""
    ours = [c for outcome in outcomes for c in outcome.claims if c.source == "ours"]
    return sum(not claim.is_our_bug for claim in ours), len(ours)


def summary(outcomes: Sequence[Outcome]) -> str:
    """One sentence for both."""
    found, (good, ours) = counted(outcomes), kept(outcomes)
    holds, fails, reading, untold = found.values()
    return (
        f"{sum(found.values())} claims of the paper: {holds} hold, {fails} do not hold, {reading} "
        f"hang on our reading, {untold} cannot be told; {good} of {ours} promises of ours hold"
    )


def versions() -> str:
    """Return the versions that the numbers were computed with."""
    names = ("crowdstream", "numpy", "polars")
    shown = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return f"{shown}, Python {platform.python_version()}"


def write_page(outcomes: Sequence[Outcome], path: Path, quick: bool) -> None:
    """The page, all in one file."""
    how = "Quick run, fewer repetitions. " if quick else ""
    parts = [
        page_head("The paper, reproduced", PAGE_STYLE),
        "<h1>A Streaming Algorithm for Crowdsourced Data Classification, reproduced</h1>",
        "<p>T. Bonald and R. Combes, 2016. Every number below was computed in this run, except "
        "those marked as printed.</p>",
        f"<p><strong>{summary(outcomes)}.</strong> "
        f"<span class=note>{how}{html.escape(versions())}.</span></p>",
        f"<p>{_code(notes.VERDICTS)}</p>",
        f"<p>{_code(notes.SCOPE)}</p>",
        *_bugs(outcomes),
        _overview(outcomes),
        *(_section(outcome) for outcome in outcomes),
        "<h2>How it was repeated</h2><ul>",
        *(f"<li>{_code(note)}" for note in notes.CHOICES),
        "</ul><h2>Sentences that were not checked</h2>",
        f"{WIDE}<table>",
        *(f"<tr><td>{_code(s)}<td>{_code(why)}</tr>" for s, why in notes.UNCHECKED.items()),
        "</table></div></html>",
    ]
    path.write_text("\n".join(parts), encoding="utf-8")


def _bugs(outcomes: Sequence[Outcome]) -> list[str]:
    """List what is wrong with our own code, which stands first."""
    found = [
        f"<li>{_code(f'{bug.text} {bug.measured}')}" for outcome in outcomes for bug in outcome.bugs
    ]
    return ["<h2>Our bugs</h2><ul>", *found, "</ul>"] if found else []


def _overview(outcomes: Sequence[Outcome]) -> str:
    """A row per experiment, with how many claims have each verdict."""
    head = ("experiment", *VERDICTS, "ours that hold", "processor seconds")
    lines = []
    for outcome in outcomes:
        link = f"<a href='#{outcome.name}'>{html.escape(outcome.title)}</a>"
        good, ours = kept([outcome])
        cells = [f"{n}" if n else "" for n in counted([outcome]).values()]
        cells += ["not checked" if outcome.skipped else f"{good} of {ours}" if ours else ""]
        lines.append([Markup(link), *cells, f"{outcome.seconds:.1f}"])
    return html_table(head, lines, label="verdicts by experiment", right=head[1:])


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
    parts.append(f"{WIDE}<table class=claims><thead><tr>{head}</tr></thead>")
    for claim in outcome.claims:
        cells = (_code(claim.text), WHOSE[claim.source], _code(claim.wanted), _code(claim.measured))
        parts.append(f"<tr><td>{'<td>'.join(cells)}<td>{_mark(claim.verdict)}</tr>")
    return "\n".join([*parts, "</table></div>"])


def _code(text: str) -> str:
    """Escaped, with what stands in backquotes set as code."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{x}</code>" if k % 2 else x for k, x in enumerate(pieces))


MARKS: dict[Verdict, str] = {
    "holds": "holds",
    "does not hold": "fails",
    "our reading": "reading",
    "cannot be told": "untold",
}
PAGE_STYLE = """
.claims td:first-child { min-width: 250px; } .claims td:nth-child(4) { min-width: 250px; }
.reading { font-weight: 600; white-space: nowrap; }
.untold { color: var(--soft); font-weight: 600; white-space: nowrap; }
"""
"""Room for sentences, and the two verdicts that other pages do not have."""


def _mark(verdict: Verdict) -> str:
    return f"<span class={MARKS[verdict]}>{html.escape(verdict)}</span>"
