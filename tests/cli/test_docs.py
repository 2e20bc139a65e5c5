from __future__ import annotations

from pathlib import Path

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
