"""`crowdstream simulate`: simulated workers → a file of labels and a file of truths."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypedDict, Unpack

from crowdstream.cli import options
from crowdstream.cli.output import TableWriter, check_apart, check_output
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError
from crowdstream.plain_text import counted
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.simulation import Drift, Simulated


MOST_WORKERS = 10**7
"""Workers that can be simulated at once."""


class Answering(TypedDict, total=False):
    """The part of `crowdstream.simulate_blocks` that says which tasks are answered."""

    answer_rate: list[float]
    per_task: int | None
    classes: int
    block: int


class Output(options.Group, panel="Output"):
    """Options of output."""

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
    """Options of tasks and answers."""

    HELP = """
    -t, --tasks NUMBER  How many tasks.
    -k, --classes NUMBER  How many classes.
    --per-task NUMBER  Exactly this many labels for every task.
    """
    tasks: int = 1000
    classes: int = 2
    per_task: int | None = None


class Skills(options.Group, panel="Workers"):
    """The workers, and how well they answer."""

    HELP = """
    -n, --workers NUMBER  How many workers.
    -p, --error RATE  Error rate; one for all, or one each: .1,.2,.5
    -q, --mean-error RATE  Instead of --error: half of the workers are good, half guess, and this is
        the mean error rate, 0.25 to 0.5. 0.3 if neither is given.
    --adversaries SHARE  Share of workers whose error rate is 1 - p in place of p.
    --copy A:B:RATE  Worker A, by its number from 0, copies worker B at this rate. May be repeated.
    --drift KIND  How error rates change: sine:FREQUENCY, jump:TASK:RATE, learning:HALF-LIFE or
        replacement:TASKS.
    """
    workers: int = 10
    error: str | None = None
    mean_error: float | None = None
    adversaries: float = 0.0
    copy: list[str] | None = None
    drift: str | None = None

    def simulate(self, tasks: int, seed: int, **more: Unpack[Answering]) -> Iterator[Simulated]:
        """Simulate their answers to some tasks, block by block."""
        from crowdstream.simulation import simulate_blocks

        check_number("--workers", self.workers, 1, MOST_WORKERS, whole=True)
        check_number("--seed", seed, 0, 2**64 - 1, whole=True)
        return simulate_blocks(
            self.workers,
            tasks,
            p=None if self.error is None else _numbers("--error", self.error),
            q=self.mean_error,
            drift=None if self.drift is None else _drift(self.drift),
            adversaries=self.adversaries,
            copying=dict(_copy(each) for each in self.copy or ()),
            seed=seed,
            **more,
        )


class Workers(Skills):
    """The workers, and how often they answer."""

    HELP = """
    --answer-rate RATE  Probability that a worker answers a task; one for all, or one each: 1,.5,.1
    """
    answer_rate: str = "1"


def simulate(out: Output, tasks: Tasks, workers: Workers) -> None:
    """Simulate labels with known truth.

    Writes rows of task, worker and label by workers whose error rates you choose, to try things on.

    \b
    Examples:
      crowdstream simulate -o labels.csv --truth correct.csv
      crowdstream simulate -n 20 -t 5000 -p .2 --drift jump:2500:.5 -o labels.csv
    """
    check_output(out.output, "--output")
    check_output(out.truth, "--truth")
    check_apart([], {"--output": out.output, "--truth": out.truth})
    check_number("--tasks", tasks.tasks, 0, 10**12, whole=True)
    blocks = workers.simulate(
        tasks.tasks,
        out.seed,
        answer_rate=_numbers("--answer-rate", workers.answer_rate),
        per_task=tasks.per_task,
        classes=tasks.classes,
    )
    to_stdout = out.output is None and not sys.stdout.isatty()
    target = "-" if to_stdout else out.output or "labels.csv"
    made = write_simulated(blocks, target, out.truth)
    if not out.quiet:
        labels, number = counted(made, "label"), counted(workers.workers, "worker")
        shown = "standard output" if target == "-" else target
        say(f"{labels} on {counted(tasks.tasks, 'task')} from {number} → {shown}")


def write_simulated(blocks: Iterable[Simulated], target: str | None, truth: str | None) -> int:
    """Write labels and truths, if a file is named for them; return the number of labels."""
    made = 0
    with contextlib.ExitStack() as stack:
        write = None if target is None else stack.enter_context(TableWriter(target).open())
        write_truth = None if truth is None else stack.enter_context(TableWriter(truth).open())
        for block in blocks:
            if write is not None:
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
    from crowdstream.simulation import jump, learning, replacement, sine

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
