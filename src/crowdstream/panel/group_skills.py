"""Skills by worker and group of tasks, and scores corrected by them. Knows codes only.

Formulas in docs/uncertainty.md. What a group is and where it comes from is known to `specialists`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions.votes import posteriors_by
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.models.scorer import Scorer

Floats = NDArray[np.float64]

ROUNDS = 5
"""Times that decisions and skills by group are found from one another; simulated crowds stand still
after three."""

PRIOR = 2.0
"""Answers by the crowd's mean skill that a worker has beside its own."""

MOST_SKILL = 0.9
"""Skill by group is kept between 0 and this: nobody is taken to be infallible, nor turned around
on the strength of one group."""


class GroupSkills(NamedTuple):
    """Skills by worker and group (as cells), by worker, and how much groups differ."""

    cells: Floats
    workers: Floats
    variance: float


class GroupCells:
    """Labels by worker and group: a cell is a worker in a group."""

    def __init__(self, batch: LabelBatch, codes: Ints, groups: int, workers: int, named: int):
        self.batch = batch
        self.groups, self.workers, self.classes = groups, workers, max(named, 2)
        self.task = np.repeat(np.arange(len(batch)), batch.sizes)
        self.cell = batch.workers.astype(np.int64) * groups + codes[self.task]
        self.answers = np.bincount(self.cell, minlength=workers * groups)

    def correct(self, scorer: Scorer) -> tuple[Floats, GroupSkills]:
        """Scores in which each label counts by its worker's skill in the group.

        A label's weight changes by that of its worker's skill here against that overall.
        """
        scores = np.empty((len(self.batch), self.classes))
        scorer.score(self.batch, scores)
        skills = GroupSkills(np.zeros(self.answers.size), np.zeros(self.workers), 0.0)
        if not self.batch.labels.size:
            return scores, skills
        own = self._own(scorer)
        extra = np.zeros(self.batch.labels.size)
        corrected = scores
        for _ in range(ROUNDS):
            others = corrected[self.task] - own
            others[np.arange(extra.size), self.batch.labels] -= extra
            skills = self._skills(others, scorer)
            if skills.variance == 0.0 or not scorer.identified:
                return scores, skills._replace(variance=0.0)
            change = self._weights(skills.cells) - self._weights(
                np.repeat(skills.workers, self.groups)
            )
            extra = change[self.cell]
            corrected = scores.copy()
            np.add.at(corrected, (self.task, self.batch.labels), extra)
        return corrected, skills

    def _own(self, scorer: Scorer) -> Floats:
        """Return what each label adds to the scores of its task."""
        number = self.batch.labels.size
        alone = LabelBatch(np.arange(number + 1), self.batch.workers, self.batch.labels)
        own, nothing = np.empty((number, self.classes)), np.empty((1, self.classes))
        scorer.score(alone, own)
        scorer.score(
            LabelBatch(np.zeros(2, np.int64), alone.workers[:0], alone.labels[:0]), nothing
        )
        return np.asarray(own - nothing)

    def _skills(self, others: Floats, scorer: Scorer) -> GroupSkills:
        """Skills from each label against the posterior of the task's other labels.

        With ``h = K π(y) − 1``: E h = θ e₂ and Var h = e₂ + θ e₃ − θ² e₂² (docs/uncertainty.md).
        """
        k, truths = self.classes, self.batch.truths
        sizes = self.batch.sizes[self.task] - 1
        posterior = posteriors_by(others, sizes, scorer._replace(calibrate=None), k)
        if truths.size:
            known = truths[self.task] >= 0
            posterior[known] = np.eye(k)[truths[self.task[known]]]
        lean = k * posterior - 1.0
        e2, e3 = (lean**2).sum(axis=1) / k, (lean**3).sum(axis=1) / k
        said = lean[np.arange(lean.shape[0]), self.batch.labels]
        b, c, d, f = (self._sum(part) for part in (said, e2, e2 * e2, e3))
        by_worker = (self.workers, self.groups)
        b_all, c_all = b.reshape(by_worker).sum(axis=1), c.reshape(by_worker).sum(axis=1)
        mean = b.sum() / max(c.sum(), 1e-12)
        overall = (b_all + PRIOR * mean) / (c_all + PRIOR)
        at = np.repeat(overall, self.groups)
        noise = np.maximum(c + at * f - at * at * d, 0.0)
        share = c / np.maximum(np.repeat(c_all, self.groups), 1e-12)
        variance = _between(b - at * c, c, noise, share)
        if variance == 0.0:
            return GroupSkills(at, overall, 0.0)
        strength = noise.sum() / max(c.sum(), 1e-12) / variance
        return GroupSkills((b + strength * at) / (c + strength), overall, variance)

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.cell, values, self.answers.size), np.float64)

    def _weights(self, skills: Floats) -> Floats:
        """log(s (K − 1)/(1 − s)) of a worker who is right with s = 1/K + (1 − 1/K) θ."""
        kept = np.clip(skills, 0.0, MOST_SKILL)
        return np.asarray(np.log((1 + (self.classes - 1) * kept) / (1 - kept)))


def _between(off: Floats, c: Floats, noise: Floats, share: Floats) -> float:
    """Variance of skill between a worker's groups, by moments; less one standard error of it.

    ``off = B − θC`` of a cell has the variance ``noise (1 − share)`` if its worker is as good in
    all groups, and τ² C² (1 − share) more if not; so that groups have to be shown to matter.
    """
    some = (c > 1e-9) & (share < 1.0 - 1e-9)
    off, c, noise, rest = off[some], c[some], noise[some], 1.0 - share[some]
    size = float((c * rest).sum())
    if size <= 0.0:
        return 0.0
    expected = noise * rest / c
    found = float((off * off / c - expected).sum()) / size
    error = float(np.sqrt(2.0 * (expected**2).sum())) / size
    return max(found - error, 0.0)
