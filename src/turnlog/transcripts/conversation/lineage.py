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

Every line whose parent here is not the one that it names is listed as a `ParentMismatch`, with the
reason. Nothing here recurses.

Lines that come later follow others, and as a rule that is all. Where one changes what an earlier line follows
(it was missing, it is the call of a result, it is about a compaction), all is built anew.

`LineIndex` finds lines by name and identity, `CallPlaces` where calls are made, repeated and answered.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from turnlog.messages import UNSET, Line
from turnlog.messages.entries import CompactionEntry
from turnlog.messages.legacy import StoredType
from turnlog.messages.metadata import Summary
from turnlog.messages.system import CompactBoundary, CompactMetadata, PreservedMessages, PreservedSegment
from turnlog.transcripts.calls import Call, Place
from turnlog.transcripts.lines.content import find_stored_type


class LineIndex:
    """Where each line stands. Of lines with the same uuid the first is the line, the others are copies."""

    def __init__(self, lines: Sequence[Line] = (), among: Sequence[Line] = ()) -> None:
        """Take the first lines; `among` are all, which may become more."""
        self.by_uuid: dict[str, int] = {}
        self.copies: dict[int, int] = {}
        """Of which earlier line a line is a copy."""
        self.awaited: set[str] = set()
        """What somebody looked for in vain: a line of that name changes what was made of others."""
        self._by_id: dict[int, int] = {}
        """Of lines that do not know it themselves."""
        self._among = among
        self._count = 0
        self.extend(lines)

    def extend(self, lines: Iterable[Line]) -> bool:
        """Take the next lines; tell whether any of them was looked for before it came."""
        by_uuid, by_id, awaited = self.by_uuid, self._by_id, self.awaited
        was_awaited, among = False, self._among
        position = self._count
        for line in lines:
            if getattr(line, "position", None) != position or not among:
                by_id[id(line)] = position
            uuid = getattr(line.entry, "uuid", None)
            if type(uuid) is str:
                first = by_uuid.setdefault(uuid, position)
                if first != position:
                    self.copies[position] = first
                elif uuid in awaited:
                    was_awaited = True
            position += 1
        self._count = position
        return was_awaited

    def finish(self) -> None:
        """Let go of all names: lines are only found by identity from now on."""
        self.by_uuid.clear()
        self.copies.clear()
        self.awaited.clear()

    def find(self, line: Line) -> int | None:
        """Return the position of a line, by identity; None if it is not among them."""
        found = self._by_id.get(id(line))
        if found is not None:
            return found
        # A line may say which position it has; what counts is whether it stands there.
        position: int | None = getattr(line, "position", None)
        if position is None or position >= len(self._among) or self._among[position] is not line:
            return None
        return position

    def look_for(self, uuid: str) -> int | None:
        """Return the position of the line with a uuid; None if there is none so far, which is noted."""
        found = self.by_uuid.get(uuid)
        if found is None:
            self.awaited.add(uuid)
        return found


class CallPlaces:
    """The places of the calls of some lines."""

    def __init__(self, calls: Sequence[Call], index: LineIndex) -> None:
        """Take the calls that there are; more may come behind them, and those may change."""
        self.calls = calls
        self._lines = array("i")
        """The line that makes each call; none is before that of the call before."""
        self.homes: dict[int, int] = {}
        """The line of the call that a line answers, or repeats."""
        self.by_id: dict[str, int] = {}
        """The line that makes a call."""
        self._awaited: set[str] = set()
        self._index = index
        self._known = 0
        self._answers: dict[int, int] = {}  # the first call that a line answers or repeats
        self.update(range(len(calls)), 0)

    def update(self, touched: Iterable[int], first_line: int) -> bool:
        """Take calls that are new or changed, in order; lines from `first_line` on were not asked about yet.

        Tell whether that changes what was said of lines before them.
        """
        late = False
        for position in touched:
            call = self.calls[position]
            at = self._index.find(call.place.line)
            if at is None:
                raise ValueError("a call is in none of the lines that it was found in")
            if position >= self._known:
                self._known = position + 1
                self._lines.append(at)
                if call.id is not None:
                    self.by_id[call.id] = at
                    late = late or call.id in self._awaited
            for place in _list_places(call):
                found = self._index.find(place.line)
                if found is not None and position < self._answers.get(found, len(self.calls)):
                    self._answers[found], self.homes[found] = position, at
                    late = late or found < first_line
        return late

    def finish(self) -> None:
        """Let go of all but which calls lines make: nothing comes any more."""
        for found in (self.homes, self.by_id, self._answers):
            found.clear()

    def look_for(self, call: str) -> int | None:
        """Return the line that makes a call; None if none does so far, which is noted."""
        found = self.by_id.get(call)
        if found is None:
            self._awaited.add(call)
        return found

    def list_made(self, lines: Iterable[int]) -> list[Call]:
        """Return the calls that some lines make."""
        return [self.calls[position] for line in lines for position in self.find_made(line)]

    def find_made(self, line: int) -> range:
        """Return which calls a line makes."""
        return range(bisect_left(self._lines, line), bisect_right(self._lines, line))


