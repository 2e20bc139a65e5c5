from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

from crowdstream.cli import COMMANDS, PART_NAMES, PARTS
from crowdstream.cli.docs import markdown

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_what_the_commands_say_of_themselves() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), (
        "python -m crowdstream.cli.docs > docs/cli.md"
    )


def test_every_command_gives_an_example() -> None:
    for section in markdown().split("\n## ")[2:]:
        name = section.partition("\n")[0]
        assert f"Example:\n    {name}" in section.replace("Examples:", "Example:") or (
            f"| {name} " in section
        ), name


def test_help_lists_every_command_by_its_own_first_sentence() -> None:
    """The list is made without loading the commands, so it could say something else."""
    for name, said in COMMANDS.items():
        module = importlib.import_module(f"crowdstream.cli.{name}")
        if name in PARTS:
            assert all(hasattr(module, PART_NAMES.get(part, part)) for part in PARTS[name])
        else:
            assert getattr(module, name).__doc__.partition("\n")[0] == said


def test_help_loads_no_command() -> None:
    code = (
        "import sys; from crowdstream.cli import app; "
        "app(['--help'], standalone_mode=False); "
        "print(*[m for m in sys.modules if m.startswith('crowdstream.cli.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stderr.split()}
    assert loaded & set(COMMANDS) == set()
