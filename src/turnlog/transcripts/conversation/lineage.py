"""Which line follows which.

`parentUuid` says most of it, and is wrong or missing often enough:

- a result hangs under its call, whatever parent it names; so does an extracted call under its line (spec 003);
- a compaction begins with a line that has no parent: it follows what it names as its logical parent, else the
  line before it. What it kept is linked anew, behind its summary, as the program does;
- a parent may stand further down, be in no line of the file, or lead round in a circle. Then the edge is made,
  left out, or cut at the first line of the circle;
- lines are copied under the same uuid: the first is the line, and the others are its copies;
- messages of the stream name no parent: each follows the one before it in its lane. So does what has neither a
  uuid nor a parent, such as a prompt in the queue.

Every parent that is not simply an edge is listed as a `Detour`, with its reason. Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from turnlog.messages import UNSET, Line
from turnlog.messages.compaction import CompactionEntry
from turnlog.messages.legacy import StoredType
from turnlog.messages.metadata import Summary
from turnlog.messages.system import CompactBoundary, CompactMetadata, PreservedMessages, PreservedSegment
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Place
from turnlog.transcripts.conversation.line_index import LineIndex
from turnlog.transcripts.lines.blocks import find_stored_type

__all__ = ["Detour", "Lineage", "Reason", "build_lineage", "cut_circles"]


class Reason(StrEnum):
    """Why the parent that a line names is not its parent here."""

    MISSING = "missing"
    """No line of the file has that uuid. It may be in another file, or nowhere."""
    CYCLE = "cycle"
    """The parents lead round in a circle, which was cut here."""
    CALL = "call"
    """A result or an extracted call, which hangs under what it belongs to."""
    PRESERVED = "preserved"
    """A compaction kept the line, which follows the summary or the line kept before it; or the line follows
    what was kept, and not the summary."""
    COPY = "copy"
    """The line is a copy of an earlier one, and has its place there."""


class Detour(Struct, frozen=True, gc=False):
    """A parent that is not simply an edge."""

    index: int
    """Which line."""
    told: str
    """The uuid that it names."""
    reason: Reason


class Lineage(Struct, frozen=True, gc=False):
    """Which line follows which; lines are known by their position."""

    parents: tuple[int | None, ...]
    copies: Mapping[int, int]
    """Of which earlier line a line is a copy."""
    detours: tuple[Detour, ...]
    forward: bool
    """Whether any line follows one that stands further down."""

    def list_in_order(self) -> Sequence[int]:
        """Return all lines, each behind the one that it follows; in file order as far as that goes."""
        if not self.forward:
            return range(len(self.parents))
        order: list[int] = []
        done = bytearray(len(self.parents))
        for start in range(len(self.parents)):
            trail: list[int] = []
            at: int | None = start
            while at is not None and not done[at]:
                done[at] = True
                trail.append(at)
                at = self.parents[at]
            order += reversed(trail)
        return order


def build_lineage(lines: Sequence[Line], calls: Iterable[Call], index: LineIndex | None = None) -> Lineage:
    """Return which line follows which; `calls` and `index` are those of the same lines."""
    growth = _Growth(lines, index or LineIndex(lines))
    growth.follow_parents()
    growth.hang_results(calls)
    growth.relink_compactions()
    return growth.build()


def cut_circles(parents: list[int | None]) -> list[int]:
    """Take the parent away from the first member of each circle, and return those members."""
    cut: list[int] = []
    seen = [0] * len(parents)
    for start in range(len(parents)):
        at: int | None = start
        while at is not None and not seen[at]:
            seen[at] = start + 1
            at = parents[at]
        if at is not None and seen[at] == start + 1:
            first, here = at, parents[at]
            while here is not None and here != at:
                first, here = min(first, here), parents[here]
            parents[first] = None
            cut.append(first)
    return cut


class _Growth:
    """The edges in the making."""

    def __init__(self, lines: Sequence[Line], index: LineIndex) -> None:
        self.lines = lines
        self.find = index.find
        self.parents: list[int | None] = [None] * len(lines)
        self.copies = index.copies
        self.reasons: dict[int, Reason] = {}
        self.told: dict[int, str] = {}
        self.boundaries: list[int] = []
        self.children: dict[int, list[int]] = {}
        """As the lines tell; made for compactions alone."""
        self.by_uuid = index.by_uuid

    def follow_parents(self) -> None:
        """Make the edges that the lines themselves tell of."""
        by_uuid, parents, copies = self.by_uuid, self.parents, self.copies
        previous: int | None = None  # in the main conversation
        streamed: dict[object, int] = {}
        for index, line in enumerate(self.lines):
            entry = line.entry
            told = getattr(entry, "parent_uuid", line)
            if index in copies:
                if type(told) is str:
                    self._note(index, told, Reason.COPY)
                continue
            if type(told) is str:
                found = by_uuid.get(told)
                parents[index] = found
                if found is None:
                    self._note(index, told, Reason.MISSING)
                elif type(entry) is CompactBoundary:
                    self.boundaries.append(index)
            elif told is line:  # nothing that has parents on disk
                self._follow_stream(index, streamed)
            else:
                self._follow_order(index, previous)
            if type(getattr(entry, "uuid", None)) is str and getattr(entry, "is_sidechain", None) is not True:
                previous = index

    def hang_results(self, calls: Iterable[Call]) -> None:
        """Hang results under their calls, and extracted calls under the lines that hold them."""
        homes: dict[int, list[int]] = {}
        for call in calls:
            home = self._home(call)
            if home is None:
                continue
            for result in (call.result, *call.other_results):
                at = None if result is None else self.find(result.place.line)
                if at is not None:
                    homes.setdefault(at, []).append(home)
        for index, found in homes.items():
            if self.parents[index] not in found and index not in self.copies and index not in found:
                self._move(index, found[0], Reason.CALL)

    def relink_compactions(self) -> None:
        """Put what each compaction kept behind its summary."""
        for index in self.boundaries:
            entry = self.lines[index].entry
            metadata = entry.compact_metadata if isinstance(entry, CompactBoundary) else None
            if isinstance(metadata, CompactMetadata):
                self._relink(index, metadata)

    def build(self) -> Lineage:
        forward = any(parent is not None and parent >= index for index, parent in enumerate(self.parents))
        for index in cut_circles(self.parents) if forward else ():
            self._note(index, self.told.get(index) or self._told(index), Reason.CYCLE)
        detours = tuple(Detour(index, self.told[index], self.reasons[index]) for index in sorted(self.reasons))
        return Lineage(tuple(self.parents), self.copies, detours, forward)

    def _note(self, index: int, told: str, reason: Reason) -> None:
        self.told[index], self.reasons[index] = told, reason

    def _told(self, index: int) -> str:
        """Return the parent that a line names; empty if it names none."""
        entry = self.lines[index].entry
        links = (getattr(entry, name, None) for name in ("parent_uuid", "logical_parent_uuid", "leaf_uuid"))
        return next((link for link in links if isinstance(link, str)), "")

    def _move(self, index: int, parent: int, reason: Reason) -> None:
        self.parents[index] = parent
        if self._told(index):
            self._note(index, self._told(index), reason)

    def _follow_stream(self, index: int, streamed: dict[object, int]) -> None:
        entry = self.lines[index].entry
        if type(getattr(entry, "uuid", None)) is not str:
            return
        lane = getattr(entry, "parent_tool_use_id", None)
        self.parents[index] = streamed.get(lane if isinstance(lane, str) else None)
        streamed[lane if isinstance(lane, str) else None] = index

    def _follow_order(self, index: int, previous: int | None) -> None:
        """Link what may stand behind a gap; all else that names no parent is a root."""
        entry: Any = self.lines[index].entry
        told = getattr(entry, "logical_parent_uuid", None)
        if type(entry) is Summary:
            told, previous = entry.leaf_uuid, None
        elif type(entry) is CompactBoundary:
            self.boundaries.append(index)
        elif type(entry) is not CompactionEntry and type(told) is not str:
            if entry.uuid is UNSET and entry.parent_uuid is UNSET:
                self.parents[index] = previous
            return
        found = self.by_uuid.get(told) if type(told) is str else None
        if found is None and type(told) is str:
            self._note(index, told, Reason.MISSING)
        self.parents[index] = previous if found is None else found

    def _home(self, call: Call) -> int | None:
        """Return the line under which a call's results hang: the call as a message of its own, if it is one."""
        places: tuple[Place, ...] = (call.place, *call.copies)
        known = [at for place in places if (at := self.find(place.line)) is not None]
        for index in known:
            if find_stored_type(self.lines[index]) is StoredType.TOOL_USE:
                self._hang_extracted(index)
                return index
        return known[0] if known else None

    def _hang_extracted(self, index: int) -> None:
        uuid = getattr(self.lines[index].entry, "uuid", None)
        holder = self.by_uuid.get(uuid.rpartition("_tool_")[0]) if isinstance(uuid, str) else None
        if holder is not None and self.parents[index] != holder and index not in self.copies:
            self._move(index, holder, Reason.CALL)

    def _relink(self, boundary: int, metadata: CompactMetadata) -> None:
        kept = self._list_kept(metadata)
        if not kept:
            return
        before = self.parents[kept[0]]
        anchor = self._find_anchor(metadata)
        last = boundary if anchor is None or anchor in kept else anchor
        if self.parents[boundary] in kept:
            self.parents[boundary] = None if before == boundary else before
            told = getattr(self.lines[boundary].entry, "parent_uuid", None)
            if isinstance(told, str):
                self._note(boundary, told, Reason.PRESERVED)
        followers = self._list_followers(last, boundary)
        for index in kept:
            if self.parents[index] != last:
                self._move(index, last, Reason.PRESERVED)
            last = index
        for index in followers:  # they were written behind the summary, but the model had seen what was kept
            if index not in kept:
                self._move(index, last, Reason.PRESERVED)

    def _list_followers(self, anchor: int, boundary: int) -> list[int]:
        """Return the lines behind a boundary that follow its summary."""
        if not self.children:
            for index, parent in enumerate(self.parents):
                if parent is not None:
                    self.children.setdefault(parent, []).append(index)
        return [index for index in self.children.get(anchor, ()) if index > boundary and index != anchor]

    def _list_kept(self, metadata: CompactMetadata) -> list[int]:
        messages, segment = metadata.preserved_messages, metadata.preserved_segment
        if isinstance(messages, PreservedMessages) and isinstance(messages.uuids, tuple):
            found = (self.by_uuid.get(uuid) for uuid in messages.uuids)
            return list(dict.fromkeys(index for index in found if index is not None))
        if not isinstance(segment, PreservedSegment):
            return []
        head, at = self._find(segment.head_uuid), self._find(segment.tail_uuid)
        trail: dict[int, None] = {}
        while at is not None and at not in trail:
            trail[at] = None
            if at == head:
                return [*reversed(trail)]
            at = self.parents[at]
        return []

    def _find_anchor(self, metadata: CompactMetadata) -> int | None:
        for kept in (metadata.preserved_messages, metadata.preserved_segment):
            if isinstance(kept, PreservedMessages | PreservedSegment):
                return self._find(kept.anchor_uuid)
        return None

    def _find(self, uuid: object) -> int | None:
        return self.by_uuid.get(uuid) if isinstance(uuid, str) else None
