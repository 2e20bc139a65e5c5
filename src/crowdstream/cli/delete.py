"""`crowdstream delete`: a project on a server, or a task or worker of it, with all labels."""

from __future__ import annotations

import click

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.terminal import say
from crowdstream.errors import UsageError
from crowdstream.extras import need
from crowdstream.plain_text import counted

PATIENCE = 3600.0
"""Seconds that an answer may take: the labels that are left are learnt again."""


class What(options.Group, panel="What to delete"):
    """A project, or something in it."""

    HELP = """
    --project NAME  The project. It is deleted whole unless --task or --worker is given.
    --task NAME  Only this task with its labels.
    --worker NAME  Only this worker with all labels.
    --yes  Do not ask whether to go on.
    """
    project: str
    task: str | None = None
    worker: str | None = None
    yes: bool = False


class Where(options.Group, panel="The server"):
    """The server."""

    HELP = """
    --server URL  Where the server is.
    --token-file FILE  File with a token of scope admin. Without it: the environment variable
        CROWDSTREAM_TOKEN; without that, none.
    """
    server: str = f"http://{defaults.HOST}:{defaults.PORT}"
    token_file: str | None = None


def delete(what: What, where: Where) -> None:
    """Delete a project on a server, or a task or worker of it.

    All labels of it go. What the labels of a task or worker taught is unlearnt: decisions are then
    those of the labels that are left. Backups are not changed: docs/server.md says what goes when.

    \b
    Examples:
      crowdstream delete --project moderation --worker ann
      crowdstream delete --project moderation --yes
    """
    if what.task is not None and what.worker is not None:
        raise UsageError("--task and --worker cannot be combined")
    named = f"project {what.project}"
    if what.task is not None:
        named = f"task {what.task} of {named}"
    if what.worker is not None:
        named = f"worker {what.worker} of {named}"
    if not what.yes:
        click.confirm(f"Delete {named} for good?", abort=True, err=True)
    need("httpx", extra="serve")
    from crowdstream.cli.sync import read_token
    from crowdstream.client import Client

    token = read_token(where.token_file, "--token-file", "CROWDSTREAM_TOKEN", needed=False)
    with Client(where.server, token, what.project, timeout=PATIENCE) as client:
        if what.task is not None:
            found = client.delete_task(what.task)
        elif what.worker is not None:
            found = client.delete_worker(what.worker)
        else:
            found = client.delete()
    say(f"deleted {named}: {counted(found.deleted, 'label')}")
