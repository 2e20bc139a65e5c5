"""Votes weighed by skills: crowd-kit's `MajorityVote`, and the three methods that are made of it.

Ties go where crowd-kit gives them, to the class that is first in order; `crowdstream_lab.baselines`
has `Wawa` and `ZeroBasedSkill` that share them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pandas as pd

from crowdstream import InputError
from crowdstream.extension import number, one_of
from crowdstream_lab.baselines.common import shares
from crowdstream_lab.crowdkit.base import Aggregator
from crowdstream_lab.crowdkit.tables import answers_of, code, most_probable


@dataclass(eq=False, repr=False)
class MajorityVote(Aggregator):
    """The label with the most votes, or with the largest sum of its workers' skills.

    Parameters
    ----------
    default_skill
        Of workers without one, with ``on_missing_skill="value"``.
    on_missing_skill
        ``"error"`` refuses workers without a skill, ``"ignore"`` leaves their answers out,
        ``"value"`` gives them ``default_skill``.

    Attributes
    ----------
    skills_
        The share of each worker's answers that are the decision.

    Examples
    --------
    >>> rows = [("t1", "ann", 0), ("t1", "bob", 0), ("t1", "cy", 1), ("t2", "cy", 1)]
    >>> table = pd.DataFrame(rows, columns=["task", "worker", "label"])
    >>> MajorityVote().fit_predict(table).to_dict()
    {'t1': 0, 't2': 1}
    >>> skills = pd.Series({"ann": 0.2, "bob": 0.2, "cy": 0.9})
    >>> MajorityVote().fit_predict(table, skills).to_dict()
    {'t1': 1, 't2': 1}
    """

    default_skill: float | None = None
    on_missing_skill: str = "error"

    checks: ClassVar = {
        "default_skill": number(-1e300, 1e300, optional=True),
        "on_missing_skill": one_of("error", "ignore", "value"),
    }

    def fit(self, data: pd.DataFrame, skills: pd.Series | None = None) -> Self:
        """Count the votes of a table.

        Parameters
        ----------
        data
            A table of task, worker and label.
        skills
            What a worker's vote weighs, indexed by worker; all the same without.
        """
        rows, weights = answers_of(data), None
        if skills is not None:
            rows, skills = self._known(rows, skills)
        answers = code(rows)
        if skills is not None:
            weights = skills.reindex(answers.workers).to_numpy(float)[answers.coded.worker]
        self.probas_ = answers.probas(shares(answers.coded.count(weights)))
        self.labels_ = most_probable(self.probas_)
        self.skills_ = answers.skills(self.labels_)
        return self

    def _known(self, rows: pd.DataFrame, skills: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
        """The rows whose workers have a skill, and the skills."""
        if self.on_missing_skill != "value" and self.default_skill is not None:
            found = repr(self.on_missing_skill)
            raise InputError("on_missing_skill", "'value' beside a default_skill", found)
        workers = pd.Index(rows["worker"].unique())
        missing = workers.difference(skills.dropna().index, sort=False)
        if self.on_missing_skill == "error" and len(missing):
            found = f"none of {len(missing)} workers, such as {missing[0]!r}"
            raise InputError("skills", "a skill of every worker", found)
        if self.on_missing_skill == "value":
            if self.default_skill is None:
                raise InputError("default_skill", "a number for on_missing_skill='value'", "None")
            return rows, skills.reindex(workers).fillna(self.default_skill)
        kept = rows[~rows["worker"].isin(missing)]
        lost = rows["task"].nunique() - kept["task"].nunique()
        if lost:
            found = f"none for {lost} tasks"
            raise InputError("skills", "a worker with a skill for every task", found)
        return kept, skills


class Skilled(Aggregator):
    """A method that learns skills, and decides by a vote that they weigh.

    Attributes
    ----------
    skills_
        Of each worker: a Series named ``skill``, indexed by ``worker``.
    """

    skills_: pd.Series

    def predict(self, data: pd.DataFrame) -> pd.Series:
        """Decide a table by the skills that were learnt; all its workers must have one.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        if "skills_" not in vars(self):
            raise InputError(type(self).__name__, "fit before predict", "nothing learnt")
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.probas_ = vote.labels_, vote.probas_
        return self.labels_

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Shares of the skills that were learnt, for each class of a table's tasks.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        self.predict(data)
        return self.probas_

    def fit_predict(self, data: pd.DataFrame, *known: Any, **more: Any) -> pd.Series:
        """`fit`, with what it takes, and `predict` the same table."""
        return self.fit(data, *known, **more).predict(data)

    def fit_predict_proba(self, data: pd.DataFrame, *known: Any, **more: Any) -> pd.DataFrame:
        """`fit`, with what it takes, and `predict_proba` of the same table."""
        return self.fit(data, *known, **more).predict_proba(data)


