"""docs/cli.md from the commands' own help: ``python -m crowdstream.cli.docs > docs/cli.md``."""

from __future__ import annotations

from typer.testing import CliRunner

INTRO = """# The command line

Made from `crowdstream COMMAND --help` by `python -m crowdstream.cli.docs`; do not edit.

Data goes to standard output or to the files named, talk to standard error. Exit codes: 0 all went
well, 1 a gate such as `--max-error` was not passed, 2 wrong usage or input that cannot be read.
A file is written aside and takes its name when it is whole. Shell completion:
`crowdstream --install-completion`.
"""


COMMANDS = (
    "run",
    "stream",
    "workers",
    "merge",
    "savings",
    "compare",
    "simulate",
    "paper",
    "version",
)


def markdown() -> str:
    """The page."""
    from crowdstream.cli import app

    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
    parts = [INTRO]
    for command in COMMANDS:
        told = runner.invoke(app, [command, "--help"], prog_name="crowdstream").output
        lines = [line.rstrip() for line in told.strip().splitlines()]
        parts.append(f"## crowdstream {command}\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(markdown(), end="")
