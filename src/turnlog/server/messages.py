"""A message as the API shows it: its shape, and how it is made from its record and its lines.

A message has spec 003's fields with their aliases, and besides what it says in blocks, each of which the page
draws in its own way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal

from msgspec import Raw, Struct, field

from turnlog.messages import UNSET, Line, encode
from turnlog.messages.blocks import ContentBlock, RedactedThinkingBlock
from turnlog.messages.blocks import ThinkingBlock as Thought
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.envelope import instant
from turnlog.messages.media import ImageBlock as Picture
from turnlog.messages.media import TextBlock as Said
from turnlog.messages.usage import Usage
from turnlog.server.calls import Call, CallViewer, Image, has_bytes, view_image
from turnlog.server.values import LONGEST_JSON, LONGEST_SAID, cut, dollars, moment, say, sayable
from turnlog.transcripts.calls.call import Call as BuiltCall
from turnlog.transcripts.conversation.compactions import build_compactions, has_kept
from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.conversation.message import Message as Built
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.lines.authors import Author, author_of
from turnlog.transcripts.lines.blocks import find_stored_type, is_call, is_result, list_blocks
from turnlog.transcripts.lines.kinds import Category, MessageType, Role
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.records import CallRecord, MessageRecord
from turnlog.transcripts.usage.sightings import name_answer


class TextBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="text"):
    """Text, in Markdown."""

    text: str
    truncated: bool = False


class ThinkingBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="thinking"):
    """Thinking; empty if only its signature was kept."""

    text: str
    truncated: bool = False


class CallBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="call"):
    """A tool call with its result."""

    call: Call


class ImageBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="image"):
    """An image."""

    image: Image


class OtherBlock(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="other"):
    """A block without a specific form, as it is in the line."""

    type: str
    json: Raw | None
    """None if it is too long; the raw line has it."""


Block = TextBlock | ThinkingBlock | CallBlock | ImageBlock | OtherBlock


class MessageUsage(Struct, frozen=True, gc=False, kw_only=True):
    """What an answer used."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int


class CompactionStep(Struct, frozen=True, gc=False, kw_only=True):
    """What a message tells of a compaction, or of its undoing."""

    state: Literal["compacting", "compacted", "restoring", "restored"]
    kept: Literal["prelude", "recap"] | None
    """What the message says was kept (spec 004); null if it says that something happened, and no more."""


class Message(Struct, frozen=True, gc=False, kw_only=True):
    """A message as people read it: one or more lines of a file."""

    document_id: str = field(name="_id")
    """Its uuid, with the session's id and a colon before it where another session has a copy of the message."""
    index: int
    """Its position among the messages of its file, from 0; a result has that of its call's message."""
    source: str
    """The file that it is in: the transcript, or an agent's."""
    uuid: str
    """The uuid of its first line; if that has none, `@` and the offset where it begins."""
    message_uuid: str
    """The same."""
    parent_uuid: str | None
    """The message that it follows; lines that only carry results are skipped."""
    parent_uuid_alias: str | None
    """The same."""
    source_parent_uuid: str | None
    """What the file says."""
    session_id: str
    session_id_alias: str
    """The same."""
    type: str
    """As spec 003 calls it: user, assistant, tool_use, tool_result, summary, else as `role`.

    A message that holds calls is an assistant's; a tool_use is a call that is stored by itself.
    """
    rule: str
    """The rule by which it is shown (docs/transcripts.md lists them); `meta` is not for readers."""
    role: Role
    """What it is in the conversation (spec 002)."""
    types: tuple[MessageType, ...]
    """What it contains, in display order: thinking before what it led to."""
    author: Author
    """Who speaks: a human, the assistant, an agent, a hook, the system."""
    lane: Lane
    """Where it belongs: `main` for the conversation, `tool` for actions, `agent` for a sub-agent."""
    is_sidechain: bool
    """As spec 003 has it: of a sub-agent, or with calls or results."""
    category: Category | None
    """What sort of event it is; calls have categories of their own."""
    agent_id: str | None
    """The sub-agent that it belongs to."""
    parent: int | None
    """The index of the message that it follows."""
    branch: int
    """The number of its branch, which begins where a prompt was edited."""
    active: bool
    """Whether it is on the way to the newest message."""
    turn: int | None
    """The index of its turn."""
    created_at: datetime | None
    """When its first line was written."""
    timestamp: datetime | None
    """The same."""
    model: str | None
    permission_mode: str | None
    """The permission mode of a prompt; null for other messages, and if the file does not say."""
    aborted: bool
    """Whether it was interrupted."""
    compaction: CompactionStep | None
    """Only for messages of the rule `compaction`."""
    usage: MessageUsage | None
    """The usage of the answer; null for other messages, and for answers that are not counted."""
    cost_usd: float | None
    """What its document says that it cost, else by the price list; None if it has no price."""
    content: str
    """What it says, as plain text."""
    blocks: tuple[Block, ...]
    """What it says and does, in order."""
    lines: int
    """How many lines it is made of."""
    folded: int
    """How many lines are folded into it."""
    problems: int
    """What is wrong or unknown in its lines."""


