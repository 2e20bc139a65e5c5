"""`crowdstream token`: who may use a server. Works while it runs, and while it does not."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.stream_input import seconds
from crowdstream.cli.terminal import say
from crowdstream.plain_text import printable

if TYPE_CHECKING:
    from crowdstream.serve.tokens import Token


class Folder(options.Group, panel="Where"):
    """Whose tokens."""

    HELP = """
    --data DIR  Folder of the server's data.
    """
    data: str = defaults.DATA_FOLDER


class New(options.Group, panel="The token"):
    """What a token allows."""

    HELP = """
    --scope SCOPE  read, label (post labels, nothing else), write (gold, closing and the like too)
        or admin (everything); may be given more than once.
    --project NAME  The only project that it is for.
    --note TEXT  What it is for, to know it by in the list.
    --expires TIME  After which it ends, such as 90d or 12h; without it never.
    """
    scope: list[str]
    project: str | None = None
    note: str = ""
    expires: str | None = None


class Which(options.Group, panel="The token"):
    """A token by its id."""

    HELP = """
    id: ID  The token's id, as in the list: the eight letters and digits after cs_.
    """
    id: str


class Grace(options.Group, panel="The token"):
    """Options of how long the old token lasts."""

    HELP = """
    --grace TIME  How long the old token is still good.
    """
    grace: str = "1h"


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
    lasts = None if new.expires is None else seconds(new.expires, "--expires")
    ends = None if lasts is None else time.time() + lasts
    made, text = tokens.create(scopes, new.project, new.note, ends)  # type: ignore[arg-type]
    _note(folder, "token create", made)
    print(text)
    where = "all projects" if made.project is None else f"project {made.project}"
    say(f"token {made.id}: {', '.join(made.scopes)} for {where}{_until(made)}")


def rotate(which: Which, folder: Folder, grace: Grace) -> None:
    """Make a token that allows what another one does, which then ends.

    \b
    Example:
      crowdstream token rotate 1f0c92ab --grace 1h
    """
    from crowdstream.serve.tokens import TokenFile

    lasts = seconds(grace.grace, "--grace")
    token_id = which.id.removeprefix("cs_")[:8]
    made, text = TokenFile(Path(folder.data)).rotate(token_id, lasts)
    _note(folder, f"token rotate {token_id}", made)
    print(text)
    say(f"token {made.id} replaces {token_id}, which ends in {grace.grace}{_until(made)}")


def list_all(folder: Folder) -> None:
    """List tokens: id, scopes, project, when they were made, note, when they end.

    \b
    Example:
      crowdstream token list --data /var/lib/crowdstream
    """
    from crowdstream.serve.tokens import TokenFile

    for token in TokenFile(Path(folder.data)).all():
        ends = "never" if token.expires is None else _minute(token.expires)
        day = _minute(token.created)[:10]
        cells = (token.id, ",".join(token.scopes), token.project or "*", day, token.note, ends)
        print("\t".join(printable(cell) for cell in cells))


def revoke(which: Which, folder: Folder) -> None:
    """Revoke a token: a server that runs refuses it within a second.

    \b
    Example:
      crowdstream token revoke 1f0c92ab
    """
    from crowdstream.serve.tokens import TokenFile

    token = TokenFile(Path(folder.data)).revoke(which.id.removeprefix("cs_")[:8])
    _note(folder, "token revoke", token)
    say(f"revoked {token.id}")


def _minute(at: float) -> str:
    """A time, to the minute."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(" ", "minutes")[:16]


def _until(token: Token) -> str:
    return "" if token.expires is None else f", until {_minute(token.expires)} UTC"


def _note(folder: Folder, what: str, token: Token) -> None:
    """Add what was done to the server's audit trail."""
    import msgspec

    from crowdstream.serve.audit import Audit

    said = {"id": token.id, "scopes": token.scopes, "expires": token.expires, "note": token.note}
    audit = Audit(Path(folder.data))
    audit.note("command line", what, project=token.project or "", sent=msgspec.json.encode(said))
