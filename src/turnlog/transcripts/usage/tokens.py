"""What was used, under which terms and on whose behalf, and who owns an answer that was seen in several places.

Whoever only adds up what was found before (`store`, the command line) needs no more than these values: the
types of lines are not loaded.

One answer of the API stands on several lines, in several files and, after forks, in several sessions. It is
owned where its earliest line is, then by the smallest source; the lines with the most output tokens speak for
it, the owner's among equals. Order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import astuple, replace


class Tokens(Struct, frozen=True, gc=False):
    """What was used: counts that add up."""

    input: int = 0
    """Neither read from the cache nor written to it."""
    output: int = 0
    """Thinking included."""
    cache_read: int = 0
    cache_write_5m: int = 0
    """With the remainder of cache writes whose lifetime is not said."""
    cache_write_1h: int = 0
    web_searches: int = 0
    """What the API billed with the message. The WebSearch tool searches in a call of its own, which no
    transcript holds: this is then 0, and the count stands in the tool's result (`search_count`) and in
    `cost-state`."""

    @property
    def prompt(self) -> int:
        """All of the input, cached or not: what price bands go by."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.web_searches + other.web_searches,
        )


class PricingTerms(Struct, frozen=True, gc=False):
    """How a message was served, as far as its price depends on it."""

    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None


class Attribution(Struct, frozen=True, gc=False):
    """On whose behalf a message was made, where its lines say it."""

    agent: str | None = None
    """The kind of agent."""
    agent_id: str | None = None
    """The one agent."""
    skill: str | None = None
    plugin: str | None = None
    mcp_server: str | None = None
    mcp_tool: str | None = None

    def join(self, other: Attribution) -> Attribution:
        """Return what either says. Lines of a message do not disagree; if they did, the greater would stay."""
        if self == other:
            return self
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Attribution(*(max((each for each in pair if each is not None), default=None) for pair in pairs))


class Sighting(Struct, frozen=True, gc=False):
    """What the lines of one message in one file say, so far."""

    message: str
    """`message.id`, or what stands for it."""
    session: str
    """A line that names no session belongs to its source."""
    source: str
    offset: int
    """Where the line stands that speaks for the message; -1 if unknown."""
    time: datetime | None
    """The earliest."""
    model: str | None
    tokens: Tokens
    terms: PricingTerms
    attribution: Attribution
    ended: bool
    """Whether any line is more than a part of an unfinished answer."""

    def join(self, other: Sighting) -> Sighting:
        """Return what both say together: in any order, and however often, it comes to the same."""
        best = self if _outweighs(self, other) else other
        return replace(
            best,
            time=min(self.time, other.time) if self.time and other.time else self.time or other.time,
            attribution=self.attribution.join(other.attribution),
            ended=self.ended or other.ended,
        )


class AnswerGroup(Struct, frozen=True, gc=False, array_like=True):
    """What most answers of a file have in common."""

    session: str
    model: str | None
    terms: PricingTerms
    attribution: Attribution


class AnswerCount(Struct, frozen=True, gc=False, array_like=True):
    """What one answer used, by the lines of one file and session: a `Sighting` without what its group says."""

    message: str
    group: int
    """Which of the file's groups it belongs to."""
    offset: int
    time: int | None
    """In microseconds since 1970."""
    ended: bool
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int

    @property
    def tokens(self) -> Tokens:
        """What it used, in one value."""
        return Tokens(
            self.input,
            self.output,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.web_searches,
        )


def _outweighs(one: Sighting, other: Sighting) -> bool:
    """Tell which of two lines of a message in one file speaks for it."""
    if (one.tokens.output, one.offset) != (other.tokens.output, other.offset):
        return (one.tokens.output, one.offset) > (other.tokens.output, other.offset)
    # Their places are unknown or one and the same: their content decides, so that their order does not.
    return repr((one.model, one.tokens, one.terms)) > repr((other.model, other.tokens, other.terms))


_NEVER = datetime.max.replace(tzinfo=UTC)
_Home = tuple[str, str]


class MessageUsage(Struct, frozen=True, gc=False):
    """One answer of the API, counted once."""

    message: str
    """`message.id`, or what stands for it."""
    session: str
    """The owner."""
    sessions: tuple[str, ...]
    """All in which it stands."""
    time: datetime | None
    model: str | None
    tokens: Tokens
    terms: PricingTerms = PricingTerms()
    attribution: Attribution = Attribution()
    complete: bool = True
    """If not, the output tokens are a floor."""
    source: str = ""
    """The file that owns it."""


