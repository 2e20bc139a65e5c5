"""Client addresses of requests that come through proxies. Knows no routes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from crowdstream.errors import InputError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxies:
    """The proxies whose word on the client's address is taken.

    Parameters
    ----------
    trusted
        Addresses or networks, such as ``127.0.0.1`` or ``10.0.0.0/8``.

    Examples
    --------
    >>> proxies = Proxies(["127.0.0.1", "10.0.0.0/8"])
    >>> proxies.client("127.0.0.1", [(b"x-forwarded-for", b"6.6.6.6, 9.9.9.9, 10.1.2.3")])
    '9.9.9.9'
    >>> proxies.client("9.9.9.9", [(b"x-forwarded-for", b"6.6.6.6")])
    '9.9.9.9'
    """

    def __init__(self, trusted: Iterable[str]) -> None:
        self._networks: list[Network] = []
        for one in trusted:
            try:
                self._networks.append(ipaddress.ip_network(one.strip(), strict=False))
            except ValueError:
                expected = "addresses or networks, such as 127.0.0.1 or 10.0.0.0/8"
                raise InputError("--trusted-proxy", expected, repr(one)) from None

    def client(self, peer: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Return the last address that no trusted proxy has: those before it anybody can make up.

        Parameters
        ----------
        peer
            Who is connected.
        headers
            Of the request; each proxy adds whom it got it from to ``X-Forwarded-For``.
        """
        if not self._networks or not self._is_trusted(peer):
            return peer
        given = [value for name, value in headers if name == b"x-forwarded-for"]
        for one in reversed(b",".join(given).decode("latin-1").split(",")):
            found = _address(one)
            if found is None:
                break
            peer = found
            if not self._is_trusted(found):
                break
        return peer

    def _is_trusted(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self._networks)


def _address(text: str) -> str | None:
    try:
        return str(ipaddress.ip_address(text.strip().removeprefix("[").removesuffix("]")))
    except ValueError:
        return None
