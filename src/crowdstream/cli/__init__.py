"""The command line: a file in, decisions out. One file per command, loaded when it is called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from crowdstream.cli.command import GroupedHelp, make_command

COMMANDS = {
    "run": "Decide every task in files of labels.",
    "stream": "Decide tasks while their labels come in on standard input.",
    "workers": "Show what a state file knows about each worker.",
    "merge": "Merge state files of different tasks into one.",
    "savings": "Show how many of the labels in a file would have been enough.",
    "compare": "Compare methods on data whose correct labels are known.",
    "simulate": "Make up labels with known truth, to try things on.",
    "paper": "Repeat the experiments of the paper and check its claims.",
    "version": "Print the version.",
    "gold": "Choose tasks for an expert to check; see what the answers change.",
}
"""Every command, and what ``--help`` says of it; each is a function in a file of its name."""

PARTS = {"gold": ("plan", "check")}
"""Commands that have commands of their own."""


class LazyCommands(TyperGroup):
    """Commands whose files are loaded when they are called: ``--help`` needs none of them."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, None if there is none."""
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Their list, as help shows it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _load(name: str) -> Any:
    """A command, or a group of them, from its file."""
    module = importlib.import_module(f"crowdstream.cli.{name}")
    made = typer.Typer(name=name, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
    for part in PARTS.get(name, (name,)):
        made.command(cls=GroupedHelp)(make_command(getattr(module, part)))
    if name in PARTS:
        made.info.help = COMMANDS[name]
    return typer.main.get_command(made)


app = typer.Typer(
    name="crowdstream",
    cls=LazyCommands,
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
        from crowdstream.cli import version

        version.version()
        raise typer.Exit


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
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)