class Totals(Struct, frozen=True, gc=False):
    """Messages, and what they used."""

    messages: int = 0
    incomplete: int = 0
    """How many of the messages have a floor for their output."""
    tokens: Tokens = Tokens()

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.messages + other.messages, self.incomplete + other.incomplete, self.tokens + other.tokens
        )


class SightingFold:
    """What was seen of answers, gathered in any order."""

    def __init__(self) -> None:
        self._messages: dict[str, Sighting | dict[_Home, Sighting]] = {}
        """What was seen of each; of those that stand in several places, by place."""

    def add_sighting(self, sighting: Sighting) -> None:
        """Take in what was found in a line before."""
        known = self._messages.get(sighting.message)
        if known is None:
            self._messages[sighting.message] = sighting
        elif isinstance(known, Sighting):
            if _home(known) == _home(sighting):
                self._messages[sighting.message] = known.join(sighting)
            else:
                self._messages[sighting.message] = {_home(known): known, _home(sighting): sighting}
        else:
            before = known.get(_home(sighting))
            known[_home(sighting)] = sighting if before is None else before.join(sighting)

    def list_seen(self, message: str) -> list[Sighting]:
        """Return what each file says of one message; nothing if none does."""
        return _list(self._messages.get(message))

    def list_seen_in(self, source: str) -> Iterator[Sighting]:
        """Yield what one file says of each message, in order of appearance."""
        return (each for seen in self._messages.values() for each in _list(seen) if each.source == source)

    def list_names(self) -> list[str]:
        """Return by what all messages are known, in order of appearance."""
        return list(self._messages)

    def list_sightings(self) -> list[Sighting]:
        """Return what each file says of each message, in order of appearance."""
        return [sighting for seen in self._messages.values() for sighting in _list(seen)]

    def list_messages(self, session: str | None = None) -> list[MessageUsage]:
        """Return all messages, by time; with `session`, those that stand in it, by its own lines alone."""
        found = []
        for places in self._messages.values():
            seen = [each for each in _list(places) if session is None or each.session == session]
            if seen:
                found.append(build_message(seen))
        return sorted(found, key=lambda each: (each.time or _NEVER, each.message))

    def list_answers(self) -> Iterator[MessageUsage | Sighting]:
        """Yield all messages in no order; those that were seen in one place alone, as they were seen there."""
        for places in self._messages.values():
            seen = _list(places)
            yield seen[0] if len(seen) == 1 else build_message(seen)

    def list_own(self) -> dict[str, list[MessageUsage]]:
        """Return the messages that stand in each session, by its own lines alone."""
        own: dict[str, list[MessageUsage]] = {}
        for places in self._messages.values():
            here: dict[str, list[Sighting]] = {}
            for sighting in _list(places):
                here.setdefault(sighting.session, []).append(sighting)
            for session, seen in here.items():
                own.setdefault(session, []).append(build_message(seen))
        return own


@lru_cache(maxsize=64)
def _name(session: str) -> tuple[str, ...]:
    """Return one session as all of them, once for many messages."""
    return (session,)


def _home(sighting: Sighting) -> _Home:
    return sighting.session, sighting.source


def _list(seen: Sighting | dict[_Home, Sighting] | None) -> list[Sighting]:
    if seen is None:
        return []
    return [seen] if isinstance(seen, Sighting) else list(seen.values())


def build_total(messages: Iterable[MessageUsage]) -> Totals:
    """Add messages up."""
    total = Totals()
    for message in messages:
        total += Totals(1, 0 if message.complete else 1, message.tokens)
    return total


def build_message(seen: list[Sighting]) -> MessageUsage:
    """Make one message of what was seen of it in different places."""
    if len(seen) == 1:
        [one] = seen
        return MessageUsage(
            one.message, one.session, _name(one.session), one.time, one.model, one.tokens, one.terms,
            one.attribution, one.ended, one.source,
        )  # fmt: skip
    owner = min(seen, key=lambda each: (each.time or _NEVER, each.source, each.session))
    best = min(seen, key=lambda each: (-each.tokens.output, each is not owner, each.source, each.session))
    attribution = owner.attribution
    for sighting in seen:
        attribution = attribution.join(sighting.attribution)
    return MessageUsage(
        message=owner.message,
        session=owner.session,
        sessions=tuple(sorted({each.session for each in seen})),
        time=owner.time,
        model=best.model,
        tokens=best.tokens,
        terms=best.terms,
        attribution=attribution,
        complete=any(each.ended for each in seen),
        source=owner.source,
    )
