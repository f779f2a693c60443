"""Messages put together from their stream events, as far as they have come.

`MessageAssembler` is a fold: events go in, in the order of the stream, and out comes the same `Message` that
the complete answer carries. The stream of one session mixes the messages of the main thread with those of
sub-agents, each of which writes one message at a time; so events are kept apart by session and
`parent_tool_use_id`. What does not fit stays visible as a `Problem`, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages.base import UNSET, Raw, Unknown, UnknownTagged, UnsetType, encode_value
from turnlog.messages.blocks import (
    Citation,
    CompactionBlock,
    ContentBlock,
    McpToolUseBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from turnlog.messages.message import Message, MessageError, Usage
from turnlog.messages.salvage import REFUSALS, Problem, ProblemKind, decoder
from turnlog.messages.sdk.messages import (
    CitationsDelta,
    CompactionDelta,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    Delta,
    ErrorEvent,
    InputJsonDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    PartialAssistantMessage,
    Ping,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

__all__ = [
    "AssembledMessage",
    "MessageAssembler",
    "Thread",
]

_Call = ToolUseBlock | ServerToolUseBlock | McpToolUseBlock


class _BlockDraft:
    """One content block in the making."""

    def __init__(self, start: ContentBlock) -> None:
        self._start = start
        self._pieces: list[str] = []
        self._citations: list[Citation] = []
        self._late: dict[str, object] = {}

    def grow(self, delta: Delta) -> bool:
        """Take a delta; return False if this block cannot grow by it."""
        match self._start, delta:
            case TextBlock(), TextDelta(text=piece):
                self._pieces.append(piece)
            case TextBlock(), CitationsDelta(citation=citation):
                self._citations.append(citation)
            case ThinkingBlock(), ThinkingDelta(thinking=piece):
                self._pieces.append(piece)
            case ThinkingBlock(), SignatureDelta(signature=signature):
                self._late["signature"] = signature
            case ToolUseBlock() | ServerToolUseBlock() | McpToolUseBlock(), InputJsonDelta(partial_json=piece):
                self._pieces.append(piece)
            case CompactionBlock(), CompactionDelta(content=content, encrypted_content=encrypted):
                self._pieces += [content] if isinstance(content, str) else []
                self._late |= {} if encrypted is UNSET else {"encrypted_content": encrypted}
            case _:
                return False
        return True

    @property
    def unfinished_input(self) -> str | None:
        """The text so far of a call's input, while it is not JSON."""
        if not isinstance(self._start, _Call):
            return None
        text = "".join(self._pieces)
        return text if text.strip() and _parse(text) is None else None

    def build(self) -> ContentBlock:
        """Return the block as far as it has come."""
        text = "".join(self._pieces)
        match self._start:
            case TextBlock() as start:
                return replace(start, text=start.text + text, **self._cited(start))
            case ThinkingBlock() as start:
                return replace(start, thinking=start.thinking + text, **self._late)
            case CompactionBlock() as start:
                return replace(
                    start, content=(start.content or "") + text if text else start.content, **self._late
                )
            case ToolUseBlock() | ServerToolUseBlock() | McpToolUseBlock() as start:
                return replace(start, input=_parse(text) or UNSET) if text.strip() else start
            case start:
                return start

    def _cited(self, start: TextBlock) -> dict[str, object]:
        return {"citations": (*(start.citations or ()), *self._citations)} if self._citations else {}


