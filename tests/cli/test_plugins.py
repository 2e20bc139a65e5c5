"""Commands of other packages: found where Python finds packages, and missed in words."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from crowdstream.cli import COMMANDS, app
from crowdstream.cli.plugins import ELSEWHERE, GROUP, find_plugins, load_function, load_plugin
from tests.cli.tool import call

COUNT = '''"""A package with a command."""
from crowdstream.cli.extension import Plugin, options

COUNT = Plugin("Count to a number.", "counting:count")

class Until(options.Group, panel="Options"):
    """How far."""
    HELP = """
    --to NUMBER  The last number.
    """
    to: int = 3

def count(given: Until) -> None:
    """Count to a number."""
    print(*range(1, given.to + 1))
'''


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where Python looks for packages first."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(app, "commands", {})
    monkeypatch.delitem(sys.modules, "counting", raising=False)
    return tmp_path


def install(folder: Path, entries: str, *, kind: str = "dist-info", source: str = COUNT) -> None:
    (folder / "counting.py").write_text(source)
    (folder / f"counting-1.{kind}").mkdir()
    (folder / f"counting-1.{kind}" / "entry_points.txt").write_text(entries)
    (folder / f"counting-1.{kind}" / "METADATA").write_text("Name: counting\nVersion: 1\n")


def test_it_finds_what_importlib_metadata_finds() -> None:
    theirs = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    assert find_plugins() == theirs
    assert set(theirs) >= set(ELSEWHERE), "pip install --editable ./lab"


@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
def test_an_installed_package_adds_its_command(packages: Path, kind: str) -> None:
    install(packages, f"[other]\nx = y:z\n\n[{GROUP}]\n# ours\ncount = counting:COUNT\n", kind=kind)
    assert call("count", "--to", "4").out == "1 2 3 4\n"
    assert "Count to a number." in call("--help").out
    assert call("count", "--to", "four").code == 2


def test_a_command_of_the_core_cannot_be_replaced(packages: Path) -> None:
    install(packages, f"[{GROUP}]\nversion = counting:COUNT\n")
    assert "1 2 3" not in call("version").out
    assert call("--help").out.count("\n  version ") == 1


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("counting:NOTHING", "has no attribute 'NOTHING'"),
        ("nowhere:COUNT", "No module named 'nowhere'"),
        ("counting:count", "no crowdstream.cli.plugins.Plugin"),
    ],
)
def test_a_broken_package_breaks_its_own_command_only(
    packages: Path, entry: str, words: str
) -> None:
    install(packages, f"[{GROUP}]\ncount = {entry}\n")
    shown = " ".join(call("--help").out.split())
    assert "(cannot be loaded: " in shown
    assert words in shown
    assert call("version").code == 0
    told = call("count")
    assert told.code == 2
    assert f"count cannot be loaded from {entry}" in told.err


def test_entry_points_that_are_no_text_are_left_out(packages: Path) -> None:
    install(packages, "")
    (packages / "counting-1.dist-info" / "entry_points.txt").write_bytes(b"[\xff\xfe")
    assert "count" not in find_plugins()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_without_the_lab_its_commands_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("crowdstream.cli.find_plugins", dict)
    monkeypatch.setattr(app, "commands", {})
    told = call(name, "--quick", "-o", "anywhere")
    assert (told.code, told.out) == (2, "")
    said = f"{name} is a command of crowdstream-lab: pip install crowdstream-lab"
    assert told.err.endswith(f"Error: {said}\n")
    assert name not in call("--help").out
    assert f"Did you mean {name!r}?" in call(name[:-1]).err, "by its name, even if misspelt"


@pytest.mark.parametrize("name", ELSEWHERE)
def test_help_says_the_first_sentence_of_each_command_of_the_lab(name: str) -> None:
    plugin = load_plugin(find_plugins()[name])
    assert (load_function(plugin).__doc__ or "").partition("\n")[0] == plugin.summary


def test_the_lab_has_the_commands_that_the_core_knows_of() -> None:
    commands = importlib.import_module("crowdstream_lab.commands")
    named = {name.lower() for name in vars(commands) if name.isupper()}
    assert named == set(ELSEWHERE)
    assert not named & set(COMMANDS)


def test_a_command_of_the_core_looks_for_no_other() -> None:
    code = (
        "import sys; from crowdstream import cli; "
        "cli.find_plugins = lambda: sys.exit('looked'); "
        "cli.app(['version'], standalone_mode=False)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_imports_neither_the_commands_nor_importlib_metadata() -> None:
    code = (
        "import sys; from crowdstream.cli import app; app(['--help'], standalone_mode=False); "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "compare" in done.stdout
    heavy = {"importlib.metadata", "crowdstream_lab.commands.paper", "numpy", "polars"}
    assert not loaded & heavy


def test_the_shell_completes_the_commands_of_the_lab() -> None:
    code = "from crowdstream.cli import main; main()"
    words = {"_CROWDSTREAM_COMPLETE": "bash_complete", "COMP_WORDS": "crowdstream po"}
    env = {**os.environ, **words, "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )
    assert done.stdout == "plain,policies\n"
