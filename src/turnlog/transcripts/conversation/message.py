"""What people read: a message, made of one line or of several."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.blocks import ContentBlock, ThinkingBlock
from turnlog.messages.envelope import instant
from turnlog.messages.metadata import QueueOperation
from turnlog.transcripts.actions import report_of
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.kinds import Category, MessageType, Role
from turnlog.transcripts.lines.blocks import list_blocks
from turnlog.transcripts.lines.categories import Author, author_of, find_category
from turnlog.transcripts.lines.prompts import PROGRAM_KINDS, Prompt


class Lane(StrEnum):
    """Where a message belongs on the page."""

    MAIN = "main"
    """What is said: prompts, answers, and an answer that calls tools but says something."""
    TOOL = "tool"
    """What is done: answers that only call tools, and results."""
    AGENT = "agent"
    """A sub-agent's conversation."""


class Message(Struct, frozen=True, gc=False, kw_only=True):
    """A message as people read it. What was folded into it is there, too; nothing is lost on the way."""

    index: int
    """Its place among the messages of its file."""
    rule: Rule
    """Why it is shown."""
    role: Role
    types: tuple[MessageType, ...]
    """What it shows, in order: thinking before what it led to."""
    lane: Lane
    agent_id: str | None = None
    """The sub-agent whose conversation it is in, where its lines name it."""
    lines: tuple[Line, ...]
    """What it is made of, in order; the first is where it stands."""
    folded: tuple[Line, ...] = ()
    """Further lines that are shown with it: results, progress, output of a command, copies."""
    calls: tuple[Call, ...] = ()
    prompt: Prompt | None = None
    """What a text in the user's place is."""
    aborted: bool = False

    def __repr__(self) -> str:
        counts = f"lines={len(self.lines)}, calls={len(self.calls)}"
        return f"Message(index={self.index}, id={self.id!r}, rule={self.rule.value!r}, {counts})"

    @property
    def id(self) -> str:
        """The uuid of its first line; where it has none, the place of that line."""
        line = self.lines[0]
        uuid = getattr(line.entry, "uuid", None)
        return uuid if isinstance(uuid, str) else f"@{self.index if line.at is None else line.at.offset}"

    @property
    def is_hidden(self) -> bool:
        """Whether readers leave it out: it has its number, but is the program's own metadata."""
        return self.rule is Rule.META

    @property
    def author(self) -> Author:
        """Who speaks."""
        if self.prompt is not None and type(self.lines[0].entry) is QueueOperation:
            return Author.SYSTEM if self.prompt.kind in PROGRAM_KINDS else Author.HUMAN
        return author_of(self.lines[-1])

    @property
    def category(self) -> Category | None:
        """What sort of action it is, or None; calls have categories of their own."""
        return find_category(self.lines[-1])

    @property
    def time(self) -> datetime | None:
        """When its first line was written; None if that is not said."""
        return instant(getattr(self.lines[0].entry, "timestamp", None))

    @property
    def blocks(self) -> tuple[ContentBlock, ...]:
        """All content blocks, in order."""
        return tuple(block for line in self.lines for block in list_blocks(line.entry))

    @property
    def text(self) -> str:
        """What it says, without thinking, tags and envelopes; a sentence, where it only reports something."""
        if self.prompt is not None:
            return self.prompt.text
        return "\n\n".join(filter(None, (report_of(line.entry) for line in self.lines)))

    @property
    def thinking(self) -> str:
        """What was thought before and in between; empty where the program keeps only a signature."""
        thoughts = (block.thinking for block in self.blocks if isinstance(block, ThinkingBlock))
        return "\n\n".join(thought for thought in thoughts if thought)

    @property
    def model(self) -> str | None:
        """The model that wrote it, if one did."""
        message = getattr(self.lines[-1].entry, "message", None)
        model = getattr(message, "model", None)
        return model if isinstance(model, str) else None

    @property
    def message_id(self) -> str | None:
        """The API's id, by which its lines belong together."""
        message = getattr(self.lines[-1].entry, "message", None)
        identity = getattr(message, "id", None)
        return identity if isinstance(identity, str) else None

    @property
    def is_sidechain(self) -> bool:
        """Whether spec 003 counts it as an auxiliary operation: all of tools and agents."""
        return self.lane is not Lane.MAIN or bool(self.calls)
