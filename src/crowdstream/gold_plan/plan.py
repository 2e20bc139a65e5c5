"""`gold_needed`: which tasks to have checked by an expert first.

A stratified random sample that favours doubt: it tells more of how often the whole set is wrong
than a random sample does (`strata`). Knows nothing of files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import GOLD_TASKS, SETTLE, SETTLE_RANGE
from crowdstream.errors import InputError
from crowdstream.estimators import Estimator
from crowdstream.estimators.estimator import NativeTable
from crowdstream.gold_plan.deciding import Labels
from crowdstream.gold_plan.strata import Flags, allocate, draw, make_strata, sum_by, task_worth
from crowdstream.labels import (
    Table,
    Truths,
    Vocabulary,
    code_table,
    in_kind,
    kind_of,
    read_truths,
)
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.monitoring.families import suspect_tasks_of
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

Ints = NDArray[np.int64]


def gold_needed(
    data: Table,
    n: int = GOLD_TASKS,
    *,
    crowd: Estimator | None = None,
    gold: Truths | None = None,
    settle: float = SETTLE,
    seed: int = 0,
    **meaning: Unpack[TableMeaning],
) -> NativeTable:
    """Choose the tasks an expert should check first, as a table to fill in.

    The tasks are drawn at random from strata, decided class by confidence, more of them where
    decisions are in doubt. If some workers may copy one another, the tasks on which they and the
    rest differ are a stratum of their own: they tell whether these copy (`suspect_tasks`). So the
    answers teach an estimator (``gold=``) and tell without bias how many decisions of the whole set
    are wrong (`gold_check`). Any first rows of the table are spread over the strata alike: begin at
    the top and stop where you like.

    Parameters
    ----------
    data, **meaning
        The labels, as for `Estimator.fit`.
    n
        How many tasks.
    crowd
        The estimator to decide with, ``Adaptive()`` unless given. It is not changed.
    gold
        What is already known of some tasks: they need no checking, and the others are decided with
        this knowledge.
    settle
        Confidence from which a decision is settled.
    seed
        Of the random draw.

    Returns
    -------
    One row per task: task; the decided label and its confidence; ``votes``, how many workers gave
    each class; ``gold``, to be filled in; ``stratum`` and ``stratum_tasks``, how many tasks of the
    set it stands for, which `gold_check` needs.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(9, 200, p=0.3, per_task=3)
    >>> plan = cs.gold_needed(made.labels(), 10)
    >>> plan.columns
    ['task', 'label', 'confidence', 'votes', 'gold', 'stratum', 'stratum_tasks']
    >>> plan.height, plan["gold"].null_count()
    (10, 10)
    """
    import polars as pl

    check_number("n", n, 1, 10**9, whole=True)
    check_number("settle", settle, *SETTLE_RANGE)
    check_number("seed", seed, 0, 2**64 - 1, whole=True)
    labels = Labels(data, crowd, meaning, settle)
    known = read_truths(gold)
    fitted, decisions = labels.fit(known)
    open_tasks = decisions["label"].is_not_null() & ~decisions["task"].is_in(list(known))
    places = np.flatnonzero(open_tasks.to_numpy())
    if not places.size:
        found = "none" if not known else "none that is not gold already"
        raise InputError("data", "at least one decided task", found)
    decided = decisions[places]
    apart = decided["task"].is_in(suspect_tasks_of(fitted, labels.table)["task"].implode())
    which, strata, sizes = sample_tasks(decided, n, settle, seed, apart.to_numpy())
    plan = decided[which].select("task", "label", "confidence")
    plan = plan.with_columns(
        pl.Series("votes", _vote_counts(labels.table, places[which])),
        pl.lit(None, pl.String).alias("gold"),
        pl.Series("stratum", strata + 1),
        pl.Series("stratum_tasks", sizes[strata]),
    )
    return in_kind(plan, kind_of(data))


def sample_tasks(
    decided: pl.DataFrame, n: int, settle: float, seed: int, apart: Flags | None = None
) -> tuple[Ints, Ints, Ints]:
    """Places of the tasks drawn, in the order to check them; their strata; all strata's sizes.

    ``apart``: tasks to make a stratum of their own.
    """
    import polars as pl

    classes = decided["label"].cast(pl.String).rank("dense").to_numpy().astype(np.int64)
    confidences = decided["confidence"].to_numpy()
    n = min(n, decided.height)
    strata = make_strata(classes, confidences, settle, n, apart)
    sizes = np.bincount(strata)
    numbers = allocate(sizes, sum_by(strata, task_worth(confidences, apart)), n)
    rng = np.random.default_rng(seed)
    which, turns = [], []
    for stratum, number in enumerate(numbers):
        which.append(draw(np.flatnonzero(strata == stratum), classes, int(number), rng))
        turns.append((np.arange(number) + rng.random()) / number)  # strata take turns
    order = np.argsort(np.concatenate(turns), kind="stable")
    chosen = np.concatenate(which)[order]
    return chosen, strata[chosen], sizes


def _vote_counts(table: Table, places: Ints) -> list[str]:
    """Return the votes of each task as text, the most frequent class first: ``spam: 3, ham: 1``."""
    classes = Vocabulary()
    batch, _ = code_table(table, Vocabulary(), classes)
    texts = []
    for place in places:
        said = batch.labels[batch.starts[place] : batch.starts[place + 1]]
        codes, counts = np.unique(said, return_counts=True)
        ranked = np.argsort(-counts, kind="stable")
        texts.append(", ".join(f"{classes[int(codes[k])]}: {counts[k]}" for k in ranked))
    return texts
