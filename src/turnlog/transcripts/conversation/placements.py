"""What becomes of a line in the conversation that people read.

Each line has exactly one place: it is shown, folded into what is shown, hidden, or it says something about the
state of the session and nothing to the reader. Each place has a rule, so that it can be counted and explained.
What nobody has a rule for is shown: unknown things stay visible.

The program's own metadata (`isMeta`) is hidden, but is a message with a number of its own: whether something is
shown must not change what links and search hits name. Readers leave such messages out (`Message.is_hidden`),
unless one is asked for by its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import get_args

from msgspec import Struct

from turnlog.messages import attachments, entries, metadata, sdk, system
from turnlog.messages.attachments import UnknownAttachment
from turnlog.messages.compaction import CompactionEntry
from turnlog.messages.control import CONTROL_TYPES


class Fate(StrEnum):
    """What becomes of a line."""

    __hash__ = str.__hash__  # that of enums is written in Python

    SHOWN = "shown"
    """It is a message, or begins one."""
    FOLDED = "folded"
    """It is part of a message that another line began."""
    HIDDEN = "hidden"
    STATE = "state"
    """It says how things stand with the session, and nothing to a reader."""


class Rule(StrEnum):
    """Why a line has its place."""

    __hash__ = str.__hash__  # that of enums is written in Python

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

FATES: Mapping[Rule, Fate] = MappingProxyType(
    dict.fromkeys(Rule, Fate.SHOWN)
    | dict.fromkeys(_FOLDED, Fate.FOLDED)
    | dict.fromkeys(_HIDDEN, Fate.HIDDEN)
    | dict.fromkeys(_STATE, Fate.STATE)
)


class Placement(Struct, frozen=True, gc=False):
    """The place of one line."""

    rule: Rule
    message: int | None = None
    """Which message it is, or is part of; None if it is none."""

    @property
    def fate(self) -> Fate:
        """What becomes of the line."""
        return FATES[self.rule]


ENTRY_RULES: Mapping[type, Rule] = MappingProxyType(
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

ATTACHMENT_RULES: Mapping[type, Rule] = MappingProxyType(
    dict.fromkeys(attachments.HOOK_ATTACHMENTS, Rule.HOOK)
    | dict.fromkeys(
        (
            attachments.FileAttachment,
            attachments.DirectoryAttachment,
            attachments.SelectedLinesInIde,
            attachments.SelectedLinesInDiff,
            attachments.AgentMention,
            attachments.StructuredOutput,
            attachments.GoalStatus,
            attachments.TaskStatus,
            attachments.MaxTurnsReached,
        ),
        Rule.CONTEXT_SHOWN,
    )
    | {UnknownAttachment: Rule.UNKNOWN}
)
"""The rule of attachments; what is not listed is context for the model alone."""
