"""The command line: a file in, decisions out. One file per command; heavy imports inside them."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from crowdstream.cli import (
    compare,
    gold,
    merge,
    paper,
    run,
    savings,
    simulate,
    stream,
    version,
    workers,
)
from crowdstream.cli.command import GroupedHelp, make_command

app = typer.Typer(
    name="crowdstream",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def crowdstream(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Turn many imperfect labels into one decision per task.

    Labels come from people, models or LLM judges: rows of task, worker and label. crowdstream
    estimates how often each worker errs, decides every task with a confidence, and reports every
    worker's error rate. It needs no correct answers; a few help.

    \b
    Start here:
      crowdstream simulate -o labels.csv          make up labels to try it on
      crowdstream run labels.csv -o decisions.csv --workers workers.csv
      crowdstream run --help                      every command has examples
    """
    if show_version:
        version.version()
        raise typer.Exit


for _command in (
    run.run,
    stream.stream,
    workers.workers,
    merge.merge,
    savings.savings,
    compare.compare,
    simulate.simulate,
    paper.paper,
    version.version,
):
    app.command(cls=GroupedHelp)(make_command(_command))

_gold = typer.Typer(
    name="gold", no_args_is_help=True, rich_markup_mode=None, help=gold.__doc__.partition(": ")[2]
)
for _part in (gold.plan, gold.check):
    _gold.command(cls=GroupedHelp)(make_command(_part))
app.add_typer(_gold)


def main() -> None:
    """Run a command."""
    app()


def entry() -> None:
    """`main` for the shell: exits at once, without first freeing gigabytes of tables."""
    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
    for stream_ in (sys.stdout, sys.stderr):  # either is None if it was closed
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream_.flush()
    os._exit(code if isinstance(code, int) else 0)
