"""The common-factor vote: a second verdict on tasks that a crowd has learnt.

`Adaptive` has it as the third score that known truths weigh (`Crowd.add_common_factor`, where the
formula stands); here it decides by itself. Where everybody sees the same hard tasks, it subtracts
what all labels of a task have in common, so that better workers speak against the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdstream.decisions.decision import SettleRule, Votes, decision_table
from crowdstream.decisions.votes import choose
from crowdstream.estimators.adaptive import Adaptive
from crowdstream.labels import Table, Truths, code_table
from crowdstream.models.committee import Committee
from crowdstream.models.crowd_loops import SCORES

if TYPE_CHECKING:
    import polars as pl

COMMON_FACTOR = SCORES - 1
"""Its place among the scores: the last."""


def common_factor_decisions(
    crowd: Adaptive, data: Table, *, gold: Truths | None = None
) -> pl.DataFrame | None:
    """Task, label and margin of every task; ``None`` where the crowd has no such score.

    It has none while it cannot be identified, and where it has more classes than confusions are
    kept of. A margin of 0 is a tie.

    >>> made = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
    >>> crowd = Adaptive().fit(made)
    >>> common_factor_decisions(crowd, made)["label"].to_list()[:4]
    [0, 1, 0, 1]
    """
    workers, classes = crowd._workers.copy(), crowd._classes.copy()
    batch, _ = code_table(crowd._given(data, {}).table, workers, classes, gold=gold)
    model = crowd._model
    if not isinstance(model, Committee) or model.reading.crowd.fell_back:
        return None
    reading = model.reading
    scores = np.ascontiguousarray(reading.features(batch)[:, COMMON_FACTOR])
    votes = Votes.room(len(batch))
    choose(batch, scores, votes, crowd._places.number(classes), crowd._ties(classes), 0.0)
    return decision_table(batch, votes, classes, SettleRule()).select("task", "label", "margin")
