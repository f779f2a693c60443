"""The API's own stream events: a message while it is being written.

A message starts, its blocks start, grow by deltas and stop, and at last it gets its stop reason and its usage.
`assemble` puts them together. Both unions are open: new kinds of events and deltas stay visible.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Number, Open, Snake, UnknownTagged, UnsetType
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.citations import Citation
from turnlog.messages.message import (
    Container,
    ContextManagement,
    Message,
    MessageError,
    StopDetails,
    StopReason,
)
from turnlog.messages.usage import Usage


class UnknownEvent(UnknownTagged):
    """A stream event of an unknown type."""

    __slots__ = ()


class UnknownDelta(UnknownTagged):
    """A change of a content block, of an unknown type."""

    __slots__ = ()


class DeltaBase(Snake, tag_field="type"):
    """A piece by which a content block grows."""

    type: ClassVar[str]


class TextDelta(DeltaBase, tag="text_delta"):
    """More text."""

    text: str


class InputJsonDelta(DeltaBase, tag="input_json_delta"):
    """More of the JSON text of a call's input; only the whole is JSON."""

    partial_json: str


class CitationsDelta(DeltaBase, tag="citations_delta"):
    """One more citation of a text."""

    citation: Citation


class ThinkingDelta(DeltaBase, tag="thinking_delta"):
    """More thinking; empty when the API keeps the words to itself."""

    thinking: str
    estimated_tokens: Number | None | UnsetType = UNSET


class SignatureDelta(DeltaBase, tag="signature_delta"):
    """The signature of a thinking block; it comes once, at the end."""

    signature: str


class CompactionDelta(DeltaBase, tag="compaction_delta"):
    """The content of a compaction; it comes at once."""

    content: str | None | UnsetType = UNSET
    encrypted_content: str | None | UnsetType = UNSET


Delta = Open[
    TextDelta | InputJsonDelta | CitationsDelta | ThinkingDelta | SignatureDelta | CompactionDelta, UnknownDelta
]


class EventBase(Snake, tag_field="type"):
    """One event of the API's stream."""

    type: ClassVar[str]


class MessageStart(EventBase, tag="message_start"):
    """A message begins; it has no content yet."""

    message: Message


class ContentBlockStart(EventBase, tag="content_block_start"):
    """A block begins, empty or whole."""

    index: int
    content_block: ContentBlock


class ContentBlockDelta(EventBase, tag="content_block_delta"):
    """A block grows."""

    index: int
    delta: Delta


class ContentBlockStop(EventBase, tag="content_block_stop"):
    """A block is complete."""

    index: int


class MessageChange(Snake):
    """What is known of a message only when its content is complete."""

    stop_reason: StopReason | None | UnsetType = UNSET
    stop_sequence: str | None | UnsetType = UNSET
    stop_details: StopDetails | None | UnsetType = UNSET
    container: Container | None | UnsetType = UNSET


class MessageDelta(EventBase, tag="message_delta"):
    """The message's stop reason, and its usage: running totals, which replace those of the start."""

    delta: MessageChange | UnsetType = UNSET
    usage: Usage | None | UnsetType = UNSET
    context_management: ContextManagement | None | UnsetType = UNSET


class MessageStop(EventBase, tag="message_stop"):
    """The message is complete."""


class Ping(EventBase, tag="ping"):
    """A sign of life."""


class ErrorEvent(EventBase, tag="error"):
    """The API broke off; the message stays as it is."""

    error: MessageError
    request_id: str | None | UnsetType = UNSET


StreamEvent = Open[
    MessageStart
    | ContentBlockStart
    | ContentBlockDelta
    | ContentBlockStop
    | MessageDelta
    | MessageStop
    | Ping
    | ErrorEvent,
    UnknownEvent,
]
