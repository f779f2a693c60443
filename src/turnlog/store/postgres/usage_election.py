"""One answer of what sightings say of it, whichever sessions they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct, msgpack

from turnlog.store.postgres.packing import pack_text
from turnlog.store.rows import SightingRow
from turnlog.store.usage.cells import Home, UsageCell, build_cell
from turnlog.store.usage.recounting import unpack_sighting
from turnlog.transcripts.usage.charges import Charger
from turnlog.transcripts.usage.election import SightingFold

__all__ = ["Answer", "Group", "elect"]

_NOWHERE = Home("")
_DIGEST = 16
_encode = msgpack.Encoder().encode


class Group(Struct, frozen=True, gc=False):
    """What answers are counted by, as it stands in the table."""

    session: int
    digest: bytes
    words: tuple[bytes | None, ...]
    """Session's id, model, agent, skill, server, terms without a price."""


class Answer(Struct, frozen=True, gc=False):
    """An answer, as it stands in the table."""

    message: bytes
    group: Group
    time: int | None
    values: tuple[int, ...]
    """Flags, tokens by kind, searches, cost, savings."""


def elect(message: bytes, seen: Sequence[tuple[int, SightingRow]], charger: Charger) -> Answer:
    """Return the answer of all sightings that one owner has of a message, each with the session it is in."""
    fold = SightingFold()
    for _, row in seen:
        fold.add_sighting(unpack_sighting(row))
    [elected] = fold.list_messages()
    session = next(number for number, row in seen if row.source == elected.source)
    cell = build_cell(elected, charger, _NOWHERE)
    return Answer(message, _build_group(session, cell), cell.first, _list_values(cell))


def _build_group(session: int, cell: UsageCell) -> Group:
    words = _pack((cell.session, cell.model, cell.agent, cell.skill, cell.mcp_server, cell.terms))
    return Group(session, blake2b(_encode(words), digest_size=_DIGEST).digest(), words)


def _pack(words: Iterable[str | None]) -> tuple[Any, ...]:
    return tuple(map(pack_text, words))


def _list_values(cell: UsageCell) -> tuple[int, ...]:
    return (
        cell.incomplete | cell.unpriced << 1,
        cell.input,
        cell.output,
        cell.cache_read,
        cell.cache_write_5m,
        cell.cache_write_1h,
        cell.web_searches,
        cell.cost,
        cell.saved,
    )