class _Draft:
    """One message in the making."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.error: MessageError | None = None
        self.is_complete = False
        self._start: Message | None = None
        self._blocks: dict[int, _BlockDraft] = {}
        self._late: dict[str, object] = {}
        self._usage: Usage | None | UnsetType = UNSET

    @property
    def is_begun(self) -> bool:
        """Tell whether anything of a message has come."""
        return bool(self._start or self._blocks or self._late or self.error)

    @property
    def unfinished_inputs(self) -> dict[int, str]:
        """The text so far of each call's input that is not JSON yet, by the block's index."""
        texts = ((index, self._blocks[index].unfinished_input) for index in sorted(self._blocks))
        return {index: text for index, text in texts if text is not None}

    def build(self) -> Message:
        """Return the message as far as it has come."""
        content = tuple(self._blocks[index].build() for index in sorted(self._blocks))
        return replace(self._start or Message(), content=content, usage=self._usage, **self._late)

    def add(self, event: StreamEvent) -> None:
        """Take the next event."""
        match event:
            case MessageStart(message=message):
                self._begin(message)
            case ContentBlockStart(index=index, content_block=block):
                self._add_block(index, block)
            case ContentBlockDelta(index=index, delta=delta):
                self._grow(index, delta)
            case ContentBlockStop(index=index):
                self._end_block(index)
            case MessageDelta():
                self._change(event)
            case MessageStop():
                self.is_complete = True
            case ErrorEvent(error=error):
                self.error = error
            case UnknownTagged():
                self._report(ProblemKind.UNKNOWN_TYPE, "a known event", f"`{event.type}`", unknown=event)
            case Ping():
                pass
            case _:
                assert_never(event)

    def _begin(self, message: Message) -> None:
        self._start = message
        self._usage = message.usage
        if isinstance(message.content, tuple):
            self._blocks = {index: _BlockDraft(block) for index, block in enumerate(message.content)}

    def _add_block(self, index: int, block: ContentBlock) -> None:
        if index in self._blocks:
            old = self._blocks[index].build()
            self._report(ProblemKind.WRONG_TYPE, "a new block", "another one", index, _keep(old))
        self._blocks[index] = _BlockDraft(block)

    def _grow(self, index: int, delta: Delta) -> None:
        if isinstance(delta, UnknownTagged):
            self._report(ProblemKind.UNKNOWN_TYPE, "a known delta", f"`{delta.type}`", index, delta)
        elif index not in self._blocks:
            self._report(ProblemKind.MISSING_FIELD, "the start of the block", "a delta", index, _keep(delta))
        elif not self._blocks[index].grow(delta):
            found = f"`{delta.type}`"
            self._report(ProblemKind.WRONG_TYPE, "a delta that fits the block", found, index, _keep(delta))

    def _end_block(self, index: int) -> None:
        if index not in self._blocks:
            self._report(ProblemKind.MISSING_FIELD, "the start of the block", "its end", index)
        elif (text := self._blocks[index].unfinished_input) is not None:
            self._report(ProblemKind.MALFORMED, "JSON", "text", index, Unknown(_encode(text)))

    def _change(self, event: MessageDelta) -> None:
        changes = () if event.delta is UNSET else event.delta.__struct_fields__
        values = {name: getattr(event.delta, name) for name in changes}
        values["context_management"] = event.context_management
        self._late |= {name: value for name, value in values.items() if value is not UNSET}
        self._usage = _merge(self._usage, event.usage)

    def _report(
        self,
        kind: ProblemKind,
        expected: str,
        found: str,
        index: int | None = None,
        unknown: Unknown | None = None,
    ) -> None:
        steps = () if index is None else ("content", index)
        self.problems.append(Problem(kind, expected, found, steps, unknown))


def _merge(old: Usage | None | UnsetType, new: Usage | None | UnsetType) -> Usage | None | UnsetType:
    """Return `old` with the counters that `new` gives; those that it leaves out or nulls stay."""
    if not isinstance(new, Usage):
        return old
    if not isinstance(old, Usage):
        return new
    counters = {name: getattr(new, name) for name in new.__struct_fields__}
    return replace(
        old, **{name: each for name, each in counters.items() if each is not UNSET and each is not None}
    )


def _parse(text: str) -> Raw | None:
    try:
        raw: Raw = decoder(Raw).decode(_encode(text))
    except REFUSALS:
        return None
    return raw


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _keep(value: Struct | Unknown) -> Unknown:
    return Unknown(encode_value(value))


class Thread(NamedTuple):
    """Where messages come one after the other: a session's main thread, or one of its sub-agents."""

    session_id: str | None = None
    parent_tool_use_id: str | None = None

    @classmethod
    def of(cls, part: PartialAssistantMessage) -> Thread:
        """Return the thread that an event belongs to."""
        return cls(part.session_id or None, part.parent_tool_use_id or None)


_MAIN = Thread()


class AssembledMessage(Struct, frozen=True):
    """A message as far as its events tell."""

    thread: Thread
    message: Message
    is_complete: bool
    """Whether the stream said that nothing more comes."""
    unfinished_inputs: Mapping[int, str]
    """By the block's index, the text so far of each call's input that is not JSON yet; its block has none."""
    problems: tuple[Problem, ...]
    error: MessageError | None = None
    """Why the API broke off."""


class MessageAssembler:
    """Builds messages from stream events, one at a time on each thread."""

    def __init__(self) -> None:
        self._drafts: dict[Thread, _Draft] = {}

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The threads on which a message is being written."""
        return tuple(self._drafts)

    def add(self, part: PartialAssistantMessage) -> AssembledMessage | None:
        """Take the next event; return the message that it ended, if it ended one.

        A message ends with `message_stop`, or cut off where the next one starts on its thread.
        """
        return self.add_event(part.event, Thread.of(part))

    def add_event(self, event: StreamEvent, thread: Thread = _MAIN) -> AssembledMessage | None:
        """Take the next event of a thread; return the message that it ended, if it ended one."""
        if isinstance(event, Ping):
            return None
        ended = None
        if isinstance(event, MessageStart) and self._drafts.get(thread, _Draft()).is_begun:
            ended = self.finish(thread)
        draft = self._drafts.setdefault(thread, _Draft())
        draft.add(event)
        return self.finish(thread) if draft.is_complete else ended

    def snapshot(self, thread: Thread = _MAIN) -> AssembledMessage | None:
        """Return the message in the making on a thread, as far as it has come; None if there is none."""
        draft = self._drafts.get(thread)
        return None if draft is None else _assembled(thread, draft)

    def finish(self, thread: Thread = _MAIN) -> AssembledMessage | None:
        """Wait no longer: forget the message in the making on a thread, and return it as it is."""
        draft = self._drafts.pop(thread, None)
        return None if draft is None else _assembled(thread, draft)


def _assembled(thread: Thread, draft: _Draft) -> AssembledMessage:
    return AssembledMessage(
        thread=thread,
        message=draft.build(),
        is_complete=draft.is_complete,
        unfinished_inputs=draft.unfinished_inputs,
        problems=tuple(draft.problems),
        error=draft.error,
    )
