"""Usage in cells: what answers of one quarter of an hour, session, model and purpose used together.

All time zones of today are whole quarters of an hour apart, so days, weeks and months of any of them, and hours
of UTC, are made of whole cells.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from turnlog.instants import to_microseconds
from turnlog.transcripts.usage.charges import Charger
from turnlog.transcripts.usage.election import MessageUsage

__all__ = [
    "QUARTER",
    "Home",
    "UsageCell",
    "build_cell",
    "join_terms",
    "merge_cells",
    "name_agent",
    "slot_of",
]

QUARTER = 900_000_000
"""A quarter of an hour, in microseconds."""


_DIMENSIONS = ("slot", "session", "home", "model", "agent", "skill", "mcp_server", "terms")
_AMOUNTS = (
    "messages", "incomplete", "unpriced", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
    "web_searches", "cost", "saved",
)  # fmt: skip


class Home(Struct, frozen=True, gc=False):
    """Where an answer's owner stands: a session of the store, or of a folder."""

    key: str
    project: str | None = None
    title: str | None = None
    person: str | None = None
    """Whose session it is, as far as anybody said."""
    machine: str | None = None
    """The machine that it comes from."""


class UsageCell(Struct, frozen=True, gc=False, kw_only=True):
    """What some answers used and cost together."""

    slot: int | None
    """Which quarter of an hour since 1970; None for what bears no time."""
    session: str
    """As the lines name it."""
    home: Home
    model: str | None
    agent: str | None
    """The kind of agent; where that is not said, the one agent."""
    skill: str | None
    mcp_server: str | None
    terms: str
    """What the price list has no price for, separated by spaces: the cost is an estimate."""
    messages: int
    incomplete: int
    """How many were recorded before they ended: their output, and so the cost, is a lower bound."""
    unpriced: int
    """How many have a model without a price: the cost does not include them."""
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    cost: int
    """In pico-dollars."""
    saved: int
    """What the cache saved, likewise."""
    first: int | None
    """The first time in it, in microseconds since 1970."""
    last: int | None


def build_cell(message: MessageUsage, charger: Charger, home: Home) -> UsageCell:
    """Return what one answer used and cost."""
    tokens, behalf = message.tokens, message.attribution
    time = None if message.time is None else to_microseconds(message.time)
    charge = charger.find_charge(message.model, time, tokens, message.terms)
    return UsageCell(
        slot=slot_of(time),
        session=message.session,
        home=home,
        model=message.model,
        agent=name_agent(behalf.agent, behalf.agent_id),
        skill=behalf.skill,
        mcp_server=behalf.mcp_server,
        terms="" if charge is None else join_terms(charge.unpriced_terms),
        messages=1,
        incomplete=0 if message.complete else 1,
        unpriced=1 if charge is None else 0,
        input=tokens.input,
        output=tokens.output,
        cache_read=tokens.cache_read,
        cache_write_5m=tokens.cache_write_5m,
        cache_write_1h=tokens.cache_write_1h,
        web_searches=tokens.web_searches,
        cost=0 if charge is None else charge.cost,
        saved=0 if charge is None else charge.saved,
        first=time,
        last=time,
    )


def merge_cells(cells: Iterable[UsageCell]) -> list[UsageCell]:
    """Return one cell for all that differ in nothing but amounts, in one order."""
    merged: dict[tuple[object, ...], UsageCell] = {}
    for cell in cells:
        key = tuple(getattr(cell, name) for name in _DIMENSIONS)
        known = merged.get(key)
        merged[key] = cell if known is None else _add(known, cell)
    return [merged[key] for key in sorted(merged, key=repr)]


def slot_of(time: int | None) -> int | None:
    """Return the quarter of an hour that a time is in."""
    return None if time is None else time // QUARTER


def name_agent(kind: str | None, agent_id: str | None) -> str | None:
    """Return what an agent is called: one that does not say of which kind it is stands for itself."""
    return kind or agent_id


def join_terms(terms: Iterable[str]) -> str:
    """Return terms as one text; a blank within one becomes `_`."""
    return " ".join("_".join(term.split()) for term in terms)


def _add(one: UsageCell, other: UsageCell) -> UsageCell:
    times = [time for time in (one.first, one.last, other.first, other.last) if time is not None]
    return replace(
        one,
        **{name: getattr(one, name) + getattr(other, name) for name in _AMOUNTS},
        first=min(times, default=None),
        last=max(times, default=None),
    )
