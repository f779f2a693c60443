"""Messages and tool calls as the API and the MCP server show them, made from records and their lines.

A message has spec 003's fields with their aliases, and besides what it says in blocks, each of which the page
draws in its own way.

A call without its body is made from its record alone. Claude Code puts long results into separate files. A
result says where its file is, and that is untrusted: only the name counts, among the files of results that the
archive has of the same session. An image is known by its line and by its place among the images of that line.
"""

from __future__ import annotations

from binascii import Error, a2b_base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from turnlog.instants import find_moment
from turnlog.messages import Line, encode
from turnlog.messages.blocks import Base64Source, ContentBlock, RedactedThinkingBlock, ToolResultBlock
from turnlog.messages.blocks import ImageBlock as ImageContent
from turnlog.messages.blocks import TextBlock as Said
from turnlog.messages.blocks import ThinkingBlock as Thought
from turnlog.messages.entries import AssistantEntry
from turnlog.messages.envelope import instant
from turnlog.messages.message import Usage
from turnlog.server import values
from turnlog.server.values import fill_clean
from turnlog.store.interface import KnownSource, Store, find_known
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope, SourceKind
from turnlog.transcripts.calls import Call as BuiltCall
from turnlog.transcripts.calls import Result
from turnlog.transcripts.conversation.messages import Lane, Rule, build_compactions, has_kept
from turnlog.transcripts.conversation.messages import Message as Built
from turnlog.transcripts.kinds import CallState, Category, MessageType, Role, topic_of
from turnlog.transcripts.lines.content import (
    Author,
    author_of,
    find_stored_type,
    is_call,
    is_result,
    list_blocks,
)
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.threads import build_call
from turnlog.transcripts.segments import CallRecord, MessageRecord
from turnlog.transcripts.usage.sightings import name_answer


class Image(Struct, frozen=True, gc=False, kw_only=True):
    """An image in a message or a result; its bytes are fetched separately."""

    href: str
    """Where its bytes are, on this server."""
    media_type: str


class ResultFile(Struct, frozen=True, gc=False, kw_only=True):
    """A result that Claude Code wrote to a separate file."""

    href: str
    """Where its bytes are, on this server."""
    name: str
    """The file's name."""
    size: int
    """In bytes."""


class CallResult(Struct, frozen=True, gc=False, kw_only=True):
    """The result of a tool call."""

    text: str
    truncated: bool
    """Whether the text was cut; the raw line has all of it."""
    length: int
    """The length of the whole text, in characters."""
    is_error: bool | None
    """None if the line does not say."""
    images: tuple[Image, ...] = ()
    offloaded: ResultFile | None = None
    """Where the full result is, if it was too long for its line."""
    details: Raw | None = None
    """`toolUseResult` as it is in the line; None if there is none, or if it is too long."""


class Call(Struct, frozen=True, gc=False, kw_only=True):
    """A tool call and its outcome."""

    index: int
    """Its position among the calls of its file, from 0."""
    source: str
    uuid: str | None
    """`{uuid of the line}_tool_{i}`, as spec 003 defines it; None if bodies were not requested."""
    id: str | None
    """The id that Claude Code gave it."""
    name: str
    """The tool's name."""
    category: Category
    state: CallState
    """Its outcome."""
    title: str
    """What it is about: the command, the file, the pattern; empty if bodies were not requested."""
    path: str | None
    """The file that it works on."""
    changes_file: bool
    """Whether it changes that file."""
    message: int | None
    """The index of the message that made it."""
    agent_id: str | None
    """The sub-agent that it started."""
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    """From the call to its result; None if it has none yet."""
    input: Raw | None = None
    """The input as it is in the line; None if it is too long, or was not requested."""
    result: CallResult | None = None
    """None if there is none, or if it was not requested."""


class CallBar(Struct, frozen=True, gc=False, kw_only=True):
    """A call as a bar, or several consecutive calls if there are many."""

    ms: int | None
    """How long it took, or the longest of several; None if unknown."""
    failed: bool
    """Whether it, or one of several, failed."""
    category: Category


