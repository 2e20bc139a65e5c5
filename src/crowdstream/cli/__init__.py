"""The command line: a file in, decisions out. One file per command, loaded when it is called.

Other packages add commands of their own (`plugins`).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys

import click

from crowdstream.cli.command import USAGE, make_command, open_standard, tell_mistake
from crowdstream.cli.plugins import ELSEWHERE, find_plugins, load_function, load_plugin
from crowdstream.defaults import THREADS_VARIABLE
from crowdstream.errors import CrowdstreamError

GARBAGE = 20_000
"""New objects after which Python looks for cycles among them; 700 unless told."""

COMMANDS = {
    "demo": "Show what crowdstream does, on a simulated panel of judges.",
    "run": "Decide every task in files of labels.",
    "stream": "Decide tasks while their labels come in.",
    "serve": "Take labels over HTTP, decide at once, lose nothing.",
    "token": "Make, list, rotate and revoke the tokens of a server.",
    "backup": "Copy a server's data while it runs.",
    "check": "Look for damage in a server's data.",
    "repair": "Go on with what is intact of a server's data.",
    "delete": "Delete a project on a server, or a task or worker of it.",
    "export": "Write decisions as Label Studio, MTurk or Ground Truth take them.",
    "sync": "Bring a project up to date with Label Studio or Argilla.",
    "workers": "Show what a state file knows about each worker.",
    "report": "Tell what a crowd came to on one page.",
    "merge": "Merge state files of different tasks into one.",
    "jury": "Decide what a panel of judges says of every task.",
    "agree": "Measure how far labels agree: alpha, kappas, AC1, with intervals.",
    "judges": "Hold each judge against gold, and say which agrees with people best.",
    "rate": "Estimate the share of each class from many labels and few gold ones.",
    "gate": "Check judges against gold, for CI.",
    "drift": "Find which judges changed between two runs over the same tasks.",
    "preferences": "Rate items by pairwise comparisons of judges who differ.",
    "savings": "Show how many of the labels in a file would have been enough.",
    "simulate": "Simulate labels with known truth.",
    "version": "Print the version.",
    "gold": "Choose tasks for an expert to check; see what the answers change.",
    "spark": "Decide labels that live on a cluster, with Apache Spark.",
}
"""Every command of this package, and what ``--help`` says of it; each is a function in a file of
its name."""

PARTS = {
    "export": ("label-studio", "mturk", "ground-truth", "crowd-kit"),
    "gold": ("plan", "check"),
    "spark": ("run",),
    "sync": ("label-studio", "argilla"),
    "token": ("create", "list", "rotate", "revoke"),
}
"""Commands that have commands of their own."""


PART_NAMES = {
    "list": "list_all", "label-studio": "label_studio", "ground-truth": "ground_truth",
    "crowd-kit": "crowd_kit",
}  # fmt: skip
"""Functions that cannot be called as their command is."""


class LazyCommands(click.Group):
    """Commands whose files are loaded when they are called: ``--help`` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, with those of other packages."""
        return list(dict.fromkeys((*COMMANDS, *find_plugins())))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name, None if there is none."""
        if cmd_name not in self.commands:
            if cmd_name in COMMANDS:
                self.add_command(_load(cmd_name))
            elif where := find_plugins().get(cmd_name):
                self.add_command(_load_from_elsewhere(ctx, cmd_name, where))
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Their list, as help shows it."""
        added = {
            name: _summary(where) for name, where in find_plugins().items() if name not in COMMANDS
        }
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items(), *added.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; if there is none, say what to install or to type."""
        name = args[0]
        if name not in COMMANDS:
            known = self.list_commands(ctx)
            if name not in known and (near := _nearest(name, {*known, *ELSEWHERE})):
                ctx.fail(f"No such command {name!r}. Did you mean {near!r}?")
            if name not in known and name in ELSEWHERE:
                ctx.fail(f"{name} is a command of {ELSEWHERE[name]}: pip install {ELSEWHERE[name]}")
        return super().resolve_command(ctx, args)


def _nearest(name: str, known: set[str]) -> str | None:
    """Return the command that a misspelt one may have been; None for one that is spelt right."""
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=1)
    return near[0] if near and name not in known else None


def _summary(where: str) -> str:
    """Return the line of help of another package's command; a broken one must not break help."""
    try:
        return load_plugin(where).summary
    except Exception as error:
        return f"(cannot be loaded: {error})"


def _load_from_elsewhere(ctx: click.Context, name: str, where: str) -> click.Command:
    """Load a command of another package, or say why it cannot be loaded."""
    try:
        return make_command(load_function(load_plugin(where)), name)
    except Exception as error:
        ctx.fail(f"{name} cannot be loaded from {where}: {error}")


def _load(name: str) -> click.Command:
    """A command, or a group of them, from its file."""
    module = importlib.import_module(f"crowdstream.cli.{name}")
    if name not in PARTS:
        return make_command(getattr(module, name), name)
    group = click.Group(name, help=COMMANDS[name])
    for part in PARTS[name]:
        group.add_command(make_command(getattr(module, PART_NAMES.get(part, part)), part))
    return group


def _print_version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked:
        from crowdstream.cli.version import version

        version()
        ctx.exit()


def _show_completion(ctx: click.Context, _param: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        from click.shell_completion import get_completion_class

        kind = get_completion_class(shell)
        assert kind is not None
        click.echo(kind(ctx.command, {}, "crowdstream", "_CROWDSTREAM_COMPLETE").source())
        ctx.exit()


@click.group(name="crowdstream", cls=LazyCommands)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.option(
    "--show-completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    metavar="SHELL",
    expose_value=False,
    is_eager=True,
    callback=_show_completion,
    help="Print what makes bash, zsh or fish complete commands and options, for its start file.",
)
def app() -> None:
    """Turn many imperfect labels into one decision per task.

    Labels come from people, models or LLM judges: rows of task, worker and label. crowdstream
    estimates how often each worker errs, decides every task with a confidence, and reports every
    worker's error rate. It needs no correct answers; a few help.

    \b
    Start here:
      crowdstream demo                            what it does, in five seconds
      crowdstream run labels.csv -o decisions.csv --workers workers.csv
      crowdstream run --help                      every command has examples

    The environment variable CROWDSTREAM_THREADS limits the threads that a command works in; without
    it, they are as many as the cores that the machine or the container allows.
    """


def main() -> None:
    """Run a command."""
    open_standard()
    try:
        if THREADS_VARIABLE in os.environ:
            from crowdstream.parallel import limit_libraries

            limit_libraries()
        # Products of matrices are small here: OpenBLAS's threads would only wait, and spin.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        app(prog_name="crowdstream")
    except (CrowdstreamError, OSError) as error:  # such as help that could not be printed
        tell_mistake(error)
        sys.exit(USAGE)


def entry() -> None:
    """`main` for the shell: exits at once, without first freeing gigabytes of tables."""
    code: object = 0
    # Modules are not garbage: to look for some while they load took a twentieth of a small run.
    gc.set_threshold(GARBAGE)
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
    for stream_ in (sys.stdout, sys.stderr):  # either is None if it was closed
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream_.flush()
    os._exit(code if isinstance(code, int) else 0)
