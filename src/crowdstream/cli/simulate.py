"""`crowdstream simulate`: made-up crowds → a file of labels and a file of truths."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli.buyer import Buyer
from crowdstream.cli.output import TableWriter, check_apart, check_output, talk
from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.science.simulate import Drift


def simulate(
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Labels: .csv .tsv .jsonl .parquet, or -.")
    ] = None,
    truth: Annotated[str | None, typer.Option("--truth", help="The true labels, likewise.")] = None,
    workers: Annotated[int, typer.Option("-n", "--workers", help="How many.")] = 10,
    tasks: Annotated[int, typer.Option("-t", "--tasks", help="How many.")] = 1000,
    answer_rate: Annotated[
        str, typer.Option("--answer-rate", help="How often a worker answers, or each: 1,.5,.1")
    ] = "1",
    per_task: Annotated[
        int | None, typer.Option("--per-task", help="Exactly so many labels a task.")
    ] = None,
    error: Annotated[
        str | None,
        typer.Option("-p", "--error", help="Error rate of all, or of each: .1,.2,.5"),
    ] = None,
    mean_error: Annotated[
        float | None, typer.Option("-q", "--mean-error", help="Of a hammer-spammer crowd; 0.3.")
    ] = None,
    classes: Annotated[int, typer.Option("-k", "--classes", help="How many.")] = 2,
    drift: Annotated[
        str | None,
        typer.Option(
            "--drift", help="sine:ω, jump:TASK:RATE, learning:HALF-LIFE or replacement:EVERY."
        ),
    ] = None,
    adversaries: Annotated[
        float, typer.Option("--adversaries", help="Share of workers who err with 1 − p.")
    ] = 0.0,
    copy: Annotated[
        list[str] | None,
        typer.Option("--copy", help="FOLLOWER:LEADER:PROBABILITY, by number; may be repeated."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            help="Who is asked what: uniform, knowledge-gradient, ho-vaughan, ho-jabbari-vaughan "
            "or liu-liu.",
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", help="Labels that --policy may buy.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed, the same labels.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No word when done.")] = False,
) -> None:
    """Make up labels by the paper's model, and the truth behind them.

    With --policy not everybody answers everything: an allocation method buys the labels one by
    one, and its errors are told beside those of uniform allocation.

    Example: crowdstream simulate -n 20 -t 5000 -q 0.3 -o labels.csv --truth truth.csv
    """
    from crowdstream.science.simulate import simulate_blocks

    check_output(output, "--output")
    check_output(truth, "--truth")
    check_apart([], {"--output": output, "--truth": truth})
    check_number("--workers", workers, 1, 10**7, whole=True)
    check_number("--tasks", tasks, 0, 10**12, whole=True)
    check_number("--seed", seed, 0, 2**64 - 1, whole=True)
    rates = _numbers("--answer-rate", answer_rate)
    buyer = None
    if policy is not None or budget is not None:
        buyer = Buyer(policy, budget, tasks, workers)
        buyer.check(answer_rates=rates, per_task=per_task, classes=classes)
    crowd = simulate_blocks(
        workers,
        tasks if buyer is None else buyer.rows,
        p=None if error is None else _numbers("--error", error),
        q=mean_error,
        answer_rate=rates,
        per_task=per_task,
        classes=classes,
        drift=None if drift is None else _drift(drift),
        adversaries=adversaries,
        copying=dict(_copy(each) for each in copy or ()),
        seed=seed,
        block=None if buyer is None else buyer.rows,
    )
    if buyer is not None:
        crowd = iter([buyer.buy(next(crowd), seed)])
    made = 0
    with contextlib.ExitStack() as stack:
        to_stdout = output is None and not sys.stdout.isatty()
        target = "-" if to_stdout else output or "labels.csv"
        write = stack.enter_context(TableWriter(target).open())
        tell = None if truth is None else stack.enter_context(TableWriter(truth).open())
        for block in crowd:
            write(block.labels())
            made += block.said.size
            if tell is not None:
                tell(block.truths())
    if not quiet:
        talk().print(f"{made:,} labels of {tasks:,} tasks by {workers:,} workers → {target}")
        if buyer is not None:
            talk().print(buyer.told, soft_wrap=True)


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
    expected = "sine:ω, jump:TASK:RATE, learning:HALF-LIFE or replacement:EVERY"
    raise InputError("--drift", expected, repr(text))


def _copy(text: str) -> tuple[int, tuple[int, float]]:
    try:
        follower, leader, chance = text.split(":")
        return int(follower), (int(leader), float(chance))
    except ValueError:
        raise InputError("--copy", "FOLLOWER:LEADER:PROBABILITY", repr(text)) from None
