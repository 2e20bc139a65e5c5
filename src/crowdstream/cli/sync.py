"""`crowdstream sync`: what webhooks missed, and decisions back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.stream_input import seconds
from crowdstream.cli.terminal import ProgressBar, say
from crowdstream.errors import CrowdstreamError, InputError, UsageError
from crowdstream.extras import need
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    from crowdstream.sync.label_studio import LabelStudio
    from crowdstream.sync.syncing import Outcome, ProjectClient
    from crowdstream.sync.tool_api import Tool

SHOWN = 5
"""Refused answers that are shown."""


class From(options.Group, panel="The tool"):
    """The annotation tool."""

    HELP = """
    url: URL  Address of the tool's project or dataset, as in the browser:
        http://localhost:8080/projects/3 or http://localhost:6900/dataset/<id>.
    --tool-token-file FILE  File with the tool's token. Without it: the environment variable
        LABEL_STUDIO_API_KEY or ARGILLA_API_KEY.
    --question NAME  Which of the tool's questions, if it asks several; the project's setting
        without it.
    """
    url: str
    tool_token_file: str | None = None
    question: str | None = None


class To(options.Group, panel="The server"):
    """The project on a server."""

    HELP = """
    --project NAME  The project that answers go to.
    --server URL  Where the server is.
    --token-file FILE  File with a token of scopes read and write. Without it: the environment
        variable CROWDSTREAM_TOKEN; without that, none.
    """
    project: str
    server: str = f"http://{defaults.HOST}:{defaults.PORT}"
    token_file: str | None = None


class How(options.Quiet, panel="What to do"):
    """Options of how often to sync, and whether at all."""

    HELP = """
    --dry-run  Only say what would be sent.
    --every TIME  Do it again after this long, until interrupted: 5m, 1h.
    """
    dry_run: bool = False
    every: str | None = None


class Pushing(How):
    """Options of a sync that can write decisions back."""

    HELP = """
    --push  Write the decisions on closed tasks back as predictions of the model crowdstream, their
        confidence as score.
    """
    push: bool = False


def label_studio(source: From, to: To, how: Pushing) -> None:
    """Bring a project up to date with Label Studio.

    Reads all annotations, compares them with what the server knows, and sends what is missing or
    changed; annotations that are gone are taken back. Webhooks bring annotations at once, and Label
    Studio sends each only once: this finds those that were lost.

    \b
    Examples:
      crowdstream sync label-studio http://localhost:8080/projects/3 --project moderation
      crowdstream sync label-studio https://labels.example.org/projects/3 --project moderation \\
        --token-file write.token --tool-token-file label-studio.token --every 5m --push
    """
    need("httpx", extra="serve")
    from crowdstream.sync.label_studio import LabelStudio

    token = read_token(source.tool_token_file, "--tool-token-file", "LABEL_STUDIO_API_KEY")
    tool = LabelStudio(source.url, token)

    def after(client: ProjectClient, outcome: Outcome) -> None:
        if how.push:
            _push(tool, client, outcome, how)

    with closing(tool.api):
        _again(lambda: _once(tool, source, to, how, after), how)


def argilla(source: From, to: To, how: How) -> None:
    """Bring a project up to date with Argilla.

    Reads all responses, compares them with what the server knows, and sends what is missing or
    changed; responses that are gone are taken back.

    \b
    Example:
      crowdstream sync argilla http://localhost:6900/dataset/1c9ab2 --project moderation --every 1h
    """
    need("httpx", extra="serve")
    from crowdstream.sync.argilla import Argilla

    token = read_token(source.tool_token_file, "--tool-token-file", "ARGILLA_API_KEY")
    tool = Argilla(source.url, token)
    with closing(tool.api):
        _again(lambda: _once(tool, source, to, how, lambda client, outcome: None), how)


def _again(once: Callable[[], bool], how: How) -> None:
    """Once, or again and again: then a failure is said and the next time may go well."""
    if how.every is None:
        if not once():
            raise click.exceptions.Exit(1)
        return
    pause = seconds(how.every, "--every")
    while True:
        try:
            once()
        except CrowdstreamError as error:
            say(f"not this time: {error}", "yellow")
        time.sleep(pause)


def _once(
    tool: Tool, source: From, to: To, how: How, after: Callable[[ProjectClient, Outcome], None]
) -> bool:
    """One sync; whether everything could be taken."""
    from crowdstream.sync.syncing import ProjectClient, sync

    token = read_token(to.token_file, "--token-file", "CROWDSTREAM_TOKEN", needed=False)
    with (
        ProjectClient(to.server, token, to.project) as client,
        ProgressBar("sync", None, silent=how.quiet) as bar,
    ):
        outcome = sync(
            tool, client, question=source.question, dry_run=how.dry_run,
            progress=lambda what, number: bar.update(what, note=f"{number:,}" if number else ""),
        )  # fmt: skip
        if not how.quiet:
            _report(outcome, to.project, how.dry_run)
        for answer, why in outcome.difference.refused[:SHOWN]:
            say(f"not taken: {tool.name} {answer.id}: {why}", "yellow")
        if left := outcome.difference.refused[SHOWN:]:
            say(f"not taken: {counted(len(left), 'more answer')}", "yellow")
        after(client, outcome)
    return not outcome.difference.refused


def _report(outcome: Outcome, project: str, dry_run: bool) -> None:
    found, told = outcome.difference, outcome.told
    if not (found.new or found.changed or found.gone):
        say(f"{project}: nothing has changed ({counted(found.same, 'answer')})")
        return
    parts = (f"{len(found.new):,} new", f"{len(found.changed):,} changed",
             f"{len(found.gone):,} gone", f"{found.same:,} as they were")  # fmt: skip
    say(f"{project}: {'would send: ' if dry_run else ''}{', '.join(parts)}")
    if told.late:
        say(f"{told.late:,} came after their task had closed and change nothing")
    if told.stale:
        say(f"{told.stale:,} were overtaken by a webhook")


def _push(tool: LabelStudio, client: ProjectClient, outcome: Outcome, how: Pushing) -> None:
    decisions = [one for one in client.decided() if one.label is not None]
    if how.dry_run:
        say(f"would push {counted(len(decisions), 'decision')}")
        return
    pushed = tool.push(decisions, outcome.question)
    if not how.quiet:
        say(f"predictions: {pushed.made:,} made, {pushed.changed:,} changed, "
            f"{pushed.same:,} as they were")  # fmt: skip


def read_token(file: str | None, option: str, variable: str, *, needed: bool = True) -> str:
    """A token from a file or the environment: on a command line others could read it."""
    if file is not None:
        found = Path(file).read_text("utf-8").strip()
    else:
        found = os.environ.get(variable, "").strip()
    if not found and (needed or file is not None):
        raise UsageError(f"{option} or {variable} has to hold a token")
    if not found.isascii() or not found.isprintable():
        raise InputError(option, "a token: one line of letters and digits", "something else")
    return found
