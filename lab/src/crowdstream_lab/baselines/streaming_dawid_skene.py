"""`StreamingDawidSkene`: Dawid and Skene's confusions in one pass, on a prior the crowd teaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats, Ints
from crowdstream_lab.baselines.one_pass import OnePass, posterior_of

ACCURACY = 0.7
"""Accuracy of everybody at the start (0.6 to 0.8 do alike)."""

BEFORE = 4.0
"""Answers, or tasks, that every prior is worth. Anything from 2 to 8 gives the same errors on real
crowds."""

START = 30.0
"""Answers that the prior of a skill is worth until the spread of skills is known: with 4, crowds of
equals begin with up to four points more errors than majority vote."""

KAPPA = 50.0
"""Products of answers after which that spread is measured rather than assumed (30 to 300 alike)."""

LEAST_STRENGTH, MOST_STRENGTH = 2.0, 100.0
"""Answers that a skill's prior is worth: nobody is judged by one, nobody is beyond learning."""

OWN = 0.5
"""Strength of a confusion's prior as a share of a skill's: where skills are alike, so are
confusions."""

LOWEST, HIGHEST = 0.1, 0.95
"""Between these is the crowd's skill: zero would be absorbing, and nobody is perfect."""


@dataclass(eq=False, repr=False)
class StreamingDawidSkene(OnePass):
    """Expected counts of what each worker says of each class, by the posteriors of their moment.

    A task's posterior comes from the confusions so far, and is then added to them; it is never
    looked at again. A worker with few answers is like the crowd, in two steps: its confusion
    starts from the pooled one, moved by a *skill* (its answers regressed on the posteriors, both
    less what is usual) towards its own habit if it knows less than the crowd does, towards never
    wrong if more; and its skill starts from the crowd's mean, as strongly as skills are alike.
    It learns from its own posteriors, so it is flexible, and goes astray where the crowd is poor:
    what it took for the truth early on it goes on believing. Time O(K² labels), memory O(K²
    workers).

    Parameters
    ----------
    accuracy, before
        What everybody starts with, and how many answers it is worth.

    References
    ----------
    Dawid, Skene, 1979: see `DawidSkene`.

    Examples
    --------
    >>> from crowdstream.simulation import simulate
    >>> always_one = [[0, 1], [0, 1]]
    >>> made = simulate(4, 200, confusions=[[[0.9, 0.1], [0.1, 0.9]]] * 3 + [always_one])
    >>> crowd = StreamingDawidSkene()
    >>> decided = crowd.stream_predict(made.labels())
    >>> crowd.confusions_[3].round(1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    accuracy: float = ACCURACY
    before: float = BEFORE

    checks: ClassVar = {
        "accuracy": number(0.0, 1.0, open_low=True),
        "before": number(0.0, 1e9, open_low=True),
    }
    deviation: ClassVar[str] = "ours: one pass, with shared priors"

    def _start(self, coded: Coded) -> None:
        n, k = len(coded.workers), coded.n_classes
        wrong = (1 - self.accuracy) / (k - 1)
        self._eye = np.eye(k)
        self._expected = np.full((k, k), wrong) + (self.accuracy - wrong) * self._eye
        self._counts = np.zeros((n, k, k))  # of worker, truth and what it said
        self._pooled = np.zeros((k, k))  # the same of all, weighted by skill
        self._said = np.zeros((n, k))
        self._along, self._chances = np.zeros(n), np.zeros(n)  # a skill is one over the other
        self._tasks = 0
        self._mass, self._shares = np.zeros(k), np.zeros(k)  # of classes, of labels
        self._total_along = self._total_chances = 0.0
        self._covariance = self._pairs = self._noise = 0.0

    # What is read from the counts --------------------------------------------------------------

    @property
    def class_prior_(self) -> Floats:
        """Class shares by the posteriors so far, which start from the labels'."""
        mass = self._mass + self.before * self._label_shares()
        prior: Floats = mass / (self._tasks + self.before)
        return prior

    @property
    def confusions_(self) -> NDArray[np.float64]:
        """Confusions of everybody who was named."""
        return self._confusions(np.arange(len(self._said)))

    def _label_shares(self) -> Floats:
        mass = self._shares + self.before
        shares: Floats = mass / mass.sum()
        return shares

    def _habits(self, workers: Ints) -> Floats:
        """Return how often each worker says each class, whatever the truth."""
        said = self._said[workers]
        habit = said + self.before * self._label_shares()
        share: Floats = habit / (said.sum(axis=1, keepdims=True) + self.before)
        return share

    def _mean_skill(self) -> float:
        k, chances = self._mass.size, self._total_chances
        known = min(self._tasks, chances)  # a task with one label tells nothing
        found = known * self._total_along / chances if known > 0 else 0.0
        prior = (k * self.accuracy - 1) / (k - 1)
        mean = (found + self.before * prior) / (known + self.before)
        return min(max(mean, LOWEST), 1.0)

    def _strength(self) -> float:
        """Answers that a skill's prior is worth: noise over spread of skills (empirical Bayes)."""
        noise = (self._noise + self.before) / (self._total_chances + self.before)
        spread = (max(self._covariance, 0.0) + KAPPA * noise / START) / (self._pairs + KAPPA)
        return min(max(noise / spread, LEAST_STRENGTH), MOST_STRENGTH)

    def _skills(self, workers: Ints) -> Floats:
        strength = self._strength()
        along = self._along[workers] + strength * self._mean_skill()
        skills: Floats = along / (self._chances[workers] + strength)
        return skills.clip(0.0, 1.0)

    def _confusions(self, workers: Ints) -> NDArray[np.float64]:
        """Own counts on a prior between the crowd's confusion, one's habit and never wrong."""
        k = self._mass.size
        crowd = self._pooled + self.before * self._expected
        crowd /= crowd.sum(axis=1, keepdims=True)
        informed = min(max((float(np.trace(crowd)) - 1) / (k - 1), LOWEST), HIGHEST)
        skill = self._skills(workers)[:, None, None]
        like = np.minimum(skill / informed, 1.0)
        better = np.maximum(np.minimum(skill, HIGHEST) - informed, 0.0) / (1 - informed)
        prior = (like - better) * crowd + better * self._eye
        prior += (1 - like) * self._habits(workers)[:, None, :]
        strength = max(self.before, OWN * self._strength())
        counts = self._counts[workers]
        rows = counts.sum(axis=2, keepdims=True) + strength
        found: NDArray[np.float64] = (counts + strength * prior) / rows
        return found

    # One task after the other ------------------------------------------------------------------

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        says = self._confusions(workers)[np.arange(labels.size), :, labels]
        scores: Floats = np.log(self.class_prior_) + np.log(says).sum(axis=0)
        return scores

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        usual, mean = self._label_shares(), self._mean_skill()
        posterior = posterior_of(scores)
        skills = self._skills(workers)
        said = self._eye[labels]
        if labels.size > 1:
            # Skill is the slope of what is said on what is true, both less what is usual.
            true, unit = posterior - usual, 1 - (usual**2).sum()
            along = (said - self._habits(workers)) @ true / unit
            chance = float((true**2).sum() / unit)
            off = along - mean * chance
            before = self._along[workers] - mean * self._chances[workers]
            self._covariance += float(off @ before)
            self._pairs += chance * float(self._chances[workers].sum())
            self._noise += float(off @ off)
            self._along[workers] += along
            self._chances[workers] += chance
            self._total_along += float(along.sum())
            self._total_chances += chance * labels.size
        self._pooled += np.outer(posterior, skills @ said)
        self._counts[workers] += posterior[:, None] * said[:, None, :]
        self._said[workers] += said
        self._shares += said.mean(axis=0)
        self._mass += posterior
        self._tasks += 1

    def _judge_all(self, coded: Coded) -> Floats:
        says = np.log(self.confusions_)[coded.worker, :, coded.label]
        scores = np.tile(np.log(self.class_prior_), (len(coded.tasks), 1))
        for truth in range(coded.n_classes):
            scores[:, truth] += np.bincount(coded.task, says[:, truth], len(coded.tasks))
        return scores
