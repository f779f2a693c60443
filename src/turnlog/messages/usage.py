"""Token usage as the API reports it.

The counters are kept as they stand: which of several lines to believe, and what to leave out, is decided in
`transcripts`. Older and third-party writers leave counters out or write null, so none is required.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Raw, Snake, UnsetType

__all__ = [
    "CacheCreation",
    "Counters",
    "Iteration",
    "OutputTokensDetails",
    "ServerToolUse",
    "Usage",
]


class CacheCreation(Snake):
    """Cache writes, by how long they live."""

    ephemeral_5m_input_tokens: int | UnsetType = UNSET
    ephemeral_1h_input_tokens: int | UnsetType = UNSET


class ServerToolUse(Snake):
    """Billed calls of tools that run on the API's side."""

    web_search_requests: int | UnsetType = UNSET
    web_fetch_requests: int | UnsetType = UNSET


class OutputTokensDetails(Snake):
    """What the output tokens consist of."""

    thinking_tokens: int | None | UnsetType = UNSET


class Counters(Snake):
    """The counters that a whole message and each of its iterations share."""

    input_tokens: int | None | UnsetType = UNSET
    cache_creation_input_tokens: int | None | UnsetType = UNSET
    cache_read_input_tokens: int | None | UnsetType = UNSET
    cache_creation: CacheCreation | None | UnsetType = UNSET
    output_tokens: int | None | UnsetType = UNSET


class Iteration(Counters):
    """One sampling of a message that took several."""

    type: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    output_tokens_details: OutputTokensDetails | None | UnsetType = UNSET


class Usage(Counters):
    """What one API response used."""

    server_tool_use: ServerToolUse | None | UnsetType = UNSET
    service_tier: str | None | UnsetType = UNSET
    inference_geo: str | None | UnsetType = UNSET
    iterations: tuple[Iteration, ...] | None | UnsetType = UNSET
    speed: str | None | UnsetType = UNSET
    output_tokens_details: OutputTokensDetails | None | UnsetType = UNSET
    fallback_credit: Raw | UnsetType = UNSET
