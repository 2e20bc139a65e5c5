"""`ZenCrowd`: one reliability per worker by expectation-maximisation, from a common guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import (
    CERTAIN,
    Coded,
    Floats,
    normalise,
    share_wrong,
    weights_of,
)
from crowdstream_lab.baselines.iterated import Iterated

RELIABILITY = 0.8
"""Reliability of every worker before the first iteration, as in the survey of Zheng et al.; it is a
majority vote whatever it is, as long as it is above chance."""


@dataclass(eq=False, repr=False)
class ZenCrowd(Iterated):
    """The workers' part of ZenCrowd: right with a probability of one's own, or wrong evenly.

    The paper links names to entities: its graph joins a worker's reliability and its clicks to the
    links, which have priors from a matcher and constraints (one link per name, the same entity in
    two collections). Of a table of labels only the workers and "one class per task" remain: then
    posteriors of the truths from the reliabilities, and reliabilities as the expected share of
    right answers, in turns. All classes are alike beforehand and nothing is smoothed: this is
    maximum likelihood in the one-coin model, as the surveys have it (Sheshadri and Lease 2013;
    Zheng et al. 2017). Rates are kept 1e-9 from 0 and 1. Time O(labels + K tasks) an iteration,
    memory the same.

    Parameters
    ----------
    reliability
        Of every worker at the start; above 1/K a majority vote.

    Attributes
    ----------
    error_rates_
        Of each worker.
    log_likelihood_
        After each iteration.

    References
    ----------
    Demartini, Difallah, Cudré-Mauroux. ZenCrowd: Leveraging Probabilistic Reasoning and
    Crowdsourcing Techniques for Large-Scale Entity Linking. WWW 2012.

    Zheng, Li, Li, Shan, Cheng. Truth Inference in Crowdsourcing: Is the Problem Solved? VLDB 2017.

    Examples
    --------
    >>> rows = [(t, who, t % 3) for t in range(9) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", 0) for t in range(9)]
    >>> crowd = ZenCrowd()
    >>> crowd.fit_predict(rows)["label"].to_list()
    [0, 1, 2, 0, 1, 2, 0, 1, 2]
    >>> crowd.error_rates_.round(2).tolist()
    [0.0, 0.0, 0.0, 0.67]
    """

    reliability: float = RELIABILITY

    deviation: ClassVar[str] = "its model of workers only, no priors of links or constraints"
    checks: ClassVar = {"reliability": number(0.0, 1.0)}

    def _start(self, coded: Coded) -> Floats:
        self.log_likelihood_: list[float] = []
        self.error_rates_ = np.full(len(coded.workers), 1 - self.reliability)
        posterior = np.exp(self._expect(coded))
        self.log_likelihood_.clear()  # a start is no iteration
        return posterior

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        self.error_rates_ = np.clip(share_wrong(coded, posterior), CERTAIN, 1 - CERTAIN)
        return self._expect(coded)

    def _expect(self, coded: Coded) -> Floats:
        """Log posteriors of the tasks; notes how likely the labels are."""
        k, tasks = coded.n_classes, len(coded.tasks)
        p = np.clip(self.error_rates_, CERTAIN, 1 - CERTAIN)
        posterior, total = normalise(coded.count(weights_of(p, k)[coded.worker]))
        errs = np.log(p / (k - 1))[coded.worker]  # scores are relative to everybody being wrong
        self.log_likelihood_.append(float(total.sum() + errs.sum() - tasks * np.log(k)))
        return posterior
