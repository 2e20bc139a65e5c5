"""A comparison → files: CSV, JSON, Markdown, charts and a page that holds them all."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.science.compare.charts import draw_errors, draw_ranks, draw_speed
from crowdstream.science.compare.lines import (
    HOW,
    SET_HEAD,
    SUMMARY_HEAD,
    set_lines,
    size_text,
    summary_lines,
    verdict_text,
)
from crowdstream.science.compare.tables import Study, versions
from crowdstream.science.experiments.page import STYLE, save_figure

if TYPE_CHECKING:
    pass


def write(study: Study, folder: Path) -> None:
    """compare.csv (long), compare.json, the charts, index.html and benchmark.md."""
    import json

    study.rows.write_csv(folder / "compare.csv")
    shown = json.dumps(study.report(), indent=1, ensure_ascii=False)
    (folder / "compare.json").write_text(shown + "\n", encoding="utf-8")
    (folder / "benchmark.md").write_text(markdown(study), encoding="utf-8")
    table, summary, ranking = study.by_set(), study.summary(), study.ranking()
    order = summary["method"].to_list()
    pictures = [
        (
            "Final errors (dots) and online ones (rings); majority's is the line, a triangle is "
            "off the chart",
            save_figure("errors", table, draw_errors(table, order), folder),
        ),
        (
            "Mean excess of the final error over majority vote's, against time",
            save_figure("speed", summary, draw_speed(summary), folder),
        ),
    ]
    if ranking is not None:
        chart = draw_ranks(summary, ranking.critical_difference)
        pictures.insert(1, ("Mean ranks", save_figure("ranks", summary, chart, folder)))
    (folder / "index.html").write_text(page(study, pictures), encoding="utf-8")


def markdown(study: Study) -> str:
    """The benchmark as a document."""
    shown = [f"{name} {version}" for name, version in versions().items()]
    parts = [
        "# Benchmark",
        f"Made by `{study.command}`; do not edit. {', '.join(shown)}.",
        "## All sets",
        _markdown_table(SUMMARY_HEAD, summary_lines(study)),
        verdict_text(study.ranking()),
        "## How it is measured",
        "\n".join(f"- {line}" for line in HOW),
    ]
    for data in study.sets:
        parts += [f"## {data.name}", size_text(data)]
        parts.append(_markdown_table(SET_HEAD, set_lines(study, data.name)))
    if study.unfinished():
        parts += ["## Not run to the end", "\n".join(f"- {x}" for x in study.unfinished())]
    return "\n\n".join(parts) + "\n"


def _markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("--:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def page(study: Study, pictures: Sequence[tuple[str, str]]) -> str:
    """The benchmark as a page in one file; pictures are a title and a PNG in base64."""
    shown = ", ".join(f"{name} {version}" for name, version in versions().items())
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Methods compared</title><style>{STYLE}{PAGE_STYLE}</style>",
        "<h1>Methods compared on crowds with a known truth</h1>",
        f"<p><code>{html.escape(study.command)}</code><br>"
        f"<span class=note>{html.escape(shown)}.</span></p>",
        _html_table(SUMMARY_HEAD, summary_lines(study)),
        f"<p>{html.escape(verdict_text(study.ranking()))}</p>",
        *(_figure(title, picture) for title, picture in pictures),
        "<h2>How it is measured</h2><ul class=note>",
        *(f"<li>{html.escape(line)}" for line in HOW),
        "</ul>",
    ]
    for data in study.sets:
        parts += [f"<h2>{html.escape(data.name)}</h2>", f"<p>{html.escape(size_text(data))}</p>"]
        parts.append(_html_table(SET_HEAD, set_lines(study, data.name)))
    if study.unfinished():
        parts.append("<h2>Not run to the end</h2><ul>")
        parts += [f"<li>{html.escape(line)}" for line in study.unfinished()]
        parts.append("</ul>")
    return "\n".join([*parts, "</html>", ""])


PAGE_STYLE = """
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }
code { background: var(--chip); padding: .1rem .3rem; }
"""
"""Beside that of the paper's page: columns of numbers."""


def _figure(title: str, picture: str) -> str:
    shown = html.escape(title, quote=True)
    return f"<h2>{shown}</h2><p><img alt='{shown}' src='data:image/png;base64,{picture}'></p>"


def _html_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
        for cells in lines
    )
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    return f"<div class=wide><table><tr>{top}</tr>\n{rows}</table></div>"
