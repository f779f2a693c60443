"""A session in memory: records as a test gives them, packed into segments and read as any session is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from turnlog.testing.builders import FileRecords, pack_records
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.segments import (
    AGENTS,
    TURNS,
    AgentRecord,
    PackedSegment,
    Segment,
    SegmentHead,
    TurnRecord,
    unpack_segment,
)


def is_event(hook: HookDelivery) -> bool:
    """Tell whether a delivery is an event of a session (spec 002)."""
    return hook.event_name != "SessionEnd" and hook.notification_type != "auth_success"


class MemorySession:
    """Where all that is kept of one session is: a `HookReader` that notes which segments were loaded."""

    def __init__(
        self,
        chapters: Mapping[ChapterFacts, Sequence[PackedSegment]],
        outline: Mapping[str, Sequence[bytes]],
        *,
        hooks: Iterable[HookDelivery] = (),
        files: Mapping[tuple[str, int], bytes] | None = None,
    ) -> None:
        """Take files in their order, turns and agents in parts, and bytes by source and generation."""
        self._chapters = {facts.source: (facts, tuple(segments)) for facts, segments in chapters.items()}
        self._outline = outline
        self._every_hook = sorted(hooks, key=lambda hook: (hook.received_ns, hook.delivery_id))
        self._files = files or {}
        self._unpacked: dict[tuple[str, int], Segment] = {}
        self.loaded: list[tuple[str, int]] = []
        """Sources and numbers of segments, in the order in which they were asked for."""

    @classmethod
    def build(
        cls,
        chapters: Mapping[ChapterFacts, FileRecords],
        *,
        turns: Sequence[TurnRecord] = (),
        agents: Sequence[AgentRecord] = (),
        hooks: Iterable[HookDelivery] = (),
        files: Mapping[tuple[str, int], bytes] | None = None,
    ) -> MemorySession:
        """Return a session that has some records."""
        outline = {
            TURNS.name: [data for _, data in TURNS.cut(turns)],
            AGENTS.name: [data for _, data in AGENTS.cut(agents)],
        }
        packed = {facts: pack_records(records) for facts, records in chapters.items()}
        return cls(packed, outline, hooks=hooks, files=files)

    def list_chapters(self) -> list[ChapterFacts]:
        """Return its files of lines."""
        return [facts for facts, _ in self._chapters.values()]

    def list_heads(self, source: str) -> list[SegmentHead]:
        """Return the heads of a file's segments."""
        return [segment.head for segment in self._chapters[source][1]]

    def load_segment(self, source: str, number: int) -> Segment:
        """Return a segment."""
        self.loaded.append((source, number))
        segments = self._chapters[source][1]
        if not 0 <= number < len(segments):
            raise KeyError(number)
        if (source, number) not in self._unpacked:
            self._unpacked[source, number] = unpack_segment(segments[number].data)
        return self._unpacked[source, number]

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return bytes of a file."""
        data = self._files[source, generation]
        if any(offset + length > len(data) for offset, length in spans):
            raise KeyError(source)
        return [data[offset : offset + length] for offset, length in spans]

    def count_outline(self, kind: str) -> int:
        """Return how many parts there are."""
        return len(self._outline.get(kind, ()))

    def load_outline(self, kind: str, numbers: range) -> list[bytes]:
        """Return parts, packed."""
        return [*self._outline.get(kind, ())[numbers.start : numbers.stop]]

    def list_hooks(self, which: DeliveryFilter) -> list[HookDelivery]:
        """Return hook events."""
        found = [hook for hook in self._every_hook if is_event(hook) and _is_wanted(hook, which)]
        end = None if which.count is None else which.first + which.count
        return [_leave_out(hook, which.longest_context) for hook in found[which.first : end]]

    def find_last_hook(self, names: Collection[str]) -> int | None:
        """Return when the last of some events came."""
        return max((hook.received_ns for hook in self._every_hook if hook.event_name in names), default=None)


def _is_wanted(hook: HookDelivery, which: DeliveryFilter) -> bool:
    return (
        (which.since_ns is None or which.since_ns <= hook.received_ns)
        and (which.until_ns is None or hook.received_ns < which.until_ns)
        and (which.tool_use_ids is None or hook.tool_use_id in which.tool_use_ids)
        and (which.ids is None or hook.id in which.ids)
    )


def _leave_out(hook: HookDelivery, longest: int | None) -> HookDelivery:
    """Return a delivery without its payload, and without a context that is too long."""
    is_long = longest is not None and len(hook.context or "") > longest
    return replace(hook, payload=b"", context=None if is_long or longest == 0 else hook.context)
