"""Completing session ids and tags in a shell, from the archive; without one nothing is offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click
from click.shell_completion import CompletionItem

from turnlog.cli.terminal import shorten
from turnlog.errors import TurnlogError

if TYPE_CHECKING:
    from turnlog.store.care import CaredStore

__all__ = ["complete_sessions", "complete_sessions_or_files", "complete_tags"]

_T = TypeVar("_T")
_MOST = 30
_LONGEST_TITLE = 60


def complete_sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids that begin so, the newest first."""
    from turnlog.store.identity import LOCAL
    from turnlog.store.lists import SessionFilter

    wanted = SessionFilter(session=incomplete, archived=None)
    page = _ask(lambda store: store.list_sessions(LOCAL, wanted, limit=_MOST))
    return [
        CompletionItem(name, help=shorten(stored.marks.name or stored.row.title or "", _LONGEST_TITLE))
        for stored in (() if page is None else page.sessions)
        if (name := stored.row.session_id) is not None and name.startswith(incomplete)
    ]


def complete_sessions_or_files(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the ids that begin so; the names of files if there are none."""
    return complete_sessions(ctx, param, incomplete) or [CompletionItem(incomplete, type="file")]


def complete_tags(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the tags that begin so."""
    from turnlog.store.identity import LOCAL

    tags = _ask(lambda store: store.list_tags(LOCAL))
    return [CompletionItem(tag) for tag in tags or () if tag.startswith(incomplete)]


def _ask(question: Callable[[CaredStore], _T]) -> _T | None:
    # Imported here: commands have these functions, and hardly ever are they called.
    from turnlog.cli.stores import open_for
    from turnlog.config import Settings

    try:
        with open_for(Settings.from_env()) as store:
            return question(store)
    except (TurnlogError, click.ClickException, OSError):
        return None
