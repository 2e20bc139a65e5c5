"""From a function to a command: options in groups, help by group, mistakes in one line.

Knows click and nothing of labels.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from typing import Any, get_args, get_origin, get_type_hints

import click

from crowdstream.cli.options import RARE, Entry, Group, entries
from crowdstream.cli.terminal import LINE_LENGTH
from crowdstream.errors import CrowdstreamError
from crowdstream.plain_text import printable, shortened

USAGE = 2
"""Exit code of a user's mistake: wrong usage or input that cannot be read."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""


READER_LEFT = 141
"""Exit code if the reader of our output left before all was written, as shells have it: 128 +
SIGPIPE. What was to be written afterwards (a state, a table of workers) is not there."""


CLOSED = f"[Errno {errno.EBADF}] {os.strerror(errno.EBADF)}"
"""Message of the operating system for a closed standard stream (see `open_standard`)."""


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


CONFIG = "config"
"""The option that names a file of settings. A command that has it takes environment variables too:
CROWDSTREAM_, the command, _ and the option."""


class Argument(click.Argument):
    """An argument that help says something of."""

    def __init__(self, names: list[str], *, text: str, **attrs: Any) -> None:
        super().__init__(names, **attrs)
        self.text = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Its placeholder and what it is for."""
        required = "  [required]" if self.required else ""
        return str(self.metavar), self.text + required

    def make_metavar(self, ctx: click.Context) -> str:
        """As usage shows it."""
        shown = str(self.metavar) if self.required else f"[{self.metavar}]"
        return f"{shown}..." if self.nargs == -1 else shown


class Option(click.Option):
    """An option with the heading of its group."""

    def __init__(self, names: list[str], *, panel: str, rare: bool, **attrs: Any) -> None:
        super().__init__(names, **attrs)
        self.panel, self.rare = panel, rare


EVERY = "crowdstream.help"
"""Key under which a context keeps whether help shows every option."""


def _show_help(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta[EVERY] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Command(click.Command):
    """A command whose help lists its options under the headings that `options` gives them.

    Options that few need are shown by ``--help-all`` alone.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All options, ``--help-all`` too where there is more than ``--help`` shows."""
        found = super().get_params(ctx)
        if any(getattr(param, "rare", False) for param in found):
            text = "Show every option and exit."
            every = click.Option(
                ["--help-all"], is_flag=True, is_eager=True, expose_value=False,
                callback=_show_help, help=text,
            )  # fmt: skip
            found.append(every)
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments first, then each group of options, ``--help`` last."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for param in self.get_params(ctx):
            hidden = getattr(param, "rare", False) and not ctx.meta.get(EVERY)
            record = None if hidden else param.get_help_record(ctx)
            if record is not None:
                panel = "Arguments" if isinstance(param, Argument) else "Other"
                sections.setdefault(getattr(param, "panel", panel), []).append(record)
        names = [record[0] for records in sections.values() for record in records]
        widest = max(len(name) for name in names)
        for title, records in sections.items():
            if not records:
                continue
            with formatter.section(title):
                # All groups get the same columns: pad one name to the width of the widest.
                records[0] = (records[0][0].ljust(widest), records[0][1])
                formatter.write_dl(records)


def make_command(function: Callable[..., None], name: str) -> Command:
    """A function as a command: groups of options taken apart, mistakes in one line.

    Every parameter is a group of `options`: the command has one option per field of it, the
    function is given the group. So an option that several commands have is declared once. The
    function's docstring is the command's help.

    >>> from crowdstream.cli.options import Columns
    >>> def show(columns: Columns) -> None:
    ...     print(columns.task)
    >>> make_command(show, "show").main(["--task", "item"], standalone_mode=False)
    item
    """
    groups: dict[str, Any] = get_type_hints(function)
    groups.pop("return")

    def command(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
            for name, kind in groups.items()
        }
        with _mistakes_in_one_line():
            function(**made)
            sys.stdout.flush()

    params = [each for group in groups.values() for each in _params(group)]
    settings = {}
    if any(each.name == CONFIG for each in params):
        settings["auto_envvar_prefix"] = f"CROWDSTREAM_{name.upper()}"
    return Command(
        name, callback=command, params=params, help=function.__doc__, context_settings=settings
    )


def _params(group: Any) -> list[click.Parameter]:
    """One option or argument per field of a group."""
    hints = get_type_hints(group)
    known = {entry.field: (entry, kind.PANEL) for kind in _kinds(group) for entry in entries(kind)}
    return [
        _param(*known[field.name], hints[field.name], field.default)
        for field in dataclasses.fields(group)
    ]


def _kinds(group: Any) -> Iterator[type[Group]]:
    return (kind for kind in group.__mro__ if issubclass(kind, Group))


def _param(entry: Entry, panel: str, hint: Any, default: Any) -> click.Parameter:
    """One option, or an argument if it has no flags."""
    kind = next(each for each in _alternatives(hint) if each is not types.NoneType)
    several = get_origin(kind) is list
    if several:
        (kind,) = get_args(kind)
    required, optional = default is MISSING, default is None
    given: dict[str, Any] = {"type": kind, "required": required, "metavar": entry.placeholder}
    if not required:
        given["default"] = default
    if several:  # click gives a tuple
        given["callback"] = lambda _ctx, _param, value: list(value) or (None if optional else [])
    if not entry.flags:
        nargs = -1 if several else 1
        return Argument([entry.field], text=entry.help, nargs=nargs, **given)
    if kind is bool:
        given |= {"is_flag": True, "type": None, "metavar": None}
    if entry.field == CONFIG:
        given |= {"is_eager": True, "callback": _read_config}
    shown = default not in (None, "", MISSING) and default is not False
    return Option(
        [*entry.flags, entry.field],
        panel=panel,
        rare=entry.field in RARE,
        help=entry.help,
        multiple=several,
        show_default=shown,
        **given,
    )


def _read_config(ctx: click.Context, _param: click.Parameter, path: str | None) -> str | None:
    """Take a file's settings for options that neither the command line nor a variable sets."""
    if path is None:
        return None
    import tomllib

    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror}", ctx) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} is not TOML: {error}", ctx) from None
    known = {str(each.name) for each in ctx.command.params} - {CONFIG}
    given = {name.replace("-", "_"): value for name, value in found.items()}
    for name, value in given.items():
        if name not in known:
            names = ", ".join(sorted(each.replace("_", "-") for each in known))
            raise click.UsageError(f"{path} sets {name!r}, but options are {names}", ctx)
        if isinstance(value, dict):
            raise click.UsageError(f"{path} has a table {name!r} where a value is expected", ctx)
    ctx.default_map = given
    return path


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the type itself."""
    return get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


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
            if _is_broken_pipe(error):
                # The reader of our output has closed it; leave no complaint at exit either.
                with contextlib.suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                sys.exit(READER_LEFT)
            tell_mistake(error)
            sys.exit(USAGE)


def _is_broken_pipe(error: Exception) -> bool:
    """Return True if the reader of our output left; polars says so in words alone.

    A file or a label may be called so too: those are in the message of another error.
    """
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    return error.errno in (errno.EPIPE, None) and "Broken pipe" in str(error)


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
