"""`crowdstream repair`: go on with what is intact of a server's data."""

from __future__ import annotations

from pathlib import Path

from crowdstream.cli import options
from crowdstream.cli.terminal import say
from crowdstream.plain_text import printable


class Folders(options.Group, panel="Where"):
    """Data folder, and a backup of it."""

    HELP = """
    data: DIR  The server's folder. The server has to be stopped.
    --backup DIR  A copy that crowdstream backup made: what is damaged comes from it, as far as it
        has it.
    """
    data: str
    backup: str | None = None


def repair(folders: Folders) -> None:
    """Go on with what is intact of a server's data.

    What was there is copied aside first, and what is lost is said. Records that are damaged come
    from the backup if it has them. Else a project goes back to before the damage, unless a
    snapshot has what came after it.

    \b
    Examples:
      crowdstream repair /var/lib/crowdstream
      crowdstream repair /var/lib/crowdstream --backup /backups/monday
    """
    from crowdstream.serve.repairing import repair as mend

    backup = None if folders.backup is None else Path(folders.backup)
    for text in mend(Path(folders.data), backup):
        print(printable(text))
    say("repaired; crowdstream check looks again")
