"""Usage in cells: what answers of one quarter of an hour, session, model and purpose used together.

All time zones of today are whole quarters of an hour apart, so days, weeks and months of any of them, and hours
of UTC, are made of whole cells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from turnlog.instants import from_microseconds, to_microseconds
from turnlog.transcripts.usage.prices import Charge, Charger, Quote, charge
from turnlog.transcripts.usage.tokens import AnswerCount, AnswerGroup, MessageUsage, Tokens

QUARTER = 900_000_000
"""A quarter of an hour, in microseconds."""
_SLOTS = 96
"""How many there are in a day of UTC."""
_EPOCH = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
_QUARTER = timedelta(minutes=15)
_DIMENSIONS = ("slot", "session", "home", "model", "agent", "skill", "mcp_server", "terms")
AMOUNTS = (
    "messages", "incomplete", "unpriced", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
    "web_searches", "cost", "saved",
)  # fmt: skip
"""The fields of a cell that add up."""


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
    time = None if message.time is None else to_microseconds(message.time)
    charged = charger.find_charge(message.model, time, message.tokens, message.terms)
    incomplete = 0 if message.complete else 1
    counts = 1, incomplete, time, time
    return _build_cell(slot_of(time), home, message, message.tokens, charged, *counts)


def _build_cell(
    slot: int | None,
    home: Home,
    group: MessageUsage | AnswerGroup,
    tokens: Tokens,
    charged: Charge | None,
    messages: int,
    incomplete: int,
    first: int | None,
    last: int | None,
) -> UsageCell:
    behalf = group.attribution
    return UsageCell(
        slot=slot,
        session=group.session,
        home=home,
        model=group.model,
        agent=name_agent(behalf.agent, behalf.agent_id),
        skill=behalf.skill,
        mcp_server=behalf.mcp_server,
        terms="" if charged is None else join_terms(charged.unpriced_terms),
        messages=messages,
        incomplete=incomplete,
        unpriced=messages if charged is None else 0,
        input=tokens.input,
        output=tokens.output,
        cache_read=tokens.cache_read,
        cache_write_5m=tokens.cache_write_5m,
        cache_write_1h=tokens.cache_write_1h,
        web_searches=tokens.web_searches,
        cost=0 if charged is None else charged.cost,
        saved=0 if charged is None else charged.saved,
        first=first,
        last=last,
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
        **{name: getattr(one, name) + getattr(other, name) for name in AMOUNTS},
        first=min(times, default=None),
        last=max(times, default=None),
    )


class Span(Struct, frozen=True, gc=False):
    """From one day to another, both included; what is left open has no end."""

    since: date | None = None
    until: date | None = None

    def has(self, day: date | None) -> bool:
        """Tell whether a day is in it; what bears no time is only in a span that is open on both sides."""
        if day is None:
            return self.since is None and self.until is None
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


class Stretch(Struct, frozen=True, gc=False):
    """Quarters of an hour from one on, so many of which at a time are one period."""

    start: int
    ahead: int
    """How many quarters of an hour before UTC's a period begins."""
    length: int


