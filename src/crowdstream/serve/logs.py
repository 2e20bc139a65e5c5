"""Lines of the log: text for people, JSON for machines. Names in them are escaped."""

from __future__ import annotations

import datetime
import logging
import sys
from typing import Literal

import msgspec

from crowdstream.plain_text import printable

Form = Literal["text", "json"]
FORMS: tuple[Form, ...] = ("text", "json")
LEVELS: tuple[str, ...] = ("debug", "info", "warning", "error")

LOGGER = "crowdstream"
ACCESS = "crowdstream.access"


class Lines(logging.Formatter):
    """Time, level, who says it, what it says, and its fields.

    Parameters
    ----------
    form
        ``text`` or ``json``.
    """

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return a line; a traceback goes on below it, or is in the JSON."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields: dict[str, object] = getattr(record, "fields", {})
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        if self.form == "json":
            given = {"time": time, "level": record.levelname.lower(), "logger": record.name,
                     "message": printable(record.getMessage())} | {
                name: printable(value) if isinstance(value, str) else value
                for name, value in fields.items()
            }  # fmt: skip
            return msgspec.json.encode(given | ({"trace": trace} if trace else {})).decode()
        more = "".join(f" {name}={_word(value)}" for name, value in fields.items())
        line = f"{time} {record.levelname} {record.name} {printable(record.getMessage())}{more}"
        return f"{line}\n{trace}" if trace else line


def _word(value: object) -> str:
    text = printable(value)
    return text if text and " " not in text and '"' not in text else msgspec.json.encode(
        text
    ).decode()  # fmt: skip


def set_up(form: Form, level: str, access: bool) -> None:
    """Write the log to standard error.

    Parameters
    ----------
    form
        ``text`` or ``json``.
    level
        From which level on.
    access
        Whether every request has a line.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(form))
    logging.basicConfig(handlers=[handler], force=True, level=logging.WARNING)
    logging.getLogger(LOGGER).setLevel(level.upper())
    if not access:
        logging.getLogger(ACCESS).setLevel(logging.WARNING)
    elif level in ("debug", "info"):
        logging.getLogger(ACCESS).setLevel(logging.INFO)
