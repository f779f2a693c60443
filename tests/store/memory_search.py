"""Search in the store in memory: everything is read, every time."""

from __future__ import annotations

from collections.abc import Callable

from turnlog.errors import SearchCancelledError
from turnlog.store.interface import Store
from turnlog.store.model import Scope
from turnlog.store.search.language import Query
from turnlog.store.search.paging import (
    Cursor,
    Hit,
    SearchOrder,
    SearchPage,
    TextKey,
    decode_cursor,
    encode_cursor,
)
from turnlog.testing.checks import Scan

_MOST = 1000
"""How many passages a line has at most."""


def search(
    store: Store,
    scope: Scope,
    query: Query,
    order: SearchOrder,
    limit: int,
    cursor: str | None,
    cancelled: Callable[[], bool] | None,
) -> SearchPage:
    after = decode_cursor(cursor, order)
    hits = sorted(Scan(store, scope).search(query), key=_key, reverse=True)
    if cancelled is not None and any(cancelled() for _ in range(len(hits) + 1)):
        raise SearchCancelledError
    if order is SearchOrder.NEWEST:
        rest = [hit for hit in hits if after is None or _key(hit) < after.key]
        more = len(rest) > limit
        return SearchPage(
            hits=tuple(rest[:limit]), next=encode_cursor(Cursor(_key(rest[limit - 1]))) if more else None
        )
    base = after or Cursor(_key(hits[0]) if hits else (0, 0, 0), 0)
    counted = [hit for hit in hits if _key(hit) <= base.key]
    counted.sort(key=lambda hit: -len(hit.snippet.marks))
    done = (base.count or 0) + limit
    more = len(counted) > done
    return SearchPage(
        hits=tuple(counted[base.count or 0 : done]),
        next=encode_cursor(Cursor(base.key, done)) if more else None,
    )


def _key(hit: Hit) -> TextKey:
    return hit.time or 0, int(hit.source or "0", 16) >> 72, (hit.line or 0) * _MOST + hit.ordinal
