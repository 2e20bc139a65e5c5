"""The live page and other files, from the package. Knows nothing of projects."""

from __future__ import annotations

import mimetypes
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdstream import wording
from crowdstream.serve.problems import ProblemError

PAGE = resources.files("crowdstream.serve") / "page"

KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}
"""Content types that machines know differently."""

UNREMARKABLE = ("better_than_chance",)
"""Flags that lists of workers leave out: most have them."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "Cache-Control": "no-cache",
}


CODES = "codes.js"
"""The file of the page that is made here: words for codes, which the page does not type again."""


def codes_script() -> str:
    """Write the words for codes, and the level of intervals, as a script of the page."""
    words = {code: [word.text, word.sentence] for code, word in wording.PAGE.items()}
    parts = {
        "WORDS": words,
        "TONES": {code: word.tone for code, word in wording.PAGE.items()},
        "NOTED": [flag for flag in wording.FLAGS if flag not in UNREMARKABLE],
        "LEVEL": wording.PER_CENT,
        "CASES": wording.HUNDRED,
    }
    lines = [f"export const {name} = {_script_text(value)};" for name, value in parts.items()]
    return "\n".join(["// Made by the server: see crowdstream/wording.py.", *lines, ""])


def _script_text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def static(path: str) -> Response:
    """Return a file of the page."""
    if path == CODES:
        return Response(codes_script(), media_type=KINDS[".js"], headers=HEADERS)
    found = PAGE
    for part in (path or "index.html").split("/"):
        if part in ("", ".", "..") or part.startswith(".") or "\\" in part or "\0" in part:
            raise ProblemError(404, "no such file")
        found = found / part
    if not _is_file(found):
        raise ProblemError(404, "no such file")
    suffix = "." + path.rpartition(".")[2] if path else ".html"
    kind = KINDS.get(suffix) or mimetypes.guess_type("x" + suffix)[0] or "application/octet-stream"
    return Response(found.read_bytes(), media_type=kind, headers=HEADERS)


def _is_file(found: Traversable) -> bool:
    try:
        return found.is_file()
    except OSError:  # a name that no file can have
        return False


async def page(request: Request) -> Response:
    """The page: its first screen at ``/``, what it is made of under ``/page/``."""
    return static(request.path_params.get("path", ""))
