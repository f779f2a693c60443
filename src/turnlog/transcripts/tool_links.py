"""What a line says about which call it belongs to, besides the call's id."""

from __future__ import annotations

from turnlog.messages import Line
from turnlog.messages.entries import UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import StoredType
from turnlog.messages.sdk import PermissionDeniedMessage, ResultMessage
from turnlog.transcripts.tool_blocks import find_stored_type
from turnlog.transcripts.tool_calls import Pairing
from turnlog.transcripts.tool_results import Result

__all__ = ["find_parent", "lane_of", "list_denied", "list_links", "session_of"]


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
