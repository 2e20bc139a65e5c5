"""Count false alarms, and measure how soon a change is noticed and confirmed.

    CROWDSTREAM_DATA=folder python benchmarks/alarms.py [--quick] [TABLE …]

``stationary``: 500 workers who do not change, 20 M labels, with alarms so far on the way.
``small``: 300 crowds that do not change, 5 to 500 workers, 2 to 10 classes, 100 to 20,000 tasks.
``delays``: one worker of a crowd jumps; its answers until the change is pending, and until it is an
alarm, by how many answers it was known. ``many``: 5,000 workers and 50 classes. ``uneven``: crowds
that break the model, and files sorted by class or by difficulty. ``real``: the public sets, in the
order of the file, where tasks may come in groups, and with their tasks in random order. Shuffled
tasks hold no change over time, so every alarm is false. An alarm in file order is held against the
truth, where that is known: the worker's errors from the answer at which the change is said to have
begun until the worker's next alarm, against those since the alarm before. Gold confirms it where
the change has the right sign and is significant (Fisher's test). ``--quick``: fewer and smaller
runs, for the tests; its figures say little.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

import crowdstream as cs
from crowdstream.monitoring import DriftAlarm, alarms, monitor
from crowdstream.simulation import Simulated, jump, simulate, simulate_blocks, simulate_dependent
from crowdstream_lab import datasets

MOST_STATIONARY = 25
"""Alarms of 500 workers who do not change, in 20 M labels, at most."""

MOST_SMALL = 0.05
"""Share of small crowds that do not change and have an alarm, at most."""

ALLOWED = 2e-5
"""Alarms per answer on shuffled tasks of real crowds, at most."""

SOON = 80.0
"""Answers until a jump of 15 points is pending, at most: the median, of workers known from 500
answers or more. "Some 60" are asked for."""

ORDERS = 5
"""Random orders of each set."""

LEAST = 10
"""Answers of known truth before and after that an alarm needs to be held against the truth."""

LEVEL = 0.05
"""Of the test."""


Floats = np.ndarray


def learnt(blocks: Iterable[Simulated]) -> cs.Adaptive:
    """A monitored crowd that has learnt simulated labels."""
    crowd = monitor(cs.Adaptive())
    for block in blocks:
        crowd.learn_many(block.columns())
    return crowd


# Workers who do not change -----------------------------------------------------------------------


def stationary(quick: bool) -> bool:
    """Alarms of 500 workers who do not change."""
    labels, per = (200_000, 5) if quick else (20_000_000, 5)
    p = np.random.default_rng(0).uniform(0.05, 0.35, 500)
    crowd, learnt_labels, shown = monitor(cs.Adaptive()), 0, labels // 16
    print(f"{'labels':>12} {'answers each':>13} {'alarms':>7} {'pending now':>12}")
    for block in simulate_blocks(500, labels // per, p=p, per_task=per, seed=0):
        crowd.learn_many(block.columns())
        learnt_labels += block.said.size
        if learnt_labels >= shown or learnt_labels == labels:
            shown *= 2
            counts = len(alarms(crowd)), len(alarms(crowd, pending=True))
            print(f"{learnt_labels:12,} {learnt_labels // 500:13,} {counts[0]:7} {counts[1]:12}")
    found = len(alarms(crowd))
    print(f"{found} alarms, at most {MOST_STATIONARY}")
    return found <= MOST_STATIONARY


def small(quick: bool) -> bool:
    """Share of small crowds that do not change and have an alarm."""
    crowds, having, labels, found = 20 if quick else 300, 0, 0, 0
    for seed in range(crowds):
        rng = np.random.default_rng(seed)
        n, classes = round(5 * 100 ** rng.random()), int(rng.integers(2, 11))
        tasks = round(100 * (10 if quick else 200) ** rng.random())
        per = None if n <= 10 else int(rng.integers(3, 8))
        p = rng.uniform(0.02, rng.uniform(0.1, 0.4), n)
        block = simulate(n, tasks, p=p, classes=classes, per_task=per, seed=seed)
        count = len(alarms(learnt([block])))
        having, found, labels = having + (count > 0), found + count, labels + block.said.size
    print(f"{crowds} crowds, {labels:,} labels: {found} alarms")
    print(f"share of crowds with an alarm: {having / crowds:.3f}, at most {MOST_SMALL}")
    return having <= MOST_SMALL * crowds


# Workers who change ------------------------------------------------------------------------------


class Delay(NamedTuple):
    """Answers until a change was pending, and until it was an alarm; infinite if it never was."""

    pending: float
    confirmed: float


def delay(n: int, per: int | None, past: int, jumps: tuple[float, float], seed: int) -> Delay:
    """Measure when one worker's jump is noticed and confirmed, ``past`` answers after its first.

    It is looked for during 600 answers, every second answer.
    """
    before, after = jumps
    share = 1.0 if per is None else per / n
    change, tasks = int(past / share), int((past + 600) / share)
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.25, n)
    p[0], to = before, np.full(n, np.nan)
    to[0] = after
    block = simulate(n, tasks, p=p, per_task=per, drift=jump(change, to), seed=seed)
    rows, who = block.labels(), f"w{0:0{len(str(n - 1))}}"
    place, own = block.tasks, block.tasks[block.workers == 0]
    crowd, noticed, step = monitor(cs.Adaptive()), float("inf"), max(1, round(2 / share))
    crowd.learn_many(rows[: int(np.searchsorted(place, change))])
    for at in range(change, tasks, step):
        begin, end = np.searchsorted(place, [at, at + step])
        crowd.learn_many(rows[int(begin) : int(end)])
        given = float(((own >= change) & (own < at + step)).sum())
        looked = (a for a in alarms(crowd, pending=True) if a.tasks_seen > change)
        if noticed == float("inf") and any(alarm.worker == who for alarm in looked):
            noticed = given
        if any(a.worker == who and a.tasks_seen > change for a in alarms(crowd)):
            return Delay(min(noticed, given), given)
    return Delay(noticed, float("inf"))


def delays(quick: bool) -> bool:
    """Measure how soon jumps are pending and confirmed, by how long the worker was known."""
    runs, holds = 4 if quick else 40, True
    print(f"{'crowd':28} {'jump':12} {'known from':>10}  {'pending: mean 10 50 90 %':>26}", end="")
    print(f"  {'confirmed: 10 50 90 %':>22}  within 600")
    crowds: list[tuple[int, int | None, tuple[int, ...]]] = [(10, None, (500,))]
    if not quick:
        crowds = [(10, None, (100, 200, 500, 1000, 4000)), (50, 5, (500, 1000))]
    for n, per, known in crowds:
        for jumps in ((0.1, 0.25), (0.1, 0.4)):
            for past in known:
                found = [delay(n, per, past, jumps, seed) for seed in range(runs)]
                pending, confirmed = np.array(found).T
                shown = [_quantiles(each) for each in (pending, confirmed)]
                mean = pending[np.isfinite(pending)].mean()
                name = f"n={n}, {per or 'all'} labels a task"
                print(
                    f"{name:28} {jumps[0]} → {jumps[1]:<6} {past:10}  {mean:12.0f} {shown[0]}"
                    f"  {shown[1]:>22}  {np.isfinite(confirmed).mean():10.2f}",
                    flush=True,
                )
                if past >= 500 and not quick:
                    holds &= float(np.median(pending)) <= SOON
    print(f"median until pending, known from 500 answers or more: at most {SOON:.0f}")
    return holds


def _quantiles(found: Floats) -> str:
    return " ".join(f"{x:4.0f}" for x in np.quantile(found, [0.1, 0.5, 0.9], method="nearest"))


# Many classes, and crowds that break the model ---------------------------------------------------


def many(quick: bool) -> bool:
    """Alarms of many workers who do not change, with many classes."""
    holds = True
    n, classes = (500, 20) if quick else (5000, 50)
    for per, high, by_class in ((3, 0.1, False), (4, 0.03, False), (4, 0.3, True)):
        if by_class:
            table = by_classes(n, classes, 20 * n, per, "random", 0)
        else:
            p = np.random.default_rng(0).uniform(0.01, high, n)
            table = simulate(n, 20 * n, p=p, classes=classes, per_task=per, seed=0).labels()
        crowd = monitor(cs.Adaptive()).fit(table)
        found, waiting = alarms(crowd), alarms(crowd, pending=True)
        which = "errors by class" if by_class else f"errors 0.01 to {high}"
        print(
            f"{n:,} workers, {classes} classes, {table.height:,} labels, {which}: "
            f"{len({alarm.worker for alarm in found})} workers with alarms, {len(waiting)} pending"
        )
        holds &= len(found) <= n // 1000
    return holds


def by_classes(n: int, classes: int, tasks: int, per: int, order: str, seed: int) -> pl.DataFrame:
    """Labels of workers who err on each class in their own way, or more the harder a task is.

    ``order`` of the tasks: random, class or difficulty. In random order nobody changes.
    """
    rng = np.random.default_rng(seed)
    truth, hard = rng.integers(classes, size=tasks), rng.uniform(0.3, 1.7, tasks)
    truth, hard = (np.sort(truth) if order == "class" else truth), np.sort(hard)
    usual = rng.uniform(0.02, 0.3, classes) * rng.uniform(0.5, 1.5, (n, classes))
    step = rng.integers(1, n // per, size=(tasks, 1))
    who = (rng.integers(n, size=(tasks, 1)) + np.arange(per) * step) % n
    error = usual[who, truth[:, None]]
    error = np.clip(error * hard[:, None], 0, 0.9) if order == "difficulty" else error
    other = (truth[:, None] + rng.integers(1, classes, who.shape)) % classes
    said = np.where(rng.random(who.shape) < error, other, truth[:, None])
    names = [f"class {k}" for k in range(classes)]
    rows = {"task": np.repeat(np.arange(tasks), per), "worker": who.ravel()}
    return pl.DataFrame(rows | {"label": pl.Series(names).gather(said.ravel())})


def uneven_crowds(kind: str, seed: int, tasks: int) -> pl.DataFrame:
    """Labels of twenty workers, five a task, by name of what is uneven."""
    if kind.startswith("sorted by "):
        return by_classes(20, (2, 5, 10)[seed % 3], tasks, 5, kind.removeprefix("sorted by "), seed)
    if kind == "class, each its own":
        return by_classes(20, (2, 5, 10)[seed % 3], tasks, 5, "random", seed)
    made = simulate_dependent(kind, 20, tasks, per_task=5, classes=(2, 4)[seed % 2], seed=seed)  # type: ignore[arg-type]
    return made.labels()


def uneven(quick: bool) -> bool:
    """Alarms of crowds that break the model, and of sorted files, where error rates do change."""
    crowds, tasks, holds = (2, 1000, True) if quick else (20, 4000, True)
    kinds = ("difficulty", "class", "copying", "tricky", "class, each its own")
    for kind in (*kinds, "sorted by class", "sorted by difficulty"):
        found = [
            alarms(monitor(cs.Adaptive()).fit(uneven_crowds(kind, seed, tasks)))
            for seed in range(crowds)
        ]
        own = [sum(not alarm.everyone for alarm in each) for each in found]
        shared = sum(map(len, found)) - sum(own)
        print(
            f"{kind:22} {crowds} crowds of 20, {5 * tasks:,} labels each: {sum(own)} alarms in "
            f"{np.count_nonzero(own)} crowds, {shared} shared by most workers"
        )
        if kind in kinds:
            holds &= sum(count > 0 for count in own) <= max(MOST_SMALL * crowds, 1)
    return holds


# Real crowds -------------------------------------------------------------------------------------


class Found(NamedTuple):
    """Of one set: alarms per 10⁴ answers, and what gold says of those in file order."""

    name: str
    answers: int
    in_file: int
    shuffled: float
    judged: int
    confirmed: int
    right_way: int


def shuffled(labels: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The same labels, their tasks in random order."""
    tasks = labels["task"].unique(maintain_order=True).sample(fraction=1.0, shuffle=True, seed=seed)
    places = pl.DataFrame({"task": tasks}).with_row_index("place")
    return labels.join(places, on="task").sort("place", maintain_order=True).drop("place")


