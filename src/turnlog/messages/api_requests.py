"""The requests that were sent to the API, as newer versions keep them beside the conversation.

What many requests share stands once, under a hash: the system prompt and the tools in an `ApiRequestShape`,
each message in an `ApiRequestBlob`. An `ApiRequest` names its shape and its messages: the first `keep` of the
request that is its `base`, then those in `tail`. All of it repeats what the conversation's own lines say: it is
never counted, and never shown as a message.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Raw, Snake, UnsetType
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.envelope import Envelope
from turnlog.messages.media import CacheControl
from turnlog.messages.message import Message, OutputConfig

__all__ = [
    "ApiRequest",
    "ApiRequestBlob",
    "ApiRequestParams",
    "ApiRequestShape",
    "CacheMark",
    "RequestPrompt",
    "ThinkingParams",
]


class ThinkingParams(Snake):
    """How much the model was to think, and what of it to show."""

    type: str | UnsetType = UNSET
    budget_tokens: int | UnsetType = UNSET
    display: str | UnsetType = UNSET


class ApiRequestParams(Snake):
    """A request without its prompt."""

    model: str | UnsetType = UNSET
    betas: tuple[str, ...] | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    thinking: ThinkingParams | UnsetType = UNSET
    context_management: Raw | UnsetType = UNSET
    output_config: OutputConfig | UnsetType = UNSET


class CacheMark(Camel):
    """A place in a request up to which it was to be cached."""

    path: tuple[str | int, ...] | UnsetType = UNSET
    value: CacheControl | UnsetType = UNSET


class ApiRequest(Envelope, tag_field="type", tag="api-request"):
    """One request; the answer's lines name it in `requestRef`."""

    type: ClassVar[str]
    id: str | UnsetType = UNSET
    query_source: str | UnsetType = UNSET
    """What asked: `sdk`, `agent:builtin:general-purpose` and the like."""
    shape_hash: str | UnsetType = UNSET
    params: ApiRequestParams | UnsetType = UNSET
    base: str | UnsetType = UNSET
    """The request whose first messages this one repeats."""
    keep: int | UnsetType = UNSET
    tail: tuple[str, ...] | UnsetType = UNSET
    """The hashes of the messages behind those."""
    cache_control: tuple[CacheMark, ...] | UnsetType = UNSET
    request_digest: str | UnsetType = UNSET


class RequestPrompt(Snake):
    """What requests have in common."""

    system: str | tuple[ContentBlock, ...] | UnsetType = UNSET
    tools: tuple[Raw, ...] | UnsetType = UNSET


class ApiRequestShape(Envelope, tag_field="type", tag="api-request-shape"):
    """A system prompt and tools, by their hash."""

    type: ClassVar[str]
    shape_hash: str | UnsetType = UNSET
    shape: RequestPrompt | UnsetType = UNSET


class ApiRequestBlob(Envelope, tag_field="type", tag="api-request-blob"):
    """A message of a request, by its hash."""

    type: ClassVar[str]
    hash: str | UnsetType = UNSET
    message: Message | UnsetType = UNSET
