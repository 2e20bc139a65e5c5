"""The report as one page: the first screen, the sections, what could not be told. No script."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

from crowdstream import __version__
from crowdstream.report.overview import overview
from crowdstream.report.parts import Section, bullets, note
from crowdstream.report.sections import (
    advice_section,
    agreement_section,
    drift_section,
    workers_section,
)
from crowdstream.report.style import STYLE
from crowdstream.report.task_sections import confidence_section, hard_section, money_section
from crowdstream.report.together import together_section
from crowdstream.report.told import limits, size_words
from crowdstream.theme import escaped, page_head

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings

SECTIONS = (
    workers_section,
    advice_section,
    drift_section,
    agreement_section,
    together_section,
    hard_section,
    confidence_section,
    money_section,
)
"""In the order of the page; one that has nothing to tell is left out."""

MISSING = (
    "Made from a saved state, which knows workers and not tasks. Decisions, the hardest tasks, "
    "confidence and money need the labels: crowdstream report LABELS --state STATE."
)

WORDS = {
    "Error rate": "the share of a worker's answers that are wrong, as estimated.",
    "Interval": "where the true rate is, in so many of 100 cases.",
    "By agreement alone": "known from how often workers agree, not from correct answers. It "
    "cannot show where most of them are wrong together.",
    "Chance": "the error rate of somebody who guesses.",
    "Settled": "so sure that no more labels are needed.",
    "Confidence": "the estimated chance that a decision is right.",
}
"""What the words of the report mean."""


def write_page(questions: Mapping[str, Findings], title: str) -> str:
    """The whole page."""
    found = next(iter(questions.values()))
    sections = [made for make in SECTIONS if (made := make(found)) is not None]
    sections += _endings(found)
    links = "".join(f'<a href="#{one.name}">{escaped(one.title)}</a> ' for one in sections)
    day = datetime.date.today()
    parts = [
        page_head(title, STYLE),
        f"<body><main><header><h1>{escaped(title)}</h1>",
        f"<p>{escaped(size_words(found))} · {day.day} {day:%B %Y}</p></header>",
        note(MISSING) if found.from_state else "",
        overview(found),
        f'<nav aria-label="Sections">{links}</nav>',
        *(section.html() for section in sections),
        "</main>",
        f"<footer class=note>Made by crowdstream {__version__} "
        f"with {escaped(found.crowd)}.</footer>",
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _endings(found: Findings) -> list[Section]:
    """What could not be told, what was odd in the input, and what words mean."""
    unknown = limits(found)
    lead = "What these labels cannot answer, and what to keep in mind."
    lead = lead if unknown else "Nothing of what was asked."
    made = [Section("limits", "What the engine could not tell", lead, bullets(unknown))]
    if found.notes:
        made.append(Section("notes", "Notes on the input", "", bullets(found.notes), short=True))
    words = bullets(f"{name}: {meaning}" for name, meaning in WORDS.items())
    made.append(Section("words", "What the words mean", "", words, short=True))
    return made
