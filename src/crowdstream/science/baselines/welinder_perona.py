"""`WelinderPerona`: annotators rated as they answer, some experts, some bots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.labels import WorkerId
from crowdstream.science.baselines.common import Coded, Floats, Ints, weights_of
from crowdstream.science.baselines.one_pass import OnePass, posterior_of
from crowdstream.validation import check_number, number

RIGHT = 3.0
"""Of the Beta(3, 2) prior on accuracies, whose mode is ⅔: three answers are worth as much."""

WRONG = 2.0
"""The other parameter of that prior."""

SHARE = number(0.0, 1.0)
"""What a share may be."""

KNOWN = 0.01
"""A worker is listed once its accuracy's variance is below this, a standard deviation of a tenth:
about twenty answers. The paper has such a threshold; the number is ours."""

EXPERT = 0.5
"""Reliability ``(K s − 1)/(K − 1)`` of an expert of accuracy s: three in four, with two classes."""

BOT = 0.1
"""Reliability of a bot, at most, of either sign: 0 is guessing, and a tenth is what a standard
deviation of `KNOWN` cannot tell from it."""


@dataclass(eq=False, repr=False)
class WelinderPerona(OnePass):
    """A Beta on each worker's accuracy; experts are heard first, bots not at all.

    A task's posterior comes from its labels and the modes of their workers' Betas; a Beta's
    counts are the posteriors of what was answered (errors fall evenly on the other classes, as in
    the paper's model of several values). After a task its workers are listed anew: who is known
    well enough is an expert or a bot if its reliability says so. Bots have no vote unless nobody
    else has; experts are read first, and reading stops once the posterior is `enough`. The paper
    chooses whom to ask and re-estimates all annotators after every batch of images; on recorded
    labels nobody can be asked, a batch is one task, and what was learnt is not revised. Time
    O(K labels), memory O(workers).

    Parameters
    ----------
    enough
        The posterior at which no more of a task's labels are read; 1 reads all.
    right, wrong
        Parameters of the Beta prior, above one for it to have a mode.
    known, expert, bot
        The variance below which a worker is listed, and the reliabilities of the lists.

    Attributes
    ----------
    error_rates_
        One less the mode of each worker's Beta, after the last task.
    experts_, bots_
        Who is on the lists.
    labels_read_
        How many labels were read in the pass.

    References
    ----------
    Welinder, Perona. Online crowdsourcing: rating annotators and obtaining cost-effective labels.
    CVPR Workshops 2010.

    Examples
    --------
    >>> said = {"ann": "ab", "bob": "ab", "cy": "ab", "bot": "bb"}
    >>> crowd = WelinderPerona()
    >>> rows = [(t, who, two[t % 2]) for t in range(60) for who, two in said.items()]
    >>> crowd.fit_predict(rows)["label"].to_list()[:4]
    ['a', 'b', 'a', 'b']
    >>> crowd.experts_, crowd.bots_
    (['ann', 'bob', 'cy'], ['bot'])
    """

    enough: float = 1.0
    right: float = RIGHT
    wrong: float = WRONG
    known: float = KNOWN
    expert: float = EXPERT
    bot: float = BOT

    checks: ClassVar = {
        "enough": SHARE,
        "right": number(1.0, 1e6, open_low=True),
        "wrong": number(1.0, 1e6, open_low=True),
        "known": SHARE,
        "expert": SHARE,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("bot", self.bot, 0.0, self.expert)

    @property
    def experts_(self) -> list[WorkerId]:
        """Who is listed as an expert."""
        return [self.workers_[i] for i in np.flatnonzero(self._expert)]

    @property
    def bots_(self) -> list[WorkerId]:
        """Who is listed as a bot."""
        return [self.workers_[i] for i in np.flatnonzero(self._bot)]

    def _start(self, coded: Coded) -> None:
        n = len(coded.workers)
        self._k = coded.n_classes
        self._right, self._wrong = np.full(n, float(self.right)), np.full(n, float(self.wrong))
        self._expert, self._bot = np.zeros(n, bool), np.zeros(n, bool)
        self.error_rates_ = (self._wrong - 1) / (self._right + self._wrong - 2)
        self.labels_read_ = 0

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        heard = ~self._bot[workers]
        weights = weights_of(self.error_rates_[workers], self._k)
        if heard.any():
            weights = np.where(heard, weights, 0.0)
        self._read = int(heard.sum()) or workers.size
        if self.enough == 1:
            return np.bincount(labels, weights, self._k).astype(float)
        order = np.lexsort((~self._expert[workers], ~heard))[: self._read]
        said = labels[order, None] == np.arange(self._k)
        scores = np.cumsum(said * weights[order, None], axis=0)
        sure = posterior_of(scores).max(axis=1) >= self.enough
        self._read = int(sure.argmax()) + 1 if sure.any() else self._read
        return np.asarray(scores[self._read - 1], float)

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        self.labels_read_ += self._read
        good = posterior_of(scores)[labels]
        self._right[workers] += good
        self._wrong[workers] += 1 - good
        right, wrong = self._right[workers], self._wrong[workers]
        total = right + wrong
        known = right * wrong / (total**2 * (total + 1)) < self.known
        self.error_rates_[workers] = (wrong - 1) / (total - 2)
        reliability = 1 - self.error_rates_[workers] * self._k / (self._k - 1)
        self._expert[workers] = known & (reliability >= self.expert)
        self._bot[workers] = known & (np.abs(reliability) <= self.bot)

    def _judge_all(self, coded: Coded) -> Floats:
        scores = np.zeros((len(coded.tasks), self._k))
        ends = np.cumsum(coded.votes)
        for task, (end, votes) in enumerate(zip(ends.tolist(), coded.votes.tolist(), strict=True)):
            if votes:
                rows = slice(end - votes, end)
                scores[task] = self._judge(coded.worker[rows], coded.label[rows])
        return scores