class MessageWindow(Struct, frozen=True, gc=False, kw_only=True):
    """Consecutive messages, and how to continue in both directions."""

    items: tuple[Message, ...]
    total: int
    """The number of messages in the file, ignoring filters."""
    before: str | None
    """Pass it as `before` for the messages above; None at the beginning."""
    after: str | None
    """Pass it as `after` for the messages below; None at the end."""
    revision: int
    """The revision of the session; it increases when the session changes."""


class Answer(Struct, frozen=True, gc=False, kw_only=True):
    """What an answer of the model used."""

    usage: MessageUsage | None
    cost: Decimal | None


class Window(Struct, frozen=True, kw_only=True):
    """What the messages of a window are told with."""

    key: str
    session_id: str
    chapter: Chapter
    calls: Mapping[int, Sequence[CallRecord]]
    """The calls of each message."""
    ids: Mapping[int, str]
    """Of the messages in it, and of those that they follow."""
    answers: Mapping[str, Answer]
    """By the API's id, or what stands for it."""
    shared: Collection[str]
    """The uuids of messages that other sessions have, too."""
    viewer: CallViewer


def view_message(row: MessageRecord, built: Built, window: Window) -> Message:
    """Return a message with what it says."""
    own = built.lines
    text, _ = cut(built.text, LONGEST_SAID)
    answer = _find_answer(own, window.answers)
    parent = None if row.parent is None else say(window.ids.get(row.parent))
    time = moment(row.time)
    return Message(
        document_id=_name_document(row.id, window),
        index=row.index,
        source=window.chapter.source,
        uuid=sayable(row.id),
        message_uuid=sayable(row.id),
        parent_uuid=parent,
        parent_uuid_alias=parent,
        source_parent_uuid=say(_told_parent(own)),
        session_id=window.session_id,
        session_id_alias=window.session_id,
        type=_name_type(row, own),
        rule=row.rule,
        role=Role(row.role),
        types=tuple(map(MessageType, row.types)),
        author=Author(row.author),
        lane=Lane(row.lane),
        is_sidechain=row.is_sidechain,
        category=None if row.category is None else Category(row.category),
        agent_id=say(row.agent_id),
        parent=row.parent,
        branch=row.branch,
        active=row.active,
        turn=row.turn,
        created_at=time,
        timestamp=time,
        model=say(row.model),
        permission_mode=say(_told_mode(own)),
        aborted=row.aborted,
        compaction=_view_compaction(built),
        usage=None if answer is None else answer.usage,
        cost_usd=None if answer is None else dollars(answer.cost),
        content=text,
        blocks=tuple(_list_blocks(row, built, text, window)),
        lines=row.own_lines,
        folded=len(row.lines) - row.own_lines,
        problems=sum(len(line.problems) for line in own),
    )


def view_results(row: MessageRecord, built: Built, window: Window) -> Iterator[Message]:
    """Yield the results that are shown with a message, each as a message of its own (spec 003)."""
    for number, (record, call) in enumerate(_list_calls(row, built, window)):
        result = call.result
        if result is None or record.result_line not in row.lines:
            continue
        uuid = sayable(call.result_id or f"{row.id}_result_{number}")
        parent = sayable(call.extracted_id or row.id)
        line = result.place.line
        text, truncated = cut(result.text, LONGEST_SAID)
        images = (
            view_image(each, line, window.key, window.chapter) for each in result.images if has_bytes(each)
        )
        said = (TextBlock(text=text, truncated=truncated),) if text else ()
        time = instant(getattr(line.entry, "timestamp", None))
        yield Message(
            document_id=_name_document(uuid, window),
            index=row.index,
            source=window.chapter.source,
            uuid=uuid,
            message_uuid=uuid,
            parent_uuid=parent,
            parent_uuid_alias=parent,
            source_parent_uuid=say(_told_parent([line])),
            session_id=window.session_id,
            session_id_alias=window.session_id,
            type=Role.TOOL_RESULT,
            rule=Rule.RESULT,
            role=Role.TOOL_RESULT,
            types=(MessageType.TOOL_RESULT,),
            author=author_of(line),
            lane=name_result_lane(row),
            is_sidechain=True,
            category=None,
            agent_id=say(row.agent_id),
            parent=row.index,
            branch=row.branch,
            active=row.active,
            turn=row.turn,
            created_at=time,
            timestamp=time,
            model=None,
            permission_mode=None,
            aborted=False,
            compaction=None,
            usage=None,
            cost_usd=None,
            content=text,
            blocks=(*said, *(ImageBlock(image=image) for image in images)),
            lines=1,
            folded=0,
            problems=len(line.problems),
        )


