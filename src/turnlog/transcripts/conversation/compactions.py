"""Where the conversation was made shorter, in one form for all dialects.

Today a boundary is followed by a user line with the summary; spec 000 has a line for each step, spec 004 one
for what was kept and one for the recap, spec 002 a single `summary`. The stream tells of the boundary alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import UnsetType
from turnlog.messages.compaction import CompactionEntry, CompactionPhase, CompactionStatistics
from turnlog.messages.metadata import Summary
from turnlog.messages.sdk import CompactBoundaryMessage, CompactDetails
from turnlog.messages.system import CompactBoundary, CompactMetadata, MicrocompactBoundary, MicrocompactMetadata
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Rule


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
