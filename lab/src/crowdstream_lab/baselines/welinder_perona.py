"""`WelinderPerona`: annotators rated as they answer, some experts, some bots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream import WorkerId
from crowdstream.extension import check_number, number
from crowdstream_lab.baselines.common import CERTAIN, FEWEST_CLASSES, Coded, Floats, Ints
from crowdstream_lab.baselines.one_pass import OnePass, posterior_of

RIGHT = 3.0
"""Parameter of the Beta(3, 2) prior on rates, whose mode is ⅔; it is worth three answers."""

WRONG = 2.0
"""The other parameter of that prior."""

SHARE = number(0.0, 1.0)
"""Check of a share."""

KNOWN = 0.01
"""A worker is listed once the variance of each of its rates is below this, a standard deviation of
a tenth: about twenty answers for each. The paper has such a threshold; the number is ours."""

EXPERT = 0.5
"""Reliability of an expert, from 0 for a blind guess to 1: with rates of three in four."""

BOT = 0.1
"""Reliability of a bot, at most, of either sign: 0 is guessing, or saying always the same, and a
tenth is what a standard deviation of `KNOWN` cannot tell from it."""


@dataclass(eq=False, repr=False)
class WelinderPerona(OnePass):
    """Betas on each worker's rates; experts are heard first, bots not at all.

    Of two classes a worker has two rates, its hit rate (says the second when it is true) and its
    correct rejections (says the first when that is true; one less its false alarms); of more
    classes it has one, the chance to be right, and its errors fall evenly: the paper's binary and
    multi-valued models. A task's posterior comes from its labels and the modes of their workers'
    Betas, the classes alike beforehand; a Beta's counts are the posteriors of what was answered.
    After a task its workers are listed anew: who is known well enough is an expert or a bot if its
    reliability says so, hits less false alarms of two classes, ``(K s − 1)/(K − 1)`` of K, s the
    chance to be right. Bots have no vote unless nobody else has; experts are read first, and
    reading stops once the posterior is `enough`.

    The paper chooses whom to ask and re-estimates all annotators by EM after every batch of images;
    on recorded labels nobody can be asked, a batch is one task, and what was learnt is not revised.
    Its prior is a mixture over kinds of annotators; here it is one Beta. Time O(K labels), memory
    O(workers).

    Parameters
    ----------
    enough
        The posterior at which no more of a task's labels are read; 1 reads all.
    right, wrong
        Parameters of the Beta prior of every rate, above one for it to have a mode.
    known, expert, bot
        The variance below which a worker is listed, and the reliabilities of the lists.

    Attributes
    ----------
    rates_
        The chance that a worker (row) is right if the truth is a class (column), by the modes of
        its Betas after the last task. Of two classes the second column is the hit rate, and one
        less the first the false-alarm rate; of more, all columns are alike.
    error_rates_
        One less the mean of a worker's rates.
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
    >>> crowd.rates_.round(2).tolist()[-1]  # it never says the first, and always the second
    [0.06, 0.97]
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
    deviation: ClassVar[str] = "one pass without EM, asks nobody, one Beta as prior"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("bot", self.bot, 0.0, self.expert)

    @property
    def experts_(self) -> list[WorkerId]:
        """Workers listed as experts."""
        return [self.workers_[i] for i in np.flatnonzero(self._expert)]

    @property
    def bots_(self) -> list[WorkerId]:
        """Workers listed as bots."""
        return [self.workers_[i] for i in np.flatnonzero(self._bot)]

    def _start(self, coded: Coded) -> None:
        n, self._k = len(coded.workers), coded.n_classes
        coins = self._k if self._k == FEWEST_CLASSES else 1
        self._right = np.full((n, coins), float(self.right))
        self._wrong = np.full((n, coins), float(self.wrong))
        self._expert, self._bot = np.zeros(n, bool), np.zeros(n, bool)
        self.rates_ = np.full((n, self._k), (self.right - 1) / (self.right + self.wrong - 2))
        self.error_rates_ = 1 - self.rates_.mean(axis=1)
        self.labels_read_ = 0

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        heard = ~self._bot[workers]
        rates = self.rates_[workers].clip(CERTAIN, 1 - CERTAIN)
        right = labels[:, None] == np.arange(self._k)
        chances = np.log(np.where(right, rates, (1 - rates) / (self._k - 1)))
        if heard.any():
            chances = np.where(heard[:, None], chances, 0.0)
        self._read = int(heard.sum()) or workers.size
        if self.enough == 1:
            return np.asarray(chances.sum(axis=0), float)
        order = np.lexsort((~self._expert[workers], ~heard))[: self._read]
        scores = np.cumsum(chances[order], axis=0)
        sure = posterior_of(scores).max(axis=1) >= self.enough
        self._read = int(sure.argmax()) + 1 if sure.any() else self._read
        return np.asarray(scores[self._read - 1], float)

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        self.labels_read_ += self._read
        right = labels[:, None] == np.arange(self._k)
        likely = posterior_of(scores)
        good, bad = right * likely, ~right * likely
        if self._right.shape[1] == 1:  # one rate for all classes
            good, bad = good.sum(axis=1, keepdims=True), bad.sum(axis=1, keepdims=True)
        self._right[workers] += good
        self._wrong[workers] += bad
        a, b = self._right[workers], self._wrong[workers]
        self.rates_[workers] = (a - 1) / (a + b - 2)
        self.error_rates_[workers] = 1 - self.rates_[workers].mean(axis=1)
        known = (a * b / ((a + b) ** 2 * (a + b + 1)) < self.known).all(axis=1)
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
