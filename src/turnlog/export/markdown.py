"""A session as Markdown that looks right on GitHub.

Prompts are quotations, answers stand as they are, calls are folded. What a transcript says is untrusted: HTML
in it is shown and not obeyed, images in it are named and not loaded, and no fence in it ends one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from turnlog.export.heading import Heading
from turnlog.export.pieces import (
    AgentBegins,
    AgentEnds,
    Body,
    BodyKind,
    Done,
    Noted,
    Piece,
    Said,
    TurnBegins,
)
from turnlog.export.plain import show_controls, strip_colors
from turnlog.export.words import SPEAKERS, STATES, shorten_topic
from turnlog.transcripts.lines.categories import Author

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"`+")


def render_markdown(heading: Heading, pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield the text of a file, piece by piece."""
    yield f"# {_line(heading.title)}\n\n"
    yield "".join(f"- {told}\n" for told in _list_facts(heading)) + "\n"
    for piece in pieces:
        match piece:
            case TurnBegins():
                yield f"---\n\n### Turn {piece.number}\n\n"
            case Said():
                yield from _render_said(piece)
            case Noted():
                sign = "✗ " if piece.failed else ""
                yield f"*{sign}{_line(piece.kind)}*{_tell_rest(piece.text)}\n\n"
            case Done():
                yield from _render_call(piece)
            case AgentBegins():
                told = f": {_html(piece.description)}" if piece.description else ""
                yield f"<details><summary>Agent <b>{_html(piece.title)}</b>{told}</summary>\n\n"
            case AgentEnds():
                yield "</details>\n\n"


def _list_facts(heading: Heading) -> Iterator[str]:
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


def _render_said(said: Said) -> Iterator[str]:
    when = "" if said.time is None else f" · {said.time:%H:%M:%S}"
    remark = "".join(f" · {told}" for told in ("✗ error" if said.failed else "", said.remark) if told)
    yield f"**{SPEAKERS[said.author]}**{when}{remark}\n\n"
    if said.thinking:
        yield f"<details><summary>Thinking</summary>\n\n{_quote(_defuse(said.thinking))}\n\n</details>\n\n"
    if said.text:
        text = _defuse(said.text)
        yield (_quote(text) if said.author is Author.HUMAN else text) + "\n\n"
    for picture in said.pictures:
        yield f"*image, {_line(picture.media_type)}*\n\n"


def _render_call(call: Done) -> Iterator[str]:
    topic = shorten_topic(call.topic)
    told = f" <code>{_html(topic)}</code>" if topic else ""
    state = f" — {STATES[call.state]}" if call.state in STATES else ""
    yield f"<details><summary>{_html(call.name)}{told}{state}</summary>\n\n"
    for body in call.given:
        yield _render_body(body)
    if call.answered is not None and call.answered.text:
        yield _render_body(call.answered)
    for picture in call.pictures:
        yield f"*image, {_line(picture.media_type)}*\n\n"
    yield "</details>\n\n"


def _render_body(body: Body) -> str:
    if body.kind is BodyKind.MARKDOWN:
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


def _tell_rest(text: str) -> str:
    return f": {_line(text)}" if text else ""


def _line(text: str) -> str:
    return _defuse_line(" ".join(show_controls(text).split()))


def _html(text: str) -> str:
    return " ".join(show_controls(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return f"`{show_controls(text).replace('`', chr(39))}`"
