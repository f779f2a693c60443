"""`turnlog search`: anything that was said, given to tools or answered by them."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence

import click

from turnlog.cli.failures import MISUSE, NothingFoundError
from turnlog.cli.files import warn
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output
from turnlog.cli.rendering.hits import build_search, render_hits
from turnlog.cli.stores import open_for, shorten_id, shorten_ids
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.errors import QueryError
from turnlog.store.interface import EVERY, Store
from turnlog.store.lists import SessionFilter
from turnlog.store.model import LOCAL
from turnlog.store.search.language import Query, parse_query
from turnlog.store.search.paging import Hit, SearchOrder

_WIDE = frozenset("WF")
_MARK = "\0"
"""Put before a word that begins with a dash; no argument can have it."""


class _Command(click.Command):
    """A command whose arguments may begin with a dash: `-test` is a word, not the options `-t`, `-e` …"""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"{_MARK}{arg}" if _is_word(arg) else arg for arg in args])


def _is_word(arg: str) -> bool:
    return arg.startswith("-") and not arg.startswith("--") and arg != "-h"


@click.command(
    "search",
    cls=_Command,
    context_settings={"ignore_unknown_options": True},  # --flag is looked for
    epilog="""\b
Examples:
  turnlog search parser error                    both words in one text
  turnlog search '"cannot find module"'          a phrase
  turnlog search 'pars*' OR tokenizer            the beginning of a word, or another word
  turnlog search src/app.py -test                exactly this text, but not the other
  turnlog search tool:Bash is:error after:7d     calls that failed in the last week
""",
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--order",
    type=click.Choice([order.value for order in SearchOrder]),
    default=SearchOrder.NEWEST.value,
    show_default=True,
    help="The order of the hits; relevance ranks the newest few thousand texts.",
)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many hits at once."
)
@click.option(
    "--after", "cursor", metavar="CURSOR", help="Continue after a page, from the CURSOR shown at its end."
)
@json_option
@color_option
@pager_option
def command(
    query: tuple[str, ...],
    order: str,
    limit: int,
    cursor: str | None,
    as_json: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """Search prompts, answers, thinking, tool inputs and outputs, titles and hooks.

    All words must be in the same text. A word with other characters in it (foo_bar.baz, --flag) is searched
    for exactly; "…" is a phrase, x* the beginning of a word, *x* any part of a word, -x a word that must not
    be there. Filters: project: session: tool: model: role: category: branch: file: kind: agent: is:error
    is:sidechain after: before:, and case:yes accents:yes. Exit status 1 means that nothing was found.
    """
    asked = _parse(" ".join(word.removeprefix(_MARK) for word in query))
    settings = Settings.from_env()
    output = Output(settings, color, pager)
    with open_for(settings) as store:
        page = store.search(LOCAL, asked, order=SearchOrder(order), limit=limit, cursor=cursor)
        names = {} if as_json else _name_sessions(store, page.hits)
    if as_json:
        output.print_json(build_search(page))
    elif page.hits:
        output.print(render_hits(page.hits, names, color=output.has_color))
    if page.unreadable:
        warn(f"{page.unreadable:,} texts could not be read; run `turnlog verify` for details")
    if not page.hits:
        raise NothingFoundError("nothing was found")
    if page.next is not None and not as_json:
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
        click.echo(f"  {' ' * _measure(clean_line(text[: error.at] + '|')[:-1])}^", err=True)
        sys.exit(MISUSE)


def _measure(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(each) in _WIDE else 1 for each in text)
