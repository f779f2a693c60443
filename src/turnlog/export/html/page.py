"""A session as one HTML file that reads like the page, and needs neither network nor server.

The file may go anywhere, and what it tells is untrusted. So it carries a policy that lets nothing load and only
our own script run, by its digest, and all that comes from the transcript is escaped text.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from turnlog.export.heading import Heading
from turnlog.export.html.colors import render_terminal
from turnlog.export.html.prose import render_prose
from turnlog.export.pieces import (
    AgentBegins,
    AgentEnds,
    Body,
    BodyKind,
    Done,
    Noted,
    Picture,
    Piece,
    Said,
    TurnBegins,
)
from turnlog.export.plain import show_controls
from turnlog.export.words import SPEAKERS, STATES, shorten_topic

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_ANCHOR = re.compile(r"[^A-Za-z0-9_.@-]")


def render_html(heading: Heading, pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield the text of a file, piece by piece."""
    yield from _render_head(heading)
    for piece in pieces:
        match piece:
            case TurnBegins():
                anchor = f"turn-{piece.number}"
                yield f'<h2 class="turn" id="{anchor}"><a href="#{anchor}">Turn {piece.number}</a></h2>\n'
            case Said():
                yield from _render_said(piece)
            case Noted():
                told = f": {_text(piece.text)}" if piece.text else ""
                style, sign = ("note failed", "✗ ") if piece.failed else ("note", "")
                where = _anchor(piece.anchor)
                yield f'<p class="{style}" data-piece id="{where}">{sign}{_text(piece.kind)}{told}</p>\n'
            case Done():
                yield from _render_call(piece)
            case AgentBegins():
                told = f" {_text(piece.description)}" if piece.description else ""
                yield f'<details class="agent"><summary>Agent <b>{_text(piece.title)}</b>{told}</summary>\n'
            case AgentEnds():
                yield "</details>\n"
    yield f"</main>\n<footer>Written by turnlog.</footer>\n<script>{_asset('page.js')}</script>\n"
    yield "</body>\n</html>\n"


def _render_head(heading: Heading) -> Iterator[str]:
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


def _list_facts(heading: Heading) -> Iterator[str]:
    if heading.started_at is not None:
        ended = "" if heading.ended_at is None else f" to {heading.ended_at:%Y-%m-%d %H:%M}"
        yield f"{heading.started_at:%Y-%m-%d %H:%M}{ended} UTC"
    where = " · ".join(told for told in (heading.project, heading.branch, *heading.models) if told)
    if where:
        yield where
    yield " · ".join((*heading.counts, heading.session_id))


def _render_said(said: Said) -> Iterator[str]:
    when = "" if said.time is None else f" · <time>{said.time:%Y-%m-%d %H:%M:%S}</time>"
    model = f" · {_text(said.model)}" if said.model else ""
    error = ' · <b class="failed">✗ error</b>' if said.failed else ""
    remark = error + (f" · {_text(said.remark)}" if said.remark else "")
    yield (
        f'<article class="{said.author}" data-piece id="{_anchor(said.anchor)}">'
        f'<p class="who">{SPEAKERS[said.author]}{when}{model}{remark}</p>'
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


def _render_call(call: Done) -> Iterator[str]:
    topic = shorten_topic(call.topic)
    state = f' <span class="state">{STATES[call.state]}</span>' if call.state in STATES else ""
    yield (
        f'<details class="call {call.state}" data-piece id="{_anchor(call.anchor)}"><summary>'
        f"<b>{_text(call.name)}</b> <code>{_text(topic)}</code>{state}</summary>"
    )
    yield from map(_render_body, call.given)
    if call.answered is not None and call.answered.text:
        yield _render_body(call.answered)
    yield from map(_render_picture, call.pictures)
    yield "</details>\n"


def _render_body(body: Body) -> str:
    match body.kind:
        case BodyKind.MARKDOWN:
            return f'<div class="prose">{render_prose(body.text)}</div>'
        case BodyKind.DIFF:
            return f'<pre class="diff">{"".join(map(_render_diff_line, body.text.split(chr(10))))}</pre>'
        case BodyKind.TERMINAL | BodyKind.CODE:
            return f"<pre>{render_terminal(body.text)}</pre>"


def _render_diff_line(line: str) -> str:
    kind = {"+": "added", "-": "removed"}.get(line[:1], "other")
    return f'<span class="{kind}">{_text(line) or " "}</span>'


def _render_picture(picture: Picture) -> str:
    if picture.media_type in _SHOWN and _BASE64.fullmatch(picture.data):
        data = "".join(picture.data.split())
        return f'<p><img alt="" src="data:{picture.media_type};base64,{data}"></p>'
    return f'<p class="note">image, {_text(picture.media_type)}</p>'


def _text(text: str) -> str:
    return escape(show_controls(text))


def _anchor(name: str) -> str:
    return _ANCHOR.sub("-", name)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")
