"""Workers who copy, or may do so, and how many independent votes some votes are worth.

`crowdstream.models.copies` has the rule; here it gets names. Families that users declare are the
estimator's (``families=``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdstream.errors import InputError
from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import Table, Vocabulary, WorkerId
from crowdstream.labels.coding import code_table, interpret
from crowdstream.labels.tables import value_series
from crowdstream.models.copies import BY_GOLD, BY_LABELS, IN_DOUBT, Copies, Group, pluralities
from crowdstream.models.rows import REST
from crowdstream.monitoring import estimator_view as view
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

FOUND_BY = {BY_LABELS: "labels", BY_GOLD: "gold", IN_DOUBT: None}
"""Evidence that makes a group copies; None for suspects."""


def families(crowd: Estimator) -> pl.DataFrame:
    """List workers who copy one another, and suspects: one row per worker.

    Members of a group give the same labels where most other workers say otherwise. ``kind`` is
    ``"copy"`` where that is beyond doubt, by the labels alone or by gold (``found_by``): `Adaptive`
    counts them as a family, unless it was made with ``copies="report"``. It is ``"suspect"`` where
    they may copy or be experts: `suspect_tasks` lists the tasks on which gold would tell.
    ``cases`` counts labels of the group that another label has more votes than among the rest,
    ``alike`` is the share of mates who say the same there. On ``gold_differ`` gold tasks group and
    rest differ, and on ``gold_right`` of them the group is right.

    Honest crowds have neither copies nor suspects, as far as they were simulated. Who copies nine
    labels of ten may be an expert until there is gold. Workers of declared families, those who
    share fewer than 30 tasks, and a group that nobody can be compared with are not found.

    Parameters
    ----------
    crowd
        An `Adaptive` estimator. In a stream it looks now and then, at a sample of closed tasks.

    Returns
    -------
    polars.DataFrame
        Columns ``group``, ``worker``, ``kind``, ``found_by``, ``cases``, ``alike``,
        ``gold_differ`` and ``gold_right``; empty where nobody is found.

    Raises
    ------
    InputError
        The estimator does not look for copies.

    Examples
    --------
    >>> import crowdstream as cs
    >>> copying = {1: (0, 0.97), 2: (0, 0.97)}  # two workers copy the first
    >>> crowd = cs.Adaptive().fit(cs.simulate(9, 800, p=0.3, copying=copying).labels())
    >>> families(crowd).select("group", "worker", "kind", "found_by").rows()
    [(1, 'w0', 'copy', 'labels'), (1, 'w1', 'copy', 'labels'), (1, 'w2', 'copy', 'labels')]
    """
    import polars as pl

    names = crowd._workers
    rows = [(number, g, i) for number, g in enumerate(_copies(crowd), 1) for i in g.members]
    return pl.DataFrame(
        {
            "group": pl.Series([number for number, _, _ in rows], dtype=pl.Int64),
            "worker": value_series("worker", [names[i] for _, _, i in rows]),
            "kind": pl.Series([_kind(g) for _, g, _ in rows], dtype=pl.String),
            "found_by": pl.Series([FOUND_BY[g.kind] for _, g, _ in rows], dtype=pl.String),
            "cases": pl.Series([g.cases for _, g, _ in rows], dtype=pl.Int64),
            "alike": pl.Series([g.alike for _, g, _ in rows], dtype=pl.Float64),
            "gold_differ": pl.Series([g.differ for _, g, _ in rows], dtype=pl.Int64),
            "gold_right": pl.Series([g.right for _, g, _ in rows], dtype=pl.Int64),
        }
    )


def suspect_tasks(crowd: Estimator, data: Table) -> pl.DataFrame:
    """List the tasks on which suspects and the rest differ: gold on them tells who copies.

    A few are enough: two gold tasks on which the group is wrong make it copies, five of six on
    which it is right do not.

    Parameters
    ----------
    crowd
        An `Adaptive` estimator, as for `families`.
    data
        Labels, as for `Estimator.fit`.

    Returns
    -------
    polars.DataFrame
        Columns ``task``, ``group`` (as in `families`), ``group_label`` and ``rest_label``: what
        most of the group and most of the workers in no group say.

    Examples
    --------
    >>> import crowdstream as cs
    >>> copying = {1: (0, 0.9), 2: (0, 0.9)}  # too loosely to be sure of it
    >>> labels = cs.simulate(9, 800, p=0.3, copying=copying).labels()
    >>> crowd = cs.Adaptive().fit(labels)
    >>> set(families(crowd)["kind"])
    {'suspect'}
    >>> suspect_tasks(crowd, labels).columns
    ['task', 'group', 'group_label', 'rest_label']
    """
    _copies(crowd)  # refuses estimators that do not look for copies
    return suspect_tasks_of(crowd, interpret(data).only("data", "question= names one").table)


def suspect_tasks_of(crowd: Estimator, table: Table) -> pl.DataFrame:
    """`suspect_tasks` of a table that is read already; none where copies are not looked for."""
    import polars as pl

    workers, classes = crowd._workers.copy(), Vocabulary()
    batch, _ = code_table(table, workers, classes)
    copies = view.copies_of(crowd) or Copies()
    place = copies.places(len(workers))
    k = max(len(classes), 1)
    rest = pluralities(batch, place, REST, k)
    tasks, names = value_series("task", batch.tasks), value_series("label", classes.to_list())
    found = []
    for number, group in enumerate(copies):
        if group.kind == IN_DOUBT:
            said = pluralities(batch, place, number, k)
            which = np.flatnonzero((said >= 0) & (rest >= 0) & (said != rest))
            found.append(
                pl.DataFrame(
                    {
                        "task": tasks.gather(which),
                        "group": np.full(which.size, number + 1),
                        "group_label": names.gather(said[which]),
                        "rest_label": names.gather(rest[which]),
                    }
                )
            )
    if found:
        return pl.concat(found)
    none = pl.Series([], dtype=pl.Int64)
    return pl.DataFrame(
        {
            "task": tasks.clear(),
            "group": none,
            "group_label": names.clear(),
            "rest_label": names.clear(),
        }
    )


def groups_of(crowd: Estimator, kind: str) -> list[list[WorkerId]]:
    """Return the workers of each group of a kind, none where copies are not looked for."""
    names, copies = crowd._workers, view.copies_of(crowd) or Copies()
    return [[names[i] for i in group.members] for group in copies if _kind(group) == kind]


def effective_votes(crowd: Estimator, votes: float, *, more: float = 0.0) -> float:
    """Return how many independent votes a task's labels are worth: ``m/(1 + (m − 1) ρ)``.

    ρ is the correlation of errors within a task that the estimator measures, if it does, and at
    least what copies cause: their agreement beyond what experts could have, times the chance that
    two labels come from one group.

    Parameters
    ----------
    crowd
        An estimator.
    votes
        The number m of labels on a task.
    more
        Added to the measured correlation, for limits.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive().fit(cs.simulate(10, 1000, p=0.2).labels())
    >>> 8 < effective_votes(crowd, 10) <= 10  # they err independently
    True
    """
    check_number("votes", votes, 1, 1e9)
    share = view.answer_shares(crowd)
    copies = view.copies_of(crowd) or Copies()
    rho = sum(
        min(max(group.beyond, 0.0), 1.0) * float(share[group.members].sum()) ** 2
        for group in copies.declared
    )
    rho = max(rho, (view.excess_correlation(crowd) or 0.0) + more, 0.0)
    return float(votes / (1.0 + max(votes - 1.0, 0.0) * min(rho, 1.0)))


def _kind(group: Group) -> str:
    return "suspect" if group.kind == IN_DOUBT else "copy"


def _copies(crowd: Estimator) -> Copies:
    found = view.copies_of(crowd)
    if found is None:
        found_kind = type(crowd).__name__
        if crowd.many_classes_:
            found_kind += " with more than 100 classes"
        raise InputError(
            "crowd", "an estimator that looks for copies, such as Adaptive()", found_kind
        )
    return found
