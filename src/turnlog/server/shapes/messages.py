"""Messages, in windows of a conversation.

A message has spec 003's fields with their aliases, and besides what it says in blocks, each of which the page
draws in its own way.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Raw, Struct, field

from turnlog.server.shapes.calls import Call, Image
from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.lines.categories import Author
from turnlog.transcripts.lines.kinds import Category, MessageType, Role


class TextBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="text"):
    """Text, in Markdown."""

    text: str
    truncated: bool = False


class ThinkingBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="thinking"):
    """Thinking; empty if only its signature was kept."""

    text: str
    truncated: bool = False


class CallBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="call"):
    """A tool call with its result."""

    call: Call


class ImageBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="image"):
    """An image."""

    image: Image


class OtherBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="other"):
    """A block without a specific form, as it is in the line."""

    type: str
    json: Raw | None
    """None if it is too long; the raw line has it."""


Block = TextBlock | ThinkingBlock | CallBlock | ImageBlock | OtherBlock


class MessageUsage(Struct, frozen=True, gc=False, kw_only=True):
    """What an answer used."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int


class CompactionStep(Struct, frozen=True, gc=False, kw_only=True):
    """What a message tells of a compaction, or of its undoing."""

    state: Literal["compacting", "compacted", "restoring", "restored"]
    kept: Literal["prelude", "recap"] | None
    """What the message says was kept (spec 004); null if it says that something happened, and no more."""


class Message(Struct, frozen=True, gc=False, kw_only=True):
    """A message as people read it: one or more lines of a file."""

    document_id: str = field(name="_id")
    """Its uuid, with the session's id and a colon before it where another session has a copy of the message."""
    index: int
    """Its position among the messages of its file, from 0; a result has that of its call's message."""
    source: str
    """The file that it is in: the transcript, or an agent's."""
    uuid: str
    """The uuid of its first line; if that has none, `@` and the offset where it begins."""
    message_uuid: str
    """The same."""
    parent_uuid: str | None
    """The message that it follows; lines that only carry results are skipped."""
    parent_uuid_alias: str | None
    """The same."""
    source_parent_uuid: str | None
    """What the file says."""
    session_id: str
    session_id_alias: str
    """The same."""
    type: str
    """As spec 003 calls it: user, assistant, tool_use, tool_result, summary, else as `role`.

    A message that holds calls is an assistant's; a tool_use is a call that is stored by itself.
    """
    rule: str
    """The rule by which it is shown (docs/transcripts.md lists them); `meta` is not for readers."""
    role: Role
    """What it is in the conversation (spec 002)."""
    types: tuple[MessageType, ...]
    """What it contains, in display order: thinking before what it led to."""
    author: Author
    """Who speaks: a human, the assistant, an agent, a hook, the system."""
    lane: Lane
    """Where it belongs: `main` for the conversation, `tool` for actions, `agent` for a sub-agent."""
    is_sidechain: bool
    """As spec 003 has it: of a sub-agent, or with calls or results."""
    category: Category | None
    """What sort of event it is; calls have categories of their own."""
    agent_id: str | None
    """The sub-agent that it belongs to."""
    parent: int | None
    """The index of the message that it follows."""
    branch: int
    """The number of its branch, which begins where a prompt was edited."""
    active: bool
    """Whether it is on the way to the newest message."""
    turn: int | None
    """The index of its turn."""
    created_at: datetime | None
    """When its first line was written."""
    timestamp: datetime | None
    """The same."""
    model: str | None
    permission_mode: str | None
    """The permission mode of a prompt; null for other messages, and if the file does not say."""
    aborted: bool
    """Whether it was interrupted."""
    compaction: CompactionStep | None
    """Only for messages of the rule `compaction`."""
    usage: MessageUsage | None
    """The usage of the answer; null for other messages, and for answers that are not counted."""
    cost_usd: float | None
    """What its document says that it cost, else by the price list; None if it has no price."""
    content: str
    """What it says, as plain text."""
    blocks: tuple[Block, ...]
    """What it says and does, in order."""
    lines: int
    """How many lines it is made of."""
    folded: int
    """How many lines are folded into it."""
    problems: int
    """What is wrong or unknown in its lines."""


class MessageWindow(Struct, frozen=True, gc=False, kw_only=True):
    """Consecutive messages, and how to continue in both directions."""

    items: tuple[Message, ...]
    total: int
    """The number of messages in the file, ignoring filters."""
    before: str | None
    """Pass it as `before` for the messages above; None at the beginning."""
    after: str | None
    """Pass it as `after` for the messages below; None at the end."""
    revision: int
    """The revision of the session; it increases when the session changes."""
