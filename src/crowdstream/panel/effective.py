"""`error_correlation` and `effective_judges`: how independent a panel is, against known truths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

import numpy as np

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.errors import InputError
from crowdstream.estimators.estimator import NativeTable
from crowdstream.labels import Truths, WorkerId, in_kind
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.tables import value_series
from crowdstream.metrics import wilson
from crowdstream.panel.joint_errors import (
    Floats,
    correlations_of,
    effective_number,
    error_counts,
    independent_accuracy,
    majority_accuracy,
    mean_correlation,
    resampled,
)
from crowdstream.panel.report import EffectiveJudges, Estimate
from crowdstream.panel.votes import PanelVotes, Scored, read_panel, score_panel
from crowdstream.panel.wording import listed
from crowdstream.validation import SEED, check_number

if TYPE_CHECKING:
    import polars as pl

FEW_ERRORS = 5
"""Errors that a judge must have made for its correlations to be more than chance: with fewer, one
shared error more or less moves them by 0.2."""


FEWEST_ITEMS = 20
"""Items of known truth below which nothing is said of joint errors: a correlation of ten items has
a standard error of 0.3, and drawing them anew does not show it."""


def error_correlation(
    votes: PanelVotes,
    gold: Truths,
    **meaning: Unpack[TableMeaning],
) -> NativeTable:
    """The correlation of every two judges' errors, against known truths: a matrix.

    Judges may agree much and still err independently, or err together; agreement cannot tell. This
    is the correlation of "wrong on this item" over the items that both judged.

    Parameters
    ----------
    votes, **meaning
        The verdicts, as for `jury`.
    gold
        True labels of items: a mapping, or a table of task and label.

    Returns
    -------
    One row and one column per judge. Null where a correlation is not defined: one of the two never
    errs, or always, on the items that both judged (`effective_judges` says which).

    Examples
    --------
    >>> import crowdstream as cs
    >>> gold = {f"q{k}": "no" for k in range(8)}
    >>> wrong = {"a": {0, 1, 2}, "b": {0, 1, 3}, "c": {5}, "d": set()}
    >>> votes = {
    ...     item: {judge: "yes" if k in on else "no" for judge, on in wrong.items()}
    ...     for k, item in enumerate(gold)
    ... }
    >>> cs.error_correlation(votes, gold).select("worker", "a", "d").rows()[:2]
    [('a', 1.0, None), ('b', 0.4666666666666667, None)]
    """
    import polars as pl

    panel = read_panel(votes, meaning)
    scored = score_panel(panel.table, gold)
    table = _correlations(scored)
    columns = [value_series("worker", scored.workers)]
    for judge, column in zip(_column_names(scored.workers), table.T, strict=True):
        columns.append(pl.Series(judge, column).fill_nan(None))
    return in_kind(pl.DataFrame(columns), panel.kind)


def _column_names(workers: list[WorkerId]) -> list[str]:
    """Names of columns, each its own, none that of the judges' column."""
    taken = {"worker"}
    names = []
    for worker in workers:
        name = str(worker)
        while name in taken:
            name = f"worker_{name}"
        taken.add(name)
        names.append(name)
    return names


def effective_judges(
    votes: PanelVotes,
    gold: Truths,
    *,
    weights: Mapping[WorkerId, float] | None = None,
    level: float = LEVEL,
    seed: int = 0,
    **meaning: Unpack[TableMeaning],
) -> EffectiveJudges:
    """Estimate how many independent judges a panel is worth, from errors against known truths.

    n judges whose errors have mean correlation ρ̄ are worth n/(1 + (n − 1) ρ̄) (Kish); with weights
    ``(Σw)²/(Σw² + ρ̄ ((Σw)² − Σw²))``, ρ̄ then being weighted too. Never more than there are, also
    where errors offset one another. The interval is a percentile bootstrap over items.

    Parameters
    ----------
    votes, **meaning
        The verdicts, as for `jury`.
    gold
        True labels of items: a mapping, or a table of task and label.
    weights
        What each judge's vote counts, if not all the same; at least 0.
    level
        Confidence level of the intervals.
    seed
        Of the bootstrap and of the shuffled verdicts.

    Examples
    --------
    >>> import crowdstream as cs
    >>> from crowdstream.simulation import simulate_dependent
    >>> made = simulate_dependent("tricky", 9, 600, seed=3)  # a tenth of the items fools most
    >>> cs.effective_judges(made.labels(), made.truths())
    9 judges on 600 tasks of known truth: worth 3.6 (3.3 to 4.1) independent ones
    mean correlation of errors: 0.18 (0.15 to 0.22)
    their vote is right on 85.7 %; if the same judges erred independently, on 92.1 %
    """
    SEED("seed", seed)
    check_number("level", level, *LEVEL_RANGE)
    panel = read_panel(votes, meaning)
    scored = score_panel(panel.table, gold)
    counted = _weights_of(weights, scored.workers)
    table = _correlations(scored)
    enough = len(scored.tasks) >= FEWEST_ITEMS
    rho = mean_correlation(table, counted) if enough else None
    number = effective_number(rho, counted)
    drawn = resampled(scored, counted, seed) if rho is not None else None
    return EffectiveJudges(
        workers=len(scored.workers),
        tasks=len(scored.tasks),
        effective=None if number is None or drawn is None else _estimate(number, drawn[1], level),
        correlation=None if rho is None or drawn is None else _estimate(rho, drawn[0], level),
        accuracy=majority_accuracy(scored.said, scored.truth, scored.classes),
        accuracy_if_independent=independent_accuracy(scored, seed),
        without=in_kind(_without_each(scored, table, counted), panel.kind),
        notes=_notes(scored, table),
    )


