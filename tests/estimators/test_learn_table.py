"""Tasks learnt as a whole, in passes: the same sums however they are divided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import crowdstream as cs
from crowdstream.estimators import Estimator
from crowdstream.labels.batch import LabelBatch
from crowdstream.models.passes import (
    AddTasks,
    InMemory,
    Pass,
    TaskTable,
    go_through,
    join_all,
)
from crowdstream.sums.agreement import AgreementSums

KINDS = [cs.Adaptive, cs.AgreementBased, cs.CentredAgreement, cs.MajorityVote]


class InParts(TaskTable):
    """Tasks dealt out to so many parts, which are added up in reverse order, some empty."""

    def __init__(self, batch: LabelBatch, parts: int) -> None:
        self._batch = batch
        self.parts = [batch.pick(np.arange(part, len(batch), parts)) for part in range(parts)]

    @property
    def batch(self) -> LabelBatch:
        return self._batch

    def add_up(self, passes: Sequence[Pass[Any]]) -> list[Any]:
        first, *others = [go_through(passes, [part]) for part in reversed(self.parts)]
        for other in others:
            join_all(passes, first, other)
        return first


def crowd_of(kind: type[Estimator], parts: int, gold: bool) -> Estimator:
    """A crowd that has learnt 400 tasks in five micro-batches."""
    crowd, rows = kind(seed=7), cs.simulate(9, 400, p=0.3, seed=4).labels().rows()
    for k in range(5):
        some = rows[k * 80 * 9 : (k + 1) * 80 * 9]
        truths = {row[0]: row[2] for row in some[: 9 * 30 : 9]} if gold else None
        batch, intake = crowd._take_in(crowd._given(some, {}), truths)
        crowd._model.learn_table(InParts(batch, parts) if parts else InMemory(batch))
        crowd._notify_more(InMemory(batch), len(batch))
        crowd.intake_.count(intake)
    return crowd


@pytest.mark.parametrize("gold", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_do_not_depend_on_how_tasks_are_divided(kind: type[Estimator], gold: bool) -> None:
    whole = crowd_of(kind, 0, gold)
    assert whole.tasks_ == 400
    assert crowd_of(kind, 1, gold).to_bytes() == whole.to_bytes()
    assert crowd_of(kind, 97, gold).to_bytes() == whole.to_bytes()


def test_micro_batches_teach_about_as_well_as_a_fit() -> None:
    simulated = cs.simulate(9, 400, p=0.3, seed=4)
    crowd, fitted = crowd_of(cs.Adaptive, 0, gold=False), cs.Adaptive().fit(simulated.labels())
    mine, theirs = (one.workers().sort("worker")["error_rate"] for one in (crowd, fitted))
    assert (mine - theirs).abs().max() < 0.03  # of errors from 0.05 to 0.5


def test_open_tasks_are_replaced_not_added_twice() -> None:
    rows = cs.simulate(6, 60, p=0.3, seed=1).labels().rows()
    crowd, other = cs.AgreementBased(), cs.AgreementBased()
    batch, _ = crowd._take_in(crowd._given(rows, {}), None)
    half = batch.first(np.maximum(batch.sizes // 2, 1))
    before = AgreementSums()
    before.make_room(6, 2)
    for some in (half, batch):
        (now,) = InMemory(some).add_up([AddTasks(crowd._model.sums)])
        crowd._model.replace_open(before, now)
        before = now
    other._take_in(other._given(rows, {}), None)
    other._model.learn_table(InMemory(batch))
    assert crowd._model.sums.rows.tobytes() == other._model.sums.rows.tobytes()
    assert crowd._model.sums.total.tolist() == other._model.sums.total.tolist()
