"""The audit trail: who changed tokens, projects and truths. A file to which lines are only added.

Lines are JSON; names in them are escaped, and no secret of a token is ever in one.
"""

from __future__ import annotations

import datetime
import logging
import os
from pathlib import Path

import msgspec

FILE = "audit.jsonl"

MOST_SAID = 4096
"""Bytes of what was sent that a line has: settings and truths fit, lists of names need not."""

log = logging.getLogger("crowdstream.serve")


class Entry(msgspec.Struct, omit_defaults=True):
    """A line: ``who`` is a token's id, or ``command line``; ``sent`` the body of the request."""

    at: str
    who: str
    what: str
    project: str = ""
    client: str = ""
    sent: msgspec.Raw = msgspec.Raw()


class Audit:
    """The trail of a data folder.

    Parameters
    ----------
    folder
        Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def note(
        self, who: str, what: str, *, project: str = "", client: str = "", sent: bytes = b""
    ) -> None:
        """Add a line; what cannot be written is in the log.

        Parameters
        ----------
        who
            A token's id.
        what
            What was done.
        project
            To which project.
        client
            From which address.
        sent
            JSON that says more.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        entry = Entry(now, who, what, project, client)
        if 0 < len(sent) <= MOST_SAID:
            entry.sent = msgspec.Raw(_one_line(sent))
        # Opened each time, so that it can be moved away while the server runs.
        try:
            way = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(way, msgspec.json.encode(entry) + b"\n")
            finally:
                os.close(way)
        except OSError as error:
            log.error("the audit trail cannot be written: %s", error)


def _one_line(sent: bytes) -> bytes:
    """Return JSON on one line, with characters that change how a line is shown as escapes."""
    text = msgspec.json.format(sent, indent=-1).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else _escape(c) for c in text).encode()


def _escape(character: str) -> str:
    """Return a character as JSON's escape; beyond 16 bits JSON takes two."""
    found = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{found[i : i + 2].hex()}" for i in range(0, len(found), 2))
