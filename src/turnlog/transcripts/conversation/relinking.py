"""What a compaction kept of the conversation, put behind its summary, as the program does."""

from __future__ import annotations

from turnlog.messages.system import CompactMetadata, PreservedMessages, PreservedSegment
from turnlog.transcripts.conversation.line_index import LineIndex


class Relinking:
    """Moves lines about compactions; those that these name and that are missing are noted in the index."""

    def __init__(self, parents: list[int | None], index: LineIndex) -> None:
        """Take the line that each line follows, which is changed in place."""
        self.anchors: set[int] = set()
        """Lines behind which others were put in, before those that follow them."""
        self._parents = parents
        self._index = index
        self._children: dict[int, list[int]] = {}
        """As the lines tell."""

    def relink(self, boundary: int, metadata: CompactMetadata) -> list[int]:
        """Relink what one compaction kept, and return the lines that were moved."""
        parents = self._parents
        kept = self._list_kept(metadata)
        anchor = self._find_anchor(metadata)
        if not kept:
            return []
        moved: list[int] = []
        before = parents[kept[0]]
        last = boundary if anchor is None or anchor in kept else anchor
        if parents[boundary] in kept:
            parents[boundary] = None if before == boundary else before
            moved.append(boundary)
        followers = self._list_followers(last, boundary)
        self.anchors.add(last)
        for index in kept:
            if parents[index] != last:
                parents[index] = last
                moved.append(index)
            last = index
        for index in followers:  # they were written behind the summary, but the model had seen what was kept
            if index not in kept:
                parents[index] = last
                moved.append(index)
        return moved

    def _list_followers(self, anchor: int, boundary: int) -> list[int]:
        """Return the lines behind a boundary that follow its summary."""
        if not self._children:
            for index, parent in enumerate(self._parents):
                if parent is not None:
                    self._children.setdefault(parent, []).append(index)
        return [index for index in self._children.get(anchor, ()) if index > boundary and index != anchor]

    def _list_kept(self, metadata: CompactMetadata) -> list[int]:
        messages, segment = metadata.preserved_messages, metadata.preserved_segment
        if isinstance(messages, PreservedMessages) and isinstance(messages.uuids, tuple):
            found = [self._index.look_for(uuid) for uuid in messages.uuids]
            return list(dict.fromkeys(index for index in found if index is not None))
        if not isinstance(segment, PreservedSegment):
            return []
        head, at = self._find(segment.head_uuid), self._find(segment.tail_uuid)
        trail: dict[int, None] = {}
        while at is not None and at not in trail:
            trail[at] = None
            if at == head:
                return [*reversed(trail)]
            at = self._parents[at]
        return []

    def _find_anchor(self, metadata: CompactMetadata) -> int | None:
        for kept in (metadata.preserved_messages, metadata.preserved_segment):
            if isinstance(kept, PreservedMessages | PreservedSegment):
                return self._find(kept.anchor_uuid)
        return None

    def _find(self, uuid: object) -> int | None:
        return self._index.look_for(uuid) if isinstance(uuid, str) else None
