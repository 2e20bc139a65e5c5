"""The report as one page: the first screen, the sections, what could not be told. No script."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crowdstream import __version__
from crowdstream.plain_text import counted
from crowdstream.report.overview import overview
from crowdstream.report.parts import Place, Section, bullets, note
from crowdstream.report.questions_table import (
    prefix_of,
    questions_overview,
    summary_words,
    titles_of,
)
from crowdstream.report.rates import rates_section
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
from crowdstream.report.verdicts import missing_section, repeats_section
from crowdstream.theme import Markup, escaped, page_head
from crowdstream.wording import CLOSINGS, SOURCES, TERMS

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings

SECTIONS = (
    workers_section,
    advice_section,
    repeats_section,
    missing_section,
    drift_section,
    agreement_section,
    together_section,
    rates_section,
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
    "Error rate": TERMS["error_rate"].sentence,
    "Interval": "Where the true rate is, in so many of 100 cases.",
    "By agreement alone": SOURCES["agreement"].sentence,
    "Chance": TERMS["chance"].sentence,
    "Settled": CLOSINGS["settled"].sentence,
    "Confidence": TERMS["sure"].sentence,
}
"""Glossary of the report."""

KIND_WORDS = {
    "choices": {
        "Set": "all choices that apply to a task. It is right if it is exactly right: none too "
        "many and none too few.",
        "Pair": "a task and one of its choices. Error rates of workers are those of saying yes or "
        "no to a pair.",
    },
    "scale": {
        "Step": "the distance from one class of the scale to the next.",
        "Score": "the mean of where the truth may lie on the scale, each place by its chance.",
    },
}
"""Glossary entries that only some kinds of labels need."""

EARLY = 5
"""Notes on the input above the answer: it still is on the first screen."""


def write_page(questions: Mapping[str, Findings], title: str, *, notes: Sequence[str] = ()) -> str:
    """The whole page; ``notes``: what was done to the input as a whole, which is said first."""
    first = next(iter(questions.values()))
    several = len(questions) > 1
    size = summary_words(questions) if several else size_words(first)
    day = datetime.date.today()
    closing = [*_late_notes(notes, several), _words(questions)]
    if several:
        body = [questions_overview(questions), *_questions(questions)]
        body += [section.html() for section in closing]
    else:
        body = _question(first, Place(), closing)
    parts = [
        page_head(title, STYLE),
        f"<body><main><header><h1>{escaped(title)}</h1>",
        f"<p>{escaped(size)} · {day.day} {day:%B %Y}</p>",
        note(first.read_as) if first.read_as else "",
        "</header>",
        _early_notes(notes),
        note(MISSING) if first.from_state else "",
        *body,
        "</main>",
        f"<footer class=note>Made by crowdstream {__version__} "
        f"with {escaped(first.crowd)}.</footer>",
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _early_notes(notes: Sequence[str]) -> str:
    """Show notes on joined spellings, empty answers and rows left out above the answer."""
    if not notes:
        return ""
    lines = [Markup(escaped(line)) for line in notes[:EARLY]]
    if len(notes) > EARLY:
        more = counted(len(notes) - EARLY, "note")
        lines.append(Markup(f'<a href="#input">{more} more</a> at the end'))
    return f'<div class=input role=note aria-label="Notes on the input">{bullets(lines)}</div>'


def _late_notes(notes: Sequence[str], several: bool) -> list[Section]:
    """All notes, where there are more than the top of the page has room for."""
    if len(notes) <= EARLY:
        return []
    return [Section("input", "All notes on the input", "", bullets(notes), short=not several)]


def _questions(questions: Mapping[str, Findings]) -> list[str]:
    """Every question with all that is told of it."""
    parts = []
    titles = titles_of(questions)
    for number, (name, found) in enumerate(questions.items(), start=1):
        place = Place(prefix_of(number), 3)
        head = f'<article id="{place.prefix}top" aria-labelledby="{place.prefix}name">'
        shown = f'<h2 id="{place.prefix}name"><bdi>{escaped(titles[name])}</bdi></h2>'
        said = f"Question {number} of {len(questions):,} · {size_words(found)}"
        back = '<a href="#questions">All questions</a> '
        parts.append(f"{head}<header>{shown}<p>{escaped(said)}</p></header>")
        parts += [*_question(found, place, [], back, titles[name]), "</article>"]
    return parts


def _question(
    found: Findings, place: Place, closing: Sequence[Section], back: str = "", name: str = ""
) -> list[str]:
    """The first screen of a question, the ways to its sections, and these."""
    sections = [made for make in SECTIONS if (made := make(found)) is not None]
    sections += [*_endings(found), *closing]
    links = back + "".join(section.link(place) for section in sections)
    label = f"Sections of {name}" if name else "Sections"
    return [
        overview(found, place),
        f'<nav aria-label="{escaped(label)}">{links}</nav>',
        *(section.html(place) for section in sections),
    ]


def _endings(found: Findings) -> list[Section]:
    """Make the last sections: limits, and oddities of the labels."""
    unknown = limits(found)
    lead = "What these labels cannot answer, and what to keep in mind."
    lead = lead if unknown else "Nothing of what was asked."
    made = [Section("limits", "What the engine could not tell", lead, bullets(unknown))]
    if found.notes:
        made.append(Section("notes", "Notes on the labels", "", bullets(found.notes), short=True))
    return made


def _words(questions: Mapping[str, Findings]) -> Section:
    """Make the glossary."""
    kinds = {found.kind for found in questions.values()}
    told = WORDS | {k: v for kind in sorted(kinds) for k, v in KIND_WORDS.get(kind, {}).items()}
    words = bullets(f"{name}: {text[0].lower()}{text[1:]}" for name, text in told.items())
    return Section("words", "What the words mean", "", words, short=True)
