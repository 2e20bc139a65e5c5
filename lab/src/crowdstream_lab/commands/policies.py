"""`crowdstream policies`: published policies buy labels one by one from simulated workers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from crowdstream import InputError
from crowdstream.cli.extension import (
    ProgressBar,
    Skills,
    add_row,
    check_apart,
    check_output,
    console,
    make_table,
    options,
    write_simulated,
)
from crowdstream.extension import check_number

if TYPE_CHECKING:
    from crowdstream.simulation import Simulated

CELLS = 10_000_000
"""Tasks times workers at most: a policy needs every answer at hand."""

PER_TASK = 3
"""Labels per task that are bought unless --budget says otherwise: the fewest that outvote one."""


class Chosen(options.Group, panel="Policies"):
    """The policies, and the number of labels that each buys."""

    HELP = """
    policies: POLICY  uniform, knowledge-gradient, ho-vaughan, ho-jabbari-vaughan or liu-liu; all
        of them without.
    --budget NUMBER  Labels that each policy may buy; 3 per task, or 1 with fewer than 3 workers,
        unless said.
    """
    policies: list[str] | None = None
    budget: int | None = None


class Tasks(options.Group, panel="Tasks"):
    """The tasks that are answered."""

    HELP = """
    -t, --tasks NUMBER  How many tasks, of two classes.
    """
    tasks: int = 1000


class Output(options.Group, panel="Output"):
    """The files that are written."""

    HELP = f"""
    -o, --output FILE  Write the labels that a policy bought, if one is named:
        {options.TABLE_FILE}.
    --truth FILE  Write the correct labels to such a file, if one policy is named.
    --seed NUMBER  The same seed, the same labels.
    """
    output: str | None = None
    truth: str | None = None
    seed: int = 0


class Purchase(NamedTuple):
    """The labels a policy bought, the share of tasks then decided wrongly, its gold tasks.

    ``spent_on_gold``: how many of the labels were on gold tasks, which come last.
    """

    labels: Simulated
    error: float
    gold: int
    spent_on_gold: int


def policies(given: Chosen, tasks: Tasks, workers: Skills, out: Output) -> None:
    """Compare methods that choose which labels to buy.

    Simulates workers who answer whenever they are asked. Each policy from the literature buys the
    same number of labels one by one, and decides. Prints one row per policy: the share of tasks
    decided wrongly, and how many labels it spent on gold tasks. uniform asks equally often about
    every task and takes a majority vote.

    \b
    Examples:
      crowdstream policies -n 20 -t 500 --budget 2000
      crowdstream policies liu-liu -n 3 -p .1,.2,.4 -o labels.csv --truth correct.csv
    """
    from crowdstream_lab.policies import POLICIES

    names = list(dict.fromkeys(given.policies or POLICIES))
    for name in names:
        if name not in POLICIES:
            raise InputError("policies", " or ".join(POLICIES), repr(name))
    if (out.output or out.truth) and len(names) > 1:
        raise InputError("--output" if out.output else "--truth", "one policy", f"{len(names)}")
    check_output(out.output, "--output")
    check_output(out.truth, "--truth")
    check_apart([], {"--output": out.output, "--truth": out.truth})
    check_number("--tasks", tasks.tasks, 1, max(1, CELLS // max(1, workers.workers)), whole=True)
    budget = given.budget
    if budget is None:
        budget = tasks.tasks * (PER_TASK if workers.workers >= PER_TASK else 1)
    check_number("--budget", budget, 1, tasks.tasks * workers.workers, whole=True)
    bought = {}
    with ProgressBar("starting", len(names)) as bar:
        for name in names:
            bar.update(name)
            bought[name] = buy_labels(name, workers, tasks.tasks, budget, out.seed)
            bar.update(advance=1)
    for purchase in bought.values():
        write_simulated([purchase.labels], out.output, out.truth)
    if out.output != "-":
        _show(bought, budget / tasks.tasks)


def buy_labels(name: str, workers: Skills, tasks: int, budget: int, seed: int) -> Purchase:
    """Run a policy against workers whose every answer is simulated beforehand."""
    import numpy as np

    from crowdstream_lab.policies import NOT_ASKED, POLICIES, buy

    policy = POLICIES[name]()
    gold, rows = policy.gold, tasks + policy.gold
    everything = next(workers.simulate(rows, seed, block=rows))
    # The workers answer gold first, and `buy` takes it last.
    answers = np.roll(everything.matrix(), -gold, axis=0)
    truth = np.roll(everything.truth, -gold)
    said, error = buy(policy, truth, answers, tasks, budget, seed=seed)
    asked, by = np.nonzero(said != NOT_ASKED)
    labels = replace(everything, tasks=asked, workers=by, said=said[asked, by], truth=truth)
    return Purchase(labels, error, gold, int((asked >= tasks).sum()))


def _show(bought: dict[str, Purchase], per_task: float) -> None:
    """Print one row per policy, the fewest errors first."""
    table = make_table("", ["policy"], ["error", "labels per task", "on gold"], line=True)
    for name, found in sorted(bought.items(), key=lambda item: item[1].error):
        gold = f"{found.spent_on_gold:,} labels on {found.gold} tasks" if found.gold else "none"
        add_row(table, name, f"{found.error:.4f}", f"{per_task:.2f}", gold)
    console(stderr=False).print(table)