class CallPage(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's calls."""

    items: tuple[Call, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""


_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a page may show. Any other kind, as SVG, which can hold scripts, is sent as mere bytes."""
_BYTES = "application/octet-stream"


class ImageData(Struct, frozen=True, gc=False):
    """The bytes of an image."""

    media_type: str
    data: bytes


def _list_images(line: Line) -> list[ImageContent]:
    """Return the images of a line, those in the results of calls too, in order."""
    found: list[ImageContent] = []
    for block in list_blocks(line.entry):
        inside = block.content if isinstance(block, ToolResultBlock) else (block,)
        if isinstance(inside, tuple):
            found += (each for each in inside if isinstance(each, ImageContent))
    return found


def has_bytes(image: ImageContent) -> bool:
    """Tell whether the bytes of an image stand in its line; those of others are somewhere on the network."""
    return isinstance(image.source, Base64Source)


def view_image(image: ImageContent, line: Line, session: str, chapter: Chapter) -> Image:
    """Return where the bytes of an image are, which is in a line of a chapter; `session` is a key."""
    number = next(place for place, each in enumerate(_list_images(line)) if each is image)
    offset = 0 if line.at is None else line.at.offset
    parts = (session, "images", chapter.source, str(chapter.facts.generation), str(offset), str(number))
    return Image(
        href="/api/sessions/" + "/".join(quote(part, safe="") for part in parts), media_type=_kind_of(image)
    )


def find_image(line: Line, number: int) -> ImageData | None:
    """Return an image of a line; None if there is none, or none whose bytes are here."""
    images = _list_images(line)
    if not 0 <= number < len(images):
        return None
    source = images[number].source
    if not isinstance(source, Base64Source):
        return None
    try:
        return ImageData(_kind_of(images[number]), a2b_base64(source.data.encode("ascii", "replace")))
    except Error:
        return None


def _kind_of(image: ImageContent) -> str:
    source = image.source
    kind = source.media_type if isinstance(source, Base64Source) else None
    return kind if isinstance(kind, str) and kind in _SHOWN else _BYTES


def view_call(chapter: Chapter, record: CallRecord) -> Call:
    """Return a call without its body."""
    return fill_clean(
        Call,
        record,
        source=chapter.source,
        uuid=None,
        category=Category(record.category),
        state=CallState(record.state),
        title="",
        input=None,
        result=None,
        started_at=find_moment(record.started),
        ended_at=find_moment(record.ended),
        duration_ms=values.elapsed_ms(record.started, record.ended),
    )


_MOST_BARS = 60


def build_call_bars(calls: Sequence[CallRecord], most: int = _MOST_BARS) -> tuple[CallBar, ...]:
    """Return calls as bars; where there are more than so many, runs of the same length share one."""
    bars = min(len(calls), most)
    edges = [len(calls) * number // bars for number in range(bars + 1)] if bars else [0]
    return tuple(_merge_calls(calls[start:end]) for start, end in pairwise(edges))


def _merge_calls(calls: Sequence[CallRecord]) -> CallBar:
    times = [values.elapsed_ms(call.started, call.ended) for call in calls]
    longest = max(range(len(calls)), key=lambda at: -1 if times[at] is None else times[at] or 0)
    return CallBar(
        ms=times[longest],
        failed=any(call.state == CallState.FAILED for call in calls),
        category=Category(calls[longest].category),
    )


class CallViewer:
    """Builds calls of one session with their bodies; the store is asked when the first result has a file."""

    def __init__(self, store: Store, scope: Scope, session: StoredSession) -> None:
        self._store = store
        self._scope = scope
        self._key = session.key
        self._project = session.row.project

    def list_calls(self, calls: Sequence[tuple[Chapter, CallRecord]]) -> tuple[Call, ...]:
        """Return calls with their bodies; only the first, if they are very long together."""
        calls = values.limit_by_size(calls, lambda each: each[0].measure(_list_lines(each[1])))
        lines = values.read_each((chapter, _list_lines(record)) for chapter, record in calls)
        return tuple(
            self.fill_clean(chapter, record, build_call(record, lines[chapter])) for chapter, record in calls
        )

    def fill_clean(self, chapter: Chapter, record: CallRecord, call: BuiltCall) -> Call:
        """Return a call with its body."""
        given = call.block.input
        return replace(
            view_call(chapter, record),
            uuid=values.clean_optional(call.extracted_id),
            title=values.one_line(topic_of(call.name, given, self._project)),
            input=values.limit_json(given) if isinstance(given, Raw) else None,
            result=None if call.result is None else self._view_result(chapter, call.result),
        )

    def _view_result(self, chapter: Chapter, result: Result) -> CallResult:
        text, truncated = values.truncate(result.text, values.LONGEST_SHOWN)
        images = filter(has_bytes, result.images)
        return CallResult(
            text=text,
            truncated=truncated,
            length=len(result.text),
            is_error=result.is_error if isinstance(result.is_error, bool) else None,
            images=tuple(view_image(each, result.place.line, self._key, chapter) for each in images),
            offloaded=self._find_file(result.offloaded_path),
            details=values.limit_json(result.display) if isinstance(result.display, Raw) else None,
        )

    def _find_file(self, told: str | None) -> ResultFile | None:
        """Return the file that a result names; None if it names none, or none that is here."""
        found = None if told is None else self._files.get(_name_of(told))
        if found is None:
            return None
        return ResultFile(
            href=f"/api/sessions/{quote(self._key, safe='')}/tool-results/{quote(found.source, safe='')}",
            name=values.clean_text(_name_of(found.path)),
            size=found.length,
        )

    @cached_property
    def _files(self) -> dict[str, KnownSource]:
        known = find_known(self._store, self._scope, self._key)
        sources = () if known is None else known.sources
        return {_name_of(each.path): each for each in sources if each.kind is SourceKind.TOOL_RESULT}


def _list_lines(record: CallRecord) -> set[int]:
    """Return the lines of a call and its result."""
    return {record.line} if record.result_line is None else {record.line, record.result_line}


def _name_of(path: str) -> str:
    return PureWindowsPath(PurePosixPath(path).name).name


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
    """The step of a compaction, or of undoing one, that a message reports."""

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
    """The rule by which it is shown (docs/rules.md lists them); `meta` is not for readers."""
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


class AnswerUsage(Struct, frozen=True, gc=False, kw_only=True):
    """What an answer of the model used."""

    usage: MessageUsage | None
    cost: Decimal | None


class MessageContext(Struct, frozen=True, kw_only=True):
    """What is needed to build the messages of a window."""

    key: str
    session_id: str
    chapter: Chapter
    calls: Mapping[int, Sequence[CallRecord]]
    """The calls of each message."""
    ids: Mapping[int, str]
    """Of the messages in it, and of those that they follow."""
    answers: Mapping[str, AnswerUsage]
    """By the API's id, or what stands for it."""
    shared: Collection[str]
    """The uuids of messages that other sessions have, too."""
    viewer: CallViewer


def view_message(row: MessageRecord, built: Built, window: MessageContext) -> Message:
    """Return a message with what it says."""
    own = built.lines
    text, _ = values.truncate(built.text, values.LONGEST_SAID)
    answer = _find_answer(own, window.answers)
    return _fill_message(
        row,
        window,
        row.id,
        None if row.parent is None else values.clean_optional(window.ids.get(row.parent)),
        own,
        find_moment(row.time),
        text,
        type=_name_type(row, own),
        rule=row.rule,
        is_sidechain=row.is_sidechain,
        parent=row.parent,
        aborted=row.aborted,
        role=Role(row.role),
        types=tuple(map(MessageType, row.types)),
        author=Author(row.author),
        lane=Lane(row.lane),
        category=None if row.category is None else Category(row.category),
        model=values.clean_optional(row.model),
        permission_mode=values.clean_optional(_read_field(own, "permission_mode")),
        compaction=_view_compaction(built),
        usage=None if answer is None else answer.usage,
        cost_usd=None if answer is None else values.dollars(answer.cost),
        blocks=tuple(_list_blocks(row, built, text, window)),
        lines=row.own_lines,
        folded=len(row.lines) - row.own_lines,
    )


def view_results(row: MessageRecord, built: Built, window: MessageContext) -> Iterator[Message]:
    """Yield the results that are shown with a message, each as a message of its own (spec 003)."""
    for number, (record, call) in enumerate(_list_calls(row, built, window)):
        result = call.result
        if result is None or record.result_line not in row.lines:
            continue
        uuid = values.clean_text(call.result_id or f"{row.id}_result_{number}")
        line = result.place.line
        text, truncated = values.truncate(result.text, values.LONGEST_SAID)
        images = (
            view_image(each, line, window.key, window.chapter) for each in result.images if has_bytes(each)
        )
        said = (TextBlock(text=text, truncated=truncated),) if text else ()
        yield _fill_message(
            row,
            window,
            uuid,
            values.clean_text(call.extracted_id or row.id),
            [line],
            instant(getattr(line.entry, "timestamp", None)),
            text,
            type=Role.TOOL_RESULT,
            rule=Rule.RESULT,
            role=Role.TOOL_RESULT,
            types=(MessageType.TOOL_RESULT,),
            author=author_of(line),
            lane=name_result_lane(row),
            is_sidechain=True,
            category=None,
            parent=row.index,
            model=None,
            permission_mode=None,
            aborted=False,
            compaction=None,
            usage=None,
            cost_usd=None,
            blocks=(*said, *(ImageBlock(image=image) for image in images)),
            lines=1,
            folded=0,
        )


def _fill_message(
    row: MessageRecord,
    window: MessageContext,
    uuid: str,
    parent: str | None,
    lines: Sequence[Line],
    time: datetime | None,
    text: str,
    /,
    **own: Any,
) -> Message:
    """Return what is shown as a message: a message, or a result that is shown with one."""
    # Each field by hand: an answer has hundreds of them.
    return Message(
        index=row.index,
        branch=row.branch,
        active=row.active,
        turn=row.turn,
        document_id=_name_document(uuid, window),
        source=window.chapter.source,
        uuid=values.clean_text(uuid),
        message_uuid=values.clean_text(uuid),
        parent_uuid=parent,
        parent_uuid_alias=parent,
        source_parent_uuid=values.clean_optional(_read_field(lines, "parent_uuid")),
        session_id=window.session_id,
        session_id_alias=window.session_id,
        agent_id=values.clean_optional(row.agent_id),
        created_at=time,
        timestamp=time,
        content=text,
        problems=sum(len(line.problems) for line in lines),
        **own,
    )


def name_result_lane(row: MessageRecord) -> Lane:
    """Return the lane of the results that are shown with a message."""
    return Lane.AGENT if row.lane == Lane.AGENT else Lane.TOOL


def _name_document(uuid: str, window: MessageContext) -> str:
    """Return what a database would call a message: forks and resumes copy uuids, and an `_id` is unique."""
    name = f"{window.session_id}:{uuid}" if uuid in window.shared or uuid.startswith("@") else uuid
    return values.clean_text(name)


def _name_type(row: MessageRecord, own: Sequence[Line]) -> str:
    stored = find_stored_type(own[0]) if own else None
    if stored is not None:
        return str(stored)
    return Role.ASSISTANT if row.role == Role.TOOL_USE else row.role


def _find_answer(own: Sequence[Line], answers: Mapping[str, AnswerUsage]) -> AnswerUsage | None:
    """Return what an answer used; of a stored one what its document says, where it says it."""
    found = next(filter(None, (answers.get(name_answer(line) or "") for line in own)), None)
    for line in own:
        if find_stored_type(line) is None or not isinstance(line.entry, AssistantEntry):
            continue
        usage, cost = line.entry.usage, line.entry.cost_usd
        if found is None and isinstance(usage, Usage):
            found = AnswerUsage(usage=_view_usage(usage), cost=None)
        if isinstance(cost, int | float):
            return AnswerUsage(usage=None if found is None else found.usage, cost=Decimal(str(cost)))
    return found


def _view_usage(usage: Usage) -> MessageUsage:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return MessageUsage(**{name: getattr(usage, name) or 0 for name in names})


def _list_calls(
    row: MessageRecord, built: Built, window: MessageContext
) -> Iterator[tuple[CallRecord, BuiltCall]]:
    return zip(window.calls.get(row.index, ()), built.calls, strict=True)


def _list_blocks(row: MessageRecord, built: Built, text: str, window: MessageContext) -> Iterator[Block]:
    blocks = [
        (number, index, line, block)
        for number, line in zip(row.lines, built.lines, strict=False)
        for index, block in enumerate(list_blocks(line.entry))
    ]
    if built.prompt is not None or not blocks:
        # A prompt is shown without the tags around it, whatever blocks it came in.
        if text:
            yield TextBlock(text=text)
        blocks = [each for each in blocks if not isinstance(each[-1], Said)]
    calls = {(record.line, record.block): (record, call) for record, call in _list_calls(row, built, window)}
    for number, index, line, block in blocks:
        made = calls.get((number, index)) if is_call(block) else None
        if made is not None:
            yield CallBlock(call=window.viewer.fill_clean(window.chapter, *made))
        elif not is_result(block):
            yield from _view_block(line, block, window)


def _view_block(line: Line, block: ContentBlock, window: MessageContext) -> Iterator[Block]:
    if isinstance(block, Said):
        text, truncated = values.truncate(block.text, values.LONGEST_SAID)
        if text.strip():
            yield TextBlock(text=text, truncated=truncated)
    elif isinstance(block, Thought):
        text, truncated = values.truncate(block.thinking, values.LONGEST_SAID)
        yield ThinkingBlock(text=text, truncated=truncated)
    elif isinstance(block, RedactedThinkingBlock):
        yield ThinkingBlock(text="")
    elif isinstance(block, ImageContent) and has_bytes(block):
        yield ImageBlock(image=view_image(block, line, window.key, window.chapter))
    else:
        data = encode(block)
        yield OtherBlock(
            type=values.clean_text(block.type or "unknown"),
            json=Raw(data) if len(data) <= values.LONGEST_JSON else None,
        )


def _view_compaction(built: Built) -> CompactionStep | None:
    if built.rule is not Rule.COMPACTION:
        return None
    [step] = build_compactions([built])
    kept: Literal["prelude", "recap"] = "prelude" if step.prelude is not None else "recap"
    return CompactionStep(state=step.state.value, kept=kept if has_kept(built) else None)


def _read_field(own: Sequence[Line], name: str) -> str | None:
    """Return what the first of some lines says in a field, if that is text."""
    value = getattr(own[0].entry, name, None) if own else None
    return str(value) if isinstance(value, str) else None
