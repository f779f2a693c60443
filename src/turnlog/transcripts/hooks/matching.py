"""Which lines tell of the same hook event as a delivery.

A line belongs to the delivery of the same event about the same call. Events that are about no call have no id
that both would know: there it is the nearest in time, as long as that is near. A delivery may have many lines,
one for each command that it set off; a line has one delivery, or stays by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["NEAR", "Told", "match_lines"]

NEAR = 10_000_000
"""How far a line may be from a delivery that it belongs to by time alone, in microseconds."""


class Told(Struct, frozen=True, gc=False):
    """What a line or a delivery says of the event that it tells of."""

    event: str
    tool_use_id: str | None
    at: int | None
    """When the event was, in microseconds since 1970."""
    id: str = ""
    """Of a delivery: what decides between those of the same time."""


def match_lines(lines: Sequence[Told], deliveries: Sequence[Told]) -> dict[int, int]:
    """Return which line belongs to which delivery; the order in which either is given does not matter."""
    by_call: dict[tuple[str, str], list[int]] = {}
    by_event: dict[str, list[int]] = {}
    for number, delivery in enumerate(deliveries):
        if delivery.tool_use_id is None:
            by_event.setdefault(delivery.event, []).append(number)
        else:
            by_call.setdefault((delivery.event, delivery.tool_use_id), []).append(number)
    found: dict[int, int] = {}
    for number, line in enumerate(lines):
        same = by_call.get((line.event, line.tool_use_id), ()) if line.tool_use_id is not None else ()
        near = same or [each for each in by_event.get(line.event, ()) if _is_near(line, deliveries[each])]
        if near:
            found[number] = min(near, key=lambda each: _rank(line, deliveries[each]))
    return found


def _is_near(line: Told, delivery: Told) -> bool:
    return line.at is not None and delivery.at is not None and abs(line.at - delivery.at) <= NEAR


def _rank(line: Told, delivery: Told) -> tuple[int, int, str]:
    at = delivery.at or 0
    return (0 if line.at is None else abs(line.at - at), at, delivery.id)
