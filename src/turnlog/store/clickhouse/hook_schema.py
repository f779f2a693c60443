"""The tables of hook deliveries.

A delivery belongs to the day on which it came, `born`, whichever session it tells of. Its number is made of
that of the write that added it and its place there (`number_delivery`): numbers are in the order of arrival,
and fit into what JavaScript takes for a whole number.

`person` is whose the machine is that it came from: whoever assigns a machine to somebody else renews it.
"""

from __future__ import annotations

from turnlog.store.clickhouse.tables import FEW, FEW_OR_NONE, Table, View

__all__ = ["DELIVERIES", "DELIVERY_NUMBERS", "HOOK_TABLES", "HOOK_VIEWS", "MOST_AT_ONCE", "number_delivery"]

_PLACES = 16
"""How many bits of a number say which of a write's deliveries it is."""
MOST_AT_ONCE = 1 << _PLACES
"""How many deliveries a write may add."""

DELIVERIES = Table(
    name="deliveries",
    key=("owner", "session_id", "received_ns", "digest"),
    version="write",
    by_month=True,
    columns={
        "owner": FEW, "session_id": "String", "received_ns": "Int64",
        "digest": "UInt128",              # the number of its id: see `ids`
        "write": "UInt64", "born": "Date",
        "number": "Int64",                # what `HookEvent.id` tells
        "delivery_id": "String", "event_name": FEW, "notification_type": FEW_OR_NONE,
        "tool_name": FEW_OR_NONE, "label": "Nullable(String)", "group_name": FEW_OR_NONE,
        "context": "Nullable(String)", "tool_use_id": "Nullable(String)", "agent_id": "Nullable(String)",
        "origin": FEW, "person": FEW_OR_NONE,
        "payload": "String CODEC(ZSTD(3))",
    },
    indexes=("by_number number TYPE bloom_filter GRANULARITY 1",),
)  # fmt: skip
DELIVERY_NUMBERS = Table(
    name="delivery_numbers",              # each delivery by its id alone
    key=("owner", "digest"),
    version="write",
    columns={
        "owner": FEW, "digest": "UInt128", "write": "UInt64", "born": "Date", "number": "Int64",
        "session_id": "String", "received_ns": "Int64",
    },
)  # fmt: skip
NUMBERED = View(
    name="numbered",
    source="deliveries",
    target="delivery_numbers",
    select="SELECT owner, digest, write, born, number, session_id, received_ns FROM deliveries",
)

HOOK_TABLES: tuple[Table, ...] = (DELIVERIES, DELIVERY_NUMBERS)
HOOK_VIEWS: tuple[View, ...] = (NUMBERED,)


def number_delivery(write: int, place: int) -> int:
    """Return the number of a delivery: which one of a write it is."""
    assert 0 <= place < MOST_AT_ONCE, "a write has no more places"
    return write << _PLACES | place
