"""`compare_runs`: which worker changed between two runs over the same tasks, and by how much.

Who is right is told by gold, or by the others: what a worker itself says has no part in that. The
rule that permits a verdict is in `crowdstream.statements.judge_changes`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import msgspec

from crowdstream.estimators import Adaptive
from crowdstream.estimators.estimator import NativeTable
from crowdstream.labels import Truths, in_kind, read_truths
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.metrics import wilson
from crowdstream.metrics.paired import holm, mcnemar
from crowdstream.monitoring import monitor
from crowdstream.monitoring.estimator_view import as_polars
from crowdstream.panel.votes import PanelVotes, read_panel
from crowdstream.panel.wording import listed
from crowdstream.plain_text import counted, printable, shortened
from crowdstream.statements.judge_changes import (
    CHANGED,
    FEWEST,
    Change,
    change_verdict,
    change_words,
    flip_words,
    paired_change,
)

if TYPE_CHECKING:
    import polars as pl

NAME = 24
"""Characters of a name that the summary shows."""


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of workers between two runs.

    Attributes
    ----------
    changed
        Workers of whom a change is shown.
    workers
        One row per worker of both runs, those who changed first: ``worker``; ``verdict``:
        "changed", "no_change_seen" or "too_few_tasks"; ``tasks`` that it answered in both runs;
        ``flips``, how many of them otherwise, ``flip_rate`` with its 95 % interval (``flip_low``,
        ``flip_high``); ``checked``, tasks of which it is known or estimated who is right;
        ``error_before`` and ``error_after`` on them, ``error_change`` with its 95 % interval
        (``error_change_low``, ``error_change_high``), paired; ``p_value``, the least of its tests,
        corrected for all tests of all workers; ``not_excluded``, the largest change of an error
        rate or of a class's share that its intervals do not exclude.
    classes
        One row per worker and class: ``worker``, ``label``, share of its answers ``before`` and
        ``after``, ``change`` with its 95 % interval (``change_low``, ``change_high``), on tasks in
        both runs.
    estimated
        One row per worker: its error rate as estimated in each run by itself, over all its tasks
        (``before``, ``after``), and the ``change`` with an interval made of the two (MOVER).
    by
        What tells who is right: "gold", or "panel": what the others say in both runs.
    tasks
        Tasks in both runs.
    notes
        What to know of this comparison, in plain words.
    """

    changed: list[str | int]
    workers: NativeTable
    classes: NativeTable
    estimated: NativeTable
    by: Literal["gold", "panel"]
    tasks: int
    notes: list[str]

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The findings in plain words.

        Examples
        --------
        >>> import crowdstream as cs
        >>> votes = {k: {worker: k % 2 for worker in "abc"} for k in range(60)}
        >>> cs.compare_runs(votes, votes)
        60 tasks in both runs: no judge is seen to have changed
        a  no change seen, over 6.0 points excluded; flips 0 % of 60 tasks
        b  no change seen, over 6.0 points excluded; flips 0 % of 60 tasks
        c  no change seen, over 6.0 points excluded; flips 0 % of 60 tasks
        note: by what the others say: if most of them changed alike, that is not seen (gold tells)
        """
        workers, classes = as_polars(self.workers), as_polars(self.classes)
        found = f"{counted(len(self.changed), 'judge')} changed"
        none = "no judge is seen to have changed"
        lines = [f"{counted(self.tasks, 'task')} in both runs: {found if self.changed else none}"]
        names = [shortened(printable(name), NAME) for name in workers["worker"]]
        width = max(map(len, names), default=0)
        for name, row in zip(names, workers.iter_rows(named=True), strict=True):
            errors = None
            if row["error_change"] is not None:
                low, high = row["error_change_low"], row["error_change_high"]
                errors = Change(row["error_change"], low, high)
            said = _most(classes, row["worker"])
            most = row["not_excluded"] or 0.0
            words = change_words(row["verdict"], row["tasks"], errors, said, self.by, most)
            flips = f"; {flip_words(row['flips'], row['tasks'])}" if row["tasks"] >= FEWEST else ""
            lines.append(f"{name:<{width}}  {printable(words)}{flips}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _most(classes: pl.DataFrame, worker: object) -> tuple[str, Change] | None:
    """The class whose share of a worker's answers changed most."""
    rows = classes.filter(classes["worker"] == worker)
    if not rows.height:
        return None
    # Of two classes one gains what the other loses: the one that gains is named.
    rows = rows.sort(rows["change"].abs().round(9), rows["change"], descending=True)
    row = rows.row(0, named=True)
    return str(row["label"]), Change(row["change"], row["change_low"], row["change_high"])


