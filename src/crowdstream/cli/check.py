"""`crowdstream check`: look for damage in a server's data."""

from __future__ import annotations

import sys
from pathlib import Path

from crowdstream.cli import options
from crowdstream.cli.terminal import say
from crowdstream.plain_text import printable

DAMAGED = 1
"""Exit code if something is damaged."""


class Folder(options.Group, panel="Where"):
    """Data folder."""

    HELP = """
    data: DIR  The server's folder.
    """
    data: str


def check(folder: Folder) -> None:
    """Look for damage in a server's data.

    Also while the server runs. Reads every record and its checksum, the pages of the database,
    tokens and keys, and changes nothing. A line for each damage says which project, table and
    row, or file. Exit code 1 if something is damaged.

    \b
    Example:
      crowdstream check /var/lib/crowdstream
    """
    from crowdstream.serve.checking import check as look

    number = 0
    for damage in look(Path(folder.data)):
        print(printable(damage))
        number += 1
    if number:
        say(f"{number} damaged; crowdstream repair {folder.data} goes on with what is intact")
        sys.exit(DAMAGED)
    say("no damage found")
