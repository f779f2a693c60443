"""What one line says about the usage of one answer of the API.

Lines are grouped by `message.id` alone: `requestId` can be absent, and replays change it. A line without an id
is a message of its own, known by its `uuid`, else by where it stands, else by its bytes.

Not seen: `<synthetic>` answers, which the program wrote itself; lines that report no usage; messages nested in
progress lines, which are copies. Lines of sub-agents and workflows are lines like any other.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from turnlog.messages.codec import Line
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.envelope import instant
from turnlog.messages.sdk import AssistantMessage
from turnlog.messages.usage import Usage

__all__ = ["Attribution", "Sighting", "Terms", "Tokens", "find_sighting"]

_SYNTHETIC = "<synthetic>"
_NOWHERE = -1


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


def find_sighting(line: Line) -> Sighting | None:
    """Return what a line says about the usage of one message; None if nothing."""
    entry = line.entry
    if type(entry) is not AssistantEntry and type(entry) is not AssistantMessage:
        return None
    message = entry.message
    usage = _usage_of(entry)
    if usage is None or message.model == _SYNTHETIC:
        return None
    source, offset = ("", _NOWHERE) if line.at is None else (line.at.source, line.at.offset)
    return Sighting(
        message=_key(line, message.id, entry.uuid),
        session=entry.session_id or source,
        source=source,
        offset=offset,
        time=instant(entry.timestamp),
        model=message.model or None,
        tokens=_tokens(usage),
        terms=Terms(usage.service_tier or None, usage.speed or None, usage.inference_geo or None),
        attribution=_attribution(entry),
        ended=message.stop_reason is not None,
    )


def _outweighs(one: Sighting, other: Sighting) -> bool:
    """Tell which of two lines of a message in one file speaks for it."""
    if (one.tokens.output, one.offset) != (other.tokens.output, other.offset):
        return (one.tokens.output, one.offset) > (other.tokens.output, other.offset)
    # Their places are unknown or one and the same: their content decides, so that their order does not.
    return repr((one.model, one.tokens, one.terms)) > repr((other.model, other.tokens, other.terms))


def _key(line: Line, message: str | UnsetType, uuid: str | UnsetType) -> str:
    if message:
        return message
    if uuid:
        return f"uuid:{uuid}"
    if line.at is not None:
        return f"at:{line.at.offset}:{line.at.source}"
    return f"line:{blake2b(line.raw, digest_size=16).hexdigest()}"


def _count(value: int | None | UnsetType) -> int:
    return value if value and value > 0 else 0


def _usage_of(entry: AssistantEntry | AssistantMessage) -> Usage | None:
    return entry.message.usage or (entry.usage if type(entry) is AssistantEntry else None) or None


def _tokens(usage: Usage) -> Tokens:
    split, tools = usage.cache_creation or None, usage.server_tool_use or None
    short = _count(split.ephemeral_5m_input_tokens) if split else 0
    long = _count(split.ephemeral_1h_input_tokens) if split else 0
    return Tokens(
        input=_count(usage.input_tokens),
        output=_count(usage.output_tokens),
        cache_read=_count(usage.cache_read_input_tokens),
        cache_write_5m=max(short, _count(usage.cache_creation_input_tokens) - long),
        cache_write_1h=long,
        web_searches=_count(tools.web_search_requests) if tools else 0,
    )


def _attribution(entry: AssistantEntry | AssistantMessage) -> Attribution:
    if isinstance(entry, AssistantEntry):
        return Attribution(
            agent=entry.attribution_agent or None,
            agent_id=entry.agent_id or None,
            skill=entry.attribution_skill or None,
            plugin=entry.attribution_plugin or None,
            mcp_server=entry.attribution_mcp_server or None,
            mcp_tool=entry.attribution_mcp_tool or None,
        )
    return Attribution(agent=entry.subagent_type or None, agent_id=entry.agent_id or None)