def compare_runs(
    before: PanelVotes,
    after: PanelVotes,
    *,
    gold: Truths | None = None,
    seed: int = 0,
    **meaning: Unpack[TableMeaning],
) -> RunComparison:
    """Return which workers changed between two runs over the same tasks, and by how much.

    An unchanged worker may answer otherwise when it is asked again, but no more often from right to
    wrong than back, and no more often from a class to others than back. Both are tested on the
    tasks that it answered in both runs, exactly; of panels in which nobody changed, at most 5 %
    have a worker of whom a change is said. A worker who answers otherwise, but errs as often and
    says each class as often, is not found: see its flip rate.

    Parameters
    ----------
    before, after
        The verdicts of two runs, as for `jury`.
    gold
        True labels of some tasks. With them they tell who is right; without, the others do.
    seed
        Seed of coins for ties.
    **meaning
        What the tables mean, where they do not show it: as for `Estimator.fit_predict`.

    Returns
    -------
    A verdict on each worker, with the changes and their intervals.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(6, 400, p=[0.1] * 6, seed=1).labels()
    >>> again = cs.simulate(6, 400, p=[0.35] + [0.1] * 5, seed=1).labels()
    >>> found = cs.compare_runs(made, again)
    >>> found.changed
    ['w0']
    >>> found.workers.select("worker", "verdict").row(1)
    ('w1', 'no_change_seen')
    """
    first, second = read_panel(before, meaning), read_panel(after, meaning)
    one, two = _labels(first.table.frame()), _labels(second.table.frame())
    shared = one.join(two, on=["task", "worker"], suffix="_after")
    truths = {str(task): str(label) for task, label in read_truths(gold).items()}
    names = dict.fromkeys([*one["worker"].unique(maintain_order=True)])
    both = [name for name in names if name in set(two["worker"])]
    references = _references(one, two, both, truths, seed)
    tested = [_worker(name, shared, references[name]) for name in both]
    chances = holm([chance for each in tested for chance in each.chances])
    rows, classes, taken = [], [], 0
    for each in tested:
        least = min(chances[taken : taken + len(each.chances)], default=None)
        taken += len(each.chances)
        verdict = change_verdict(each.row["tasks"], least)
        rows.append({**each.row, "verdict": verdict, "p_value": least})
        classes += each.classes
    table = _worker_table(rows)
    kind = first.kind
    return RunComparison(
        changed=table.filter(table["verdict"] == CHANGED)["worker"].to_list(),
        workers=in_kind(table, kind),
        classes=in_kind(_class_table(classes), kind),
        estimated=in_kind(_estimated(one, two, both, seed), kind),
        by="gold" if truths else "panel",
        tasks=len(set(one["task"]) & set(two["task"])),
        notes=_notes(one, two, truths, references),
    )


def _labels(table: pl.DataFrame) -> pl.DataFrame:
    """Labels that were given, one per task and worker, all text."""
    import polars as pl

    text = table.select(pl.col("task", "worker", "label").cast(pl.String)).drop_nulls()
    return text.unique(["task", "worker"], keep="last", maintain_order=True)


class PairedTests(NamedTuple):
    """A worker's counts, and the p-values of its tests before any correction."""

    row: dict[str, Any]
    classes: list[dict[str, Any]]
    chances: list[float]


def _worker(worker: str, shared: pl.DataFrame, reference: pl.DataFrame) -> PairedTests:
    """Compare the answers of a worker on the tasks that it answered in both runs."""
    import polars as pl

    mine = shared.filter(pl.col("worker") == worker)
    tasks = mine.height
    flips = int((mine["label"] != mine["label_after"]).sum())
    low, high = (float(limit) for limit in wilson(flips, tasks))
    row: dict[str, Any] = {"worker": worker, "tasks": tasks, "flips": flips}
    row |= {"flip_rate": flips / tasks if tasks else None}
    row |= {"flip_low": low if tasks else None, "flip_high": high if tasks else None}
    chances: list[float] = []
    changes: list[Change] = []
    known = mine.join(reference, on="task")
    checked = known.height
    wrong, still = known["label"] != known["truth"], known["label_after"] != known["truth"]
    row |= {"checked": checked}
    if checked:
        gained, lost = int((still & ~wrong).sum()), int((wrong & ~still).sum())
        change = paired_change(gained, lost, checked)
        row |= {"error_before": float(wrong.sum() / checked)}
        row |= {"error_after": float(still.sum() / checked), "error_change": change.value}
        row |= {"error_change_low": change.low, "error_change_high": change.high}
        changes.append(change)
        if checked >= FEWEST:
            chances.append(mcnemar(gained, lost, exact=True))
    classes, tests = [], []
    for label in sorted({*mine["label"], *mine["label_after"]}):
        was, now = mine["label"] == label, mine["label_after"] == label
        gained, lost = int((now & ~was).sum()), int((was & ~now).sum())
        change = paired_change(gained, lost, tasks)
        classes.append(
            {
                "worker": worker,
                "label": label,
                "before": float(was.sum() / tasks),
                "after": float(now.sum() / tasks),
                "change": change.value,
                "change_low": change.low,
                "change_high": change.high,
            }
        )
        changes.append(change)
        tests.append(mcnemar(gained, lost, exact=True))
    if tasks >= FEWEST:
        chances += tests[:1] if len(tests) == 2 else tests  # of two classes one test says all
    row |= {"not_excluded": max((change.most for change in changes), default=None)}
    return PairedTests(row, classes, chances)


