"""`crowdstream simulate`: simulated workers → a file of labels and a file of truths."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crowdstream.cli import options
from crowdstream.cli.output import TableWriter, check_apart, check_output
from crowdstream.cli.policies import Purchase
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError
from crowdstream.plain_text import counted
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.science.simulate import Drift, Simulated


class Output(options.Group, panel="Output"):
    """Where the labels go."""

    HELP = f"""
    -o, --output FILE  Write the labels: {options.TABLE_FILE}. Without it, to labels.csv or a pipe.
    --truth FILE  Write the correct labels to such a file.
    --seed NUMBER  The same seed, the same labels.
    --quiet  No summary.
    """
    output: str | None = None
    truth: str | None = None
    seed: int = 0
    quiet: bool = False


class Tasks(options.Group, panel="Tasks"):
    """What is answered, and by how many."""

    HELP = """
    -t, --tasks NUMBER  How many tasks.
    -k, --classes NUMBER  How many classes.
    --per-task NUMBER  Exactly this many labels for every task.
    """
    tasks: int = 1000
    classes: int = 2
    per_task: int | None = None


class Workers(options.Group, panel="Workers"):
    """Who answers, and how well."""

    HELP = """
    -n, --workers NUMBER  How many workers.
    --answer-rate RATE  Probability that a worker answers a task; one for all, or one each: 1,.5,.1
    -p, --error RATE  Error rate; one for all, or one each: .1,.2,.5
    -q, --mean-error RATE  Instead of --error: half of the workers are good, half guess, and this is
        the mean error rate, 0.25 to 0.5. 0.3 if neither is given.
    --adversaries SHARE  Share of workers whose error rate is 1 - p in place of p.
    --copy A:B:RATE  Worker A, by its number from 0, copies worker B at this rate. May be repeated.
    --drift KIND  How error rates change: sine:FREQUENCY, jump:TASK:RATE, learning:HALF-LIFE or
        replacement:TASKS.
    """
    workers: int = 10
    answer_rate: str = "1"
    error: str | None = None
    mean_error: float | None = None
    adversaries: float = 0.0
    copy: list[str] | None = None
    drift: str | None = None


class Buying(options.Group, panel="Buying labels one by one"):
    """Who is asked what."""

    HELP = """
    --policy NAME  Who is asked what next: uniform, knowledge-gradient, ho-vaughan,
        ho-jabbari-vaughan or liu-liu. Its error is printed.
    --budget NUMBER  Labels that --policy may buy.
    """
    policy: str | None = None
    budget: int | None = None


def simulate(out: Output, tasks: Tasks, workers: Workers, buying: Buying) -> None:
    """Make up labels with known truth, to try things on.

    Writes rows of task, worker and label by workers whose error rates you choose. With --policy
    not everybody answers everything: an allocation method from the literature buys the labels one
    by one, and its error is printed beside that of buying the same number for every task.

    \b
    Examples:
      crowdstream simulate -o labels.csv --truth correct.csv
      crowdstream simulate -n 20 -t 5000 -p .2 --drift jump:2500:.5 -o labels.csv
    """
    check_output(out.output, "--output")
    check_output(out.truth, "--truth")
    check_apart([], {"--output": out.output, "--truth": out.truth})
    check_number("--workers", workers.workers, 1, 10**7, whole=True)
    check_number("--tasks", tasks.tasks, 0, 10**12, whole=True)
    check_number("--seed", out.seed, 0, 2**64 - 1, whole=True)
    rates = _numbers("--answer-rate", workers.answer_rate)
    purchase = None
    if buying.policy is not None or buying.budget is not None:
        purchase = Purchase(buying.policy, buying.budget, tasks.tasks, workers.workers)
        purchase.check(answer_rates=rates, per_task=tasks.per_task, classes=tasks.classes)
    blocks = _simulate(tasks, workers, rates, purchase, out.seed)
    to_stdout = out.output is None and not sys.stdout.isatty()
    target = "-" if to_stdout else out.output or "labels.csv"
    made = _write(blocks, target, out.truth)
    if not out.quiet:
        labels, number = counted(made, "label"), counted(workers.workers, "worker")
        shown = "standard output" if target == "-" else target
        say(f"{labels} on {counted(tasks.tasks, 'task')} from {number} → {shown}")
        if purchase is not None:
            say(purchase.outcome)


def _simulate(
    tasks: Tasks, workers: Workers, rates: list[float], purchase: Purchase | None, seed: int
) -> Iterator[Simulated]:
    from crowdstream.science.simulate import simulate_blocks

    simulated = simulate_blocks(
        workers.workers,
        tasks.tasks if purchase is None else purchase.rows,
        p=None if workers.error is None else _numbers("--error", workers.error),
        q=workers.mean_error,
        answer_rate=rates,
        per_task=tasks.per_task,
        classes=tasks.classes,
        drift=None if workers.drift is None else _drift(workers.drift),
        adversaries=workers.adversaries,
        copying=dict(_copy(each) for each in workers.copy or ()),
        seed=seed,
        block=None if purchase is None else purchase.rows,
    )
    return simulated if purchase is None else iter([purchase.buy(next(simulated), seed)])


def _write(blocks: Iterator[Simulated], target: str, truth: str | None) -> int:
    """How many labels were written."""
    made = 0
    with contextlib.ExitStack() as stack:
        write = stack.enter_context(TableWriter(target).open())
        write_truth = None if truth is None else stack.enter_context(TableWriter(truth).open())
        for block in blocks:
            write(block.labels())
            made += block.said.size
            if write_truth is not None:
                write_truth(block.truths())
    return made


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise InputError(option, "numbers with commas between", repr(text)) from None


def _drift(text: str) -> Drift:
    from crowdstream.science.simulate import jump, learning, replacement, sine

    kind, *rest = text.split(":")
    try:
        numbers = [float(each) for each in rest]
        match kind, numbers:
            case "sine", [omega]:
                return sine(omega)
            case "jump", [at, to] if 0 <= to <= 1:
                return jump(int(at), to)
            case "learning", [half_life] if half_life > 0:
                return learning(half_life)
            case "replacement", [every] if every >= 1:
                return replacement(int(every))
    except ValueError:
        pass
    expected = "sine:FREQUENCY, jump:TASK:RATE, learning:HALF-LIFE or replacement:TASKS"
    raise InputError("--drift", expected, repr(text))


def _copy(text: str) -> tuple[int, tuple[int, float]]:
    try:
        follower, leader, chance = text.split(":")
        return int(follower), (int(leader), float(chance))
    except ValueError:
        raise InputError("--copy", "A:B:RATE, such as 1:0:0.5", repr(text)) from None
