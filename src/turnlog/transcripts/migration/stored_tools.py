"""Calls and results that stand as documents of their own (spec 003), without what they say.

A document has the ids that tell where it belongs in one of several places: its name (`{uuid}_tool_{i}`), the
JSON text of its block, or the whole message that it was taken out of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import UNSET, Line, Position, Raw, UnsetType
from turnlog.messages.blocks import ToolResultBlock
from turnlog.messages.legacy import Api003, Document003, StoredType
from turnlog.messages.salvage import REFUSALS, decoder, text_of
from turnlog.transcripts.calls.call import Pairing
from turnlog.transcripts.calls.links import find_parent, list_links, session_of
from turnlog.transcripts.calls.results import Place, read_result
from turnlog.transcripts.lines.blocks import ResultBlock, find_stored_type, is_call, is_result, list_blocks

_NAME = re.compile(r"(.+)_(tool|result)_(0|[1-9]\d{0,8})", re.DOTALL)
_PARTS = {StoredType.TOOL_USE: "tool", StoredType.TOOL_RESULT: "result"}


class ToolDocument(Struct, frozen=True, gc=False, kw_only=True):
    """A tool message: what it is, where it stands, and whom it names."""

    at: Position
    size: int
    kind: StoredType
    uuid: str | None
    parent: str | None
    session: str
    is_sidechain: bool
    tool_use_id: str | None = None
    """The id of the call, as far as the document itself tells."""
    quoted_id: str | None = None
    """An id in a result's text, which may be the tool's own words: it only decides between calls that fit."""
    links: tuple[str, ...] = ()
    """What a result points to, the best first."""

    @property
    def name(self) -> tuple[str, int] | None:
        """The uuid of the message that it was taken out of, and its place there; None if that is not told."""
        found = _NAME.fullmatch(self.uuid or "")
        return None if found is None or found[2] != _PARTS[self.kind] else (found[1], int(found[3]))


class Answer(Struct, frozen=True, gc=False):
    """What a result tells of its call."""

    tool_use_id: str | None
    sources: tuple[str, ...]
    parents: tuple[str, ...]


class _BlockText(Struct):
    """As much of a block in JSON text as names the call; all else is skipped."""

    type: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    tool_use_id: Raw | UnsetType = UNSET


def find_tool(line: Line) -> ToolDocument | None:
    """Return what is to be known of a tool message; None for any other line, and for one without a place."""
    kind = find_stored_type(line)
    if kind is None or kind not in _PARTS or line.at is None or line.unread:
        return None
    document = ToolDocument(
        at=line.at,
        size=line.length,
        kind=kind,
        uuid=Place(line, 0).uuid,
        parent=find_parent(line),
        session=session_of(line),
        is_sidechain=getattr(line.entry, "is_sidechain", None) is True,
    )
    return _tell_call(document, line) if kind is StoredType.TOOL_USE else _tell_result(document, line)


def read_answer(line: Line, index: int, block: ResultBlock) -> Answer:
    """Return what a result tells of its call."""
    result = read_result(Place(line, index), block)
    links = list_links(result)
    return Answer(
        result.tool_use_id,
        tuple(uuid for uuid, pairing in links if pairing is Pairing.SOURCE),
        tuple(uuid for uuid, pairing in links if pairing is not Pairing.SOURCE),
    )


def _tell_call(document: ToolDocument, line: Line) -> ToolDocument:
    calls = {i: block for i, block in enumerate(list_blocks(line.entry)) if is_call(block)}
    index = _find_own(document, calls)
    told = UNSET if index is None else calls[index].id
    identity = _read_quoted(line, "id") or (told if isinstance(told, str) else None)
    return replace(document, tool_use_id=identity)


def _tell_result(document: ToolDocument, line: Line) -> ToolDocument:
    results = {i: block for i, block in enumerate(list_blocks(line.entry)) if is_result(block)}
    index = _find_own(document, results)
    answer = read_answer(line, 0, ToolResultBlock() if index is None else results[index])
    links = (*answer.sources, *answer.parents)
    quoted = _read_quoted(line, "tool_use_id")
    return replace(document, tool_use_id=answer.tool_use_id, quoted_id=quoted, links=links)


def _find_own(document: ToolDocument, blocks: Mapping[int, object]) -> int | None:
    """Return which of its blocks a document is about: it may hold the whole message it was taken out of."""
    if len(blocks) == 1:
        return next(iter(blocks))
    return document.name[1] if document.name is not None and document.name[1] in blocks else None


def _read_quoted(line: Line, key: str) -> str | None:
    """Return an id out of the block that a document holds as JSON text, if it does."""
    content = line.wire.content if isinstance(line.wire, Document003 | Api003) else None
    if not isinstance(content, str) or not content.lstrip().startswith("{"):
        return None
    try:
        block: _BlockText = decoder(_BlockText).decode(content)
    except REFUSALS:
        return None
    if _text(block.type) != find_stored_type(line):
        return None
    return _text(getattr(block, key))


def _text(raw: Raw | UnsetType) -> str | None:
    return None if isinstance(raw, UnsetType) else text_of(raw)
