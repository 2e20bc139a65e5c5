"""Our own estimators under crowd-kit's verbs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import pandas as pd

import crowdstream as cs
from crowdstream.extension import Families, Ties
from crowdstream_lab.crowdkit.base import Aggregator
from crowdstream_lab.crowdkit.tables import answers_of


class Crowd(Aggregator):
    """One of our estimators; ``crowd_`` is itself, with everything that crowd-kit has no verb for.

    Attributes
    ----------
    crowd_
        The estimator: ``crowd_.workers()`` has intervals, ``crowd_.learn_one`` goes on learning,
        ``crowd_.save`` keeps it.
    decisions_
        A DataFrame indexed by ``task`` of ``label``, ``confidence``, ``margin``, ``votes``,
        ``settled``.
    skills_
        Of each worker, the estimated share of right answers.
    """

    def fit(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> Self:
        """Learn a table as a whole, and decide it.

        Parameters
        ----------
        data
            A table of task, worker and label.
        true_labels
            What is known, indexed by task.
        """
        rows = answers_of(data)
        gold = None if true_labels is None else true_labels.to_dict()
        self.crowd_ = self._crowd()
        # crowd-kit takes every label for a class; it has no words to say otherwise.
        decided = self.crowd_.fit_predict(rows, gold=gold, as_classes=True, repeats="last")
        self.decisions_ = decided.set_index("task")
        self.labels_ = self.decisions_["label"].rename("agg_label")
        probas = self.crowd_.predict_proba_many(rows, gold=gold, as_classes=True, repeats="last")
        probas = probas.set_index("task")
        self.probas_ = probas.set_axis(pd.Index(self.crowd_.classes_, name="label"), axis=1)
        self.skills_ = self._shares_right().rename("skill")
        return self

    def _shares_right(self) -> pd.Series:
        """One minus the error rates; by the weights in the vote where those cannot be known."""
        k = max(2, len(self.crowd_.classes_))
        beyond_chance = pd.Series(self.crowd_.skills_, dtype=float).rename_axis("worker")
        known = pd.DataFrame(self.crowd_.workers()).set_index("worker")["error_rate"]
        return 1 - known.astype(float).fillna((1 - beyond_chance) * (k - 1) / k)

    @abstractmethod
    def _crowd(self) -> cs.Estimator:
        """A new estimator with these parameters."""


@dataclass(eq=False, repr=False)
class Adaptive(Crowd):
    """`crowdstream.Adaptive`, the default: error rates by agreement, as fine as the labels allow.

    Parameters
    ----------
    memory, ties, seed, families
        As in `crowdstream.Adaptive`.

    Examples
    --------
    >>> rows = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", 0) for t in range(20)]
    >>> crowd = Adaptive()
    >>> crowd.fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])).tolist()[:4]
    [0, 1, 0, 1]
    >>> bool(crowd.skills_["ann"] > 0.8 > crowd.skills_["dee"])
    True
    """

    memory: float | None = None
    ties: Ties = "coin"
    seed: int = 0
    families: Families | None = None

    def _crowd(self) -> cs.Estimator:
        return cs.Adaptive(self.memory, self.ties, self.seed, self.families)


@dataclass(eq=False, repr=False)
class AgreementBased(Crowd):
    """`crowdstream.AgreementBased`: the paper's estimator, extended.

    Parameters
    ----------
    answer_rate, memory, shrinkage, clip, ties, seed
        As in `crowdstream.AgreementBased`.

    Examples
    --------
    >>> rows = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
    >>> crowd = AgreementBased()
    >>> crowd.fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])).tolist()[:4]
    [0, 1, 0, 1]
    """

    answer_rate: float | None = None
    memory: float | None = None
    shrinkage: float = 10.0
    clip: float = 0.02
    ties: Ties = "coin"
    seed: int = 0

    def _crowd(self) -> cs.Estimator:
        return cs.AgreementBased(
            self.answer_rate, self.memory, self.shrinkage, self.clip, self.ties, self.seed
        )
