"""`turnlog search` and `turnlog mcp`: asking the archive, as a person or as another program.

`search` finds anything that was said, given to tools or answered by them. People see hits under their sessions,
each with the command that shows it in place; programs get a document.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from os.path import expanduser

import click
from msgspec import Struct

from turnlog.cli.output import Output, choice_option, output_options
from turnlog.cli.plain_text import cell_width, local_time, place_text
from turnlog.cli.stores import open_archive, shorten_id, shorten_ids
from turnlog.cli.terminal import MISUSE, MisuseError, NothingFoundError, clean, clean_line, shorten, warn
from turnlog.config import Settings
from turnlog.errors import QueryError
from turnlog.instants import find_moment
from turnlog.shapes import fill
from turnlog.store.interface import EVERY, Store
from turnlog.store.lists import SessionFilter
from turnlog.store.model import LOCAL
from turnlog.store.search.language import Query, parse_query
from turnlog.store.search.matcher import Snippet
from turnlog.store.search.paging import Hit, SearchOrder

_LONGEST_TITLE = 100
_INDENT = "    "
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


def _build_item(hit: Hit) -> HitItem:
    place, snippet = hit.place, hit.snippet
    return fill(
        HitItem,
        hit,
        project=_valid(hit.project),
        title=_valid(hit.title),
        generation=None if place is None else place.generation,
        offset=None if place is None else place.offset,
        passage=hit.ordinal,
        tool=_valid(hit.tool),
        model=_valid(hit.model),
        agent_id=_valid(hit.agent_id),
        time=find_moment(hit.time),
        snippet=SnippetItem(_valid(snippet.text) or "", snippet.marks),
    )


def _valid(text: str | None) -> str | None:
    """Return text that JSON can hold: halves of characters are replaced, one for one."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def render_hits(
    hits: Sequence[Hit], names: Mapping[str, str], *, color: bool, width: int | None = None
) -> Iterator[str]:
    """Yield hits for people, each under its session, with the command that leads to it.

    `names` says by what commands know sessions, by their keys. Snippets are wrapped at a `width`.
    """
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.session or hit.session_id, []).append(hit)
    for number, group in enumerate(groups.values()):
        if number:
            yield ""
        yield _render_session(group[0], color)
        for hit in group:
            yield from _render_hit(hit, names, color, width)


def _render_session(hit: Hit, color: bool) -> str:
    title = shorten(hit.title or hit.session_id or "(no session)", _LONGEST_TITLE)
    where = place_text(hit.project, expanduser("~"))
    return _paint(title, color, bold=True) + (f"  {_paint(where, color, dim=True)}" if where else "")


def _render_hit(hit: Hit, names: Mapping[str, str], color: bool, width: int | None) -> Iterator[str]:
    moment = find_moment(hit.time)
    when = f"{local_time(moment):%Y-%m-%d %H:%M}" if moment is not None else " " * 16
    name = clean_line(_NAMES.get(hit.kind, hit.kind).format(tool=hit.tool or "tool")).strip()
    agent = "" if hit.agent_id is None else f" (agent {clean_line(hit.agent_id)})"
    error = _paint(" failed", color, fg="red") if hit.is_error else ""
    what = _paint(name, color, fg="cyan") + error + _paint(agent, color, dim=True)
    yield f"  {_paint(when, color, dim=True)}  {what}"
    yield from f"{_INDENT}{_render_snippet(hit.snippet, color, width)}".split("\n")
    command = _show_command(hit, names)
    if command is not None:
        yield f"{_INDENT}{_paint(command, color, dim=True)}"


def _show_command(hit: Hit, names: Mapping[str, str]) -> str | None:
    """Return the command that shows a hit; None if there is nothing to show it in."""
    if hit.session is None:
        return None
    command = f"turnlog show {names[hit.session]}"
    if hit.message is None:
        return command
    agent = "" if hit.agent_id is None or hit.source == hit.session else f" --agent {clean_line(hit.agent_id)}"
    return f"{command} --message {hit.message}{agent}"


def _render_snippet(snippet: Snippet, color: bool, width: int | None) -> str:
    pieces, at = list[tuple[str, bool]](), 0
    for start, end in snippet.marks:
        pieces += (clean(snippet.text[at:start]), False), (clean(snippet.text[start:end]), True)
        at = end
    pieces.append((clean(snippet.text[at:]), False))
    if width is not None:
        pieces = _wrap(pieces, width - len(_INDENT))
    return "".join(_paint(text, color, fg="red", bold=True) if marked else text for text, marked in pieces)


def _wrap(pieces: list[tuple[str, bool]], width: int) -> list[tuple[str, bool]]:
    """Break lines at spaces where the next word would not fit; a word may go over several pieces."""
    text = "".join(piece for piece, _ in pieces)
    breaks, column = set[int](), 0
    for word in re.finditer(r"\S+", text):
        needed = cell_width(word[0])
        if column and column + 1 + needed > width:
            breaks.add(word.start() - 1)
            column = needed
        else:
            column += needed + (1 if column else 0)
    wrapped, at = [], 0
    for piece, marked in pieces:
        broken = (f"\n{_INDENT}" if at + n in breaks else each for n, each in enumerate(piece))
        wrapped.append(("".join(broken), marked))
        at += len(piece)
    return wrapped


