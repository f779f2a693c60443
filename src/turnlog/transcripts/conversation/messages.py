"""What people read, and what becomes of each line in it: messages, places, compactions.

Each line has exactly one place: it is shown, folded into what is shown, hidden, or it says something about the
state of the session and nothing to the reader. Each place has a rule, so that it can be counted and explained.
What nobody has a rule for is shown: unknown things stay visible.

The program's own metadata (`isMeta`) is hidden, but is a message with a number of its own: whether something
is shown must not change what links and search hits name. Readers leave such messages out
(`Message.is_hidden`), unless one is asked for by its number.

A compaction has one form for all dialects. Today a boundary is followed by a user line with the summary; spec
000 has a line for each step, spec 004 one for what was kept and one for the recap, spec 002 a single
`summary`. The stream tells of the boundary alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

import turnlog.messages.sdk.messages as sdk
from turnlog.messages import Line, UnsetType, attachments, entries, metadata, system
from turnlog.messages.attachments import UnknownAttachment
from turnlog.messages.blocks import ContentBlock, ThinkingBlock
from turnlog.messages.control.frames import CONTROL_TYPES
from turnlog.messages.entries import CompactionEntry, CompactionPhase, CompactionStatistics
from turnlog.messages.envelope import instant
from turnlog.messages.metadata import QueueOperation, Summary
from turnlog.messages.sdk.messages import CompactBoundaryMessage, CompactDetails
from turnlog.messages.system import CompactBoundary, CompactMetadata, MicrocompactBoundary, MicrocompactMetadata
from turnlog.transcripts.actions import report_of
from turnlog.transcripts.calls import Call
from turnlog.transcripts.kinds import Category, HashedEnum, MessageType, Role
from turnlog.transcripts.lines.content import Author, author_of, find_category, list_blocks
from turnlog.transcripts.lines.prompts import PROGRAM_KINDS, Prompt


class LineDisplay(HashedEnum):
    """How a line is displayed."""

    SHOWN = "shown"
    """It is a message, or begins one."""
    FOLDED = "folded"
    """It is part of a message that another line began."""
    HIDDEN = "hidden"
    STATE = "state"
    """It says how things stand with the session, and nothing to a reader."""


class Rule(HashedEnum):
    """Why a line has its place."""

    PROMPT = "prompt"
    COMMAND = "command"
    """A slash command, or a shell command of the person's own."""
    QUEUED = "queued"
    """A prompt that was delivered within a turn; where it was put into the queue, if it stands nowhere else."""
    WAITING = "waiting"
    """A prompt that is still in the queue when the file ends."""
    NOTICE = "notice"
    """News of a background task."""
    INTERRUPTION = "interruption"
    ANSWER = "answer"
    RAN_COMMAND = "ran-command"
    """A slash command that Claude ran itself (spec 000)."""
    LONE_THINKING = "lone-thinking"
    """Thinking that no answer followed."""
    LONE_RESULT = "lone-result"
    """A result whose call is not here, or that comes with text of its own."""
    LONE_OUTPUT = "lone-output"
    """What a command printed that is not here."""
    LONE_PROGRESS = "lone-progress"
    """Progress of something that is no call here."""
    RECAP = "recap"
    """What a compaction left of the conversation so far."""
    COMPACTION = "compaction"
    SUMMARY = "summary"
    HOOK = "hook"
    CONTEXT_SHOWN = "context-shown"
    """Context that a person gave or wants to know of: files, selections, goals."""
    SYSTEM = "system"
    UNKNOWN = "unknown"
    """Of a type that nobody knows, or broken."""

    PART = "part"
    """A further line of the same `message.id`."""
    THINKING = "thinking"
    """Thinking that waited for its answer."""
    RESULT = "result"
    """The result of a call, which is shown with it."""
    OUTPUT = "output"
    """What a command printed."""
    PROGRESS = "progress"
    """How far a call has come."""
    HOOK_RAN = "hook-ran"
    """A hook that let a call pass."""
    COPY = "copy"
    """The same line again, under the same uuid; or a call that is stored once more by itself (spec 003)."""

    META = "meta"
    """Put in the user's mouth by the program, or its own metadata: not for readers."""
    DELETED = "deleted"
    EMPTY = "empty"
    SUPERSEDED = "superseded"
    """Another line says that it replaces this one."""
    FILLER = "filler"
    """An answer that the program wrote because there has to be one."""
    CONTEXT = "context"
    """Context for the model alone."""
    PARTIAL = "partial"
    """A part of an answer that is on its way; the whole follows."""

    STATE = "state"
    QUEUE = "queue"
    FOOTER = "footer"
    """The end of a turn: how long it took, which hooks ran."""
    ELSEWHERE = "elsewhere"
    """About another session: the summaries at the head of old files."""
    CONTROL = "control"


