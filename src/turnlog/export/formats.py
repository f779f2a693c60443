"""A session in any of the forms in which it can be given out; those that are plain text are written here.

Markdown is written to look right on GitHub: prompts are quotations, answers stand as they are, calls are
folded. What a transcript says is untrusted: HTML in it is shown and not obeyed, images in it are named and not
loaded, and no fence in it ends one of ours. CSV has one row for each message and call, and no cell that a
spreadsheet takes for a formula.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from itertools import islice

from msgspec.structs import replace

from turnlog.export import conversation
from turnlog.export.documents import render_documents
from turnlog.export.html_page import render_html
from turnlog.export.plain_text import show_controls, strip_colors
from turnlog.export.redaction import Redactor, redact_json
from turnlog.transcripts.lines.content import Author
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import read_json
from turnlog.transcripts.summary import Summary

COLUMNS = ("turn", "agent", "time", "kind", "name", "state", "model", "text", "output")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render_csv(pieces: Iterable[conversation.Piece]) -> Iterator[str]:
    """Yield the text of a file, row by row."""
    turn = 0
    agents: list[str] = []
    yield _write(COLUMNS)
    for piece in pieces:
        match piece:
            case conversation.TurnStart():
                turn = piece.number
            case conversation.AgentStart():
                agents.append(piece.title)
            case conversation.AgentEnd():
                agents.pop()
            case _:
                time = "" if piece.time is None else piece.time.isoformat()
                yield _write((str(turn or ""), "/".join(agents), time, *_list_cells(piece)))


def _list_cells(
    piece: conversation.MessagePiece | conversation.NotePiece | conversation.CallPiece,
) -> tuple[str, ...]:
    match piece:
        case conversation.MessagePiece():
            return str(piece.author), "", piece.remark, piece.model or "", piece.text, ""
        case conversation.NotePiece():
            return piece.kind, "", "", "", piece.text, ""
        case conversation.CallPiece():
            answered = "" if piece.answered is None else piece.answered.text
            given = "\n".join(body.text for body in piece.given) or piece.topic
            return "call", piece.name, str(piece.state), "", given, answered


def _write(cells: Iterable[str]) -> str:
    row = io.StringIO()
    csv.writer(row, lineterminator="\r\n").writerow([_guard(cell) for cell in cells])
    return row.getvalue()


def _guard(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    text = show_controls(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"`+")


def render_markdown(heading: conversation.Heading, pieces: Iterable[conversation.Piece]) -> Iterator[str]:
    """Yield the text of a file, piece by piece."""
    yield f"# {_line(heading.title)}\n\n"
    yield "".join(f"- {told}\n" for told in _list_facts(heading)) + "\n"
    for piece in pieces:
        match piece:
            case conversation.TurnStart():
                yield f"---\n\n### Turn {piece.number}\n\n"
            case conversation.MessagePiece():
                yield from _render_said(piece)
            case conversation.NotePiece():
                sign = "✗ " if piece.failed else ""
                yield f"*{sign}{_line(piece.kind)}*{_render_rest(piece.text)}\n\n"
            case conversation.CallPiece():
                yield from _render_call(piece)
            case conversation.AgentStart():
                told = f": {_html(piece.description)}" if piece.description else ""
                yield f"<details><summary>Agent <b>{_html(piece.title)}</b>{told}</summary>\n\n"
            case conversation.AgentEnd():
                yield "</details>\n\n"


def _list_facts(heading: conversation.Heading) -> Iterator[str]:
    if heading.started_at is not None:
        ended = "" if heading.ended_at is None else f" to {heading.ended_at:%Y-%m-%d %H:%M}"
        yield f"{heading.started_at:%Y-%m-%d %H:%M}{ended} UTC"
    if heading.project:
        branch = f", branch {_code(heading.branch)}" if heading.branch else ""
        yield f"Project {_code(heading.project)}{branch}"
    if heading.models:
        yield ", ".join(map(_code, heading.models))
    yield ", ".join(heading.counts)
    yield f"Session {_code(heading.session_id)}"


def _render_said(said: conversation.MessagePiece) -> Iterator[str]:
    when = "" if said.time is None else f" · {said.time:%H:%M:%S}"
    remark = "".join(f" · {told}" for told in ("✗ error" if said.failed else "", said.remark) if told)
    yield f"**{conversation.SPEAKERS[said.author]}**{when}{remark}\n\n"
    if said.thinking:
        yield f"<details><summary>Thinking</summary>\n\n{_quote(_defuse(said.thinking))}\n\n</details>\n\n"
    if said.text:
        text = _defuse(said.text)
        yield (_quote(text) if said.author is Author.HUMAN else text) + "\n\n"
    for picture in said.pictures:
        yield f"*image, {_line(picture.media_type)}*\n\n"


def _render_call(call: conversation.CallPiece) -> Iterator[str]:
    topic = conversation.shorten_topic(call.topic)
    told = f" <code>{_html(topic)}</code>" if topic else ""
    state = f" — {conversation.STATES[call.state]}" if call.state in conversation.STATES else ""
    yield f"<details><summary>{_html(call.name)}{told}{state}</summary>\n\n"
    for body in call.given:
        yield _render_body(body)
    if call.answered is not None and call.answered.text:
        yield _render_body(call.answered)
    for picture in call.pictures:
        yield f"*image, {_line(picture.media_type)}*\n\n"
    yield "</details>\n\n"


def _render_body(body: conversation.Body) -> str:
    if body.kind is conversation.BodyKind.MARKDOWN:
        return _defuse(body.text) + "\n\n"
    text = strip_colors(body.text)
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(text)), default=0))
    return f"{fence}{body.language}\n{text}\n{fence}\n\n"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def _defuse(text: str) -> str:
    """Return Markdown in which HTML and images do nothing, and in which every fence that opens closes."""
    lines: list[str] = []
    fence = ""
    for line in show_controls(text).split("\n"):
        match = _FENCE.match(line)
        if fence:
            lines.append(line)
            if match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif match:
            fence = match[1]
            lines.append(line)
        else:
            lines.append(_defuse_line(line))
    if fence:
        lines.append(fence)
    return "\n".join(lines)


def _defuse_line(line: str) -> str:
    if "<" not in line and "![" not in line:
        return line
    parts = re.split(r"(`+[^`]*`+)", line)
    return "".join(
        part if number % 2 else part.replace("<", "&lt;").replace("![", "!\u2060[")
        for number, part in enumerate(parts)
    )


def _render_rest(text: str) -> str:
    return f": {_line(text)}" if text else ""


def _line(text: str) -> str:
    return _defuse_line(" ".join(show_controls(text).split()))


def _html(text: str) -> str:
    return " ".join(show_controls(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return f"`{show_controls(text).replace('`', chr(39))}`"


_TOGETHER = 64


class Format(StrEnum):
    """A form in which a session can be given out."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"
    """Spec 003's documents."""
    JSONL = "jsonl"
    """The lines as they are."""
    CSV = "csv"


