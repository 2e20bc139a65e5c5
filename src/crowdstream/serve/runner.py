"""Starts the server and stops it: the folder, the first token, the socket, signals."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from crowdstream.defaults import HOST, PORT
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.serve import logs
from crowdstream.serve.access import LOOPBACK, Access
from crowdstream.serve.app import App
from crowdstream.serve.connection import Connection
from crowdstream.serve.demo import Demo
from crowdstream.serve.engine import Engine
from crowdstream.serve.front import Front
from crowdstream.serve.limits import Limits
from crowdstream.serve.scrub import Scrub
from crowdstream.serve.server import Server
from crowdstream.serve.store import Store
from crowdstream.serve.tokens import ADMIN_FILE, write_secret

STOP_SECONDS = 30
"""Seconds that requests have to end when the server stops."""

BACKLOG = 2048
"""Connections that may wait to be accepted."""

SWITCH = 0.001
"""Seconds after which the engine's thread lets the event loop have its turn. Python's own 5 ms are
longer than a commit takes."""


COLLECT = (50_000, 20, 50)
"""When Python looks for garbage: a batch makes thousands of objects that are gone after it, and to
look through all that lives for each of them costs more than it finds."""


log = logging.getLogger("crowdstream.serve")


@dataclass
class Options:
    """How a server is run."""

    folder: Path
    host: str = HOST
    port: int = PORT
    open_to_all: bool = False
    keep_labels: float | None = None
    demo: bool = False
    log_form: logs.Form = "text"
    log_level: str = "info"
    access_log: bool = False
    limits: Limits = field(default_factory=Limits)


def run(options: Options, say: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop."""
    if options.open_to_all and options.host not in LOOPBACK:
        raise InputError("--no-auth", "a host that only this machine reaches", options.host)
    logs.set_up(options.log_form, options.log_level, options.access_log)
    listening = _listen(options.host, options.port)
    store = Store(options.folder)
    try:
        server = make_server(options, store)
        text = _first_token(server.access)
        _welcome(options, listening, text, say)
        sys.setswitchinterval(SWITCH)
        gc.freeze()
        gc.set_threshold(*COLLECT)
        _run_loop(server, options, listening)
    finally:
        store.close()
        listening.close()
    say("stopped; all that was acknowledged is saved")


def make_server(options: Options, store: Store) -> Server:
    """The parts of a server, put together."""
    access = Access(options.folder, open_to_all=options.open_to_all)
    engine = Engine(store, keep_labels=options.keep_labels)
    return Server(store, engine, access, options.limits)


def _run_loop(server: Server, options: Options, listening: socket.socket) -> None:
    """Run the event loop until the server stops."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_serve(server, options, listening))


async def _serve(server: Server, options: Options, listening: socket.socket) -> None:
    """Listen, replay the log, take labels, and stop at a signal; at a second one at once."""
    loop, stop, hurry = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def asked(*_: object) -> None:
        loop.call_soon_threadsafe((hurry if stop.is_set() else stop).set)

    before = {kind: signal.signal(kind, asked) for kind in (signal.SIGINT, signal.SIGTERM)}
    front = Front(server, App(server), loop)
    listener = await loop.create_server(lambda: Connection(front), sock=listening, backlog=BACKLOG)
    demo: asyncio.Task[None] | None = None
    scrub = Scrub(server.engine)
    try:
        await asyncio.to_thread(server.engine.load)
        server.engine.start(loop)
        scrub.start(loop)
        server.ready = True
        demo = asyncio.create_task(Demo(server).run()) if options.demo else None
        await stop.wait()
    except CrowdstreamError:
        raise
    except Exception as error:
        log.exception("cannot start")
        raise CrowdstreamError(f"cannot start: {error}") from error
    finally:
        server.stopping.set()
        listener.close()
        if demo is not None:
            demo.cancel()
        await front.stop(STOP_SECONDS, hurry)
        if server.ready:
            await scrub.stop()
            await server.engine.stop()
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or what is wrong with the address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(found[0], socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[4])
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            "--host, --port", "an address that is free", f"{host}:{port}: {reason}"
        ) from None
    return listening


def _first_token(access: Access) -> str | None:
    """Make an admin token if there is none at all."""
    if access.open_to_all or access.tokens.all():
        return None
    _, text = access.tokens.create(["admin"], note="made at the first start")
    write_secret(access.tokens.folder / ADMIN_FILE, text.encode() + b"\n")
    return text


def _welcome(
    options: Options, listening: socket.socket, text: str | None, say: Callable[[str], None]
) -> None:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}"
    say(f"crowdstream serves {options.folder} at {address}/")
    if text is not None:
        say(f"admin token (also in {options.folder / ADMIN_FILE}): {text}")
        if options.demo:
            say(f"open {address}/#token={text}")
    elif options.open_to_all:
        say("no token is asked for: whoever is on this machine may do everything")
