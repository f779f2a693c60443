"""One answer of what sightings say of it, whichever sessions of one person they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct, msgpack

from turnlog.store.packing import pack_text
from turnlog.store.rows import SightingRow
from turnlog.store.usage.cells import Home, UsageCell, build_cell
from turnlog.store.usage.recounting import unpack_sighting
from turnlog.transcripts.usage.charges import Charger
from turnlog.transcripts.usage.election import SightingFold

__all__ = ["Answer", "Group", "Seen", "elect"]

_NOWHERE = Home("")
_EVERYBODY, _PERSON, _OTHERS = range(3)
"""For whom an answer counts: all who see its session, its person alone, or the others alone."""
_DIGEST = 16
_encode = msgpack.Encoder().encode


class Group(Struct, frozen=True, gc=False):
    """What answers are counted by, as it stands in the table."""

    session: int
    digest: bytes
    words: tuple[bytes | None, ...]
    """Session's id, model, agent, skill, server, terms without a price."""
    audience: int = 0
    """For whom they count."""


class Answer(Struct, frozen=True, gc=False):
    """An answer, as it stands in the table."""

    message: bytes
    group: Group
    time: int | None
    values: tuple[int, ...]
    """Flags, tokens by kind, searches, cost, savings."""


class Seen(Struct, frozen=True, gc=False):
    """A sighting, and the session that it is in."""

    session: int
    shared: bool
    """Whether others than its person see that."""
    row: SightingRow


def elect(message: bytes, seen: Sequence[Seen], charger: Charger) -> list[Answer]:
    """Return the answers of all sightings that one person's sessions have of a message.

    It is one answer, as a rule. Others see only the sessions that are shared; where these alone tell another
    one, that is there as well, for them.
    """
    shared = [each for each in seen if each.shared]
    whole = _elect(message, seen, charger, _EVERYBODY)
    if not shared or len(shared) == len(seen):
        return [whole]
    theirs = _elect(message, shared, charger, _EVERYBODY)
    if theirs == whole:
        return [whole]
    if any(each.session == whole.group.session for each in shared):
        whole = _elect(message, seen, charger, _PERSON)
    return [whole, _elect(message, shared, charger, _OTHERS)]


def _elect(message: bytes, seen: Sequence[Seen], charger: Charger, audience: int) -> Answer:
    fold = SightingFold()
    for each in seen:
        fold.add_sighting(unpack_sighting(each.row))
    [elected] = fold.list_messages()
    session = next(each.session for each in seen if each.row.source == elected.source)
    cell = build_cell(elected, charger, _NOWHERE)
    return Answer(message, _build_group(session, cell, audience), cell.first, _list_values(cell))


def _build_group(session: int, cell: UsageCell, audience: int) -> Group:
    words = _pack((cell.session, cell.model, cell.agent, cell.skill, cell.mcp_server, cell.terms))
    told = _encode(words) if audience == _EVERYBODY else _encode((audience, words))
    return Group(session, blake2b(told, digest_size=_DIGEST).digest(), words, audience)


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
