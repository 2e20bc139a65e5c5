"""Passes over a table that find who copies in it: gold to judge suspects by, and candidates.

Up to `MOST` workers are compared pair by pair on a sample. Knows codes only.
"""

from __future__ import annotations

from dataclasses import dataclass

from crowdstream.labels.batch import LabelBatch
from crowdstream.models.copies import Copies, find_copies
from crowdstream.models.passes import ChooseTasks, Chosen, TaskTable, gold_tasks, task_keys
from crowdstream.models.reservoir import Reservoir
from crowdstream.sums.agreement import AgreementSums

GOLD_TASKS = 500
"""Gold tasks that are kept to judge suspects by: ten on which group and rest differ are plenty."""


@dataclass(frozen=True, eq=False)
class ChooseGold(ChooseTasks):
    """The gold tasks with the smallest keys."""

    def add(self, sums: Chosen, batch: LabelBatch) -> None:
        """Choose among tasks more."""
        gold = gold_tasks(batch)
        if gold.size:
            self._choose(sums, task_keys(batch, self.seed, gold), batch.pick(gold))


def find_in(table: TaskTable, sample: LabelBatch, sums: AgreementSums, gold: Reservoir) -> Copies:
    """Find who copies in a table of which a sample is at hand, judging suspects by gold tasks.

    ``sums``: those of the table's workers, with the families that are declared.
    """
    family = sums.family.copy()
    family[family >= sums.declared] = -1
    found = find_copies(sample, sums.classes, family)
    return found.judged(gold.batch()[0], sums.workers, sums.classes)
