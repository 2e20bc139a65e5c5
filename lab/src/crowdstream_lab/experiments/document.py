"""Outcomes of experiments → docs/paper.md: every claim, what it was read as, measured, verdict."""

from __future__ import annotations

from collections.abc import Sequence

from crowdstream_lab.experiments import notes
from crowdstream_lab.experiments.page import WHOSE, Outcome, summary, versions

INTRO = """# The paper, reproduced

Made by `{command}`; do not edit. {versions}; {seconds:.0f} s of processor time.

`crowdstream paper` runs every experiment of T. Bonald and R. Combes, *A Streaming Algorithm for
Crowdsourced Data Classification* (2016), draws its figures, fills its tables and judges its
sentences.

**{summary}.**

{verdicts} The command ends with exit code 1 only where a promise of ours fails.

{scope}
"""


def markdown(outcomes: Sequence[Outcome], quick: bool) -> str:
    """The document."""
    command = "crowdstream paper" + (" --quick" if quick else "")
    intro = INTRO.format(
        command=f"{command} -o paper",
        versions=versions(),
        seconds=sum(outcome.seconds for outcome in outcomes),
        summary=summary(outcomes),
        verdicts=notes.VERDICTS,
        scope=notes.SCOPE,
    )
    parts = [intro, *(_section(outcome) for outcome in outcomes)]
    parts.append("## How it was repeated\n\n" + _bullets(notes.CHOICES))
    unchecked = [f"| {_cell(s)} | {_cell(why)} |" for s, why in notes.UNCHECKED.items()]
    rows = ["| sentence | why not |", "|---|---|", *unchecked]
    parts.append("## Sentences that were not checked\n\n" + "\n".join(rows) + "\n")
    slips = (
        "`crowdstream_lab.theory` follows what the proofs give; "
        "each function says where it departs."
    )
    parts.append(f"## Slips, corrected\n\n{slips}\n\n" + _bullets(notes.SLIPS))
    return "\n".join(parts)


def _section(outcome: Outcome) -> str:
    lines = [f"## {outcome.title}", "", f"> {outcome.paper}", ""]
    if outcome.skipped:
        return "\n".join([*lines, f"Not checked: {outcome.skipped}", ""])
    lines += ["| claim | whose | read as | measured | verdict |", "|---|---|---|---|---|"]
    for claim in outcome.claims:
        verdict = claim.verdict if claim.verdict == "holds" else f"**{claim.verdict}**"
        cells = (claim.text, WHOSE[claim.source], claim.wanted, claim.measured, verdict)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    """A bar would end the cell."""
    return text.replace("|", "\\|")


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) + "\n"
