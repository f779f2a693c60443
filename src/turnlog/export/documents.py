"""A session as spec 003's documents: as a database keeps them (camelCase), or as the API tells them.

Each line of the conversation is a document with its message, and each call and result one of its own under it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from turnlog.export.redaction.json_values import redact_json
from turnlog.export.redaction.redactor import Redactor
from turnlog.export.selection import EVERYTHING, Selection, select
from turnlog.messages import Line, Raw
from turnlog.messages.legacy import Document003
from turnlog.messages.message import Message as ApiMessage
from turnlog.messages.patch import encode_value
from turnlog.transcripts.agents.places import build_conversation
from turnlog.transcripts.calls.extraction import extract, map_parents
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.message import Lane, Message
from turnlog.transcripts.lines.blocks import is_call, list_blocks
from turnlog.transcripts.session import Session

__all__ = ["DocumentUsage", "SnakeDocument", "render_documents"]


class DocumentUsage(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What an answer used."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class SnakeDocument(Struct, frozen=True, gc=False, kw_only=True):
    """A document with the names that the API uses."""

    uuid: str
    message_uuid: str
    parent_uuid: str | None
    parent_uuid_alias: str | None
    session_id: str | None
    session_id_alias: str | None
    type: str
    content: str | None
    timestamp: str | None
    created_at: str | None
    is_sidechain: bool
    model: str | None | UnsetType = UNSET
    cost_usd: float | None | UnsetType = UNSET
    usage: DocumentUsage | UnsetType = UNSET
    message_data: Raw | UnsetType = UNSET


class _CamelDocument(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    id: str = msgspec.field(name="_id")
    uuid: str
    parent_uuid: str | None
    session_id: str | None
    type: str
    content: str | None
    timestamp: str | None
    created_at: str | None
    is_sidechain: bool
    model: str | None | UnsetType = UNSET
    cost_usd: float | None | UnsetType = UNSET
    usage: DocumentUsage | UnsetType = UNSET
    message_data: Raw | UnsetType = UNSET


_encode = msgspec.json.Encoder().encode


def render_documents(
    session: Session,
    selection: Selection = EVERYTHING,
    *,
    camel: bool = True,
    redactor: Redactor | None = None,
) -> Iterator[bytes]:
    """Yield the text of a file: a JSON array, a document on each line."""
    costs = _price(session)
    first = True
    for document in _list_documents(session, selection, costs):
        data = _encode(_to_camel(document) if camel else document)
        if redactor is not None:
            data = redact_json(data, redactor)
        yield (b"[\n" if first else b",\n") + data
        first = False
    yield b"[]\n" if first else b"\n]\n"


def _list_documents(
    session: Session, selection: Selection, costs: Mapping[str, tuple[Decimal | None, DocumentUsage]]
) -> Iterator[SnakeDocument]:
    yield from _list_of(session.conversation, select(session, selection), selection, costs)
    if selection.agents:
        for agent in session.agents:
            if not agent.inline:
                conversation = build_conversation(agent)
                yield from _list_of(conversation, conversation.messages, selection, costs)


def _list_of(
    conversation: Conversation,
    messages: Iterable[Message],
    selection: Selection,
    costs: Mapping[str, tuple[Decimal | None, DocumentUsage]],
) -> Iterator[SnakeDocument]:
    parents = map_parents(conversation.calls)
    tree, all_messages = conversation.tree, conversation.messages
    for message in messages:
        above = tree.parents[message.index]
        parent = None if above is None else all_messages[above].id
        if message.lane is Lane.AGENT and not selection.agents:
            continue
        yield _tell_message(message, parent, selection, costs)
        for line in (*message.lines, *message.folded):
            for document in extract(line, parents):
                if document.type != "tool_result" or selection.tool_output:
                    yield _tell_extracted(document, line)


def _tell_message(
    message: Message,
    parent: str | None,
    selection: Selection,
    costs: Mapping[str, tuple[Decimal | None, DocumentUsage]],
) -> SnakeDocument:
    line = message.lines[-1]
    cost, usage = costs.get(message.message_id or "", (None, None))
    answered = message.model is not None
    blocks = tuple(
        block
        for each in message.lines
        for block in list_blocks(each.entry)
        if selection.thinking or "thinking" not in type(block).__name__.lower()
    )
    entry = getattr(line.entry, "message", None)
    if isinstance(entry, ApiMessage) and blocks:
        entry = msgspec.structs.replace(entry, content=blocks)
    return SnakeDocument(
        uuid=message.id,
        message_uuid=message.id,
        parent_uuid=parent,
        parent_uuid_alias=parent,
        session_id=_find_session(line),
        session_id_alias=_find_session(line),
        type=_type_of(message),
        content=message.text,
        timestamp=_moment(message.time),
        created_at=_moment(message.time),
        is_sidechain=message.lane is not Lane.MAIN or any(map(is_call, blocks)),
        model=message.model if answered else UNSET,
        cost_usd=(None if cost is None else float(cost)) if answered else UNSET,
        usage=UNSET if usage is None else usage,
        message_data=UNSET if entry is None else Raw(encode_value(entry)),
    )


def _tell_extracted(document: Document003, line: Line) -> SnakeDocument:
    parent = document.parent_uuid if isinstance(document.parent_uuid, str) else None
    uuid = document.uuid if isinstance(document.uuid, str) else ""
    time = document.time
    content = document.content
    return SnakeDocument(
        uuid=uuid,
        message_uuid=uuid,
        parent_uuid=parent,
        parent_uuid_alias=parent,
        session_id=_find_session(line),
        session_id_alias=_find_session(line),
        type=str(document.type),
        content=content if isinstance(content, str) else None,
        timestamp=_moment(time),
        created_at=_moment(time),
        is_sidechain=True,
    )


def _price(session: Session) -> dict[str, tuple[Decimal | None, DocumentUsage]]:
    """Return what each answer cost and used, by the API's id."""
    found: dict[str, tuple[Decimal | None, DocumentUsage]] = {}
    for used in session.usage.list_messages():
        tokens = used.tokens
        usage = DocumentUsage(
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cache_read_input_tokens=tokens.cache_read,
            cache_creation_input_tokens=tokens.cache_write_5m + tokens.cache_write_1h,
        )
        bill = session.prices.build_bill((used,))
        if used.message:
            found[used.message] = (None if bill.unpriced else bill.cost, usage)
    return found


def _to_camel(document: SnakeDocument) -> _CamelDocument:
    return _CamelDocument(
        id=document.uuid,
        **{name: getattr(document, name) for name in _CamelDocument.__struct_fields__ if name != "id"},
    )


def _type_of(message: Message) -> str:
    return str(message.role)


def _find_session(line: Line) -> str | None:
    session = getattr(line.entry, "session_id", None)
    return session if isinstance(session, str) else None


def _moment(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat().replace("+00:00", "Z")
