"""What one line says about the usage of one answer of the API.

Lines are grouped by `message.id` alone: `requestId` can be absent, and replays change it. A line without an id
is a message of its own, known by its `uuid`, else by where it stands, else by its bytes.

Not seen: `<synthetic>` answers, which the program wrote itself; lines that report no usage; messages nested in
progress lines, which are copies. Lines of sub-agents and workflows are lines like any other.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar

from msgspec import UnsetType

from turnlog.messages.codec import Line
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.envelope import instant
from turnlog.messages.sdk import AssistantMessage
from turnlog.messages.usage import Usage
from turnlog.transcripts.usage.tokens import Attribution, Sighting, Terms, Tokens

T = TypeVar("T")
_SYNTHETIC = "<synthetic>"
_NOWHERE = -1


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
        session=_share(entry.session_id or source),
        source=source,
        offset=offset,
        time=instant(entry.timestamp),
        model=_share(message.model or None),
        tokens=_tokens(usage),
        terms=_share_terms(usage.service_tier or None, usage.speed or None, usage.inference_geo or None),
        attribution=_find_attribution(entry),
        ended=message.stop_reason is not None,
    )


@lru_cache(maxsize=1024)
def _share(value: T) -> T:
    """Return a value that was seen before in place of an equal one: thousands of answers say the same."""
    return value


_share_terms = lru_cache(maxsize=1024)(Terms)
_share_attribution = lru_cache(maxsize=1024)(Attribution)


def name_answer(line: Line) -> str | None:
    """Return by what the answer is known that a line is of: the API's id, or what stands for it; else None."""
    entry = line.entry
    if type(entry) is not AssistantEntry and type(entry) is not AssistantMessage:
        return None
    return _key(line, entry.message.id, entry.uuid)


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


def _find_attribution(entry: AssistantEntry | AssistantMessage) -> Attribution:
    if type(entry) is AssistantEntry:
        return _share_attribution(
            entry.attribution_agent or None,
            entry.agent_id or None,
            entry.attribution_skill or None,
            entry.attribution_plugin or None,
            entry.attribution_mcp_server or None,
            entry.attribution_mcp_tool or None,
        )
    assert type(entry) is AssistantMessage
    return _share_attribution(entry.subagent_type or None, entry.agent_id or None)
