"""Messages put together from their stream events, as far as they have come.

`MessageAssembler` is a fold: events go in, in the order of the stream, and out comes the same `Message` that
the complete answer carries. The stream of one session mixes the messages of the main thread with those of
sub-agents, each of which writes one message at a time; so events are kept apart by session and
`parent_tool_use_id`. What does not fit stays visible as a `Problem`, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from turnlog.messages.message import Message, MessageError
from turnlog.messages.problems import Problem
from turnlog.messages.sdk.conversation import PartialAssistantMessage
from turnlog.messages.sdk.drafts import Draft
from turnlog.messages.sdk.events import MessageStart, Ping, StreamEvent


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
        self._drafts: dict[Thread, Draft] = {}

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
        if isinstance(event, MessageStart) and self._drafts.get(thread, Draft()).is_begun:
            ended = self.finish(thread)
        draft = self._drafts.setdefault(thread, Draft())
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


def _assembled(thread: Thread, draft: Draft) -> AssembledMessage:
    return AssembledMessage(
        thread=thread,
        message=draft.build(),
        is_complete=draft.is_complete,
        unfinished_inputs=draft.unfinished_inputs,
        problems=tuple(draft.problems),
        error=draft.error,
    )
