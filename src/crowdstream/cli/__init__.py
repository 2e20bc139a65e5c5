"""The command line: a file in, decisions out. One file a command; heavy imports inside them."""

from __future__ import annotations

import os
import sys

import typer

from crowdstream.cli import labellers, merge, run, simulate, stream, version
from crowdstream.errors import CrowdstreamError

app = typer.Typer(
    name="crowdstream",
    help="A consensus engine for label streams: whom to trust, what is true, how sure.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(run.run)
app.command()(stream.stream)
app.command()(labellers.labellers)
app.command()(merge.merge)
app.command()(simulate.simulate)
app.command()(version.version)

USAGE = 2
"""Exit code of a user's mistake: wrong usage or input that cannot be read."""


def main() -> None:
    """Run a command; a user's mistake is one line on standard error, never a traceback."""
    try:
        app()
    except CrowdstreamError as error:
        print(f"crowdstream: {error}", file=sys.stderr)
        sys.exit(USAGE)
    except BrokenPipeError:
        # Whoever read our output has enough; leave no complaint at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print("crowdstream: interrupted", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        print(f"crowdstream: {error}", file=sys.stderr)
        sys.exit(USAGE)


def entry() -> None:
    """`main` for the shell: leaves at once, without taking gigabytes of tables apart first."""
    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass
    os._exit(code if isinstance(code, int) else 0)