def name_result_lane(row: MessageRecord) -> Lane:
    """Return the lane of the results that are shown with a message."""
    return Lane.AGENT if row.lane == Lane.AGENT else Lane.TOOL


def _name_document(uuid: str, window: Window) -> str:
    """Return what a database would call a message: forks and resumes copy uuids, and an `_id` is unique."""
    name = f"{window.session_id}:{uuid}" if uuid in window.shared or uuid.startswith("@") else uuid
    return sayable(name)


def _name_type(row: MessageRecord, own: Sequence[Line]) -> str:
    stored = find_stored_type(own[0]) if own else None
    if stored is not None:
        return str(stored)
    return Role.ASSISTANT if row.role == Role.TOOL_USE else row.role


def _find_answer(own: Sequence[Line], answers: Mapping[str, Answer]) -> Answer | None:
    """Return what an answer used; of a stored one what its document says, where it says it."""
    found = next(filter(None, (answers.get(name_answer(line) or "") for line in own)), None)
    for line in own:
        if find_stored_type(line) is None or not isinstance(line.entry, AssistantEntry):
            continue
        usage, cost = line.entry.usage, line.entry.cost_usd
        if found is None and isinstance(usage, Usage):
            found = Answer(usage=_view_usage(usage), cost=None)
        if isinstance(cost, int | float):
            return Answer(usage=None if found is None else found.usage, cost=Decimal(str(cost)))
    return found


def _view_usage(usage: Usage) -> MessageUsage:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return MessageUsage(**{name: getattr(usage, name) or 0 for name in names})


def _list_calls(row: MessageRecord, built: Built, window: Window) -> Iterator[tuple[CallRecord, BuiltCall]]:
    return zip(window.calls.get(row.index, ()), built.calls, strict=True)


def _list_blocks(row: MessageRecord, built: Built, text: str, window: Window) -> Iterator[Block]:
    blocks = [
        (number, index, line, block)
        for number, line in zip(row.lines, built.lines, strict=False)
        for index, block in enumerate(list_blocks(line.entry))
    ]
    if built.prompt is not None or not blocks:
        # What people typed is told without its envelopes, whatever blocks it came in.
        if text:
            yield TextBlock(text=text)
        blocks = [each for each in blocks if not isinstance(each[-1], Said)]
    calls = {(record.line, record.block): (record, call) for record, call in _list_calls(row, built, window)}
    for number, index, line, block in blocks:
        made = calls.get((number, index)) if is_call(block) else None
        if made is not None:
            yield CallBlock(call=window.viewer.view(window.chapter, *made))
        elif not is_result(block):
            yield from _view_block(line, block, window)


def _view_block(line: Line, block: ContentBlock, window: Window) -> Iterator[Block]:
    if isinstance(block, Said):
        text, truncated = cut(block.text, LONGEST_SAID)
        if text.strip():
            yield TextBlock(text=text, truncated=truncated)
    elif isinstance(block, Thought):
        text, truncated = cut(block.thinking, LONGEST_SAID)
        yield ThinkingBlock(text=text, truncated=truncated)
    elif isinstance(block, RedactedThinkingBlock):
        yield ThinkingBlock(text="")
    elif isinstance(block, Picture) and has_bytes(block):
        yield ImageBlock(image=view_image(block, line, window.key, window.chapter))
    else:
        data = encode(block)
        yield OtherBlock(
            type=sayable(block.type or "unknown"), json=Raw(data) if len(data) <= LONGEST_JSON else None
        )


def _view_compaction(built: Built) -> CompactionStep | None:
    if built.rule is not Rule.COMPACTION:
        return None
    [step] = build_compactions([built])
    kept: Literal["prelude", "recap"] = "prelude" if step.prelude is not None else "recap"
    return CompactionStep(state=step.state.value, kept=kept if has_kept(built) else None)


def _told_mode(own: Sequence[Line]) -> str | None:
    mode = getattr(own[0].entry, "permission_mode", UNSET) if own else UNSET
    return str(mode) if isinstance(mode, str) else None


def _told_parent(own: Sequence[Line]) -> str | None:
    parent = getattr(own[0].entry, "parent_uuid", UNSET) if own else UNSET
    return parent if isinstance(parent, str) else None