@dataclass(eq=False, repr=False)
class Wawa(Skilled):
    """A vote weighs the share of its worker's answers that agree with the majority.

    Examples
    --------
    >>> said = {"ann": "xyxy", "bob": "xyxy", "cy": "xyyy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> wawa = Wawa().fit(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> wawa.skills_.to_dict()
    {'ann': 1.0, 'bob': 1.0, 'cy': 0.75}
    """

    def fit(self, data: pd.DataFrame) -> Self:
        """Learn the skills.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        self.skills_ = MajorityVote().fit(data).skills_
        return self


@dataclass(eq=False, repr=False)
class ZeroBasedSkill(Skilled):
    """Skills move towards the share of a worker's answers that win the vote that they weigh.

    Parameters
    ----------
    n_iter
        How often skills are updated.
    lr_init, lr_steps_to_reduce, lr_reduce_factor
        By how much of the difference skills move: at first, and the factor that it is reduced by
        after so many steps each.
    eps
        What skills are above 1/K at first.

    Examples
    --------
    >>> said = {"ann": "xyxy", "bob": "xyxy", "cy": "xyyy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> zbs = ZeroBasedSkill().fit(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> zbs.skills_.to_dict()
    {'ann': 1.0, 'bob': 1.0, 'cy': 0.75}
    """

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    checks: ClassVar = {
        "lr_init": number(0.0, 1e6),
        "lr_steps_to_reduce": number(1, 10**9, whole=True),
        "lr_reduce_factor": number(0.0, 1e6),
        "eps": number(0.0, 1.0),
    }

    def fit(self, data: pd.DataFrame) -> Self:
        """Learn the skills.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        answers, rate = code(answers_of(data)), self.lr_init
        start = 1 / max(1, len(answers.classes)) + self.eps
        skills = pd.Series(start, index=answers.workers).to_numpy(float)
        for iteration in range(1, self.n_iter + 1):
            if iteration % self.lr_steps_to_reduce == 0:
                rate *= self.lr_reduce_factor
            votes = answers.coded.count(skills[answers.coded.worker])
            agreed = answers.skills(most_probable(answers.probas(shares(votes))))
            skills = skills + rate * (agreed.to_numpy() - skills)
        self.skills_ = answers.by_worker(skills)
        return self


@dataclass(eq=False, repr=False)
class GoldMajorityVote(Skilled):
    """A vote weighs the share of its worker's answers that are right, where the truth is known.

    Examples
    --------
    >>> rows = [("t1", "ann", 0), ("t1", "bob", 1), ("t2", "ann", 1), ("t2", "bob", 0)]
    >>> table = pd.DataFrame(rows, columns=["task", "worker", "label"])
    >>> GoldMajorityVote().fit_predict(table, pd.Series({"t1": 0})).to_dict()
    {'t1': 0, 't2': 1}
    """

    def fit(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> Self:
        """Learn the skills.

        Parameters
        ----------
        data
            A table of task, worker and label.
        true_labels
            What is known, indexed by task; a task may have several right labels.
        """
        if true_labels is None:
            raise InputError("true_labels", "a Series of labels by task", "none")
        rows = answers_of(data)
        known = rows.join(true_labels.rename("truth"), on="task").dropna(subset=["truth"])
        known = known.assign(right=(known["label"] == known["truth"]).astype(float))
        each = known.groupby(["task", "worker", "label"], sort=False)["right"].max()
        self.skills_ = each.groupby("worker").mean().rename("skill")
        return self
