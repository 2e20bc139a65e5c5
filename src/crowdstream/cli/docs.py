"""docs/cli.md from the commands' own help: ``python -m crowdstream.cli.docs > docs/cli.md``."""

from __future__ import annotations

from click.testing import CliRunner

from crowdstream.cli.plugins import ELSEWHERE, find_plugins

INTRO = """# The command line

Made from `crowdstream COMMAND --help-all` by `python -m crowdstream.cli.docs`; do not edit.

Data goes to standard output or to the files you name, messages to standard error. Exit codes: 0 all
went well, 1 a check such as `--max-error` failed, data are damaged (`check`) or decisions could not
be delivered (a state keeps them), 2 wrong usage or input that cannot be read, 3 cannot be told yet
(`gate`), 130 interrupted, 141 the reader of a pipe left before all was written. Files are
written under a temporary name and
take their own when complete.
`compare`, `paper` and `policies` come with `pip install crowdstream-lab`.
Shell completion: `crowdstream --show-completion bash >> ~/.bashrc` (or zsh, fish). The fields of
`--json`: `crowdstream.cli.json_output`.
"""

COMMANDS: tuple[str, ...] = (
    "demo",
    "run",
    "stream",
    "serve",
    "token create",
    "token list",
    "token revoke",
    "backup",
    "check",
    "repair",
    "delete",
    "export label-studio",
    "export mturk",
    "export ground-truth",
    "export crowd-kit",
    "sync label-studio",
    "sync argilla",
    "workers",
    "report",
    "merge",
    "jury",
    "agree",
    "judges",
    "rate",
    "gate",
    "drift",
    "preferences",
    "savings",
    "gold plan",
    "gold check",
    "simulate",
    "spark run",
    "version",
    *sorted(ELSEWHERE),
)


def markdown() -> str:
    """The page; it has the commands of crowdstream-lab too, so that must be there."""
    from crowdstream.cli import app

    assert set(ELSEWHERE) <= set(find_plugins()), "pip install crowdstream-lab"

    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
    parts = [INTRO]
    for command in ("", *COMMANDS):
        found = runner.invoke(app, [*command.split(), "--help-all"], prog_name="crowdstream")
        if found.exit_code:  # all of its options are in --help
            found = runner.invoke(app, [*command.split(), "--help"], prog_name="crowdstream")
        shown = found.output
        lines = [line.rstrip() for line in shown.strip().splitlines()]
        title = f"## crowdstream {command}".rstrip()
        parts.append(f"{title}\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(markdown(), end="")
