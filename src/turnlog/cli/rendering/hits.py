"""Hits of a search: for people under their sessions, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from os.path import expanduser

import click
from msgspec import Struct

from turnlog.cli.clock import local_time
from turnlog.cli.rendering.sessions import place_text, to_datetime
from turnlog.cli.terminal import clean, clean_line, shorten
from turnlog.store.search.matcher import Snippet
from turnlog.store.search.paging import Hit, SearchPage

_LONGEST_TITLE = 100
_NAMES = {
    "tool-input": "{tool} input",
    "tool-output": "{tool} output",
}


class SnippetItem(Struct, frozen=True, gc=False):
    """A piece of the text."""

    text: str
    marks: tuple[tuple[int, int], ...]
    """Where in it the terms are, in characters."""


class HitItem(Struct, frozen=True, gc=False, kw_only=True):
    """A passage that matches."""

    kind: str
    session: str | None
    """The session's key, by which the archive knows it."""
    session_id: str
    project: str | None
    title: str | None
    source: str | None
    generation: int | None
    offset: int | None
    """Where its line begins, in bytes."""
    line: int | None
    """From 0."""
    passage: int
    """Which passage of the line it is, from 0."""
    message: int | None
    message_id: str | None
    call: int | None
    tool: str | None
    role: str | None
    model: str | None
    agent_id: str | None
    delivery_id: str | None
    is_error: bool
    time: datetime | None
    snippet: SnippetItem


class SearchDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog search --json` prints."""

    hits: tuple[HitItem, ...]
    next: str | None
    """With which `--after` goes on; null if there is no more."""


def build_search(page: SearchPage) -> SearchDocument:
    """Return a page as a document."""
    return SearchDocument(hits=tuple(map(_build_item, page.hits)), next=page.next)


def _build_item(hit: Hit) -> HitItem:
    place, snippet = hit.place, hit.snippet
    return HitItem(
        kind=hit.kind,
        session=hit.session,
        session_id=hit.session_id,
        project=_valid(hit.project),
        title=_valid(hit.title),
        source=hit.source,
        generation=None if place is None else place.generation,
        offset=None if place is None else place.offset,
        line=hit.line,
        passage=hit.ordinal,
        message=hit.message,
        message_id=hit.message_id,
        call=hit.call,
        tool=_valid(hit.tool),
        role=hit.role,
        model=_valid(hit.model),
        agent_id=_valid(hit.agent_id),
        delivery_id=hit.delivery_id,
        is_error=hit.is_error,
        time=to_datetime(hit.time),
        snippet=SnippetItem(_valid(snippet.text) or "", snippet.marks),
    )


def _valid(text: str | None) -> str | None:
    """Return text that JSON can hold: halves of characters are replaced, one for one."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def render_hits(hits: Sequence[Hit], names: Mapping[str, str], *, color: bool) -> Iterator[str]:
    """Yield hits for people, each under its session, with the command that leads to it.

    `names` says by what commands know sessions, by their keys.
    """
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.session or hit.session_id, []).append(hit)
    for number, group in enumerate(groups.values()):
        if number:
            yield ""
        yield _render_session(group[0], color)
        for hit in group:
            yield from _render_hit(hit, names, color)


def _render_session(hit: Hit, color: bool) -> str:
    title = shorten(hit.title or hit.session_id or "(no session)", _LONGEST_TITLE)
    where = place_text(hit.project, expanduser("~"))
    return _paint(title, color, bold=True) + (f"  {_paint(where, color, dim=True)}" if where else "")


def _render_hit(hit: Hit, names: Mapping[str, str], color: bool) -> Iterator[str]:
    moment = to_datetime(hit.time)
    when = f"{local_time(moment):%Y-%m-%d %H:%M}" if moment is not None else " " * 16
    name = clean_line(_NAMES.get(hit.kind, hit.kind).format(tool=hit.tool or "tool")).strip()
    agent = "" if hit.agent_id is None else f" (agent {clean_line(hit.agent_id)})"
    error = _paint(" failed", color, fg="red") if hit.is_error else ""
    what = _paint(name, color, fg="cyan") + error + _paint(agent, color, dim=True)
    yield f"  {_paint(when, color, dim=True)}  {what}"
    yield f"    {_render_snippet(hit.snippet, color)}"
    command = _show_command(hit, names)
    if command is not None:
        yield f"    {_paint(command, color, dim=True)}"


def _show_command(hit: Hit, names: Mapping[str, str]) -> str | None:
    """Return the command that shows a hit; None if there is nothing to show it in."""
    if hit.session is None:
        return None
    command = f"turnlog show {names[hit.session]}"
    if hit.message is None:
        return command
    agent = "" if hit.agent_id is None or hit.source == hit.session else f" --agent {clean_line(hit.agent_id)}"
    return f"{command} --message {hit.message}{agent}"


def _render_snippet(snippet: Snippet, color: bool) -> str:
    pieces, at = [], 0
    for start, end in snippet.marks:
        pieces.append(clean(snippet.text[at:start]))
        pieces.append(_paint(clean(snippet.text[start:end]), color, fg="red", bold=True))
        at = end
    pieces.append(clean(snippet.text[at:]))
    return "".join(pieces)


def _paint(text: str, color: bool, **style: bool | str) -> str:
    return click.style(text, **style) if color and text else text  # type: ignore[arg-type]
