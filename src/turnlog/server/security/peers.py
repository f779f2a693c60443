"""Which user of this machine is at the other end of a connection, where the system tells.

On Linux it does, for connections within the machine. It makes a key that was seen in the list of processes, or
a cookie that a browser sent to another server on this machine, worthless for other users.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Mapping
from pathlib import Path

PEER = "peer"
"""Where a request's state has the owner of its connection."""
_TABLES = Path("/proc/net")
_UID = 6
"""Which column behind the number of a connection has its user."""

_Address = tuple[str, int | None]


def find_owner(client: _Address | None, server: _Address | None, tables: Path = _TABLES) -> int | None:
    """Return the user whose program made a connection; None if that cannot be told."""
    if client is None or server is None or not _is_here(client[0]):
        return None
    wanted = f" {_encode(client)} {_encode(server)} "
    try:
        text = (tables / ("tcp6" if ":" in client[0] else "tcp")).read_text("ascii")
    except OSError:
        return None
    # With thousands of connections the table is long, and each new one is looked up: no line is made of it.
    found = text.find(wanted)
    return None if found < 0 else int(text[found : text.find("\n", found)].split()[_UID])


def list_trusted(env: Mapping[str, str] = os.environ) -> frozenset[int]:
    """Return the users that are us: ourselves, root, and who became root to run this."""
    if not hasattr(os, "geteuid"):
        return frozenset()
    became = env.get("SUDO_UID", "")
    return frozenset({os.geteuid(), 0, *([int(became)] if became.isdecimal() and os.geteuid() == 0 else [])})


def is_stranger(state: Mapping[str, object], trusted: frozenset[int]) -> bool:
    """Tell whether a request comes from another user of this machine."""
    owner = state.get(PEER)
    return isinstance(owner, int) and owner not in trusted


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _encode(address: _Address) -> str:
    """Return an address as the system writes it: words of its own byte order, in hexadecimal."""
    packed = ipaddress.ip_address(address[0]).packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{address[1] or 0:04X}"