def _references(
    one: pl.DataFrame, two: pl.DataFrame, workers: list[str], truths: dict[str, str], seed: int
) -> dict[str, pl.DataFrame]:
    """Return the reference label of each task for each worker: gold, or the others' decision.

    Of the others those labels count that are alike in both runs, or in one only. So both runs of a
    worker are judged by the same, and nothing of it is in that: else one who erred more in a run
    would be believed less there, and seem to err still more.
    """
    import polars as pl

    if truths:
        gold = pl.DataFrame({"task": list(truths), "truth": list(truths.values())})
        return dict.fromkeys(workers, gold)
    keys = ["task", "worker"]
    pooled = pl.concat([one, two]).unique(maintain_order=True)
    pooled = pooled.filter(pl.len().over(keys) == 1)
    crowd = Adaptive(seed=seed)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the panel `jury` speaks
        crowd.fit(pooled)
        for worker in workers:
            others = pooled.filter(pl.col("worker") != worker)
            decided = as_polars(crowd.predict_many(others)) if others.height else None
            empty = pl.DataFrame(schema={"task": pl.String, "truth": pl.String})
            if decided is not None:
                empty = decided.select("task", truth=pl.col("label").cast(pl.String)).drop_nulls()
            found[worker] = empty
    return found


def _estimated(one: pl.DataFrame, two: pl.DataFrame, both: list[str], seed: int) -> pl.DataFrame:
    """Error rates as each run alone shows them, and their differences."""
    import polars as pl

    tables = []
    for run, end in ((one, "before"), (two, "after")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            crowd = monitor(Adaptive(seed=seed), over_time=False)
            crowd.fit(run)
        columns = {end: "error_rate", f"{end}_low": "error_low", f"{end}_high": "error_high"}
        found = as_polars(crowd.workers())
        tables.append(found.select("worker", **{new: pl.col(old) for new, old in columns.items()}))
    found = pl.DataFrame({"worker": both}, {"worker": pl.String})
    for table in tables:
        found = found.join(table, on="worker", how="left", maintain_order="left")
    below = ((pl.col("after") - pl.col("after_low")) ** 2) + (
        (pl.col("before_high") - pl.col("before")) ** 2
    )
    above = ((pl.col("after_high") - pl.col("after")) ** 2) + (
        (pl.col("before") - pl.col("before_low")) ** 2
    )
    change = pl.col("after") - pl.col("before")
    return found.with_columns(
        change=change, change_low=change - below.sqrt(), change_high=change + above.sqrt()
    )


def _worker_table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    whole = dict.fromkeys(("tasks", "flips"), pl.Int64)
    rates = ("error_before", "error_after", "error_change", "error_change_low")
    schema = {
        "worker": pl.String, "verdict": pl.String, **whole,
        **dict.fromkeys(("flip_rate", "flip_low", "flip_high"), pl.Float64), "checked": pl.Int64,
        **dict.fromkeys((*rates, "error_change_high", "p_value", "not_excluded"), pl.Float64),
    }  # fmt: skip
    table = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema)
    return table.sort(pl.col("verdict") != CHANGED, maintain_order=True)


def _class_table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    shares = dict.fromkeys(("before", "after", "change", "change_low", "change_high"), pl.Float64)
    return pl.DataFrame(rows, {"worker": pl.String, "label": pl.String, **shares})


def _notes(
    one: pl.DataFrame,
    two: pl.DataFrame,
    truths: dict[str, str],
    references: dict[str, pl.DataFrame],
) -> list[str]:
    notes = []
    first, second = set(one["worker"]), set(two["worker"])
    if gone := sorted(first - second):
        notes.append(f"only in the first run: {listed(gone)}")
    if new := sorted(second - first):
        notes.append(f"only in the second run: {listed(new)}")
    if not set(one["task"]) & set(two["task"]):
        notes.append("the runs have no task in common: nothing can be compared")
    elif not first & second:
        notes.append("the runs have no judge in common: nothing can be compared")
    if truths and not (set(truths) & set(one["task"]) & set(two["task"])):
        notes.append("gold has no task of both runs: who is right is not known")
    if not truths and references and not any(table.height for table in references.values()):
        notes.append("one judge alone: who is right is not known, only what it says is compared")
    elif not truths and first & second:
        notes.append(
            "by what the others say: if most of them changed alike, that is not seen (gold tells)"
        )
    return notes
