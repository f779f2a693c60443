"""What a line says about which call it belongs to, besides the call's id."""

from __future__ import annotations

from collections import deque

from turnlog.messages import Line
from turnlog.messages.entries import UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import StoredType
from turnlog.messages.sdk import PermissionDeniedMessage, ResultMessage
from turnlog.transcripts.calls.call import CallDraft, Pairing
from turnlog.transcripts.calls.results import Place, Result
from turnlog.transcripts.lines.blocks import find_stored_type


class _OpenCalls:
    """Calls by the uuid of their line, in order; nearly always one."""

    def __init__(self) -> None:
        self._calls: dict[str, int | deque[int]] = {}

    def add(self, uuid: str, position: int) -> None:
        known = self._calls.get(uuid)
        if known is None:
            self._calls[uuid] = position
        elif isinstance(known, int):
            self._calls[uuid] = deque((known, position))
        else:
            known.append(position)

    def find(self, uuid: str, drafts: list[CallDraft]) -> int | None:
        """Return the first call that has no result; those before it are not asked about again."""
        known = self._calls.get(uuid)
        if known is None or isinstance(known, int):
            return None if known is None or drafts[known].result is not None else known
        while known and drafts[known[0]].result is not None:
            known.popleft()
        return known[0] if known else None


class PlaceIndex:
    """Calls by where they and their results stand, for what cannot be found by an id.

    Nearly everything can: so places are only noted as they come, and looked at when somebody asks.
    """

    def __init__(self, drafts: list[CallDraft]) -> None:
        self._drafts = drafts
        self._new_calls: list[tuple[Place, bool, int]] = []
        self._new_results: list[tuple[Place, int]] = []
        self._by_extracted: dict[str, int] = {}
        self._answered: dict[str, int] = {}  # by the result's extracted id: copies go where the first one went
        # Calls that a result may be joined to by the uuid of their line, those without an id apart.
        self._open = _OpenCalls(), _OpenCalls()

    def add_call(self, place: Place, named: bool, position: int) -> None:
        """Note where a call stands, and whether it has an id."""
        self._new_calls.append((place, named, position))

    def add_result(self, place: Place, position: int) -> None:
        """Note where a result of a call stands."""
        self._new_results.append((place, position))

    def remove_result(self, result: Result) -> None:
        """Forget to which call a result was joined."""
        self.find_answered(result)
        self._answered.pop(result.extracted_id or "", None)

    def find_at(self, uuid: str | None) -> int | None:
        """Return the call with which a line begins, whether it has a result or not; None if there is none."""
        self._look_at_calls()
        return self._by_extracted.get(f"{uuid}_tool_0")

    def find_call(self, place: Place) -> int | None:
        """Return the call that stands at a place, or under its name; None if there is none."""
        self._look_at_calls()
        return self._by_extracted.get(place.extracted_id(StoredType.TOOL_USE) or "")

    def find_answered(self, result: Result) -> int | None:
        """Return the call to which a result at the same place was joined before, or None."""
        for place, position in self._new_results:
            extracted = place.extracted_id(StoredType.TOOL_RESULT)
            if extracted is not None:
                self._answered[extracted] = position
        self._new_results.clear()
        return self._answered.get(result.extracted_id or "")

    def find_open(self, uuid: str | None, named: bool) -> int | None:
        """Return the first call of a line that has no result; a result with an id fits only calls without."""
        self._look_at_calls()
        found: list[int] = []
        for calls in self._open[:1] if named else self._open:
            position = calls.find(uuid or "", self._drafts)
            if position is not None and not (named and self._drafts[position].id is not None):
                found.append(position)
        return min(found, default=None)

    def _look_at_calls(self) -> None:
        for place, named, position in self._new_calls:
            extracted = place.extracted_id(StoredType.TOOL_USE)
            if extracted is not None:
                self._by_extracted.setdefault(extracted, position)
            for uuid in {place.uuid, extracted} - {None}:
                self._open[named].add(str(uuid), position)
        self._new_calls.clear()


def list_links(result: Result) -> list[tuple[str, Pairing]]:
    """Return the uuids by which a result points to its call, the best first."""
    line = result.place.line
    entry = line.entry
    links: list[tuple[str, Pairing]] = []
    if isinstance(entry, UserEntry) and isinstance(entry.source_tool_assistant_uuid, str):
        links.append((entry.source_tool_assistant_uuid, Pairing.SOURCE))
    uuid = result.place.uuid
    if find_stored_type(line) is StoredType.TOOL_RESULT and uuid is not None:
        # Spec 003 draws the two as siblings as well: then only their names show that they belong together.
        links.append(("_tool_".join(uuid.rsplit("_result_", 1)), Pairing.PARENT))
    parent = find_parent(line)
    if parent is not None:
        links.append((parent, Pairing.PARENT))
    return links


def find_parent(line: Line) -> str | None:
    """Return the uuid of the line that a line follows, or None."""
    parent = line.entry.parent_uuid if isinstance(line.entry, Envelope) else None
    return parent if isinstance(parent, str) else None


def session_of(line: Line) -> str:
    """Return the session that a line names; empty if it names none."""
    session = getattr(line.entry, "session_id", None)
    return session if isinstance(session, str) else ""


def lane_of(line: Line) -> tuple[object, ...]:
    """Return whose calls these are: those of a sub-agent come between a call of it and that call's result."""
    entry = line.entry
    agent = entry.agent_id if isinstance(entry, Envelope) else None
    return (session_of(line), isinstance(entry, Envelope) and entry.is_sidechain is True, agent)


def list_denied(line: Line) -> list[str]:
    """Return the ids of the calls that a message of the stream says were not allowed."""
    match line.entry:
        case PermissionDeniedMessage(tool_use_id=str(denied)):
            return [denied]
        case ResultMessage(permission_denials=tuple(denials)):
            return [denial.tool_use_id for denial in denials if isinstance(denial.tool_use_id, str)]
    return []
