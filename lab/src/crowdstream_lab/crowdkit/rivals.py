"""`GLAD`, `MACE` and `KOS` of `crowdstream_lab.baselines` under crowd-kit's names and attributes.

The models are those of the same papers; the ways to their optimum are not crowd-kit's, and nor are
the random draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pandas as pd

from crowdstream import InputError
from crowdstream.extension import SEED, Check, number, one_of
from crowdstream_lab import baselines
from crowdstream_lab.crowdkit.base import Aggregator, Labeller
from crowdstream_lab.crowdkit.tables import answers_of, code, most_probable


def only(usual: object, why: str) -> Check:
    """A check for a parameter of crowd-kit that has one value here."""

    def check(name: str, value: object) -> None:
        if value is not usual:
            raise InputError(name, f"{usual!r}, as {why}", type(value).__name__)

    return check


FIXED = only(None, "the priors are those of the paper")


@dataclass(eq=False, repr=False)
class GLAD(Aggregator):
    """Abilities of workers times the ease of tasks: ``σ(α exp β)`` is the chance to be right.

    Parameters
    ----------
    n_iter
        Iterations at most.
    tol
        Stop once no probability moves by more; crowd-kit's is of its loss.
    silent
        There is no progress bar in either case.
    labels_priors, alphas_priors_mean, betas_priors_mean
        ``None`` only: all classes alike, and abilities and logarithms of ease around 1.
    m_step_max_iter, m_step_tol
        Taken, and not used: a maximisation has 25 quasi-Newton steps.

    Attributes
    ----------
    alphas_, betas_
        Abilities of workers, and logarithms of the ease of tasks.
    priors_
        Of the classes: all alike.
    loss_history_
        The log-likelihood per label after each iteration, including the log prior.

    Examples
    --------
    >>> said = {"ann": "yyyyynnnn", "bob": "yyyyynnnn", "cy": "ynynynyny"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = GLAD()
    >>> "".join(crowd.fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])))
    'yyyyynnnn'
    >>> crowd.alphas_.round(1).to_dict()
    {'ann': 1.4, 'bob': 1.4, 'cy': 0.3}
    """

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: pd.Series | None = None
    alphas_priors_mean: pd.Series | None = None
    betas_priors_mean: pd.Series | None = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2

    checks: ClassVar = {
        "labels_priors": FIXED,
        "alphas_priors_mean": FIXED,
        "betas_priors_mean": FIXED,
    }

    def fit(self, data: pd.DataFrame) -> Self:
        """Learn abilities and ease, and decide.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        answers = code(answers_of(data))
        model = baselines.GLAD(max_iterations=max(1, self.n_iter), tolerance=min(1.0, self.tol))
        learn = model.posterior if self.n_iter else model._start
        self.probas_ = answers.probas(learn(answers.coded))
        self.labels_ = most_probable(self.probas_)
        self.alphas_ = answers.by_worker(model.abilities_, "alpha")
        self.betas_ = pd.Series(np.log(model.ease_), index=answers.tasks, name="beta")
        classes = answers.classes
        self.priors_ = pd.Series(1 / max(1, len(classes)), index=classes)
        labels = max(1, answers.coded.task.size)
        self.loss_history_ = [each / labels for each in model.log_likelihood_]
        return self


@dataclass(eq=False, repr=False)
class MACE(Aggregator):
    """Workers either know the answer or spam, each with a taste of its own.

    Crowd-kit 1.4.2 has its counts in the order of the names and its parameters in that of first
    appearance, so that workers get each other's tastes; this has not.

    Parameters
    ----------
    n_restarts, n_iter
        Random starts, and iterations of each at most.
    method
        ``"vb"`` averages over the parameters, ``"em"`` takes the likeliest.
    smoothing
        Taken, and not used, here or there: with ``"em"`` it is a hundredth over the classes.
    default_noise
        Taken, and not used: the spread of the starts is fixed.
    alpha, beta
        The Beta prior on the chance to know; here both are the same.
    random_state
        Random seed of the starts.
    verbose
        There is no progress bar in any case.

    Attributes
    ----------
    spamming_
        Of each worker, the chances to spam and to know.
    thetas_
        Of each worker, what it says when it spams; columns as those of ``probas_``.

    Examples
    --------
    >>> said = {"ann": "xyzxyzxyz", "bob": "xyzxyzxyz", "cy": "xyzxyzxyx", "dee": "xxxxxxxxx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = MACE()
    >>> "".join(crowd.fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])))
    'xyzxyzxyz'
    >>> crowd.spamming_[:, 1].round(1).tolist()
    [0.9, 0.9, 0.8, 0.1]
    """

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    checks: ClassVar = {
        "n_restarts": number(1, 10**6, whole=True),
        "n_iter": number(1, 10**9, whole=True),
        "method": one_of("vb", "em"),
        "alpha": number(0.0, 1e6, open_low=True),
        "beta": number(0.0, 1e6, open_low=True),
        "random_state": SEED,
    }

    def fit(self, data: pd.DataFrame) -> Self:
        """Learn who knows, and decide.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        answers = code(answers_of(data), in_order=False)
        if self.alpha != self.beta:
            raise InputError("beta", f"alpha, which is {self.alpha}", repr(self.beta))
        model = baselines.MACE(
            restarts=self.n_restarts, max_iterations=self.n_iter, seed=self.random_state
        )
        model.variational, model.knows = self.method == "vb", self.alpha
        if not model.variational:
            model.knows = model.taste = 0.01 / answers.coded.n_classes
        self.probas_ = answers.probas(model.posterior(answers.coded))
        self.labels_ = most_probable(self.probas_)
        self.spamming_ = np.column_stack([1 - model.competences_, model.competences_])
        self.thetas_ = model.tastes_[:, : len(answers.classes)]
        return self


@dataclass(eq=False, repr=False)
class KOS(Labeller):
    """Messages between tasks and workers, for two classes.

    More than two are refused as in crowd-kit; `crowdstream_lab.baselines.KargerOhShah` takes them.
    A task that the messages leave in balance is decided by majority vote, where crowd-kit fails.

    Parameters
    ----------
    n_iter
        Rounds of messages.
    random_state
        Random seed of the first messages.

    Examples
    --------
    >>> said = {"ann": "ababab", "bob": "ababab", "cy": "ababab", "liar": "bababa"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> "".join(KOS().fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])))
    'ababab'
    """

    n_iter: int = 100
    random_state: int = 0

    checks: ClassVar = {"n_iter": number(1, 10**6, whole=True), "random_state": SEED}

    def fit(self, data: pd.DataFrame) -> Self:
        """Pass messages, and decide.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        answers = code(answers_of(data))
        if len(answers.tasks) and len(answers.classes) != 2:
            raise InputError("column 'label'", "two classes", f"{len(answers.classes)}")
        model = baselines.KargerOhShah(iterations=self.n_iter, seed=self.random_state)
        self.labels_ = most_probable(answers.probas(model.posterior(answers.coded)))
        return self
