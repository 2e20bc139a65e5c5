"""Starts the server and stops it: the folder, the first token, the socket, signals."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import uvicorn

from crowdstream.defaults import HOST, PORT
from crowdstream.errors import InputError
from crowdstream.serve.access import LOOPBACK, Access
from crowdstream.serve.app import App
from crowdstream.serve.demo import Demo
from crowdstream.serve.engine import Engine
from crowdstream.serve.limits import Limits
from crowdstream.serve.protocol import protocol_with
from crowdstream.serve.server import Server
from crowdstream.serve.small_posts import SmallPosts
from crowdstream.serve.store import Store
from crowdstream.serve.tokens import ADMIN_FILE, write_secret

STOP_SECONDS = 30
"""Seconds that requests have to end when the server stops."""

SWITCH = 0.001
"""Seconds after which the engine's thread lets the event loop have its turn. Python's own 5 ms are
longer than a commit takes."""


COLLECT = (50_000, 20, 50)
"""When Python looks for garbage: a batch makes thousands of objects that are gone after it, and to
look through all that lives for each of them costs more than it finds."""


@dataclass
class Options:
    """How a server is run."""

    folder: Path
    host: str = HOST
    port: int = PORT
    open_to_all: bool = False
    keep_labels: float | None = None
    demo: bool = False
    limits: Limits = field(default_factory=Limits)


class Uvicorn(uvicorn.Server):
    """uvicorn's server, which tells the listeners of `/events` that it stops."""

    stopping: Callable[[], object] = staticmethod(lambda: None)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and go on after that: uvicorn's own would end the process by it."""
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asks to stop."""
        self.stopping()
        super().handle_exit(sig, frame)


def run(options: Options, say: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop."""
    if options.open_to_all and options.host not in LOOPBACK:
        raise InputError("--no-auth", "a host that only this machine reaches", options.host)
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    listening = _listen(options.host, options.port)
    store = Store(options.folder)
    try:
        server = make_server(options, store)
        text = _first_token(server.access)
        _welcome(options, listening, text, say)
        sys.setswitchinterval(SWITCH)
        gc.freeze()
        gc.set_threshold(*COLLECT)
        asyncio_run(server, options, listening)
    finally:
        store.close()
        listening.close()
    say("stopped; all that was acknowledged is saved")


def make_server(options: Options, store: Store) -> Server:
    """The parts of a server, put together."""
    access = Access(options.folder, open_to_all=options.open_to_all)
    engine = Engine(store, keep_labels=options.keep_labels)
    return Server(store, engine, access, options.limits)


def asyncio_run(server: Server, options: Options, listening: socket.socket) -> None:
    """Run the event loop until the server stops."""
    app = App(server)
    config = uvicorn.Config(
        app,
        http=protocol_with(options.limits, SmallPosts(server, app.statuses)),
        ws="none",
        loop="asyncio" if sys.platform == "win32" else "uvloop",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(options.limits.idle_seconds),
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=1 << 16,
    )
    runner = Uvicorn(config)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        runner.stopping = lambda: loop.call_soon_threadsafe(server.stopping.set)
        demo = asyncio.create_task(Demo(server).run()) if options.demo else None
        await runner.serve(sockets=[listening])
        if demo is not None:
            demo.cancel()

    with asyncio.Runner(loop_factory=config.get_loop_factory()) as loop:
        loop.run(serve())


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or what is wrong with the address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(found[0], socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[4])
        listening.listen(2048)
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
