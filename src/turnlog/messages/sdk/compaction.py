"""The place where the conversation so far was replaced by a summary.

The same facts stand on disk in camelCase (`system.CompactBoundary`); here they are spelled as the stream does.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, Snake, UnsetType
from turnlog.messages.sdk.base import SystemMessage
from turnlog.messages.system import CompactTrigger


class KeptSegment(Snake):
    """The messages that a compaction kept: the older form, by both ends."""

    head_uuid: str | UnsetType = UNSET
    anchor_uuid: str | UnsetType = UNSET
    tail_uuid: str | UnsetType = UNSET


class KeptMessages(Snake):
    """The messages that a compaction kept, one by one; the first follows the anchor."""

    anchor_uuid: str | UnsetType = UNSET
    uuids: tuple[str, ...] | UnsetType = UNSET
    all_uuids: tuple[str, ...] | UnsetType = UNSET


class CompactDetails(Snake):
    """What a compaction did."""

    trigger: CompactTrigger | UnsetType = UNSET
    pre_tokens: int | UnsetType = UNSET
    post_tokens: int | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    cumulative_dropped_tokens: int | UnsetType = UNSET
    preserved_segment: KeptSegment | None | UnsetType = UNSET
    preserved_messages: KeptMessages | None | UnsetType = UNSET


class CompactBoundaryMessage(SystemMessage, tag="compact_boundary"):
    """A compaction took place here."""

    compact_metadata: CompactDetails | UnsetType = UNSET
    logical_parent_uuid: str | None | UnsetType = UNSET
