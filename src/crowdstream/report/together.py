"""The section on mistakes made together: what labels are worth where workers are not independent.

By agreement alone; where the truth is known, the correlation of errors between workers can be
counted, and belongs here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.monitoring import identifiability
from crowdstream.report.parts import Section, note
from crowdstream.wording import counted

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings


def together_section(found: Findings) -> Section | None:
    """How many independent votes the labels of a task are worth."""
    monitors = found.monitors
    if monitors is None or monitors.effective_votes is None or not found.identified:
        return None
    words = (
        f"{monitors.labels_per_task:.1f} labels per task are worth "
        f"{monitors.effective_votes:.1f} independent ones."
    )
    said = identifiability(found.crowd).together
    body = note(f"{said[0].upper()}{said[1:]}.")
    if monitors.families:
        groups = counted(len(monitors.families), "group")
        body += note(f"{groups} of workers who are not independent of each other: see above.")
    return Section("together", "Mistakes made together", words, body, short=True)
