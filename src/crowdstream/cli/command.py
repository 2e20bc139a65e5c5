"""From a function to a command: options in groups, help by group, mistakes in one line.

Knows typer and nothing of labels.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from typing import Annotated, Any, get_type_hints

from typer.core import TyperCommand

from crowdstream.cli.options import entries
from crowdstream.cli.terminal import LINE_LENGTH, printable
from crowdstream.errors import CrowdstreamError
from crowdstream.plain_text import shortened

USAGE = 2
"""Exit code of a user's mistake: wrong usage or input that cannot be read."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""


CLOSED = f"[Errno {errno.EBADF}] {os.strerror(errno.EBADF)}"
"""What the operating system says of a standard stream that is closed (see `open_standard`)."""


def open_standard() -> None:
    """Put something in the place of standard streams that are closed.

    Else the next file opened takes their numbers, and what is said goes into it. Reading from the
    new input and writing to the new output fail as on a closed one; what is said is dropped.
    """
    ways = (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_RDWR))
    for number, (name, mode, flags) in enumerate(ways):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, flags)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


class GroupedHelp(TyperCommand):
    """A command whose help lists its options under the headings that `options` gives them."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments by their names alone: ``FILE...``, not ``{FILE}...``."""
        return [piece.strip("{}").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then each group of options, ``--help`` last."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            if param.param_type_name == "argument":
                record = (str(param.metavar or param.name), record[1])
                sections["Arguments"].append(record)
            else:
                panel = getattr(param, "rich_help_panel", None) or "Other"
                sections.setdefault(panel, []).append(record)
        names = [record[0] for records in sections.values() for record in records]
        widest = max(len(name) for name in names)
        for title, records in sections.items():
            if not records:
                continue
            with formatter.section(title):
                # All groups get the same columns: pad one name to the width of the widest.
                records[0] = (records[0][0].ljust(widest), records[0][1])
                formatter.write_dl(records)


def make_command(function: Callable[..., None]) -> Callable[..., None]:
    """A function as typer takes it: groups of options taken apart, mistakes in one line.

    Every parameter is a group of `options`: typer is given one parameter per field of it, the
    function the group. So an option that several commands have is declared once.

    Its docstring is the command's help.

    >>> import inspect
    >>> from crowdstream.cli.options import Columns
    >>> def show(columns: Columns) -> None:
    ...     print(columns.task)
    >>> command = make_command(show)
    >>> list(inspect.signature(command).parameters)
    ['task', 'worker', 'label']
    >>> command(task="item", worker=None, label=None)
    item
    """
    groups: dict[str, Any] = get_type_hints(function)
    groups.pop("return")
    parameters = [each for group in groups.values() for each in _parameters(group)]

    @functools.wraps(function)
    def command(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
            for name, kind in groups.items()
        }
        with _mistakes_in_one_line():
            function(**made)
            sys.stdout.flush()

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _parameters(group: Any) -> list[inspect.Parameter]:
    """One parameter per field of a group, as typer reads them."""
    hints = get_type_hints(group)
    infos = {name: info for kind in group.__mro__ for name, info in entries(kind)}
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default if field.default is not MISSING else inspect.Parameter.empty,
            annotation=Annotated[hints[field.name], infos[field.name]],
        )
        for field in dataclasses.fields(group)
    ]


@contextlib.contextmanager
def _mistakes_in_one_line() -> Iterator[None]:
    """A user's mistake is one line on standard error and exit code 2, never a traceback."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except KeyboardInterrupt:
            print("crowdstream: interrupted", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except (CrowdstreamError, OSError) as error:
            if "Broken pipe" in str(error):
                # The reader of our output has closed it; leave no complaint at exit either.
                with contextlib.suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                sys.exit(0)
            tell_mistake(error)
            sys.exit(USAGE)


def tell_mistake(error: Exception) -> None:
    """A mistake in one line; one that came of a closed standard output says so."""
    message = str(error)
    if isinstance(error, OSError) and os.strerror(errno.EBADF) in message:
        message = f"standard output: expected an open one, found {CLOSED}"
    message = printable(" ".join(message.replace(CLOSED, "it closed").split()))
    print(f"crowdstream: {shortened(message, LINE_LENGTH)}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as users read it, without the line of code it came from."""
    print(f"note: {shortened(printable(message), LINE_LENGTH)}", file=sys.stderr)
