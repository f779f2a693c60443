"""Numbers for what has names: the same wherever and whenever they are made, so nobody has to give them out."""

from __future__ import annotations

from hashlib import blake2b

__all__ = ["NOWHERE", "number"]

_SIZE = 16
NOWHERE = 0
"""Stands for no session and no file."""


def number(owner: str, name: str | bytes) -> int:
    """Return the number of an owner's session, file, message or delivery; 128 bits are never the same twice."""
    digest = blake2b(digest_size=_SIZE)
    for part in (owner, name):
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")
