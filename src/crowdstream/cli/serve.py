"""`crowdstream serve`: the server."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.stream_input import seconds
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError
from crowdstream.extras import need
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.serve.limits import Limits

T = TypeVar("T", bound=str)

EXTRA = ("starlette", "httptools", *(() if sys.platform == "win32" else ("uvloop",)))
"""Packages that a server needs; there is no uvloop for Windows."""


class Where(options.Group, panel="Where"):
    """The folder and the address."""

    HELP = """
    --config FILE  A TOML file of settings, named like the options: port = 8750.
    --data DIR  Folder of the data; made if it is not there. One server a folder.
    --host HOST  Address to listen at. Others than 127.0.0.1 can be reached from elsewhere: put a
        proxy with TLS before them.
    --port PORT  Port to listen at; 0: any that is free.
    --no-auth  Ask for no token. Only for a host that this machine alone reaches.
    --demo  Fill a project with a simulated crowd that keeps labelling, to look at; without --data
        in a folder that is gone afterwards.
    """
    config: str | None = None
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
    --trusted-proxy ADDRESS  Address or network of a proxy whose X-Forwarded-For is believed, such
        as 127.0.0.1 or 10.0.0.0/8; may be given more than once.
    --header-timeout TIME  In which a request's headers have to come.
    --body-timeout TIME  In which its body has to come.
    """
    max_body: str = f"{defaults.MAX_BODY // 10**6}MB"
    rate: float = defaults.RATE
    connections: int = defaults.CONNECTIONS
    trusted_proxy: list[str] | None = None
    header_timeout: str = f"{defaults.HEADER_SECONDS}s"
    body_timeout: str = f"{defaults.BODY_SECONDS}s"


class Logging(options.Group, panel="Log"):
    """Text written to standard error."""

    HELP = """
    --log-format FORM  text or json.
    --log-level LEVEL  debug, info, warning or error.
    --access-log  Write a line for every request, not only for those that are refused or fail.
    """
    log_format: str = "text"
    log_level: str = "info"
    access_log: bool = False


def serve(where: Where, keeping: Keeping, guarding: Guarding, logging: Logging) -> None:
    """Take labels over HTTP, decide at once, lose nothing.

    Labels come in, decisions go back in the same response; everything acknowledged is on the disk.
    The first start makes the folder and prints an admin token, which every request needs. The live
    page is at the address that is printed, the interface at /openapi.json.

    Options may be set by environment variables too, such as CROWDSTREAM_SERVE_PORT=8750, and in a
    file (--config). The command line counts most, then the environment, then the file.

    \b
    Examples:
      crowdstream serve --demo
      crowdstream serve --data /var/lib/crowdstream
      crowdstream serve --config /etc/crowdstream.toml --trusted-proxy 127.0.0.1
      crowdstream token create --data /var/lib/crowdstream --scope write
    """
    need(*EXTRA, extra="serve")
    from crowdstream.serve import logs
    from crowdstream.serve.runner import Options, run

    form = one_of("--log-format", logging.log_format, logs.FORMS)
    level = one_of("--log-level", logging.log_level, logs.LEVELS)
    limits = _limits(guarding)
    keep = _keep(keeping.keep_labels)
    check_number("--port", where.port, 0, 65535, whole=True)
    with contextlib.ExitStack() as held:
        folder = where.data or defaults.DATA_FOLDER
        if where.demo and where.data is None:
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="crowdstream-demo-"))
        given = Options(
            Path(folder), where.host, where.port, where.no_auth, keep, where.demo,
            form, level, logging.access_log, limits,
        )  # fmt: skip
        run(given, say)


def _keep(text: str | None) -> float | None:
    """Seconds that labels are kept; ``None``: for ever."""
    if text is None:
        return None
    return 0.0 if text.strip() == "0" else seconds(text, "--keep-labels")


def one_of(option: str, given: str, allowed: tuple[T, ...]) -> T:
    """Return the word that is given, if it is allowed."""
    for word in allowed:
        if word == given:
            return word
    raise InputError(option, " or ".join(map(str, allowed)), given)


def _proxies(given: list[str]) -> tuple[str, ...]:
    """Addresses of trusted proxies, checked."""
    from crowdstream.serve.forwarded import Proxies

    Proxies(given)
    return tuple(given)


def _limits(guarding: Guarding) -> Limits:
    from crowdstream.labels.readers.input_options import parse_size
    from crowdstream.serve.limits import Limits

    check_number("--rate", guarding.rate, 0.0, 1e9, open_low=True)
    check_number("--connections", guarding.connections, 1, 1_000_000, whole=True)
    return Limits(
        body=parse_size(guarding.max_body, "--max-body"),
        rate=guarding.rate,
        connections=guarding.connections,
        proxies=_proxies(guarding.trusted_proxy or []),
        header_seconds=seconds(guarding.header_timeout, "--header-timeout"),
        body_seconds=seconds(guarding.body_timeout, "--body-timeout"),
    )