def raised(labels: pl.DataFrame) -> list[DriftAlarm]:
    """The alarms of a crowd that learns this table."""
    return alarms(monitor(cs.Adaptive()).fit(labels))


def fisher(before: tuple[int, int], after: tuple[int, int]) -> float:
    """The chance of at least as many errors afterwards if nothing has changed.

    ``before`` and ``after``: errors and answers.

    >>> round(fisher((1, 20), (10, 20)), 4)
    0.0017
    """
    wrong, whole = before[0] + after[0], before[1] + after[1]

    def ways(errors: int) -> float:
        return math.comb(after[1], errors) * math.comb(before[1], wrong - errors)

    most = min(wrong, after[1])
    more = sum(ways(errors) for errors in range(after[0], most + 1))
    return more / math.comb(whole, wrong)


def verdict(alarm: DriftAlarm, wrong: np.ndarray, at: int, first: int, last: int) -> str:
    """What gold says of one alarm: confirmed, right way, wrong way, or unknown.

    ``wrong``: the worker's answers in order, NaN without truth; ``at``: that at which it rang;
    ``first`` and ``last``: those of the stretch without other alarms.
    """
    begun = max(at - alarm.answers, first)
    sides = [wrong[first:begun], wrong[begun:last]]
    known = [side[~np.isnan(side)] for side in sides]
    if min(side.size for side in known) < LEAST:
        return "unknown"
    counts = [(int(side.sum()), side.size) for side in known]
    if alarm.direction == "better":
        counts = [(size - errors, size) for errors, size in counts]
    before, after = counts
    if after[0] * before[1] <= before[0] * after[1]:
        return "wrong way"
    return "confirmed" if fisher(before, after) < LEVEL else "right way"


