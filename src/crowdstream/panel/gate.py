"""`gate`: whether a judge or a panel may be trusted, by gold, with three outcomes.

A minimum is passed if the whole interval is above it, failed if the whole interval is below it, and
otherwise it cannot be told yet. Decisions are made without the gold that they are checked against.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Unpack

import numpy as np

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.errors import CrowdstreamError, InputError, NotIdentifiable
from crowdstream.estimators import Adaptive
from crowdstream.estimators.parameters import Families
from crowdstream.labels import ClassLabel, TaskId, Truths, WorkerId, read_truths
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.metrics.binomial import exact_limits
from crowdstream.metrics.kappa import cohen_kappa, kappa_interval
from crowdstream.monitoring.estimator_view import as_polars
from crowdstream.panel.effective import effective_judges
from crowdstream.panel.report import Estimate
from crowdstream.panel.votes import Panel, PanelVotes, read_panel
from crowdstream.statements.gating import CANNOT_TELL, FAILED, PASSED, Gate, GateCheck
from crowdstream.validation import SEED, check_number

MINIMA = {"kappa": (-1.0, 1.0), "accuracy": (0.0, 1.0), "effective": (1.0, 1000.0)}
"""Measures that can have a minimum, and the range of each."""

FEWEST = 20
"""Gold tasks below which it cannot be foreseen how many tell: so many are asked for at least."""

MOST_MORE = 100_000
"""Gold tasks beyond which no number is given for how many more are needed."""


def gate(
    votes: PanelVotes,
    gold: Truths,
    *,
    min_kappa: float | None = None,
    min_accuracy: float | None = None,
    min_effective: float | None = None,
    only: WorkerId | None = None,
    families: Families | None = None,
    level: float = LEVEL,
    seed: int = 0,
    **meaning: Unpack[TableMeaning],
) -> Gate:
    """Check a panel's decisions, or one judge's verdicts, against minima.

    Each minimum is compared with an interval, so that a lucky draw of gold passes no bad panel and
    an unlucky one fails no good panel. The intervals hold together with probability ``level``: each
    has the level ``1 − (1 − level)/checks``.

    Parameters
    ----------
    votes, **meaning
        The verdicts, as for `jury`.
    gold
        True labels of some tasks, drawn at random: a mapping, or a table of task and label.
    min_kappa
        Least Cohen's kappa between decisions and gold.
    min_accuracy
        Least share of gold tasks decided rightly.
    min_effective
        Least number of independent judges that the panel is worth.
    only
        Check this worker's verdicts instead of the panel's decisions. Not with ``min_effective``.
    families
        Judges that do not judge independently, as for `jury`.
    level
        Confidence level of the intervals together.
    seed
        Seed of coins for ties and of the bootstrap.

    Returns
    -------
    Gate
        The outcome and every check.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(7, 600, p=0.1, seed=1)
    >>> found = cs.gate(made.labels(), made.truths().head(200), min_kappa=0.6, min_accuracy=0.9)
    >>> found.outcome, found.gold_tasks
    ('passed', 200)
    >>> cs.gate(made.labels(), made.truths().head(8), min_accuracy=0.9).outcome
    'cannot_tell'
    """
    minima = {"min_kappa": min_kappa, "min_accuracy": min_accuracy, "min_effective": min_effective}
    asked = check_minima(minima, only)
    check_number("level", level, *LEVEL_RANGE)
    SEED("seed", seed)
    panel, truths = read_panel(votes, meaning), read_truths(gold)
    said = _verdicts(panel, only) if only is not None else _decided(panel, families, seed)
    pairs = [(said[task], true) for task, true in truths.items() if said.get(task) is not None]
    if not pairs:
        raise InputError("gold", "true labels of tasks that were judged", "none of them")
    each = 1.0 - (1.0 - level) / len(asked)
    measures: dict[str, Callable[[], Estimate | None]] = {
        "kappa": lambda: _kappa(pairs, each),
        "accuracy": lambda: _accuracy(pairs, each),
        "effective": lambda: effective_judges(panel.table, truths, level=each, seed=seed).effective,
    }
    checks = [_check(name, least, measures[name](), len(pairs)) for name, least in asked.items()]
    return Gate(overall([check.outcome for check in checks]), len(pairs), level, checks)


def check_minima(
    minima: Mapping[str, float | None], only: WorkerId | None, *, option: bool = False
) -> dict[str, float]:
    """Return the minima that are asked for, by what they are of; refuse none or impossible ones.

    Parameters
    ----------
    minima
        By parameter; None where it is not asked for.
    only
        The worker to check, None for the panel.
    option
        Name options of the command line instead of parameters.
    """

    def shown(name: str) -> str:
        return "--" + name.replace("_", "-") if option else name

    asked = {}
    for name, least in minima.items():
        if least is not None:
            of = name.removeprefix("min_")
            check_number(shown(name), least, *MINIMA[of])
            asked[of] = float(least)
    if not asked:
        raise CrowdstreamError(f"gate needs a minimum: {', '.join(map(shown, minima))}")
    if only is not None and "effective" in asked:
        raise CrowdstreamError(
            f"{shown('min_effective')} is of a panel and cannot be combined with {shown('only')}"
        )
    return asked


def overall(outcomes: list[str]) -> str:
    """Return the outcome of several: failed if one is, else cannot_tell if one is.

    >>> overall(["passed", "cannot_tell"])
    'cannot_tell'
    """
    if FAILED in outcomes:
        return FAILED
    return CANNOT_TELL if CANNOT_TELL in outcomes else PASSED


def _check(name: str, least: float, found: Estimate | None, tasks: int) -> GateCheck:
    if found is None or found.low is None or found.high is None:
        return GateCheck(name, least, None, None, None, CANNOT_TELL)
    outcome = PASSED if found.low >= least else FAILED if found.high < least else CANNOT_TELL
    more = _more_gold(found, least, tasks) if outcome == CANNOT_TELL else None
    return GateCheck(name, least, found.value, found.low, found.high, outcome, more)


def _more_gold(found: Estimate, least: float, tasks: int) -> int | None:
    """Return how many more gold tasks would tell, if the value stays: widths shrink as 1/√tasks."""
    assert found.low is not None
    assert found.high is not None
    apart = found.value - least
    width = found.value - found.low if apart > 0 else found.high - found.value
    if apart == 0.0 or not math.isfinite(width / apart):
        return None
    more = math.ceil(tasks * ((width / apart) ** 2 - 1.0))
    return max(more, FEWEST - tasks, 1) if more <= MOST_MORE else None


def _decided(panel: Panel, families: Families | None, seed: int) -> dict[TaskId, ClassLabel]:
    """Return the decisions of tasks, made without gold: else they would be right on it."""
    crowd = Adaptive(families=families, seed=seed)
    with warnings.catch_warnings():
        # One judge alone is decided by its votes, and gold says how good that is.
        warnings.simplefilter("ignore", NotIdentifiable)
        decided = as_polars(crowd.fit_predict(panel.question)).drop_nulls("label")
    return dict(decided.select("task", "label").iter_rows())


def _verdicts(panel: Panel, worker: WorkerId) -> dict[TaskId, ClassLabel]:
    import polars as pl

    table = panel.table.frame().drop_nulls()
    own = table.filter(pl.col("worker").cast(pl.String) == str(worker))
    if not own.height:
        raise InputError("only", "the name of a worker", repr(worker))
    return dict(own.select("task", "label").iter_rows())


def _kappa(pairs: list[tuple[ClassLabel, ClassLabel]], level: float) -> Estimate | None:
    names = sorted({str(label) for pair in pairs for label in pair})
    place = {name: k for k, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for said, true in pairs:
        table[place[str(said)], place[str(true)]] += 1.0
    found = cohen_kappa(table)
    # With gold of one class kappa is 0, however good the decisions are.
    if found is None or np.count_nonzero(table.sum(axis=0)) < 2:
        return None
    low, high = kappa_interval(table, level)
    return Estimate(found[0], min(low, found[0]), max(high, found[0]))


def _accuracy(pairs: list[tuple[ClassLabel, ClassLabel]], level: float) -> Estimate:
    right = sum(str(said) == str(true) for said, true in pairs)
    return Estimate(right / len(pairs), *exact_limits(right, len(pairs), level))
