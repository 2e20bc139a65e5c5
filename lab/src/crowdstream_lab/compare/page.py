"""A comparison → files: CSV, JSON, Markdown, charts and a page that holds them all."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from crowdstream.extension import printable, shortened
from crowdstream.theme import html_figure, html_table, page_head
from crowdstream_lab.compare.charts import (
    EDGE,
    draw_differences,
    draw_errors,
    draw_ranks,
    draw_speed,
)
from crowdstream_lab.compare.lines import SET_HEAD, set_lines, sheets
from crowdstream_lab.compare.methods import REFERENCE, YARDSTICK
from crowdstream_lab.compare.tables import Study, versions
from crowdstream_lab.compare.wording import (
    HOW,
    LEFT_OUT,
    answer,
    caution,
    deviations,
    size_text,
    verdict_text,
)
from crowdstream_lab.experiments.page import save_figure

LONGEST = 300
"""Characters of a name, or of a cell, in a document."""

Picture = tuple[str, str, str]
"""A heading, what is seen in a sentence, and an SVG."""


def write(study: Study, folder: Path) -> None:
    """compare.csv (long), compare.json, the charts, index.html and benchmark.md."""
    import json

    study.rows.write_csv(folder / "compare.csv")
    shown = json.dumps(study.report(), indent=1, ensure_ascii=False)
    (folder / "compare.json").write_text(shown + "\n", encoding="utf-8")
    (folder / "benchmark.md").write_text(markdown(study), encoding="utf-8")
    (folder / "index.html").write_text(page(study, _draw(study, folder)), encoding="utf-8")


def _draw(study: Study, folder: Path) -> list[Picture]:
    """Every chart that the study has numbers for, written to files too."""
    table, summary, ranking = study.by_set(), study.summary(), study.ranking()
    against = REFERENCE if REFERENCE in summary["method"].to_list() else YARDSTICK
    if against == YARDSTICK:
        summary = summary.with_columns(behind="excess", behind_se="excess_se")
    charts = [
        (
            "differences",
            f"Final errors less those of {against}",
            "Dots are means, bands two standard errors, ticks single sets; what is beyond "
            f"{100 * EDGE:.0f} % stands at the edge.",
            summary,
            draw_differences(summary, study.differences("final", against), against),
        ),
        (
            "speed",
            "Error against time",
            "The mean excess of the final error over majority vote's; down and left is better.",
            summary,
            draw_speed(summary),
        ),
        (
            "errors",
            "Errors by set",
            "Final errors (dots) and online ones (rings); the line is majority's, a triangle is "
            "off the chart.",
            table,
            draw_errors(table, summary["method"].to_list()),
        ),
    ]
    if ranking is not None:
        chart = draw_ranks(summary, ranking.critical_difference)
        seen = "Ranks of final errors on every set; in the shade, none differs from the best."
        charts.insert(1, ("ranks", "Mean ranks", seen, summary, chart))
    pictures = []
    for name, title, seen, data, drawn in charts:
        save_figure(name, data, drawn, folder)
        pictures.append((title, seen, (folder / f"{name}.svg").read_text(encoding="utf-8")))
    return pictures


def markdown(study: Study) -> str:
    """The benchmark as a document."""
    shown = [f"{name} {version}" for name, version in versions().items()]
    parts = [
        "# Benchmark",
        f"Made by `{study.command}`; do not edit. {', '.join(shown)}.",
        answer(study),
        caution(study),
    ]
    for sheet in sheets(study, LEFT_OUT):
        parts += [f"## {sheet.title}", sheet.note, _markdown_table(sheet.head, sheet.lines)]
    parts += [verdict_text(study.ranking()), "## How it is measured", _bullets(HOW)]
    if deviations(study):
        parts += ["## In what rivals are not as published", _bullets(deviations(study))]
    if study.unfinished():
        parts += ["## Not run to the end", _bullets(study.unfinished())]
    for data in study.sets:
        parts += [f"## {_markdown_text(data.name)}", size_text(data)]
        parts.append(_markdown_table(SET_HEAD, set_lines(study, data.name)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("--:" for _ in head[1:])]
    shown = ([_markdown_text(cell) for cell in cells] for cells in lines)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *shown))


def _markdown_text(text: str) -> str:
    """A name as it is: it ends no cell and starts no tag."""
    return shortened(printable(text), LONGEST).replace("|", "\\|").replace("<", "&lt;")


def page(study: Study, pictures: Sequence[Picture]) -> str:
    """The benchmark as a page in one file."""
    shown = ", ".join(f"{name} {version}" for name, version in versions().items())
    parts = [
        page_head("Methods compared", PAGE_STYLE),
        "<h1>Methods compared on crowds with a known truth</h1>",
        f"<p><strong>{html.escape(answer(study))}</strong></p>",
        f"<p>{html.escape(caution(study))}</p>",
        f"<p><code>{html.escape(study.command)}</code><br>"
        f"<span class=note>{html.escape(shown)}.</span></p>",
    ]
    tables = [
        f"<h2>{html.escape(sheet.title)}</h2><p>{html.escape(sheet.note)}</p>"
        f"{html_table(sheet.head, sheet.lines)}"
        for sheet in sheets(study, LEFT_OUT)
    ]
    figures = [_figure(*picture) for picture in pictures]
    parts += [*figures[:1], *tables, f"<p>{html.escape(verdict_text(study.ranking()))}</p>"]
    parts += [*figures[1:], *_list("How it is measured", HOW)]
    parts += _list("In what rivals are not as published", deviations(study))
    parts += _list("Not run to the end", study.unfinished())
    for data in study.sets:
        parts += [
            f"<h2>{html.escape(shortened(printable(data.name), LONGEST))}</h2>",
            f"<p>{html.escape(size_text(data))}</p>",
        ]
        parts.append(html_table(SET_HEAD, set_lines(study, data.name)))
    return "\n".join([*parts, "</html>", ""])


PAGE_STYLE = """
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }
td { white-space: nowrap; }
code { background: var(--chip); padding: .1rem .3rem; }
"""
"""Beside that of every page: columns of numbers."""


def _figure(title: str, seen: str, picture: str) -> str:
    said = f"<h2>{html.escape(title)}</h2><p class=note>{html.escape(seen)}</p>"
    return said + html_figure(picture, f"{title}. {seen}")


def _list(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    items = "".join(f"<li>{html.escape(line)}" for line in lines)
    return [f"<h2>{html.escape(title)}</h2><ul class=note>{items}</ul>"]
