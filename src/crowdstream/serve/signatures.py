"""Whether a webhook comes from who it says: Standard Webhooks, as Argilla signs. Knows no routes.

A signature is ``v1,`` and the base64 of the HMAC-SHA256 of ``id.timestamp.body``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
from collections.abc import Iterable

from crowdstream.labels.readers.answer import seconds_of

TOLERANCE = 300.0
"""Seconds that a signed time may be from the clock, as Standard Webhooks says. What is older has to
be fetched by a sync."""

PREFIX = "whsec_"


def key_of(secret: str) -> bytes:
    """The key in a secret: base64 after ``whsec_``, otherwise the text as it is.

    >>> key_of("whsec_aGVsbG8="), key_of("hello")
    (b'hello', b'hello')
    """
    if secret.startswith(PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def sign(secret: str, message: str, timestamp: int, body: bytes) -> str:
    """The signature of a message by its id, the second it was sent in, and its body.

    >>> sign("whsec_aGVsbG8=", "msg_1", 1, b"{}")
    'v1,LkDThp77YZok/kxhJUWVdhZCkY09RitgH+gMTRGH9J0='
    """
    content = f"{message}.{timestamp}.".encode() + body
    made = hmac.new(key_of(secret), content, hashlib.sha256).digest()
    return "v1," + base64.b64encode(made).decode()


def is_signed(
    secret: str, message: str, signatures: str, times: Iterable[int], body: bytes
) -> bool:
    """Whether one of the signatures, separated by spaces, is right for one of the times."""
    given = [one.encode() for one in signatures.split()[:10]]
    wanted = [sign(secret, message, time, body).encode() for time in times]
    return any(hmac.compare_digest(one, right) for one in given for right in wanted)


def times_of(header: str, event: str, now: float) -> list[int]:
    """The seconds that may have been signed, of those that are not too far from now.

    The header's, as the standard says; and the event's own, which is in the signed body: Argilla
    signs that one and writes the time of sending into the header.
    """
    found = {int(header)} if header.isdecimal() and len(header) < 15 else set[int]()
    if (at := seconds_of(event)) is not None and math.isfinite(at):
        found.add(math.floor(at))
    return [time for time in sorted(found) if abs(time - now) <= TOLERANCE]
