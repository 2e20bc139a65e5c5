"""Bytes that know what they are. Knows nothing of what is inside."""

from __future__ import annotations

import hashlib
import struct

from crowdstream.errors import StateError

FORMAT = 2
"""Version of the saved bytes; raised when their meaning changes."""

HEADER = struct.Struct("<8s8sHQ16s")  # magic, kind, format, length, checksum
MAGIC = b"crowdstr"


def seal(kind: str, payload: bytes) -> bytes:
    """The payload behind its kind (up to 8 letters), version, length and checksum.

    >>> unseal("note", seal("note", b"hello"))
    b'hello'
    """
    return HEADER.pack(MAGIC, kind.encode(), FORMAT, len(payload), _digest(payload)) + payload


def unseal(kind: str, data: bytes) -> bytes:
    """The payload that `seal` wrapped; a `StateError` says what is wrong with any other bytes.

    >>> unseal("note", seal("note", b"hello")[:-1])
    Traceback (most recent call last):
    crowdstream.errors.StateError: cut short or overlong: 4 bytes where 5 were saved
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise StateError(f"expected saved bytes, found {type(data).__name__}")
    data = bytes(data)
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise StateError(f"these {len(data)} bytes are not a saved state")
    _, found, version, length, digest = HEADER.unpack_from(data)
    payload = data[HEADER.size :]
    if version != FORMAT:
        raise StateError(f"saved in format {version}; this version of crowdstream reads {FORMAT}")
    if len(payload) != length:
        raise StateError(f"cut short or overlong: {len(payload)} bytes where {length} were saved")
    if _digest(payload) != digest:
        raise StateError("altered: the checksum does not match")
    if found.rstrip(b"\0") != kind.encode():
        raise StateError(
            f"expected a saved {kind}, found a saved {found.rstrip(bytes(1)).decode()}"
        )
    return payload


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()