def _paint(text: str, color: bool, **style: bool | str) -> str:
    return click.style(text, **style) if color and text else text  # type: ignore[arg-type]


_MARK = "\0"
"""Put before a word that begins with a dash; no argument can have it."""


class _Command(click.Command):
    """A command whose arguments may begin with a dash: `-test` is a word, not the options `-t`, `-e` …"""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"{_MARK}{arg}" if _is_word(arg) else arg for arg in args])


def _is_word(arg: str) -> bool:
    return arg.startswith("-") and not arg.startswith("--") and arg != "-h"


@click.command("search", cls=_Command, context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, required=True)
@choice_option(
    "--order",
    default=SearchOrder.NEWEST,
    help="The order of the hits; relevance ranks the newest few thousand texts.",
)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many hits at once."
)
@click.option(
    "--after", "cursor", metavar="CURSOR", help="Continue after a page, from the CURSOR shown at its end."
)
@output_options(pager=True)
def search_command(
    query: tuple[str, ...],
    order: str,
    limit: int,
    cursor: str | None,
    output: Output,
) -> None:
    """Search prompts, answers, thinking, tool calls and hooks.

    All words must be in the same text. A word with other characters in it (foo_bar.baz, --flag) is searched
    for exactly; "…" is a phrase, x* the beginning of a word, *x* any part of a word, -x a word that must not
    be there. Filters: project: session: tool: model: role: category: branch: file: kind: agent: is:error
    is:sidechain after: before:, and case:yes accents:yes. Exit status 1 means that nothing was found.

    Examples:
      turnlog search parser error                    both words in one text
      turnlog search '"cannot find module"'          a phrase
      turnlog search 'pars*' OR tokenizer            the beginning of a word, or another word
      turnlog search src/app.py -test                exactly this text, but not the other
      turnlog search tool:Bash is:error after:7d     calls that failed in the last week
    """
    asked = _parse(" ".join(word.removeprefix(_MARK) for word in query))
    with open_archive(output.settings) as store:
        page = store.search(LOCAL, asked, order=SearchOrder(order), limit=limit, cursor=cursor)
        names = {} if output.as_json else _name_sessions(store, page.hits)
    if output.as_json:
        output.print_json(SearchDocument(hits=tuple(map(_build_item, page.hits)), next=page.next))
    elif page.hits:
        width = output.width if output.is_terminal else None
        output.print(render_hits(page.hits, names, color=output.has_color, width=width))
    if page.backlog:
        warn(f"the index is {page.backlog:,} changes behind; what is new may be missing")
    if page.unreadable:
        warn(f"{page.unreadable:,} texts could not be read; run `turnlog verify` for details")
    if not page.hits:
        raise NothingFoundError("nothing was found")
    if page.next is not None and not output.as_json:
        warn(f"use --after {page.next} to continue")


def _name_sessions(store: Store, hits: Sequence[Hit]) -> dict[str, str]:
    """Return by what commands know the sessions of hits, among all that are archived."""
    known: dict[str, str | None] = {hit.session: hit.session_id for hit in hits if hit.session is not None}
    for prefix in {shorten_id(name) for name in known.values() if name}:
        asked = SessionFilter(session=prefix, archived=None)
        found = store.list_sessions(LOCAL, asked, limit=EVERY).sessions
        known |= {each.key: each.row.session_id for each in found}
    return shorten_ids(known.items())


def _parse(text: str) -> Query:
    try:
        return parse_query(text)
    except QueryError as error:
        warn(error.reason)
        click.echo(f"  {clean_line(text)}", err=True)
        click.echo(f"  {' ' * cell_width(clean_line(text[: error.at] + '|')[:-1])}^", err=True)
        sys.exit(MISUSE)


@click.command("mcp")
@click.option("--http", "over_http", is_flag=True, help="Answer over HTTP, at /mcp.  [default: standard input]")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: where to listen.")
@click.option("--port", type=click.IntRange(1, 65535), default=8790, show_default=True, help="With --http.")
def mcp_command(over_http: bool, host: str, port: int) -> None:
    """Let other programs read the archive over MCP.

    They can search, read conversations piece by piece, list projects and sessions, count usage, and ask what
    earlier sessions did to a file. Nothing can be changed, and the size of every answer is limited. Over
    HTTP, requests need the token from `server-token` in turnlog's directory.

    Examples:
      claude mcp add turnlog -- turnlog mcp
      turnlog mcp --http --port 8790
    """
    from turnlog.server.security.tokens import TOKEN_FILE, TokenKeeper

    try:
        from turnlog.integrations.mcp import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types", "starlette"):
            raise
        raise MisuseError("the package mcp is needed: pip install 'turnlog[mcp]'") from error
    settings = Settings.from_env()
    with open_archive(settings) as store:
        if over_http:
            click.echo(f"http://{host}:{port}/mcp (token in {settings.home / TOKEN_FILE})", err=True)
            serve_http(store, LOCAL, TokenKeeper(settings.home / TOKEN_FILE), host, port)
        else:
            serve_stdio(store, LOCAL)
