"""`crowdstream simulate`: the paper's model → a file of labels and a file of truths."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated

import typer

from crowdstream.cli.output import TableWriter, check_output, talk
from crowdstream.errors import InputError, check_number


def simulate(
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Labels: .csv .tsv .jsonl .parquet, or -.")
    ] = None,
    truth: Annotated[str | None, typer.Option("--truth", help="The true labels, likewise.")] = None,
    labellers: Annotated[int, typer.Option("-n", "--labellers", help="How many.")] = 10,
    tasks: Annotated[int, typer.Option("-t", "--tasks", help="How many.")] = 1000,
    answer_rate: Annotated[
        float, typer.Option("--answer-rate", help="Probability that a labeller answers a task.")
    ] = 1.0,
    error: Annotated[
        str | None,
        typer.Option("-p", "--error", help="Error rate of all, or of each: .1,.2,.5"),
    ] = None,
    mean_error: Annotated[
        float | None, typer.Option("-q", "--mean-error", help="Of a hammer-spammer crowd; 0.3.")
    ] = None,
    classes: Annotated[int, typer.Option("-k", "--classes", help="How many.")] = 2,
    drift: Annotated[
        float, typer.Option("--drift", help="Error rates as p(1 + sin(drift·t + phase)).")
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", help="The same seed, the same labels.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No word when done.")] = False,
) -> None:
    """Make up labels by the paper's model, and the truth behind them.

    Example: crowdstream simulate -n 20 -t 5000 -q 0.3 -o labels.csv --truth truth.csv
    """
    import numpy as np

    from crowdstream.science.simulate import error_rates
    from crowdstream.science.simulate import simulate as blocks

    check_output(output, "--output")
    check_output(truth, "--truth")
    check_number("--labellers", labellers, 1, 10**7, whole=True)
    check_number("--tasks", tasks, 0, 10**12, whole=True)
    check_number("--classes", classes, 2, 10**6, whole=True)
    check_number("--drift", drift, -1e6, 1e6)
    check_number("--seed", seed, 0, 2**64 - 1, whole=True)
    check_number("--answer-rate", answer_rate, 0.0, 1.0, open_low=True)
    try:
        given = None if error is None else np.array([float(x) for x in error.split(",")])
    except ValueError:
        raise InputError("--error", "numbers with commas between", repr(error)) from None
    rates = error_rates(labellers, given, mean_error)
    size = max(1, 4_000_000 // labellers)
    made = 0
    with contextlib.ExitStack() as stack:
        to_stdout = output is None and not sys.stdout.isatty()
        target = "-" if to_stdout else output or "labels.csv"
        write = stack.enter_context(TableWriter(target).open())
        tell = None if truth is None else stack.enter_context(TableWriter(truth).open())
        for labels, truths in blocks(
            labellers,
            tasks,
            p=rates,
            answer_rate=answer_rate,
            classes=classes,
            drift=drift,
            seed=seed,
            block=size,
        ):
            write(labels)
            made += labels.height
            if tell is not None:
                tell(truths)
    if not quiet:
        talk().print(f"{made:,} labels of {tasks:,} tasks by {labellers:,} labellers → {target}")
