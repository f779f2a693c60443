"""What was used, under which terms and on whose behalf: values, without the types of lines.

Whoever only adds up what was found before (`store`, the command line) needs no more than these.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace


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


class Terms(Struct, frozen=True, gc=False):
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
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)
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
    terms: Terms
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
    terms: Terms
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