def judged_by_gold(one: datasets.Dataset, found: list[DriftAlarm]) -> list[str]:
    """What gold says of every alarm."""
    places = one.labels.select(pl.col("task").unique(maintain_order=True)).with_row_index("place")
    truth = one.gold.select("task", truth="label")
    rows = one.labels.unique(["task", "worker"], keep="last", maintain_order=True)
    rows = rows.join(places, on="task").join(truth, on="task", how="left").sort("place")
    rows = rows.with_columns(wrong=(pl.col("label") != pl.col("truth")).cast(pl.Float64))
    verdicts = []
    for worker in dict.fromkeys(alarm.worker for alarm in found):
        own = rows.filter(pl.col("worker") == str(worker))
        place, wrong = own["place"].to_numpy(), own["wrong"].fill_null(np.nan).to_numpy()
        mine = [alarm for alarm in found if alarm.worker == worker]
        rang = [int(np.searchsorted(place, alarm.tasks_seen)) for alarm in mine]
        ends = [0, *rang, len(wrong)]
        for k, alarm in enumerate(mine):
            verdicts.append(verdict(alarm, wrong, rang[k], ends[k], ends[k + 2]))
    return verdicts


def measure(name: str) -> Found:
    """Alarms on one set."""
    one = datasets.load(name)
    found = raised(one.labels)
    counts = [len(raised(shuffled(one.labels, seed))) for seed in range(ORDERS)]
    verdicts = judged_by_gold(one, found)
    judged = [word for word in verdicts if word != "unknown"]
    return Found(
        name,
        one.labels.height,
        len(found),
        float(np.mean(counts)),
        len(judged),
        judged.count("confirmed"),
        judged.count("confirmed") + judged.count("right way"),
    )


