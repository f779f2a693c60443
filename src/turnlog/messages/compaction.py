"""Compaction as the older dialects tell it: one entry for each step.

Today a compaction is a `CompactBoundary` and, behind it, a `UserEntry` with the summary. Spec 000 has a line
for each of four operations, spec 004 one for what came before and one for the recap. Both become
`CompactionEntry`.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, TypeEnum, UnsetType
from turnlog.messages.envelope import Envelope
from turnlog.messages.message import Message

__all__ = ["CompactionEntry", "CompactionPhase", "CompactionStatistics"]


class CompactionPhase(TypeEnum):
    """What happens to the conversation."""

    COMPACTING = "conversation_compacting"
    COMPACTED = "conversation_compacted"
    RESTORING = "conversation_restoring"
    RESTORED = "conversation_restored"


class CompactionStatistics(Camel):
    """What a compaction kept."""

    preserved_messages: int | UnsetType = UNSET
    total_messages: int | UnsetType = UNSET
    compression_ratio: Number | UnsetType = UNSET
    trigger: str | UnsetType = UNSET
    pre_tokens: int | UnsetType = UNSET
    post_tokens: int | UnsetType = UNSET


class CompactionEntry(Envelope):
    """One step of a compaction."""

    phase: CompactionPhase
    statistics: CompactionStatistics | None | UnsetType = UNSET
    prelude: Message | UnsetType = UNSET
    """What came before and was kept (spec 004)."""
    recap: Message | UnsetType = UNSET
    """The summary that stands for the rest (spec 004)."""