_FOLDED = (Rule.PART, Rule.THINKING, Rule.RESULT, Rule.OUTPUT, Rule.PROGRESS, Rule.HOOK_RAN, Rule.COPY)
_HIDDEN = (Rule.META, Rule.DELETED, Rule.EMPTY, Rule.SUPERSEDED, Rule.FILLER, Rule.CONTEXT, Rule.PARTIAL)
_STATE = (Rule.STATE, Rule.QUEUE, Rule.FOOTER, Rule.ELSEWHERE, Rule.CONTROL)

DISPLAYS: Mapping[Rule, LineDisplay] = (
    dict.fromkeys(Rule, LineDisplay.SHOWN)
    | dict.fromkeys(_FOLDED, LineDisplay.FOLDED)
    | dict.fromkeys(_HIDDEN, LineDisplay.HIDDEN)
    | dict.fromkeys(_STATE, LineDisplay.STATE)
)


class Placement(Struct, frozen=True, gc=False):
    """The place of one line."""

    rule: Rule
    message: int | None = None
    """Which message it is, or is part of; None if it is none."""

    @property
    def display(self) -> LineDisplay:
        """How the line is displayed."""
        return DISPLAYS[self.rule]


ENTRY_RULES: Mapping[type, Rule] = (
    dict.fromkeys(get_args(entries.MetadataEntry), Rule.STATE)
    | {
        metadata.Summary: Rule.SUMMARY,
        metadata.SavedHookContext: Rule.HOOK,
        metadata.QueueOperation: Rule.QUEUE,
        metadata.TurnEnd: Rule.FOOTER,
        metadata.JournalLaunched: Rule.SYSTEM,
        metadata.JournalStarted: Rule.SYSTEM,
        metadata.JournalResult: Rule.SYSTEM,
        metadata.JournalFailed: Rule.SYSTEM,
        system.TurnDuration: Rule.FOOTER,
        system.CompactBoundary: Rule.COMPACTION,
        system.MicrocompactBoundary: Rule.COMPACTION,
        CompactionEntry: Rule.COMPACTION,
        entries.UnknownEntry: Rule.UNKNOWN,
    }
    # the stream
    | dict.fromkeys((cls for classes in CONTROL_TYPES.values() for cls in classes), Rule.CONTROL)
    | {
        sdk.PartialAssistantMessage: Rule.PARTIAL,
        sdk.ThinkingTokensMessage: Rule.PARTIAL,
        sdk.SystemInitMessage: Rule.STATE,
        sdk.StatusMessage: Rule.STATE,
        sdk.SessionStateChangedMessage: Rule.STATE,
        sdk.CommandsChangedMessage: Rule.STATE,
        sdk.FilesPersistedEvent: Rule.STATE,
        sdk.TranscriptMirrorMessage: Rule.STATE,
        sdk.BackgroundTasksChangedMessage: Rule.STATE,
        sdk.ControlRequestProgressMessage: Rule.CONTROL,
        sdk.CompactBoundaryMessage: Rule.COMPACTION,
        sdk.HookStartedMessage: Rule.HOOK,
        sdk.HookResponseMessage: Rule.HOOK,
        sdk.HookProgressMessage: Rule.HOOK,
        sdk.TaskNotificationMessage: Rule.NOTICE,
        sdk.PromptSuggestionMessage: Rule.STATE,
        sdk.CommandLifecycleMessage: Rule.STATE,
    }
)
"""The rule of entries whose type decides it; what is not listed is shown as the system's."""

ATTACHMENT_RULES: Mapping[type, Rule] = (
    dict.fromkeys(attachments.HOOK_ATTACHMENTS, Rule.HOOK)
    | dict.fromkeys(attachments.SHOWN_ATTACHMENTS, Rule.CONTEXT_SHOWN)
    | {UnknownAttachment: Rule.UNKNOWN}
)
"""The rule of attachments; what is not listed is context for the model alone."""


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


class CompactionState(StrEnum):
    """How far a compaction, or its undoing, has come."""

    COMPACTING = "compacting"
    COMPACTED = "compacted"
    RESTORING = "restoring"
    RESTORED = "restored"


