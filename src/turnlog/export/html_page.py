"""A session as one HTML file that reads like the page, and needs neither network nor server.

The file may go anywhere, and what it tells is untrusted. So it carries a policy that lets nothing load and only
our own script run, by its digest, and all that comes from the transcript is escaped text. Terminal output keeps
its colours; all else that such output can do is shown and does nothing.

pyromark reads the Markdown, many times as fast as a parser in Python, and reports what it found; every element
is written here. So there is no HTML in the output that is not ours, and no link hides where it leads.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from pyromark import Options, events

from turnlog.export import conversation
from turnlog.export.plain_text import show_controls, strip_colors

_COLOR = re.compile(r"\x1b\[([0-9;:]*)m")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def render_terminal(text: str) -> str:
    """Return what a terminal would show, as HTML."""
    if "\x1b" not in text:
        return _escape(strip_colors(text))
    return "".join(_render_parts(text))


def _render_parts(text: str) -> Iterator[str]:
    styles: dict[str, str] = {}
    at = 0
    for match in _COLOR.finditer(text):
        yield _wrap(text[at : match.start()], styles)
        _apply(match[1], styles)
        at = match.end()
    yield _wrap(text[at:], styles)


def _wrap(text: str, styles: dict[str, str]) -> str:
    shown = _escape(strip_colors(text))
    return f'<span class="{" ".join(styles.values())}">{shown}</span>' if shown and styles else shown


def _apply(codes: str, styles: dict[str, str]) -> None:
    numbers = iter([int(code) if code else 0 for code in re.split("[;:]", codes)] or [0])
    for number in numbers:
        if number == 0:
            styles.clear()
        elif number == 1:
            styles["weight"] = "bold"
        elif number == 2:
            styles["weight"] = "dim"
        elif number in (3, 4):
            styles[f"form{number}"] = "italic" if number == 3 else "underlined"
        elif number == 22:
            styles.pop("weight", None)
        elif number in (23, 24):
            styles.pop(f"form{number - 20}", None)
        elif 30 <= number <= 37 or 90 <= number <= 97:
            styles["color"] = f"c-{_NAMES[number % 10]}"
        elif number == 39:
            styles.pop("color", None)
        elif number in (38, 48):
            _skip(numbers)  # one of many colours: those of the page are few, and must stay readable


def _skip(numbers: Iterator[int]) -> None:
    for _ in range({5: 1, 2: 3}.get(next(numbers, 0), 0)):
        next(numbers, None)


_OPTIONS = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS
_LONGEST = 500_000
"""How many characters are still read as Markdown; more is data."""
_ELEMENTS = {
    "Paragraph": "p",
    "Strong": "strong",
    "Emphasis": "em",
    "Strikethrough": "del",
    "Item": "li",
    "BlockQuote": "blockquote",
    "Table": "table",
    "TableRow": "tr",
    "TableCell": "td",
}
_LONE = {"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}
_BLOCKS = frozenset({"Paragraph", "Item", "BlockQuote", "Table", "TableRow"})


def render_prose(text: str) -> str:
    """Return Markdown as HTML."""
    shown = show_controls(text)
    if len(shown) > _LONGEST:
        return f"<pre>{_escape(shown)}</pre>"
    return "".join(_render(events(shown, options=_OPTIONS)))


def _render(found: Iterable[Any]) -> Iterator[str]:
    addresses: list[str] = []
    said: list[str] = []
    for event in found:
        if isinstance(event, str):
            yield _LONE.get(event, "")
            continue
        ((kind, value),) = event.items()
        if kind == "Start":
            yield _begin(value, addresses, said)
        elif kind == "End":
            yield _end(value, addresses, said)
        elif kind == "Code":
            yield f"<code>{_escape(value)}</code>"
        elif kind == "TaskListMarker":
            yield "☑ " if value else "☐ "
        else:  # text, and HTML, which is text here
            if addresses:
                said.append(str(value))
            yield _escape(str(value))


def _begin(tag: Any, addresses: list[str], said: list[str]) -> str:
    name, data = _read(tag)
    if name in ("Link", "Image"):
        addresses.append(data["dest_url"])
        said.clear()
        return '<span class="link">'
    if name == "Heading":
        return f"<{data['level'].lower()}>"
    if name == "List":
        return "<ul>\n" if data is None else f'<ol start="{int(data)}">\n'
    if name == "CodeBlock":
        return "<pre><code>"
    if name == "TableHead":
        return "<thead><tr>"
    return f"<{_ELEMENTS[name]}>" if name in _ELEMENTS else ""


def _end(tag: Any, addresses: list[str], said: list[str]) -> str:
    name, data = _read(tag)
    if name in ("Link", "Image"):
        address = addresses.pop()
        told = "" if "".join(said) == address else f' <span class="address">{_escape_quotes(address)}</span>'
        return f"</span>{told}"
    if name == "Heading":
        return f"</{data.lower()}>\n"
    if name == "List":
        return "</ol>\n" if data else "</ul>\n"
    if name == "CodeBlock":
        return "</code></pre>\n"
    if name == "TableHead":
        return "</tr></thead>\n"
    end = "\n" if name in _BLOCKS else ""
    return f"</{_ELEMENTS[name]}>{end}" if name in _ELEMENTS else ""


def _read(tag: Any) -> tuple[str, Any]:
    return (tag, None) if isinstance(tag, str) else next(iter(tag.items()))


_CHANGES = {"+": "added", "-": "removed"}
_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_ANCHOR = re.compile(r"[^A-Za-z0-9_.@-]")


def render_html(heading: conversation.Heading, pieces: Iterable[conversation.Piece]) -> Iterator[str]:
    """Yield the text of a file, piece by piece."""
    yield from _render_head(heading)
    for piece in pieces:
        match piece:
            case conversation.TurnStart():
                anchor = f"turn-{piece.number}"
                yield f'<h2 class="turn" id="{anchor}"><a href="#{anchor}">Turn {piece.number}</a></h2>\n'
            case conversation.MessagePiece():
                yield from _render_said(piece)
            case conversation.NotePiece():
                told = f": {_text(piece.text)}" if piece.text else ""
                style, sign = ("note failed", "✗ ") if piece.failed else ("note", "")
                where = _anchor(piece.anchor)
                yield f'<p class="{style}" data-piece id="{where}">{sign}{_text(piece.kind)}{told}</p>\n'
            case conversation.CallPiece():
                yield from _render_call(piece)
            case conversation.AgentStart():
                told = f" {_text(piece.description)}" if piece.description else ""
                yield f'<details class="agent"><summary>Agent <b>{_text(piece.title)}</b>{told}</summary>\n'
            case conversation.AgentEnd():
                yield "</details>\n"
    yield f"</main>\n<footer>Written by turnlog.</footer>\n<script>{_asset('page.js')}</script>\n"
    yield "</body>\n</html>\n"


def _render_head(heading: conversation.Heading) -> Iterator[str]:
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    title = _text(heading.title)
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{title}</h1>\n"
    )
    yield "".join(f'<p class="facts">{_text(told)}</p>\n' for told in _list_facts(heading))
    yield (
        '</header>\n<div class="tools" role="search"><input id="find" type="search" placeholder="Find (/)"'
        ' aria-label="Find in this session"><output id="told" for="find"></output>'
        '<button id="unfold" type="button">Unfold all</button><button id="fold" type="button">Fold all</button>'
        '<button id="theme" type="button">Light or dark</button></div>\n<main>\n'
    )


def _list_facts(heading: conversation.Heading) -> Iterator[str]:
    if heading.started_at is not None:
        ended = "" if heading.ended_at is None else f" to {heading.ended_at:%Y-%m-%d %H:%M}"
        yield f"{heading.started_at:%Y-%m-%d %H:%M}{ended} UTC"
    where = " · ".join(told for told in (heading.project, heading.branch, *heading.models) if told)
    if where:
        yield where
    yield " · ".join((*heading.counts, heading.session_id))


def _render_said(said: conversation.MessagePiece) -> Iterator[str]:
    when = "" if said.time is None else f" · <time>{said.time:%Y-%m-%d %H:%M:%S}</time>"
    model = f" · {_text(said.model)}" if said.model else ""
    error = ' · <b class="failed">✗ error</b>' if said.failed else ""
    remark = error + (f" · {_text(said.remark)}" if said.remark else "")
    yield (
        f'<article class="{said.author}" data-piece id="{_anchor(said.anchor)}">'
        f'<p class="who">{conversation.SPEAKERS[said.author]}{when}{model}{remark}</p>'
    )
    if said.thinking:
        yield (
            '<details class="thinking"><summary>Thinking</summary>'
            f'<div class="prose">{render_prose(said.thinking)}</div></details>'
        )
    if said.text:
        yield f'<div class="prose">{render_prose(said.text)}</div>'
    yield from map(_render_picture, said.pictures)
    yield "</article>\n"


def _render_call(call: conversation.CallPiece) -> Iterator[str]:
    topic = conversation.shorten_topic(call.topic)
    state = (
        f' <span class="state">{conversation.STATES[call.state]}</span>'
        if call.state in conversation.STATES
        else ""
    )
    yield (
        f'<details class="call {call.state}" data-piece id="{_anchor(call.anchor)}"><summary>'
        f"<b>{_text(call.name)}</b> <code>{_text(topic)}</code>{state}</summary>"
    )
    yield from map(_render_body, call.given)
    if call.answered is not None and call.answered.text:
        yield _render_body(call.answered)
    yield from map(_render_picture, call.pictures)
    yield "</details>\n"


def _render_body(body: conversation.Body) -> str:
    match body.kind:
        case conversation.BodyKind.MARKDOWN:
            return f'<div class="prose">{render_prose(body.text)}</div>'
        case conversation.BodyKind.DIFF:
            lines = _text(body.text.replace("\r", r"\x0d")).split("\n")  # lines may differ by that alone
            return f'<pre class="diff">{"".join(map(_render_diff_line, lines))}</pre>'
        case conversation.BodyKind.TERMINAL | conversation.BodyKind.CODE:
            return f"<pre>{render_terminal(body.text)}</pre>"


def _render_diff_line(line: str) -> str:
    """Return a line that is escaped, as HTML."""
    return f'<span class="{_CHANGES.get(line[:1], "other")}">{line or " "}</span>'


def _render_picture(picture: conversation.InlineImage) -> str:
    if picture.media_type in _SHOWN and _BASE64.fullmatch(picture.data):
        data = "".join(picture.data.split())
        return f'<p><img alt="" src="data:{picture.media_type};base64,{data}"></p>'
    return f'<p class="note">image, {_text(picture.media_type)}</p>'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escape_quotes(text: str) -> str:
    return _escape(text).replace('"', "&quot;").replace("'", "&#x27;")


def _text(text: str) -> str:
    return _escape_quotes(show_controls(text))


def _anchor(name: str) -> str:
    return _ANCHOR.sub("-", name)


@cache
def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")
