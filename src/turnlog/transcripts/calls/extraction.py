"""Calls and results as messages of their own, the way spec 003 keeps them.

A call is named after the line that holds its block and the block's place in it, and hangs under that line. A
result is named after its call, and hangs under it. A line alone does not say where that call is: `map_parents`
does, and without it a result is named after its own line, and hangs under the line which that one names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from turnlog.messages import UNSET, Line, UnsetType
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.entries import UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import Document003, StoredType
from turnlog.messages.patch import encode_value
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Place, Result, name_result, read_result
from turnlog.transcripts.lines.blocks import CallBlock, find_stored_type, is_call, is_result, list_blocks

_NONE: Mapping[str, str] = {}


def map_parents(calls: Iterable[Call]) -> dict[str, str]:
    """Return the extracted id of the call for that of each result, the results that do not count too."""
    found: dict[str, str] = {}
    for call in calls:
        for result in (call.result, *call.other_results):
            if result is not None and result.extracted_id is not None and call.extracted_id is not None:
                found[result.extracted_id] = call.extracted_id
    return found


def extract(line: Line, parents: Mapping[str, str] = _NONE) -> list[Document003]:
    """Return the calls and results of a line as spec 003's documents; `turnlog.encode` writes them.

    `parents` says which call each result answers (`map_parents`).
    """
    documents: list[Document003] = []
    for index, block in enumerate(list_blocks(line.entry)):
        place = Place(line, index)
        if is_call(block):
            documents.append(_extract_call(place, block))
        elif is_result(block):
            documents.append(_extract_result(read_result(place, block), parents))
    return documents


def _extract_call(place: Place, block: CallBlock) -> Document003:
    plain = (
        block
        if isinstance(block, ToolUseBlock)
        else ToolUseBlock(id=block.id, name=block.name, input=block.input)
    )
    own = find_stored_type(place.line) is StoredType.TOOL_USE
    parent = _envelope(place.line).parent_uuid if own else place.uuid
    return _document(place, StoredType.TOOL_USE, parent, encode_value(plain).decode("utf-8", "replace"))


def _extract_result(result: Result, parents: Mapping[str, str]) -> Document003:
    call = parents.get(result.extracted_id or "")
    parent = call or _told_parent(result.place.line)
    content = result.content
    if isinstance(content, tuple):
        content = encode_value(content).decode("utf-8", "replace")
    document = _document(result.place, StoredType.TOOL_RESULT, parent, content)
    name = None if find_stored_type(result.place.line) is StoredType.TOOL_RESULT else name_result(call)
    return document if name is None else replace(document, uuid=name)


def _told_parent(line: Line) -> str | None | UnsetType:
    entry = line.entry
    if isinstance(entry, UserEntry) and isinstance(entry.source_tool_assistant_uuid, str):
        return entry.source_tool_assistant_uuid
    return _envelope(line).parent_uuid


def _document(
    place: Place, kind: StoredType, parent: str | None | UnsetType, content: str | None | UnsetType
) -> Document003:
    entry = place.line.entry
    session, time = getattr(entry, "session_id", UNSET), getattr(entry, "timestamp", UNSET)
    return Document003(
        type=kind,
        uuid=place.extracted_id(kind) or UNSET,
        parent_uuid=parent,
        session_id=session,
        timestamp=time,
        content=content,
        is_sidechain=True,
    )


def _envelope(line: Line) -> Envelope:
    """Return what the line says about itself; messages of the stream say nothing of a parent."""
    return line.entry if isinstance(line.entry, Envelope) else Envelope()
