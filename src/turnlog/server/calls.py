"""Tool calls with their results and images, as the API shows them.

A call without its body is made from its record alone, with its body also from its lines. Claude Code puts long
results into separate files. A result says where its file is, and that is untrusted: only the name counts, among
the files of results that the archive has of the same session. An image is known by its line and by its place
among the images of that line.
"""

from __future__ import annotations

from binascii import Error, a2b_base64
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import quote

from msgspec import Raw, Struct
from msgspec.structs import replace

from turnlog.messages import Line
from turnlog.messages.blocks import ToolResultBlock
from turnlog.messages.media import Base64Source, ImageBlock
from turnlog.server.lines import fit, read_each
from turnlog.server.values import LONGEST_SHOWN, cut, cut_json, head_of, moment, say, sayable, took_ms
from turnlog.store.interface import KnownSource, Store, find_known
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope, SourceKind
from turnlog.transcripts.calls.call import Call as BuiltCall
from turnlog.transcripts.calls.results import Result
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.lines.blocks import list_blocks
from turnlog.transcripts.lines.kinds import Category
from turnlog.transcripts.queries.bodies import build_call
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.records import CallRecord


class Image(Struct, frozen=True, gc=False, kw_only=True):
    """An image in a message or a result; its bytes are fetched separately."""

    href: str
    """Where its bytes are, on this server."""
    media_type: str


class Offloaded(Struct, frozen=True, gc=False, kw_only=True):
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
    offloaded: Offloaded | None = None
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


class CallPage(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's calls."""

    items: tuple[Call, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""


_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a page may show. Any other kind, as SVG, which can hold scripts, is sent as mere bytes."""
_BYTES = "application/octet-stream"


class Picture(Struct, frozen=True, gc=False):
    """The bytes of an image."""

    media_type: str
    data: bytes


def list_images(line: Line) -> list[ImageBlock]:
    """Return the images of a line, those in the results of calls too, in order."""
    found: list[ImageBlock] = []
    for block in list_blocks(line.entry):
        inside = block.content if isinstance(block, ToolResultBlock) else (block,)
        if isinstance(inside, tuple):
            found += (each for each in inside if isinstance(each, ImageBlock))
    return found


def has_bytes(image: ImageBlock) -> bool:
    """Tell whether the bytes of an image stand in its line; those of others are somewhere on the network."""
    return isinstance(image.source, Base64Source)


def view_image(image: ImageBlock, line: Line, session: str, chapter: Chapter) -> Image:
    """Return where the bytes of an image are, which is in a line of a chapter; `session` is a key."""
    number = next(place for place, each in enumerate(list_images(line)) if each is image)
    offset = 0 if line.at is None else line.at.offset
    parts = (session, "images", chapter.source, str(chapter.facts.generation), str(offset), str(number))
    return Image(
        href="/api/sessions/" + "/".join(quote(part, safe="") for part in parts), media_type=_kind_of(image)
    )


def find_picture(line: Line, number: int) -> Picture | None:
    """Return an image of a line; None if there is none, or none whose bytes are here."""
    images = list_images(line)
    if not 0 <= number < len(images):
        return None
    source = images[number].source
    if not isinstance(source, Base64Source):
        return None
    try:
        return Picture(_kind_of(images[number]), a2b_base64(source.data.encode("ascii", "replace")))
    except Error:
        return None


def _kind_of(image: ImageBlock) -> str:
    source = image.source
    kind = source.media_type if isinstance(source, Base64Source) else None
    return kind if isinstance(kind, str) and kind in _SHOWN else _BYTES


def view_call(chapter: Chapter, record: CallRecord) -> Call:
    """Return a call without its body."""
    return Call(
        index=record.index,
        source=chapter.source,
        uuid=None,
        id=say(record.id),
        name=sayable(record.name),
        category=Category(record.category),
        state=CallState(record.state),
        title="",
        path=say(record.path),
        changes_file=record.changes_file,
        message=record.message,
        agent_id=say(record.agent_id),
        started_at=moment(record.started),
        ended_at=moment(record.ended),
        duration_ms=took_ms(record.started, record.ended),
    )


class CallViewer:
    """Tells calls of one session with their bodies; the store is asked when the first result has a file."""

    def __init__(self, store: Store, scope: Scope, session: StoredSession) -> None:
        self._store = store
        self._scope = scope
        self._key = session.key
        self._project = session.row.project

    def list_calls(self, calls: Sequence[tuple[Chapter, CallRecord]]) -> tuple[Call, ...]:
        """Return calls with their bodies; only the first, if they are very long together."""
        calls = fit(calls, lambda each: each[0].measure(_list_lines(each[1])))
        lines = read_each((chapter, _list_lines(record)) for chapter, record in calls)
        return tuple(
            self.view(chapter, record, build_call(record, lines[chapter])) for chapter, record in calls
        )

    def view(self, chapter: Chapter, record: CallRecord, call: BuiltCall) -> Call:
        """Return a call with its body."""
        given = call.block.input
        return replace(
            view_call(chapter, record),
            uuid=say(call.extracted_id),
            title=head_of(topic_of(call.name, given, self._project)),
            input=cut_json(given) if isinstance(given, Raw) else None,
            result=None if call.result is None else self._view_result(chapter, call.result),
        )

    def _view_result(self, chapter: Chapter, result: Result) -> CallResult:
        text, truncated = cut(result.text, LONGEST_SHOWN)
        images = filter(has_bytes, result.images)
        return CallResult(
            text=text,
            truncated=truncated,
            length=len(result.text),
            is_error=result.is_error if isinstance(result.is_error, bool) else None,
            images=tuple(view_image(each, result.place.line, self._key, chapter) for each in images),
            offloaded=self._find_file(result.offloaded_path),
            details=cut_json(result.display) if isinstance(result.display, Raw) else None,
        )

    def _find_file(self, told: str | None) -> Offloaded | None:
        """Return the file that a result names; None if it names none, or none that is here."""
        found = None if told is None else self._files.get(_name_of(told))
        if found is None:
            return None
        return Offloaded(
            href=f"/api/sessions/{quote(self._key, safe='')}/tool-results/{quote(found.source, safe='')}",
            name=sayable(_name_of(found.path)),
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