def render_session(
    session: SessionRecords,
    summary: Summary,
    form: Format,
    *,
    selection: conversation.Selection = conversation.EVERYTHING,
    redactor: Redactor | None = None,
    name: str | None = None,
    camel: bool = True,
    shared: Collection[str] = (),
) -> Iterator[bytes]:
    """Yield the bytes of a file, piece by piece.

    With a `redactor`, which is first told all of the session, nothing is given out that it takes out. `name` is
    one that somebody gave the session, `camel` says how the fields of documents are written, and `shared` are
    the uuids that messages of other sessions have, too. Raises `SelectionError` for turns or a branch that are
    not there.
    """
    if redactor is not None:
        conversation.learn_secrets(session, redactor)
    match form:
        case Format.JSON:
            yield from render_documents(
                session, summary, selection, camel=camel, redactor=redactor, shared=shared
            )
        case Format.JSONL:
            yield from _render_lines(session, selection, redactor)
        case Format.CSV:
            yield from _encode(render_csv(_list_pieces(session, summary, selection, redactor)))
        case Format.MARKDOWN | Format.HTML:
            heading = _redact_heading(conversation.build_heading(session, summary, name), redactor)
            render = render_html if form is Format.HTML else render_markdown
            yield from _encode(render(heading, _list_pieces(session, summary, selection, redactor)))


def _list_pieces(
    session: SessionRecords, summary: Summary, selection: conversation.Selection, redactor: Redactor | None
) -> Iterator[conversation.Piece]:
    pieces = conversation.build_pieces(session, selection, summary.project)
    return pieces if redactor is None else conversation.redact_pieces(pieces, redactor)


def _redact_heading(heading: conversation.Heading, redactor: Redactor | None) -> conversation.Heading:
    if redactor is None:
        return heading
    return replace(
        heading,
        title=redactor.redact(heading.title),
        project=None if heading.project is None else redactor.redact(heading.project),
        branch=None if heading.branch is None else redactor.redact(heading.branch),
    )


def _render_lines(
    session: SessionRecords, selection: conversation.Selection, redactor: Redactor | None
) -> Iterator[bytes]:
    main, chosen = session.main, conversation.select(session, selection)
    if main is None:
        return
    numbers = {number for row in chosen for number in row.lines} if selection.is_part else None
    for line in read_json(main, numbers):
        yield (line if redactor is None else redact_json(line, redactor)) + b"\n"


def _encode(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield texts as bytes, some at a time: most are a few words."""
    left = iter(texts)
    while some := [*islice(left, _TOGETHER)]:
        yield "".join(some).encode("utf-8", "backslashreplace")
