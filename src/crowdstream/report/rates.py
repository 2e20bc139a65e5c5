"""The section on shares: how common each class is, corrected by gold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.plain_text import as_sentence, counted, percent
from crowdstream.rates.records import WORTH, in_percent
from crowdstream.report.parts import Section, name_of, note
from crowdstream.report.told import named
from crowdstream.theme import html_table

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings

ROWS = 20
"""Classes that the table has room for, the most common first."""

HEAD = ["class", "decided, %", "by gold alone, %", "corrected by gold, %", "worth gold labels"]


def rates_section(found: Findings) -> Section | None:
    """Make the section on shares of classes: decided, by gold alone, corrected by gold."""
    rates = found.rates
    if rates is None or not rates.rates:
        return None
    shown = sorted(rates.rates, key=lambda each: -each.value)
    first = shown[0]
    words = (
        f"{percent(first.value)} of the tasks are {named([first.name])} "
        f"({percent(first.low)} to {percent(first.high)}), corrected by "
        f"{counted(rates.gold_tasks, 'gold task')}."
    )
    rows = [
        [
            name_of(each.name),
            f"{100 * each.decided:.1f}",
            in_percent(each.gold, each.gold_low, each.gold_high),
            in_percent(each.value, each.low, each.high),
            f"{each.worth:,.0f}",
        ]
        for each in shown[:ROWS]
    ]
    body = note(
        "Decided: by the labels, which may be wrong together. Corrected: decided without the gold, "
        "then corrected by what gold shows of the errors; valid if the gold tasks are a random "
        f"sample. {as_sentence(WORTH)}"
    )
    body += html_table(HEAD, rows, label="share of each class", right=HEAD[1:])
    body += "".join(note(as_sentence(text)) for text in rates.notes)
    return Section("rates", "How common each class is", words, body)
