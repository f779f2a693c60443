"""`turnlog show --capture`: what turnlog itself captured of a session, line by line.

Pieces of answers are put together: those of an answer that the stream has whole are left out, one that was cut
off is shown as far as it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Struct
from rich.text import Text

from turnlog.cli.output import Row
from turnlog.cli.stores import find_session, open_archive
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line, shorten
from turnlog.config import Settings
from turnlog.export.plain_text import plural
from turnlog.ingest.captured_files import is_capture, kind_of_capture
from turnlog.messages import Line
from turnlog.messages.sdk.messages import AssistantMessage, PartialAssistantMessage, ResultMessage
from turnlog.messages.sdk.stream import AssembledMessage, MessageAssembler
from turnlog.store.interface import Archive, KnownSource, read_all
from turnlog.store.model import LOCAL
from turnlog.transcripts.line_reader import LineSplitter
from turnlog.transcripts.session_files import path_text
from turnlog.transcripts.usage.prices import money_text
from turnlog.transcripts.usage.sightings import find_reported_cost

_LONGEST = 200
_SAID_ELSEWHERE = frozenset({"type", "subtype", "session_id", "uuid"})


class CapturedLine(Struct, frozen=True, gc=False, kw_only=True):
    """A line that was captured."""

    number: int
    dialect: str
    entry: msgspec.Raw | str
    """As it stands; a string where that is no JSON."""


class PartialAnswer(Struct, frozen=True, gc=False, kw_only=True):
    """An answer of which only pieces came."""

    id: str | None
    text: str


class CapturedFile(Struct, frozen=True, kw_only=True):
    """A file of a session that turnlog wrote, or another telling of it."""

    path: str
    kind: str
    """`mirror`, `stream`, or `file` for Claude Code's own where a mirror tells more."""
    lines: tuple[CapturedLine, ...]
    cut_off: tuple[PartialAnswer, ...]


def load_captures(what: str, settings: Settings) -> list[tuple[CapturedFile, list[Line]]]:
    """Return what was captured of a session, with its lines."""
    if PurePath(what).suffix:
        raise MisuseError("--capture is for archived sessions: name one by its id")
    with open_archive(settings) as store:
        _, known = find_session(store, what)
        meant = [source for source in known.sources if is_capture(source)]
        found = [(source, _read_lines(store.archive, source)) for source in meant]
    if not found:
        raise NothingFoundError("nothing was captured of this session; Claude Code's files have everything")
    return [(_describe(source, lines), lines) for source, lines in found]


def _read_lines(archive: Archive, source: KnownSource) -> list[Line]:
    splitter = LineSplitter(source.path)
    pieces = read_all(archive, LOCAL, source.source, source.generation)
    return [*(line for piece in pieces for line in splitter.feed(piece)), *splitter.finish()]


def _describe(source: KnownSource, lines: list[Line]) -> CapturedFile:
    return CapturedFile(
        path=path_text(source.path),
        kind=kind_of_capture(source),
        lines=tuple(
            CapturedLine(number=number, dialect=line.dialect.value, entry=_raw(line))
            for number, line in enumerate(lines, 1)
        ),
        cut_off=tuple(
            PartialAnswer(id=each.message.id or None, text=_text_of(each)) for each in _list_cut_off(lines)
        ),
    )


def _raw(line: Line) -> msgspec.Raw | str:
    value = _decode(line)
    return value if isinstance(value, str) else msgspec.Raw(line.json)


def _list_cut_off(lines: list[Line]) -> Iterator[AssembledMessage]:
    """Yield the answers whose pieces came, and which no line has."""
    assembler = MessageAssembler()
    ended = [
        made
        for line in lines
        if isinstance(line.entry, PartialAssistantMessage) and (made := assembler.add(line.entry)) is not None
    ]
    ended += [made for thread in assembler.threads if (made := assembler.finish(thread)) is not None]
    whole = {line.entry.message.id for line in lines if isinstance(line.entry, AssistantMessage)}
    for each in ended:
        if not each.is_complete or each.message.id not in whole:
            yield each


def _text_of(assembled: AssembledMessage) -> str:
    content = assembled.message.content
    return "\n\n".join(_list_said(msgspec.json.decode(msgspec.json.encode(content)))) if content else ""


def render_captures(found: list[tuple[CapturedFile, list[Line]]]) -> Iterator[Row]:
    """Return what was captured for people: a row for each line that says something of its own."""
    for file, lines in found:
        yield Row(Text(clean_line(f"{file.kind}: {file.path}, {plural(len(lines), 'line')}"), "bold"))
        pieces = 0
        for number, line in enumerate(lines, 1):
            if isinstance(line.entry, PartialAssistantMessage):
                pieces += 1
            else:
                yield Row(_render_line(line), Text(f"{number:>6}  ", "dim"))
        if pieces:
            yield Row(Text(f"{plural(pieces, 'piece')} of answers that the lines above have in full", "dim"))
        for each in file.cut_off:
            yield Row(Text(f"cut off: {shorten(each.text, _LONGEST) or 'nothing yet'}", "yellow"))


def _render_line(line: Line) -> Text:
    value = _decode(line)
    if not isinstance(value, dict):
        return Text.assemble(("not a JSON object", "red"), "  ", shorten(_show(value), _LONGEST))
    request, message = value.get("request"), value.get("message")
    words = [
        value.get("type"),
        value.get("subtype"),
        request.get("subtype") if isinstance(request, dict) else None,
    ]
    name = " ".join(word for word in words if isinstance(word, str))
    if isinstance(line.entry, ResultMessage):
        cost = find_reported_cost(line.entry)
        said = f"{'' if cost is None else f'{money_text(cost)} so far  '}{value.get('result') or ''}"
    elif isinstance(message, dict):
        said = " ".join(_list_said(message.get("content")))
    else:
        rest = {key: each for key, each in value.items() if key not in _SAID_ELSEWHERE}
        said = _show(rest.get("request") or rest.get("response") or rest)
    return Text.assemble((shorten(name, _LONGEST), "cyan"), "  ", shorten(said, _LONGEST))


def _list_said(content: object) -> Iterator[str]:
    """Yield what blocks say, each in short."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "text", "text": str(text)} | {"type": "thinking", "thinking": str(text)}:
                yield text
            case {"type": "tool_use", "name": str(name), "input": given}:
                yield f"{name} {_show(given)}"
            case {"type": "tool_result", "content": told}:
                yield f"→ {told if isinstance(told, str) else ' '.join(_list_said(told))}"
            case _:
                yield _show(block)


def _decode(line: Line) -> Any:
    try:
        return msgspec.json.decode(line.json)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return line.raw.decode("utf-8", "backslashreplace")


def _show(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")
