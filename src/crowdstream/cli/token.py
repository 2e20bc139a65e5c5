"""`crowdstream token`: who may use a server. Works while it runs, and while it does not."""

from __future__ import annotations

import datetime
from pathlib import Path

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.terminal import say
from crowdstream.plain_text import printable


class Folder(options.Group, panel="Where"):
    """Whose tokens."""

    HELP = """
    --data DIR  Folder of the server's data.
    """
    data: str = defaults.DATA_FOLDER


class New(options.Group, panel="The token"):
    """What a token allows."""

    HELP = """
    --scope SCOPE  read, write or admin (everything); may be given more than once.
    --project NAME  The only project that it is for.
    --note TEXT  What it is for, to know it by in the list.
    """
    scope: list[str]
    project: str | None = None
    note: str = ""


class Which(options.Group, panel="The token"):
    """A token by its id."""

    HELP = """
    id: ID  The token's id, as in the list: the eight letters and digits after cs_.
    """
    id: str


def create(folder: Folder, new: New) -> None:
    """Make a token and print it, this once: only a hash of it is kept.

    \b
    Examples:
      crowdstream token create --scope write --project moderation --note "labelling tool"
      crowdstream token create --scope read --scope write
    """
    from crowdstream.serve.tokens import TokenFile

    tokens = TokenFile(Path(folder.data))
    scopes = list(dict.fromkeys(new.scope))
    made, text = tokens.create(scopes, new.project, new.note)  # type: ignore[arg-type]
    print(text)
    where = "all projects" if made.project is None else f"project {made.project}"
    say(f"token {made.id}: {', '.join(made.scopes)} for {where}")


def list_all(folder: Folder) -> None:
    """List tokens: id, scopes, project, when they were made, note.

    \b
    Example:
      crowdstream token list --data /var/lib/crowdstream
    """
    from crowdstream.serve.tokens import TokenFile

    for token in TokenFile(Path(folder.data)).all():
        day = datetime.datetime.fromtimestamp(token.created, datetime.UTC).date()
        cells = (token.id, ",".join(token.scopes), token.project or "*", day, token.note)
        print("\t".join(printable(cell) for cell in cells))


def revoke(which: Which, folder: Folder) -> None:
    """Revoke a token: a server that runs refuses it within a second.

    \b
    Example:
      crowdstream token revoke 1f0c92ab
    """
    from crowdstream.serve.tokens import TokenFile

    token = TokenFile(Path(folder.data)).revoke(which.id.removeprefix("cs_")[:8])
    say(f"revoked {token.id}")