def _list_places(call: Call) -> Iterator[Place]:
    """Yield where a call is repeated, and where it is answered."""
    yield from call.copies
    if call.result is not None:
        yield call.result.place
    for result in call.other_results:
        yield result.place


def list_in_order(parents: Sequence[int | None]) -> list[int]:
    """Return all positions, each behind the one that it follows; from first to last as far as that goes."""
    order: list[int] = []
    done = bytearray(len(parents))
    for start in range(len(parents)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and not done[at]:
            done[at] = True
            trail.append(at)
            at = parents[at]
        order += reversed(trail)
    return order


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


def measure_depths(parents: Sequence[int | None], positions: Iterable[int]) -> dict[int, int]:
    """Return how many others are above some positions; there must be no circles."""
    depths: dict[int, int] = {}
    for start in positions:
        trail: list[int] = []
        at: int | None = start
        while at is not None and at not in depths:
            trail.append(at)
            at = parents[at]
        depth = -1 if at is None else depths[at]
        for own in reversed(trail):
            depth += 1
            depths[own] = depth
    return depths


def is_forward(index: int, parent: int | None) -> bool:
    """Tell whether a parent stands further down."""
    return parent is not None and parent >= index


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


class ParentMismatch(Struct, frozen=True, gc=False):
    """A line whose parent here is not the one that it names."""

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
    mismatches: tuple[ParentMismatch, ...]
    forward: bool
    """Whether any line follows one that stands further down."""

    def list_in_order(self) -> Sequence[int]:
        """Return all lines, each behind the one that it follows; in file order as far as that goes."""
        return list_in_order(self.parents) if self.forward else range(len(self.parents))


def build_lineage(lines: Sequence[Line], calls: Sequence[Call], index: LineIndex | None = None) -> Lineage:
    """Return which line follows which; `calls` and `index` are those of the same lines."""
    builder = LineageBuilder(lines, calls, index or LineIndex(lines))
    builder.extend(range(len(calls)))
    return builder.build()


class LineageBuilder:
    """The edges of lines that become more."""

    def __init__(self, lines: Sequence[Line], calls: Sequence[Call], index: LineIndex) -> None:
        self.lines = lines
        self.parents: list[int | None] = []
        self.forward = False
        """Whether any line follows one that stands further down."""
        self._calls = calls
        self._index = index
        self._reasons: dict[int, Reason] = {}
        self._named: dict[int, str] = {}
        self._boundaries: list[int] = []
        self._anchors: frozenset[int | None] = frozenset()
        """Lines whose followers a compaction has moved."""
        self._known_calls = 0
        self._previous: int | None = None  # in the main conversation
        self._streamed: dict[object, int] = {}

    def extend(self, calls: Iterable[int]) -> bool:
        """Take the lines that came, and the calls that are new or changed with them.

        Return False if lines before them now follow others, so that all has to be built anew.
        """
        start, boundaries = len(self.parents), len(self._boundaries)
        self.parents += [None] * (len(self.lines) - start)
        self._follow_parents(start)
        steady = self._hang_results(calls, start)
        if start:
            new = self.parents[start:]
            forward = any(map(is_forward, range(start, len(self.parents)), new))
            steady = steady and not forward and self._anchors.isdisjoint(new)
            return steady and len(self._boundaries) == boundaries
        self._relink_compactions()
        self.forward = any(map(is_forward, range(len(self.parents)), self.parents))
        for index in cut_circles(self.parents) if self.forward else ():
            self._note(index, self._named.get(index) or self._find_named(index), Reason.CYCLE)
        return True

    def build(self) -> Lineage:
        """Return which line follows which."""
        mismatches = [
            ParentMismatch(index, self._named[index], self._reasons[index]) for index in sorted(self._reasons)
        ]
        return Lineage(tuple(self.parents), dict(self._index.copies), tuple(mismatches), self.forward)

    def _follow_parents(self, start: int) -> None:
        """Make the edges that the lines themselves tell of."""
        by_uuid, parents, copies = self._index.by_uuid, self.parents, self._index.copies
        for index in range(start, len(self.lines)):
            line = self.lines[index]
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
                    self._miss(index, told)
                elif type(entry) is CompactBoundary:
                    self._boundaries.append(index)
            elif told is line:  # nothing that has parents on disk
                self._follow_stream(index)
            else:
                self._follow_order(index, self._previous)
            if type(getattr(entry, "uuid", None)) is str and getattr(entry, "is_sidechain", None) is not True:
                self._previous = index

    def _hang_results(self, calls: Iterable[int], start: int) -> bool:
        """Hang results under their calls, and extracted calls under the lines that hold them.

        Return False if that is about lines before `start`.
        """
        homes: dict[int, list[int]] = {}
        steady = True
        for position in calls:
            call = self._calls[position]
            is_new = position >= self._known_calls
            if start and not is_new and any(find_stored_type(copy.line) is not None for copy in call.copies):
                steady = False
            home = self._find_home(call)
            if home is None:
                continue
            for result in (call.result, *call.other_results):
                at = None if result is None else self._index.find(result.place.line)
                if at is not None and at >= start:
                    homes.setdefault(at, []).append(home)
                elif at is not None and is_new:
                    steady = False
        self._known_calls = len(self._calls)
        copies = self._index.copies
        for index, found in homes.items():
            if self.parents[index] not in found and index not in copies and index not in found:
                self._move(index, found[0], Reason.CALL)
        return steady

    def _relink_compactions(self) -> None:
        """Put what each compaction kept behind its summary."""
        relinking = CompactionRelinker(self.parents, self._index)
        for index in self._boundaries:
            entry: Any = self.lines[index].entry
            metadata = entry.compact_metadata
            if isinstance(metadata, CompactMetadata):
                for moved in relinking.relink(index, metadata):
                    if moved != index or isinstance(entry.parent_uuid, str):
                        self._note_named(moved, Reason.PRESERVED)
        self._anchors = frozenset(relinking.anchors)

    def _note(self, index: int, told: str, reason: Reason) -> None:
        self._named[index], self._reasons[index] = told, reason

    def _miss(self, index: int, told: str) -> None:
        self._note(index, told, Reason.MISSING)
        self._index.awaited.add(told)

    def _note_named(self, index: int, reason: Reason) -> None:
        told = self._find_named(index)
        if told:
            self._note(index, told, reason)

    def _find_named(self, index: int) -> str:
        """Return the parent that a line names; empty if it names none."""
        entry = self.lines[index].entry
        links = (getattr(entry, name, None) for name in ("parent_uuid", "logical_parent_uuid", "leaf_uuid"))
        return next((link for link in links if isinstance(link, str)), "")

    def _move(self, index: int, parent: int, reason: Reason) -> None:
        self.parents[index] = parent
        self._note_named(index, reason)

    def _follow_stream(self, index: int) -> None:
        entry = self.lines[index].entry
        if type(getattr(entry, "uuid", None)) is not str:
            return
        told = getattr(entry, "parent_tool_use_id", None)
        lane = told if isinstance(told, str) else None
        self.parents[index] = self._streamed.get(lane)
        self._streamed[lane] = index

    def _follow_order(self, index: int, previous: int | None) -> None:
        """Link what may stand behind a gap; all else that names no parent is a root."""
        entry: Any = self.lines[index].entry
        told = getattr(entry, "logical_parent_uuid", None)
        if type(entry) is Summary:
            told, previous = entry.leaf_uuid, None
        elif type(entry) is CompactBoundary:
            self._boundaries.append(index)
        elif type(entry) is not CompactionEntry and type(told) is not str:
            if entry.uuid is UNSET and entry.parent_uuid is UNSET:
                self.parents[index] = previous
            return
        found = self._index.by_uuid.get(told) if type(told) is str else None
        if found is None and type(told) is str:
            self._miss(index, told)
        self.parents[index] = previous if found is None else found

    def _find_home(self, call: Call) -> int | None:
        """Return the line under which a call's results hang: the call as a message of its own, if it is one."""
        find = self._index.find
        if not call.copies and call.place.line.wire is None:  # as nearly all
            return find(call.place.line)
        places: tuple[Place, ...] = (call.place, *call.copies)
        known = [at for place in places if (at := find(place.line)) is not None]
        for index in known:
            if find_stored_type(self.lines[index]) is StoredType.TOOL_USE:
                self._hang_extracted(index)
                return index
        return known[0] if known else None

    def _hang_extracted(self, index: int) -> None:
        uuid = getattr(self.lines[index].entry, "uuid", None)
        holder = self._index.look_for(uuid.rpartition("_tool_")[0]) if isinstance(uuid, str) else None
        if holder is not None and self.parents[index] != holder and index not in self._index.copies:
            self._move(index, holder, Reason.CALL)


class CompactionRelinker:
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
