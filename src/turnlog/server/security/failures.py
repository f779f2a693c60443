"""How often a client may be wrong about a secret.

Guessing 256 bits is hopeless anyway; this keeps the attempts from costing anything, and from going unseen.
Pages that are open already go on. A client is an address, a network of IPv6, or, where that is told, a user.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence

_CLIENTS = 1024
"""How many are remembered; the least recent are forgotten."""


class FailureLimit:
    """Counts failures by client."""

    def __init__(
        self,
        most: int = 10,
        seconds: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        *,
        proxies: Iterable[str] = (),
    ) -> None:
        """Take how many failures are too many, and the addresses or networks of trusted `proxies`."""
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._proxies = tuple(map(ipaddress.ip_network, proxies))
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def find_client(self, peer: str, forwarded: Sequence[str]) -> str | None:
        """Return for whom a trusted proxy asks, by its `X-Forwarded-For`; None if it is none, or does not say.

        Proxies add to the end; what stands before the first that is not trusted may be anybody's invention.
        """
        hops = [hop.strip() for value in forwarded for hop in value.split(",")]
        while self._is_proxy(peer) and hops:
            peer = hops.pop()
            if not self._is_proxy(peer):
                return peer
        return None

    def _is_proxy(self, client: str) -> bool:
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return False
        return any(address.version == each.version and address in each for each in self._proxies)

    def note(self, client: str) -> None:
        """Remember a failure."""
        name = _group(client)
        self._failures.setdefault(name, deque(maxlen=self._most)).append(self._clock())
        self._failures.move_to_end(name)
        while len(self._failures) > _CLIENTS:
            self._failures.popitem(last=False)

    def find_wait(self, client: str) -> float:
        """Return how many seconds a client has to wait before its next attempt; 0 if it need not."""
        failures = self._failures.get(_group(client))
        if failures is None or len(failures) < self._most:
            return 0.0
        return max(0.0, failures[0] + self._seconds - self._clock())


def _group(client: str) -> str:
    """Return whom an address belongs to: with IPv6, everybody has a whole network of them."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return str(address)
