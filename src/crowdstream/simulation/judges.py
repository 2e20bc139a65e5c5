"""`simulate_judges`: a panel of language-model judges, with the ways in which such panels go wrong.

Families of models share their blind spots, one judge passes everything, one overlooks failures.
Knows nothing of estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl

from crowdstream.validation import SEED, check_number

PASS, FAIL = "pass", "fail"


class Judge(NamedTuple):
    """A judge: how often it errs by itself on what passes and on what fails, and its family."""

    name: str
    on_pass: float
    on_fail: float
    family: str | None = None


JUDGES = (
    Judge("atlas-large", 0.10, 0.10, "atlas"),
    Judge("atlas-medium", 0.15, 0.15, "atlas"),
    Judge("atlas-mini", 0.25, 0.25, "atlas"),
    Judge("atlas-nano", 0.35, 0.35, "atlas"),
    Judge("boreal-2", 0.12, 0.12, "boreal"),
    Judge("boreal-1", 0.22, 0.22, "boreal"),
    Judge("boreal-1-fast", 0.35, 0.35, "boreal"),
    Judge("cirrus-pro", 0.13, 0.13, "cirrus"),
    Judge("cirrus-lite", 0.30, 0.30, "cirrus"),
    Judge("dune", 0.16, 0.16),
    Judge("ember", 0.40, 0.40),
    Judge("fjord-lenient", 0.05, 0.60),
    Judge("gull-yes", 0.01, 0.97),
)
"""The panel: no judge here is a model that exists."""

PASSING = 0.6
"""Share of tasks whose truth is pass."""

IN_FAMILY, IN_ALL = 0.35, 0.1
"""Share of what makes a judge err on a task that its family has in common, and that all judges
have: tasks that are hard for one model are hard for its relatives, and somewhat for everybody."""


@dataclass(frozen=True)
class SimulatedJudges:
    """The verdicts of a simulated panel and the truth behind them.

    ``labels``: task, worker, label; ``truths``: task, label; ``families``: judge → family.

    Examples
    --------
    >>> simulate_judges(2).truths.columns
    ['task', 'label']
    """

    labels: pl.DataFrame
    truths: pl.DataFrame
    families: dict[str, str]


def simulate_judges(tasks: int = 300, *, seed: int = 0) -> SimulatedJudges:
    """Simulate thirteen language-model judges who say of each task whether it passes.

    Nine of them belong to three families that err on the same tasks, one passes nearly everything,
    one overlooks most failures, and tasks that are hard for one are somewhat hard for all.

    Parameters
    ----------
    tasks
        How many tasks.
    seed
        The same seed gives the same verdicts.

    Examples
    --------
    >>> made = simulate_judges(300)
    >>> made.labels.shape, made.labels["worker"].n_unique()
    ((3900, 3), 13)
    """
    check_number("tasks", tasks, 0, 10**6, whole=True)
    SEED("seed", seed)
    rng = np.random.default_rng(seed)
    passes = rng.random(tasks) < PASSING
    hard = rng.standard_normal(tasks)
    families = sorted({judge.family for judge in JUDGES if judge.family is not None})
    blind = {family: rng.standard_normal(tasks) for family in families}
    said = []
    for judge in JUDGES:
        # Each task weighs on a judge by a normal number, of which parts are shared; it errs where
        # that is below the quantile of its error rate (a Gaussian copula).
        shared = np.sqrt(IN_ALL) * hard
        own = 1.0 - IN_ALL
        if judge.family is not None:
            shared = shared + np.sqrt(IN_FAMILY) * blind[judge.family]
            own -= IN_FAMILY
        weight = shared + np.sqrt(own) * rng.standard_normal(tasks)
        limits = [NormalDist().inv_cdf(rate) for rate in (judge.on_fail, judge.on_pass)]
        said.append(passes ^ (weight < np.array(limits)[passes.astype(int)]))
    words = np.array([FAIL, PASS], object)
    width = len(str(max(tasks - 1, 0)))
    names = [f"q{task:0{width}}" for task in range(tasks)]
    panel = {judge.name: words[each.astype(int)] for judge, each in zip(JUDGES, said, strict=True)}
    schema = {"task": pl.String, **dict.fromkeys(panel, pl.String)}
    wide = pl.DataFrame({"task": names, **panel}, schema)
    labels = wide.unpivot(index="task", variable_name="worker", value_name="label")
    labels = labels.sort("task", maintain_order=True)
    truths = pl.DataFrame(
        {"task": names, "label": words[passes.astype(int)]},
        {"task": pl.String, "label": pl.String},
    )
    return SimulatedJudges(
        labels, truths, {one.name: one.family for one in JUDGES if one.family is not None}
    )