class Days(dict[int | None, date | None]):
    """The day of each quarter of an hour, as days are in a time zone."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__({None: None})
        self._zone = zone
        self._offsets: dict[int, timedelta | None] = {}
        """How far the zone is ahead at the beginning of each day of UTC."""

    def __missing__(self, slot: int | None) -> date | None:
        assert slot is not None
        try:
            day = self._find(slot)
        except OverflowError:  # before the first or behind the last day that there is
            day = date.min if slot < 0 else date.max
        self[slot] = day
        return day

    def list_stretches(self, first: int, last: int) -> list[Stretch]:
        """Return the days from one quarter of an hour to another; where clocks change, quarters stay alone."""
        found: list[Stretch] = []
        for day in range(first // _SLOTS, last // _SLOTS + 1):
            offset = self._find_offset(day)
            stretch = Stretch(day * _SLOTS, 0, 1)
            if offset is not None and offset == self._find_offset(day + 1):
                stretch = Stretch(day * _SLOTS, offset // _QUARTER, _SLOTS)
            if not found or (stretch.ahead, stretch.length) != (found[-1].ahead, found[-1].length):
                found.append(stretch)
        return found

    def _find(self, slot: int) -> date:
        """Return a day; zones are asked once a day, and only where they change, for each quarter of an hour."""
        whole = slot // _SLOTS
        offset = self._find_offset(whole)
        if offset is None or offset != self._find_offset(whole + 1):
            return find_day(from_microseconds(slot * QUARTER), self._zone)
        return date.fromordinal(_EPOCH + (slot * QUARTER + offset // _MICROSECOND) // (_SLOTS * QUARTER))

    def _find_offset(self, day: int) -> timedelta | None:
        if day not in self._offsets:
            try:
                moment = from_microseconds(day * _SLOTS * QUARTER)
                there = moment.astimezone(self._zone).replace(tzinfo=UTC)
                self._offsets[day] = there - moment
            except OverflowError:  # at an end of the calendar
                self._offsets[day] = None
        return self._offsets[day]


class Detail(Struct, frozen=True):
    """What cells have to tell apart, besides models and terms: what else they differ in may be added up.

    `home` is all that is known of a session; `project`, `person` and `machine` are parts of it.
    """

    fields: frozenset[str] = frozenset({"session", "home", "agent", "skill", "mcp_server"})
    days: Days | None = None
    """Days that are told apart."""
    length: int = 1
    """Without days, how many quarters of an hour may be added up; 0 for all that there are."""

    def list_stretches(self, first: int, last: int) -> list[Stretch]:
        """Return the periods from one quarter of an hour to another; none if time makes no difference."""
        if first < _SLOTS or last - first > _MOST_DAYS * _SLOTS:  # nobody has such times
            return [Stretch(first, 0, 1)]
        if self.days is not None:
            return self.days.list_stretches(first, last)
        return [Stretch(first, 0, self.length)] if self.length else []


FULL = Detail()
_MOST_DAYS = 10_000


def find_zone(name: str) -> tzinfo:
    """Return a time zone by its name, as `Europe/Berlin`; raises `ValueError` for one that nobody knows."""
    from zoneinfo import ZoneInfo  # most reports are in this machine's time, and should not wait for it

    try:
        return ZoneInfo(name)
    except (OSError, LookupError, ValueError):  # no such name, or one that no file can have
        raise ValueError(f"expected the name of a time zone, such as Europe/Berlin, got {name!r}") from None


def name_day(day: date) -> str:
    """Return a day as ISO 8601 has it."""
    return day.isoformat()


def name_week(day: date) -> str:
    """Return the week of a day as ISO 8601 has it: it begins on Monday, and belongs to its Thursday's year."""
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def name_month(day: date) -> str:
    """Return the month of a day."""
    return f"{day.year:04}-{day.month:02}"


def find_day(moment: datetime, zone: tzinfo) -> date:
    """Return the day of a moment in a time zone."""
    try:
        return moment.astimezone(zone).date()
    except OverflowError:  # on the first or the last day that there is
        return moment.date()


SumKey = tuple[int, int | None, int, bool]
"""Group, slot, band of prices, whether the web was searched."""


class AnswerSum:
    """What some answers come to, that are priced alike."""

    __slots__ = ("counts", "first", "incomplete", "last", "messages", "quote", "starts")

    def __init__(self, quote: Quote | None, time: int | None) -> None:
        self.quote = quote
        self.starts = () if quote is None else quote.starts
        self.messages = self.incomplete = 0
        self.counts = [0, 0, 0, 0, 0, 0]
        self.first = self.last = time

    def add(self, answer: AnswerCount) -> None:
        """Take an answer in."""
        counts, time = self.counts, answer.time
        self.messages += 1
        if not answer.ended:
            self.incomplete += 1
        counts[0] += answer.input
        counts[1] += answer.output
        counts[2] += answer.cache_read
        counts[3] += answer.cache_write_5m
        counts[4] += answer.cache_write_1h
        counts[5] += answer.web_searches
        if time is not None and self.first is not None and self.last is not None:
            if time < self.first:
                self.first = time
            elif time > self.last:
                self.last = time


def sum_answers(
    groups: Sequence[AnswerGroup], answers: Iterable[AnswerCount], charger: Charger
) -> dict[SumKey, AnswerSum]:
    """Add up answers of one file, each of one of its groups, in quarters of an hour."""
    sums: dict[SumKey, AnswerSum] = {}
    for answer in answers:
        time, searched = answer.time, answer.web_searches > 0
        slot = None if time is None else time // QUARTER
        key = answer.group, slot, 0, searched
        found = sums.get(key)
        if found is None:
            group = groups[answer.group]
            found = sums[key] = AnswerSum(charger.find_quote(group.model, time, group.terms), time)
        if found.starts:
            prompt = answer.input + answer.cache_read + answer.cache_write_5m + answer.cache_write_1h
            if band := bisect_left(found.starts, prompt):
                key = answer.group, slot, band, searched
                found = sums.get(key) or sums.setdefault(key, AnswerSum(found.quote, time))
        found.add(answer)
    return sums


def build_cells(
    sums: Mapping[SumKey, AnswerSum], groups: Sequence[AnswerGroup], home: Home
) -> Iterator[UsageCell]:
    """Yield what answers of one file used and cost."""
    for (group, slot, band, _), found in sums.items():
        if found.messages:
            tokens = Tokens(*found.counts)
            charged = None if found.quote is None else charge(found.quote, band, tokens)
            counts = found.messages, found.incomplete, found.first, found.last
            yield _build_cell(slot, home, groups[group], tokens, charged, *counts)
