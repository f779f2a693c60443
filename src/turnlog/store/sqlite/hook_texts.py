"""What is searched of hook deliveries, indexed as they arrive."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from turnlog.store.search.packing import build_text
from turnlog.store.search.reading import read_delivery
from turnlog.store.search.text_rows import HOOKS
from turnlog.store.sqlite.texts import write_texts

__all__ = ["add_delivery_texts", "index_deliveries"]


def add_delivery_texts(connection: apsw.Connection, deliveries: Iterable[tuple[int, int, bytes]]) -> None:
    """Index deliveries, each given by its number, when it came in nanoseconds, and its payload."""
    texts = (
        build_text(number, ordinal, passage, received_ns // 1000)
        for number, received_ns, payload in deliveries
        for ordinal, passage in enumerate(read_delivery(payload))
    )
    write_texts(connection, HOOKS, texts)


def index_deliveries(connection: apsw.Connection) -> None:
    """Index all deliveries that there are."""
    query = "SELECT id, received_ns, payload FROM hook_deliveries ORDER BY id"
    add_delivery_texts(connection, list(connection.execute(query)))
