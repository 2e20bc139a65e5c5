"""A bare server that stores labels and decides nothing: Starlette, uvicorn and a table in SQLite.

What receiving and keeping labels costs with the same libraries: the rival of `benchmarks/serve.py`.
Each post is on the disk before it is answered, as there: WAL and ``synchronous=FULL``, one thread
that writes, and one commit for all posts that wait, each label a row.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import sys
import threading
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


class Label(msgspec.Struct):
    """A label of a post."""

    task: str
    worker: str
    label: str


Waiting = tuple[list[tuple[str, str, str]], asyncio.AbstractEventLoop, "asyncio.Future[None]"]

DECODER = msgspec.json.Decoder(list[Label] | Label)


class Table:
    """Labels in a file, written by a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
        threading.Thread(target=self._write, daemon=True).start()

    async def insert(self, rows: list[tuple[str, str, str]]) -> None:
        """Add rows; they are on the disk when it returns."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self.waiting.put((rows, loop, done))
        await done

    def _write(self) -> None:
        db = sqlite3.connect(self.folder / "labels.db", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE labels (task TEXT, worker TEXT, label TEXT)")
        while True:
            posts = [self.waiting.get()]
            while not self.waiting.empty():
                posts.append(self.waiting.get())
            db.execute("BEGIN")
            for rows, _, _ in posts:
                db.executemany("INSERT INTO labels VALUES (?, ?, ?)", rows)
            db.execute("COMMIT")
            posts[0][1].call_soon_threadsafe(_tell, [done for _, _, done in posts])


def _tell(waiting: list[asyncio.Future[None]]) -> None:
    for done in waiting:
        done.set_result(None)


def make_app(folder: Path) -> Starlette:
    """Return the server's application: posts of labels, and whether it is ready."""
    table = Table(folder)

    async def post(request: Request) -> Response:
        found = DECODER.decode(await request.body())
        labels = found if isinstance(found, list) else [found]
        await table.insert([(one.task, one.worker, one.label) for one in labels])
        return Response(b'{"labels":%d}' % len(labels), media_type="application/json")

    async def ready(_: Request) -> Response:
        return Response(b"{}")

    async def make(_: Request) -> Response:
        return Response(b"{}", status_code=201)

    return Starlette(
        routes=[
            Route("/v1/projects/{name}/labels", post, methods=["POST"]),
            Route("/v1/projects/{name}", make, methods=["PUT"]),
            Route("/readyz", ready),
        ]
    )


async def main(folder: Path) -> None:
    """Serve on a free port, and say which as crowdstream's own server does."""
    (folder / "admin.token").write_text("none")
    config = uvicorn.Config(make_app(folder), port=0, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    print(f"stores on http://127.0.0.1:{port}/", file=sys.stderr, flush=True)
    await serving


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(main(Path(sys.argv[1])))
