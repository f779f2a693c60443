"""Whose bytes a place holds: a blob says it, so that no two stores share one.

Names of blobs follow from sessions and numbers of writes: two stores would write over each other's bytes.
"""

from __future__ import annotations

import re

from turnlog.errors import StoreError
from turnlog.store.blobs.interface import Blobs
from turnlog.store.control.interface import Control

__all__ = ["claim_blobs", "find_claim", "put_claim"]

_NAME = "about/store"
_MOST = 1000
_STORE = re.compile(rb"[0-9a-f]{32}")
"""How stores are named; anything else is damaged, and keeps nobody out."""


def claim_blobs(blobs: Blobs, control: Control) -> None:
    """Say whose bytes these are, if nobody did yet; raises `StoreError` for those of another store."""
    mine = control.find_store().encode()
    found = find_claim(blobs)
    if found is None or not _STORE.fullmatch(found):
        put_claim(blobs, mine)
    elif found != mine:
        raise StoreError(
            f"The bytes at {blobs.address} are those of another store; each needs a place of its own"
        )


def find_claim(blobs: Blobs) -> bytes | None:
    """Return whose bytes these are; None if nobody said it."""
    try:
        return blobs.get(_NAME, 0, _MOST)
    except KeyError:
        return None


def put_claim(blobs: Blobs, store: bytes | None) -> None:
    """Say whose bytes these are, whatever was said before; None takes that back."""
    if store is None:
        blobs.delete([_NAME])
    else:
        blobs.put(_NAME, store)
