"""Tokens: who may do what. A file beside the data, in which no secret stands, only hashes of them.

``crowdstream token`` writes it while the server runs; the server sees the change within a second.
Knows nothing of HTTP.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.locking import FileLock
from crowdstream.serve.checksums import checksum

Scope = Literal["read", "label", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "label", "write", "admin")

FILE, ADMIN_FILE = "tokens.json", "admin.token"
FORM = re.compile(r"cs_([0-9a-z]{8})_([0-9A-Za-z_-]{43})")
"""What a token looks like: which it is, and its 256 bits of secret."""

TOKENS_FORMAT = 2
"""Version of the file of tokens."""

LOOK_AGAIN = 1.0
"""Seconds after which the server looks whether the file has changed."""

LOOK_FOR_NEW = 0.05
"""The same, where a token is not known: it may have just been made."""

PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names of projects: they are parts of addresses."""


log = logging.getLogger("crowdstream.serve")


class Token(msgspec.Struct, frozen=True):
    """A token, without its secret; ``project``: the only one it is for, if it is for one."""

    id: str
    hash: str
    scopes: list[Scope]
    project: str | None
    note: str
    created: float
    expires: float | None = None

    def may(self, scope: Scope, project: str | None) -> bool:
        """Whether it allows something of a project, or (``None``) of the whole server."""
        if self.project is not None and project != self.project:
            return False
        if scope == "label" and "write" in self.scopes:
            return True
        return scope in self.scopes or "admin" in self.scopes

    def is_over(self, now: float) -> bool:
        """Return True if its time is over."""
        return self.expires is not None and now >= self.expires


class _File(msgspec.Struct):
    version: int = TOKENS_FORMAT
    checksum: str = ""
    """Checksum of the tokens: a scope or a project changed by a damaged disk is not believed."""
    tokens: list[Token] = []


class TokenFile:
    """The tokens of a data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / FILE
        self._known: dict[str, Token] = {}
        self._broken: CrowdstreamError | None = None
        self._stamp: tuple[int, int, int] | None = None
        self._looked = float("-inf")

    def create(
        self,
        scopes: list[Scope],
        project: str | None = None,
        note: str = "",
        expires: float | None = None,
    ) -> tuple[Token, str]:
        """A new token and its text, which is shown this once and not kept."""
        if not scopes or any(scope not in SCOPES for scope in scopes):
            raise InputError("scope", " or ".join(SCOPES), ", ".join(scopes) or "none")
        if project is not None and not PROJECT.fullmatch(project):
            raise InputError("project", "letters, digits, . _ and -", repr(project))
        secret = secrets.token_urlsafe(32)
        token_id = secrets.token_hex(4)
        made = Token(token_id, _hash(secret), scopes, project, note, time.time(), expires)
        with self._changing() as tokens:
            tokens[made.id] = made
        return made, f"cs_{token_id}_{secret}"

    def revoke(self, token_id: str) -> Token:
        """Take a token out."""
        with self._changing() as tokens:
            self._known_one(tokens, token_id)
            return tokens.pop(token_id)

    @staticmethod
    def _known_one(tokens: dict[str, Token], token_id: str) -> Token:
        if token_id not in tokens:
            raise InputError("token", "the id of a token: crowdstream token list", token_id)
        return tokens[token_id]

    def rotate(self, token_id: str, grace: float) -> tuple[Token, str]:
        """A new token that allows the same; the old one ends after ``grace`` seconds.

        What was to end at some time ends as long after that as the old one was to last.
        """
        with self._changing() as tokens:
            old = self._known_one(tokens, token_id)
        now = time.time()
        expires = None if old.expires is None else now + (old.expires - old.created)
        made, text = self.create(old.scopes, old.project, old.note, expires)
        with self._changing() as tokens:
            ends = now + grace if old.expires is None else min(now + grace, old.expires)
            tokens[token_id] = msgspec.structs.replace(old, expires=ends)
        return made, text

    def all(self) -> list[Token]:
        """All tokens, the oldest first."""
        return sorted(self._read().values(), key=lambda token: token.created)

    def find(self, text: str) -> Token | None:
        """The token of this text, if it is one."""
        form = FORM.fullmatch(text)
        if form is None:
            return None
        token = self.by_id(form[1])
        expected = "0" * 64 if token is None else token.hash
        same = hmac.compare_digest(_hash(form[2]), expected)
        return token if same else None

    def by_id(self, token_id: str) -> Token | None:
        """A token by its id, as of a second ago; an error if the file cannot be read."""
        now = time.monotonic()
        if now >= self._looked + (LOOK_AGAIN if token_id in self._known else LOOK_FOR_NEW):
            self._looked = now
            if (stamp := self._stamp_now()) != self._stamp:
                self._known, self._broken = {}, None
                try:
                    self._known = self._read()
                except CrowdstreamError as error:
                    self._broken = error
                    log.error("nobody is let in: %s", error)
                self._stamp = stamp
        if self._broken is not None:
            raise self._broken
        found = self._known.get(token_id)
        return None if found is None or found.is_over(time.time()) else found

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> dict[str, Token]:
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise CrowdstreamError(f"{self._path}: cannot be read: {error}") from None
        if found.version != TOKENS_FORMAT or found.checksum != _checksum(found.tokens):
            raise CrowdstreamError(f"{self._path}: is damaged, or of another version")
        return {token.id: token for token in found.tokens}

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        """The tokens, to be changed; written at once or not at all."""
        if not self.folder.is_dir():
            raise InputError("--data", "the folder of a server", str(self.folder))
        with FileLock(self.folder / f"{FILE}.lock") as lock:
            lock.take(wait=True)
            tokens = self._read()
            yield tokens
            every = list(tokens.values())
            file = _File(checksum=_checksum(every), tokens=every)
            text = msgspec.json.format(msgspec.json.encode(file))
            write_secret(self._path, text + b"\n")


def check_tokens(folder: Path) -> None:
    """Raise CrowdstreamError if the tokens of a folder are damaged."""
    TokenFile(folder).all()


def check_admin(folder: Path) -> None:
    """Raise CrowdstreamError if the file of the first token has another text than that token.

    Nothing can be said of it once that token is revoked.
    """
    path = folder / ADMIN_FILE
    if not path.exists():
        return
    form = FORM.fullmatch(path.read_text("utf-8", "replace").removesuffix("\n"))
    tokens = {token.id: token.hash for token in TokenFile(folder).all()}
    hashed = _hash(form[2]) if form else ""
    known = form is not None and tokens.get(form[1], hashed) == hashed
    if not known or (form is not None and form[1] not in tokens and hashed in tokens.values()):
        raise CrowdstreamError(f"{path}: is not the token that it was made as")


def write_secret(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, at once or not at all."""
    beside = path.with_name(f".{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        beside.unlink()
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _checksum(tokens: list[Token]) -> str:
    return checksum(msgspec.json.encode(tokens)).hex()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
