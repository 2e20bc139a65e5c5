"""Commands that other packages bring: found by their entry points, loaded when they are called.

A package names them in the group ``crowdstream.commands``, each as a `Plugin` that is quick to
import. Knows nothing of what they do.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

GROUP = "crowdstream.commands"
"""Entry points of this group are commands."""

ELSEWHERE = dict.fromkeys(("compare", "paper", "policies"), "crowdstream-lab")
"""Commands of packages that are ours too: without the package, the line that installs it is
shown."""

ENDINGS = (".dist-info", ".egg-info")
"""Endings of the folders in which installed packages describe themselves."""


class Plugin(NamedTuple):
    """A command of another package.

    Parameters
    ----------
    summary
        The line of ``crowdstream --help``: the first of the function's docstring.
    function
        ``module:name`` of the function; `command.make_command` says how it is written.

    Examples
    --------
    >>> Plugin("Show how many there are.", "my_package.count:count").function
    'my_package.count:count'
    """

    summary: str
    function: str


def find_plugins() -> dict[str, str]:
    """Return ``module:name`` of the `Plugin` of each command of another package, by its name.

    `importlib.metadata` finds the same. It takes 20 ms to import and 6 ms to look through 175
    packages; this takes 2 ms, and all of ``crowdstream --help`` 55.
    """
    found: dict[str, str] = {}
    for text in _entry_points():
        for name, where in _section(text):
            found.setdefault(name, where)
    return found


def load_plugin(where: str) -> Plugin:
    """Import the description of a command."""
    found = _load(where)
    if not isinstance(found, Plugin):
        raise TypeError(f"{where} is no crowdstream.cli.plugins.Plugin")
    return found


def load_function(plugin: Plugin) -> Callable[..., None]:
    """Import the function of a command."""
    found = _load(plugin.function)
    if not callable(found):
        raise TypeError(f"{plugin.function} is no function")
    return found


def _load(where: str) -> object:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


def _entry_points() -> Iterator[str]:
    """Read the entry points of every installed package, those first that Python finds first."""
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:  # an archive, or nothing
            continue
        for name in names:
            if name.endswith(ENDINGS):
                try:
                    path = os.path.join(folder, name, "entry_points.txt")
                    with open(path, encoding="utf-8") as file:
                        yield file.read()
                except (OSError, UnicodeDecodeError):  # most packages have none
                    continue


def _section(text: str) -> Iterator[tuple[str, str]]:
    """List the names and values of our group.

    >>> list(_section("[other]\\na = b:c\\n[crowdstream.commands]\\ncount = my_package:COUNT\\n"))
    [('count', 'my_package:COUNT')]
    """
    ours = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            ours = line == f"[{GROUP}]"
        elif ours and "=" in line and not line.startswith(("#", ";")):
            name, _, where = line.partition("=")
            yield name.strip(), where.strip()