class Compaction(Struct, frozen=True, gc=False, kw_only=True):
    """One compaction."""

    state: CompactionState
    messages: tuple[int, ...]
    """The messages that tell of it, in order."""
    trigger: str | None = None
    """`manual` or `auto`, where it is said."""
    tokens_before: int | None = None
    tokens_after: int | None = None
    preserved_messages: int | None = None
    total_messages: int | None = None
    compression_ratio: float | None = None
    micro: bool = False
    """Whether only old results left the context, and the conversation stayed as it was."""
    prelude: str | None = None
    """What was kept of what came before (spec 004)."""
    summary: str | None = None
    """What stands for what was left out."""


_T = TypeVar("_T")
_STATES = {
    CompactionPhase.COMPACTING: CompactionState.COMPACTING,
    CompactionPhase.COMPACTED: CompactionState.COMPACTED,
    CompactionPhase.RESTORING: CompactionState.RESTORING,
    CompactionPhase.RESTORED: CompactionState.RESTORED,
}
_ENDS = {
    CompactionState.COMPACTED: CompactionState.COMPACTING,
    CompactionState.RESTORED: CompactionState.RESTORING,
}
COMPACTED = frozenset({Rule.COMPACTION, Rule.RECAP, Rule.SUMMARY})


def build_compactions(messages: Sequence[Message]) -> tuple[Compaction, ...]:
    """Return the compactions among some messages, in order; steps that belong together are one."""
    found: list[Compaction] = []
    open_: dict[object, int] = {}  # by lane: the last one, while it may still get its end or its summary
    for message in messages:
        if message.rule not in COMPACTED:
            continue
        step = _read_step(message)
        lane = (message.lane, message.agent_id)
        last = open_.get(lane)
        if last is not None and _continues(found[last], step):
            found[last] = _join(found[last], step)
        else:
            open_[lane] = len(found)
            found.append(step)
    return tuple(found)


def has_kept(message: Message) -> bool:
    """Tell whether a message says what a compaction kept: spec 004's prelude or recap."""
    entry = message.lines[0].entry
    return isinstance(entry, CompactionEntry) and not all(
        isinstance(part, UnsetType) for part in (entry.prelude, entry.recap)
    )


def _read_step(message: Message) -> Compaction:
    entry = message.lines[0].entry
    match entry:
        case CompactBoundary() | CompactBoundaryMessage():
            return _read_boundary(message, entry.compact_metadata)
        case MicrocompactBoundary():
            return replace(_read_boundary(message, entry.microcompact_metadata), micro=True)
        case CompactionEntry():
            return _read_old_step(message, entry)
        case Summary():
            summary = _known(entry.summary)
        case _:
            summary = message.text if message.rule is Rule.RECAP else None
    return Compaction(state=CompactionState.COMPACTED, messages=(message.index,), summary=summary)


def _read_boundary(
    message: Message, told: CompactMetadata | CompactDetails | MicrocompactMetadata | UnsetType
) -> Compaction:
    return Compaction(
        state=CompactionState.COMPACTED,
        messages=(message.index,),
        trigger=_known(getattr(told, "trigger", None)),
        tokens_before=_known(getattr(told, "pre_tokens", None)),
        tokens_after=_known(getattr(told, "post_tokens", None)),
        total_messages=_known(getattr(told, "messages_summarized", None)),
    )


def _read_old_step(message: Message, entry: CompactionEntry) -> Compaction:
    told = entry.statistics if isinstance(entry.statistics, CompactionStatistics) else CompactionStatistics()
    return Compaction(
        state=_STATES[entry.phase],
        messages=(message.index,),
        trigger=_known(told.trigger),
        tokens_before=_known(told.pre_tokens),
        tokens_after=_known(told.post_tokens),
        preserved_messages=_known(told.preserved_messages),
        total_messages=_known(told.total_messages),
        compression_ratio=_known(told.compression_ratio),
        prelude=None if isinstance(entry.prelude, UnsetType) else message.text,
        summary=None if isinstance(entry.recap, UnsetType) else message.text,
    )


def _continues(last: Compaction, step: Compaction) -> bool:
    """Tell whether a step belongs to what came before: an end to its beginning, a summary to its boundary."""
    if _ENDS.get(step.state) is last.state:
        return True
    waits = last.state is CompactionState.COMPACTED and last.summary is None and not last.micro
    return waits and step.summary is not None


def _join(last: Compaction, step: Compaction) -> Compaction:
    told = {name: getattr(step, name) for name in step.__struct_fields__ if getattr(step, name) is not None}
    return replace(last, **told | {"messages": last.messages + step.messages})


def _known(value: _T | None | UnsetType) -> _T | None:
    return None if isinstance(value, UnsetType) else value
