"""`crowdstream serve`: the server."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.stream_input import seconds
from crowdstream.cli.terminal import say
from crowdstream.extras import need
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.serve.limits import Limits

EXTRA = ("starlette", "uvicorn", "httptools", *(() if sys.platform == "win32" else ("uvloop",)))
"""Packages that a server needs; there is no uvloop for Windows."""


class Where(options.Group, panel="Where"):
    """The folder and the address."""

    HELP = """
    --data DIR  Folder of the data; made if it is not there. One server a folder.
    --host HOST  Address to listen at. Others than 127.0.0.1 can be reached from elsewhere: put a
        proxy with TLS before them.
    --port PORT  Port to listen at; 0: any that is free.
    --no-auth  Ask for no token. Only for a host that this machine alone reaches.
    --demo  Fill a project with a simulated crowd that keeps labelling, to look at; without --data
        in a folder that is gone afterwards.
    """
    data: str | None = None
    host: str = defaults.HOST
    port: int = defaults.PORT
    no_auth: bool = False
    demo: bool = False


class Keeping(options.Group, panel="Keeping"):
    """How long labels are kept."""

    HELP = """
    --keep-labels TIME  How long labels are kept on the disk, such as 90d, 12h or 0; without it for
        ever. With 0 only until their task has closed. Decisions are kept.
    """
    keep_labels: str | None = None


class Guarding(options.Group, panel="Limits"):
    """What is allowed."""

    HELP = """
    --max-body SIZE  Longest request, also when it is unpacked.
    --rate NUMBER  Requests a second of one token.
    --connections NUMBER  Connections at a time.
    --header-timeout TIME  In which a request's headers have to come.
    --body-timeout TIME  In which its body has to come.
    """
    max_body: str = f"{defaults.MAX_BODY // 10**6}MB"
    rate: float = defaults.RATE
    connections: int = defaults.CONNECTIONS
    header_timeout: str = f"{defaults.HEADER_SECONDS}s"
    body_timeout: str = f"{defaults.BODY_SECONDS}s"


def serve(where: Where, keeping: Keeping, guarding: Guarding) -> None:
    """Take labels over HTTP, decide at once, lose nothing.

    Labels come in, decisions go back in the same response; everything acknowledged is on the disk.
    The first start makes the folder and prints an admin token, which every request needs. The live
    page is at the address that is printed, the interface at /openapi.json.

    \b
    Examples:
      crowdstream serve --demo
      crowdstream serve --data /var/lib/crowdstream
      crowdstream token create --data /var/lib/crowdstream --scope write
    """
    need(*EXTRA, extra="serve")
    from crowdstream.serve.runner import Options, run

    limits = _limits(guarding)
    keep = _keep(keeping.keep_labels)
    check_number("--port", where.port, 0, 65535, whole=True)
    with contextlib.ExitStack() as held:
        folder = where.data or defaults.DATA_FOLDER
        if where.demo and where.data is None:
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="crowdstream-demo-"))
        given = Options(
            Path(folder), where.host, where.port, where.no_auth, keep, where.demo, limits
        )
        run(given, say)


def _keep(text: str | None) -> float | None:
    """Seconds that labels are kept; ``None``: for ever."""
    if text is None:
        return None
    return 0.0 if text.strip() == "0" else seconds(text, "--keep-labels")


def _limits(guarding: Guarding) -> Limits:
    from crowdstream.labels.readers.input_options import parse_size
    from crowdstream.serve.limits import Limits

    check_number("--rate", guarding.rate, 0.0, 1e9, open_low=True)
    check_number("--connections", guarding.connections, 1, 1_000_000, whole=True)
    return Limits(
        body=parse_size(guarding.max_body, "--max-body"),
        rate=guarding.rate,
        connections=guarding.connections,
        header_seconds=seconds(guarding.header_timeout, "--header-timeout"),
        body_seconds=seconds(guarding.body_timeout, "--body-timeout"),
    )
