"""Verdict on whether a panel may be trusted, in words. The rule is `crowdstream.panel.gate`."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from crowdstream.plain_text import counted, percent, printable

PASSED, FAILED, CANNOT_TELL = "passed", "failed", "cannot_tell"
"""Outcomes of a check, and of all checks together."""

OUTCOMES = {
    PASSED: "trusted: every minimum is reached",
    FAILED: "not trusted: a minimum is missed",
    CANNOT_TELL: "cannot be told yet: more gold tasks are needed",
}
"""The outcome of all checks, in words."""

CHECKS = {PASSED: "reached", FAILED: "missed", CANNOT_TELL: "cannot be told"}
"""The outcome of one check, in words."""

NAMES = {
    "kappa": "Cohen's kappa with gold",
    "accuracy": "accuracy on gold",
    "effective": "independent judges",
}
"""Names of the checks."""

HEAD = ("check", "measured", "interval", "minimum", "outcome")
"""Columns of the table of checks."""


class GateCheck(msgspec.Struct, frozen=True):
    """One minimum and what was found.

    Attributes
    ----------
    name
        "kappa": Cohen's kappa with gold. "accuracy": share of gold tasks decided rightly.
        "effective": independent judges that the panel is worth.
    minimum
        What was asked for.
    value, low, high
        What was measured, and its interval; None where it is not defined.
    outcome
        "passed", "failed" or "cannot_tell".
    more_gold
        About how many more gold tasks would tell, if it cannot be told and that can be said.
    """

    name: str
    minimum: float
    value: float | None
    low: float | None
    high: float | None
    outcome: str
    more_gold: int | None = None


class Gate(msgspec.Struct, frozen=True):
    """Verdict on whether a panel, or one judge, may be trusted.

    Attributes
    ----------
    outcome
        "passed": every check is. "failed": some check is. "cannot_tell": neither.
    gold_tasks
        Gold tasks that were judged.
    level
        Confidence level of all intervals together.
    checks
        One per minimum that was asked for.
    """

    outcome: str
    gold_tasks: int
    level: float
    checks: list[GateCheck]


def check_row(check: GateCheck) -> list[str]:
    """Return the cells of a check, under `HEAD`."""
    found = ["not defined", ""]
    if check.value is not None and check.low is not None and check.high is not None:
        low, high = (_shown(check.name, limit) for limit in (check.low, check.high))
        found = [_shown(check.name, check.value), f"{low} to {high}"]
    return [NAMES[check.name], *found, _shown(check.name, check.minimum), CHECKS[check.outcome]]


def more_words(found: Gate) -> str:
    """Return about how many more gold tasks would tell, as a sentence; empty if it is told."""
    needed = [check.more_gold for check in found.checks if check.more_gold is not None]
    if found.outcome != CANNOT_TELL or not needed:
        return ""
    return f"About {counted(max(needed), 'more gold task')} would tell, if what is measured stays."


def _shown(name: str, value: float) -> str:
    if name == "accuracy":
        return percent(value)
    return f"{value:.1f}" if name == "effective" else f"{value:.2f}"


def outcome_words(found: Gate) -> str:
    """Return the outcome and what it rests on, as a sentence without its full stop."""
    rests = f"{counted(found.gold_tasks, 'gold task')}, {100 * found.level:g} % intervals together"
    return f"{OUTCOMES[found.outcome]} ({rests})"


def as_markdown(gates: Mapping[str, Gate]) -> str:
    """Return a summary for a pull request: a sentence and a table per question.

    Parameters
    ----------
    gates
        What was found, by question; the empty name if there is one only.
    """
    lines = ["## Judge gate", ""]
    for name, found in gates.items():
        if name:
            lines += [f"### {_cell(name)}", ""]
        lines += [f"**{outcome_words(found)}**", ""]
        lines += [f"| {' | '.join(HEAD)} |", "|---|--:|--:|--:|---|"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in map(check_row, found.checks)]
        lines += ["", more_words(found), ""] if more_words(found) else [""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Return a text that Markdown shows as it is: a question's name is data."""
    escaped = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "\\`*_[]|#" else char for char in escaped)
