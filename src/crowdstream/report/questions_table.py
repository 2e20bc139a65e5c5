"""The first screen of several questions: a line each, with the way to its section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crowdstream.plain_text import counted, percent, unlike_names
from crowdstream.report.advised import ACTED_ON, count_advice
from crowdstream.report.overview import STATES, interval
from crowdstream.report.parts import band, chip, meter, plain_name, share_axis
from crowdstream.report.told import NAMED, briefly_known, missing_words, steps_words, wrong_share
from crowdstream.theme import Markup, escaped, html_table

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings

TITLE_LENGTH = 120
"""Characters of a question that are shown: rubrics are sentences, names of criteria are words."""

WORTH_SAYING = 0.001
"""Share of wrong decisions from which on the worst question is named: else none is bad."""

ADVICE = "drop, coach, pay"
"""Heading of the column that says how many workers each is advised for."""

KINDS = {"choices": "choices", "scale": "steps of a scale"}
"""Names of classes for kinds of labels that are not plain classes."""


def titles_of(questions: Mapping[str, Findings]) -> dict[str, str]:
    """Every question as it is shown: not too long, and unlike all others."""
    return dict(zip(questions, unlike_names(questions, TITLE_LENGTH), strict=True))


def prefix_of(number: int) -> str:
    """Return the prefix of a question's anchors, by number, since its name may be anything.

    >>> prefix_of(1)
    'q1-'
    """
    return f"q{number}-"


def summary_words(questions: Mapping[str, Findings]) -> str:
    """Say how many questions and labels there are."""
    labels = sum(found.labels for found in questions.values())
    return f"{counted(len(questions), 'question')}, each decided by itself; " + counted(
        labels, "label"
    )


def questions_words(questions: Mapping[str, Findings]) -> str:
    """The one sentence on all questions for somebody who reads no further."""
    decided = {name: found for name, found in questions.items() if not found.from_state}
    tasks = sum(found.tasks for found in decided.values())
    if not tasks:
        return ""
    settled = percent(sum(found.settled for found in decided.values()) / tasks)
    worst = max(decided, key=lambda name: wrong_share(decided[name]))
    found, share = decided[worst], wrong_share(decided[worst])
    said = (
        f"{settled} of {counted(tasks, 'decision')} on {counted(len(decided), 'question')} are "
        "settled."
    )
    if share < WORTH_SAYING:
        return said
    wrong = "are wrong" if found.measured is not None else "are expected to be wrong"
    if found.kind == "choices":
        wrong = (
            "are not exactly right" if found.measured is not None else "may not be exactly right"
        )
    about = "" if is_checked(found) else "about "
    return f"{said} Worst is {plain_name(worst)}: {about}{percent(share)} of its decisions {wrong}."


def questions_overview(questions: Mapping[str, Findings]) -> str:
    """The first screen: a sentence on all questions, then one row each."""
    said = questions_words(questions)
    lines = [
        f"{plain_name(name)}: {line}"
        for name, found in questions.items()
        for line in missing_words(found)
    ]
    more = "".join(f"<p>{escaped(line)}</p>" for line in lines[:NAMED])
    first = f"<div class=answer><p><strong>{escaped(said)}</strong></p>{more}</div>" if said else ""
    return first + _table(questions)


def _table(questions: Mapping[str, Findings]) -> str:
    """One row per question."""
    decided = any(not found.from_state for found in questions.values())
    titles = titles_of(questions)
    top = max(map(_reach, questions.values()))
    right = ["tasks", "workers", "classes", *(["settled", "wrong decisions"] if decided else [])]
    head = ["question", *right, *(["how that is known"] if decided else []), ADVICE]
    if decided:
        head.insert(5, share_axis(top))
    rows = []
    for number, (name, found) in enumerate(questions.items(), start=1):
        link = f'<a href="#{prefix_of(number)}top"><bdi>{escaped(titles[name])}</bdi></a>'
        row: list[str] = [
            Markup(link),
            f"{found.tasks:,}",
            f"{len(found.crowd._workers):,}",
            Markup(f"{len(found.classes):,}{_kind(found)}"),
        ]
        if decided:
            row += _decided(found, top)
        rows.append([*row, _advised(found)])
    table = html_table(head, rows, label="questions", right=right)
    kind = "panel questions decided" if decided else "panel questions"
    return f'<div class="{kind}" id=questions>{table}{_legend(questions)}</div>'


def _kind(found: Findings) -> str:
    return f"<small>{KINDS[found.kind]}</small>" if found.kind in KINDS else ""


def _reach(found: Findings) -> float:
    """The highest limit of the share of wrong decisions."""
    limits = limits_of(found)
    return max(0.01, wrong_share(found), *([] if limits is None else limits))


def limits_of(found: Findings) -> tuple[float, float] | None:
    """Between which limits the share of wrong decisions is."""
    if found.measured is not None:
        return found.measured.low, found.measured.high
    if found.errors is None or not found.tasks:
        return None
    return found.errors.low / found.tasks, found.errors.high / found.tasks


def is_checked(found: Findings) -> bool:
    """Return True if the share of wrong decisions rests on truths or gold."""
    return found.measured is not None or bool(found.errors and found.errors.gold_tasks)


def _decided(found: Findings, top: float) -> list[str]:
    """The share settled, the share wrong as a band and as numbers, and how that is known."""
    if found.from_state:
        return ["", "", "", ""]
    settled = found.settled / max(found.tasks, 1)
    low, high = limits_of(found) or (None, None)
    wrong = wrong_share(found)
    numbers = interval(wrong, low, high)
    if (far := found.distance if found.distance is not None else found.steps) is not None:
        numbers = Markup(f"{numbers}<small>{escaped(steps_words(far))} off</small>")
    known = briefly_known(found)
    if found.kind == "choices":
        known = f"{known}; sets not exactly right"
    return [
        Markup(f"{percent(settled)}{meter(settled)}"),
        band(wrong, low, high, top, None, not is_checked(found)),
        numbers,
        known,
    ]


def _advised(found: Findings) -> Markup:
    """Summarise how many workers to drop, coach and pay, with their flags."""
    if not found.identified:
        return chip("not known: majority vote")
    counts = count_advice(found.workers)
    chips = [chip(f"{name} {counts[name]:,}", STATES[name]) for name in ACTED_ON if counts[name]]
    if missing_words(found):
        chips.append(chip("missing verdicts", "warn"))
    return Markup(" ".join(chips)) if chips else Markup("nobody")


def _legend(questions: Mapping[str, Findings]) -> str:
    found = [one for one in questions.values() if not one.from_state]
    if not found:
        return ""
    said = "Band: 95 % interval of the share of wrong decisions. "
    if not all(map(is_checked, found)):
        said += "Hollow: by labels alone, checked against no truth. "
    if any(map(is_checked, found)):
        said += "Filled: measured, or checked against gold. "
    return f"<p class=note>{escaped(said.strip())}</p>"