def real(quick: bool) -> bool:
    """Alarms on public sets, and how many gold confirms."""
    if not os.environ.get("CROWDSTREAM_DATA"):
        print("CROWDSTREAM_DATA names no folder of data sets")
        return True
    print(f"{'alarms in 10⁴ answers':20}  shuffled  in file  judged  confirmed  right way")
    every = [measure(name) for name in datasets.available()[: 2 if quick else None]]
    whole = Found("all", *(sum(column) for column in zip(*(f[1:] for f in every), strict=True)))
    for found in (*every, whole):
        per = 1e4 / found.answers
        print(
            f"{found.name:21} {found.shuffled * per:9.2f} {found.in_file * per:8.2f} "
            f"{found.judged:7} {found.confirmed:10} {found.right_way:10}"
        )
    share = whole.confirmed / max(whole.judged, 1)
    print(f"gold confirms {100 * share:.0f} % of the {whole.judged} alarms that it can judge")
    false = whole.shuffled / whole.answers
    print(f"false alarms on shuffled tasks: {1e4 * false:.3f} in 10⁴, at most {1e4 * ALLOWED:g}")
    return false <= ALLOWED


TABLES: dict[str, Callable[[bool], bool]] = {
    table.__name__: table for table in (stationary, small, delays, many, uneven, real)
}


def main(given: Sequence[str] | None = None) -> int:
    """Print the tables; exit code 1 where one does not hold what it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(given)
    if unknown := set(asked.tables) - set(TABLES):
        parser.error(f"unknown tables: {', '.join(sorted(unknown))}")
    broken = []
    for name in asked.tables or TABLES:
        print(f"\n{name}: {TABLES[name].__doc__}")
        if not TABLES[name](asked.quick):
            broken.append(name)
    print(f"\ndoes not hold: {', '.join(broken)}" if broken else "\nall hold")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
