"""The pieces of the command line for commands of other packages.

A command is a function whose parameters are groups of `options`, and a `Plugin` that an entry point
of the group ``crowdstream.commands`` names; what it prints, it prints with the pieces here.

>>> class Greeting(options.Group, panel="Options"):
...     HELP = '''
...     --name NAME  Who is greeted.
...     '''
...     name: str = "you"
>>> def greet(given: Greeting) -> None:
...     print(f"hello {given.name}")
>>> make_command(greet, "greet").main(["--name", "ann"], standalone_mode=False)
hello ann
"""

from crowdstream.cli import options
from crowdstream.cli.command import make_command
from crowdstream.cli.json_output import print_json
from crowdstream.cli.labelled import Labelled, check_no_hints, read_labelled
from crowdstream.cli.output import check_apart, check_output, make_folder
from crowdstream.cli.plugins import Plugin
from crowdstream.cli.simulate import Skills, write_simulated
from crowdstream.cli.terminal import (
    ProgressBar,
    add_row,
    console,
    make_table,
    say,
    say_paragraph,
)
from crowdstream.labels.meaning.interpreting import ReadAs

__all__ = [
    "Labelled",
    "Plugin",
    "ProgressBar",
    "ReadAs",
    "Skills",
    "add_row",
    "check_apart",
    "check_no_hints",
    "check_output",
    "console",
    "make_command",
    "make_folder",
    "make_table",
    "options",
    "print_json",
    "read_labelled",
    "say",
    "say_paragraph",
    "write_simulated",
]
