"""How open tasks will go on, and which to ask about next. Questions: nothing is changed by them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crowdstream.assignment import gain_of_asking
from crowdstream.decisions.decision import Decision, SettleRule
from crowdstream.estimators import Estimator
from crowdstream.labels import WorkerId
from crowdstream.labels.open_task import OpenTask
from crowdstream.monitoring.difficulty import strengths_later
from crowdstream.monitoring.outlook import Outlook, outlook
from crowdstream.schedule import STRENGTHS
from crowdstream.stopping import HORIZON

Floats = NDArray[np.float64]

HALF = 10
"""Labels before which no task is given up, where nothing says how many it may get."""

SURE = 0.999
"""Accuracy beyond which no worker is taken to be right, nor below 1 − this."""


class Outlooks:
    """What is to be expected of open tasks, by how hard tasks have been found to be.

    ``due``: tasks closed when it is found anew how often tasks of each strength occur.
    """

    def __init__(self, crowd: Estimator) -> None:
        self._crowd = crowd
        self._strengths: Floats | Callable[[], Floats] = strengths_later(crowd)
        self.due = int(STRENGTHS.first)

    @property
    def strengths(self) -> Floats:
        """Shares of tasks of each strength, fitted when first asked for."""
        if callable(self._strengths):
            self._strengths = self._strengths()
        return self._strengths

    @strengths.setter
    def strengths(self, found: Floats) -> None:
        self._strengths = found

    def renew_if_due(self, closed: int) -> None:
        """Find anew how hard tasks are, once enough more have closed, by what is known now.

        A fit takes milliseconds, and few streams ask for what it finds.
        """
        if closed >= self.due:
            self._strengths = strengths_later(self._crowd)
            self.due = int(closed * STRENGTHS.factor) + 1

    def of(self, task: OpenTask | None, rule: SettleRule, max_labels: int | None) -> Outlook:
        """The outlook of a task that takes labels, or (``None``) of one without any."""
        most = HORIZON
        if max_labels is not None:
            most = max(max_labels - (0 if task is None else task.size), 0)
        return outlook(self._crowd, task, rule, most, self.strengths)

    def is_hard(
        self,
        task: OpenTask,
        decision: Decision,
        rule: SettleRule,
        max_labels: int | None,
        give_up: float | None,
    ) -> bool:
        """Whether more labels are not expected to settle a task, though they would another one.

        Not before half of the labels have come that may: two that differ say little. Nor before
        workers are known: until then nothing settles, however easy it is.
        """
        if give_up is None or rule.confidence is None:
            return False
        least = max(rule.min_labels, HALF if max_labels is None else max_labels / 2)
        if not decision.identifiable or decision.votes < least:
            return False
        chance = self.of(task, rule, max_labels).chance
        return chance < give_up and chance < give_up * self.of(None, rule, max_labels).chance


def gains_for(crowd: Estimator, worker: WorkerId) -> Callable[[Floats], Floats]:
    """Return what it tells to ask a worker, of tasks by how sure their decisions are."""
    classes = max(len(crowd._classes), 2)
    right = crowd._model.mean_accuracy + (1.0 - 1.0 / classes) * (
        crowd.skill_of(worker) - crowd.skill_of(None)
    )
    right = min(max(right, 1.0 - SURE), SURE)
    return partial(gain_of_asking, accuracy=right, classes=classes)
