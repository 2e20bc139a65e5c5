"""The command line: a file in, decisions out. One file a command; heavy imports inside them."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable

import typer

from crowdstream.cli import (
    compare,
    merge,
    paper,
    run,
    savings,
    simulate,
    stream,
    version,
    workers,
)
from crowdstream.errors import CrowdstreamError

app = typer.Typer(
    name="crowdstream",
    help="A consensus engine for label streams: whom to trust, what is true, how sure.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
USAGE = 2
"""Exit code of a user's mistake: wrong usage or input that cannot be read."""


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose user's mistakes are one line on standard error, never a traceback."""

    @functools.wraps(command)
    def run_guarded(*args: object, **kwargs: object) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except KeyboardInterrupt:
            print("crowdstream: interrupted", file=sys.stderr)
            sys.exit(130)
        except (CrowdstreamError, OSError) as error:
            if "Broken pipe" in str(error):
                # Whoever read our output has enough; leave no complaint at exit either.
                with contextlib.suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                sys.exit(0)
            told = " ".join(str(error).split()).encode("utf-8", "backslashreplace").decode()
            print(f"crowdstream: {told}", file=sys.stderr)
            sys.exit(USAGE)

    return run_guarded


for _command in (
    run.run,
    stream.stream,
    workers.workers,
    merge.merge,
    savings.savings,
    simulate.simulate,
    paper.paper,
    compare.compare,
    version.version,
):
    app.command()(guarded(_command))


def main() -> None:
    """Run a command."""
    app()


def entry() -> None:
    """`main` for the shell: leaves at once, without taking gigabytes of tables apart first."""
    if sys.argv[1:2] in (["run"], ["stream"]):
        # Linear algebra takes long to load, and these commands do not use it: neither SciPy's,
        # which Numba loads where it finds it, nor threads for NumPy's.
        sys.modules["scipy"] = None  # type: ignore[assignment]
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)
