"""`crowdstream simulate`: simulated workers → a file of labels and a file of truths."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from crowdstream.cli.options import OUTPUT, TABLE_FILE, option
from crowdstream.cli.output import TableWriter, check_apart, check_output
from crowdstream.cli.policies import Purchase
from crowdstream.cli.terminal import say
from crowdstream.cli.wording import counted
from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.science.simulate import Drift, Simulated

TASKS, WORKERS, BUYING = "Tasks", "Workers", "Buying labels one by one"


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where the labels go."""

    output: Annotated[
        str | None,
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="FILE",
            help=f"Write the labels: {TABLE_FILE}. Without it, to labels.csv or a pipe.",
        ),
    ] = None
    truth: Annotated[
        str | None,
        option(OUTPUT, "--truth", metavar="FILE", help="Write the correct labels to such a file."),
    ] = None
    seed: Annotated[
        int, option(OUTPUT, "--seed", metavar="NUMBER", help="The same seed, the same labels.")
    ] = 0
    quiet: Annotated[bool, option(OUTPUT, "--quiet", help="No summary.")] = False


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """What is answered, and by how many."""

    tasks: Annotated[
        int, option(TASKS, "-t", "--tasks", metavar="NUMBER", help="How many tasks.")
    ] = 1000
    classes: Annotated[
        int, option(TASKS, "-k", "--classes", metavar="NUMBER", help="How many classes.")
    ] = 2
    per_task: Annotated[
        int | None,
        option(
            TASKS, "--per-task", metavar="NUMBER", help="Exactly this many labels for every task."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Who answers, and how well."""

    workers: Annotated[
        int, option(WORKERS, "-n", "--workers", metavar="NUMBER", help="How many workers.")
    ] = 10
    answer_rate: Annotated[
        str,
        option(
            WORKERS,
            "--answer-rate",
            metavar="RATE",
            help="Probability that a worker answers a task; one for all, or one each: 1,.5,.1",
        ),
    ] = "1"
    error: Annotated[
        str | None,
        option(
            WORKERS,
            "-p",
            "--error",
            metavar="RATE",
            help="Error rate; one for all, or one each: .1,.2,.5",
        ),
    ] = None
    mean_error: Annotated[
        float | None,
        option(
            WORKERS,
            "-q",
            "--mean-error",
            metavar="RATE",
            help="Instead of --error: half of the workers are good, half guess, and this is the "
            "mean error rate, 0.25 to 0.5. 0.3 if neither is given.",
        ),
    ] = None
    adversaries: Annotated[
        float,
        option(
            WORKERS,
            "--adversaries",
            metavar="SHARE",
            help="Share of workers whose error rate is 1 - p in place of p.",
        ),
    ] = 0.0
    copy: Annotated[
        list[str] | None,
        option(
            WORKERS,
            "--copy",
            metavar="A:B:RATE",
            help="Worker A, by its number from 0, copies worker B at this rate. May be repeated.",
        ),
    ] = None
    drift: Annotated[
        str | None,
        option(
            WORKERS,
            "--drift",
            metavar="KIND",
            help="How error rates change: sine:FREQUENCY, jump:TASK:RATE, learning:HALF-LIFE or "
            "replacement:TASKS.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Buying:
    """Who is asked what."""

    policy: Annotated[
        str | None,
        option(
            BUYING,
            "--policy",
            metavar="NAME",
            help="Who is asked what next: uniform, knowledge-gradient, ho-vaughan, "
            "ho-jabbari-vaughan or liu-liu. Its error is printed.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        option(BUYING, "--budget", metavar="NUMBER", help="Labels that --policy may buy."),
    ] = None


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
    from crowdstream.science.simulate import simulate as blocks

    simulated = blocks(
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