def _weights_of(weights: Mapping[WorkerId, float] | None, judges: list[WorkerId]) -> Floats:
    if weights is None:
        return np.ones(len(judges))
    if not isinstance(weights, Mapping):
        raise InputError("weights", "a mapping of judge to weight", type(weights).__name__)
    missing = [judge for judge in judges if judge not in weights]
    if missing:
        raise InputError("weights", "a weight for every judge", f"none for {missing[0]!r}")
    found = np.array([weights[judge] for judge in judges], float)
    if not (np.isfinite(found).all() and (found >= 0.0).all() and found.any()):
        raise InputError("weights", "numbers of at least 0, not all 0", repr(dict(weights)))
    return found


def _correlations(scored: Scored) -> Floats:
    return correlations_of(error_counts(scored.given.astype(float), scored.wrong.astype(float)))


def _estimate(value: float, drawn: Floats, level: float) -> Estimate:
    """Return the value with limits that hold it and this share of what was drawn."""
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail]) if drawn.size else (value, value)
    return Estimate(value, min(float(low), value), max(float(high), value))


def _without_each(scored: Scored, table: Floats, weights: Floats) -> pl.DataFrame:
    """Tabulate the panel's worth without each of its judges."""
    import polars as pl

    rows = []
    errors, judged = scored.wrong.sum(axis=0), scored.given.sum(axis=0)
    low, high = wilson(errors, judged)
    for k in range(len(scored.workers)):
        kept = np.arange(len(scored.workers)) != k
        rho = mean_correlation(table[np.ix_(kept, kept)], weights[kept])
        rows.append(
            {
                "tasks": int(judged[k]),
                "error_rate": float(errors[k] / judged[k]) if judged[k] else None,
                "error_low": float(low[k]) if judged[k] else None,
                "error_high": float(high[k]) if judged[k] else None,
                "correlation_without": rho,
                "effective_without": effective_number(rho, weights[kept]),
                "accuracy_without": majority_accuracy(
                    scored.said[:, kept], scored.truth, scored.classes
                )
                if kept.any()
                else None,
            }
        )
    kinds = {"tasks": pl.Int64} | dict.fromkeys(
        ("error_rate", "error_low", "error_high", "correlation_without", "effective_without",
         "accuracy_without"), pl.Float64,
    )  # fmt: skip
    found = pl.DataFrame(rows, schema=kinds)
    return found.insert_column(0, value_series("worker", scored.workers)).sort(
        "error_rate", descending=True, nulls_last=True, maintain_order=True
    )


def _notes(scored: Scored, table: Floats) -> list[str]:
    """Note judges whose correlations are not defined or rest on too little."""
    errors, judged = scored.wrong.sum(axis=0), scored.given.sum(axis=0)
    names = np.array(list(map(str, scored.workers)), object)
    groups = {
        "judged no task of known truth": judged == 0,
        "never erred: no correlation, left out of the mean": (judged > 0) & (errors == 0),
        "always erred: no correlation, left out of the mean": (judged > 0) & (errors == judged),
        f"erred fewer than {FEW_ERRORS} times: correlations with them are mostly chance": (
            (errors > 0) & (errors < np.minimum(FEW_ERRORS, judged))
        ),
    }
    notes = [f"{listed(names[who])}: {what}" for what, who in groups.items() if who.any()]
    if len(scored.tasks) < FEWEST_ITEMS:
        notes.append(f"fewer than {FEWEST_ITEMS} tasks of known truth: joint errors cannot be told")
    if len(names) < 2:
        notes.append("one judge alone has nobody to err together with")
    elif not (~np.isnan(table) & ~np.eye(len(table), dtype=bool)).any():
        notes.append("no two judges erred on some, not all, of what they share: no correlation")
    return notes
