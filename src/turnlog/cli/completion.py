"""Shell completion: `turnlog completion` prints click's scripts, which ask the archive for ids, tags and names.

Without an archive nothing is offered, and nothing is reported as wrong: the person is in the middle of typing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from turnlog.cli.program import COMPLETE, NAME, program
from turnlog.cli.terminal import shorten
from turnlog.errors import TurnlogError

if TYPE_CHECKING:
    from turnlog.store.accounts import Accounts
    from turnlog.store.interface import MaintainedStore

_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_Named = list[tuple[str, str | None]]
"""What may be meant, each with a text for the person."""
_MOST = 30
_LONGEST_TITLE = 60


def _completing(list_named: Callable[[str], _Named]) -> _Complete:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = list_named(incomplete)
        except (TurnlogError, click.ClickException, OSError):
            return []
        return [
            CompletionItem(name, help=None if text is None else shorten(text, _LONGEST_TITLE))
            for name, text in found
            if name.startswith(incomplete)
        ]

    return complete


def _open_store() -> AbstractContextManager[MaintainedStore]:
    # Imported here: commands have these functions, and hardly ever are they called.
    from turnlog.cli.stores import open_archive
    from turnlog.config import Settings

    return open_archive(Settings.from_env())


def _open_accounts() -> AbstractContextManager[Accounts]:
    from turnlog.cli.accounts import opened_accounts
    from turnlog.config import Settings

    return opened_accounts(Settings.from_env())


@_completing
def complete_sessions(incomplete: str) -> _Named:
    """Return the ids of sessions, the newest first."""
    from turnlog.store.lists import SessionFilter
    from turnlog.store.model import LOCAL

    with _open_store() as store:
        page = store.list_sessions(LOCAL, SessionFilter(session=incomplete, archived=None), limit=_MOST)
    named = [(each.row.session_id, each.marks.name or each.row.title or "") for each in page.sessions]
    return [(name, title) for name, title in named if name is not None]


def complete_sessions_or_files(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the ids that begin so; the names of files if there are none."""
    return complete_sessions(ctx, param, incomplete) or [CompletionItem(incomplete, type="file")]


@_completing
def complete_tags(_: str) -> _Named:
    """Return all tags."""
    from turnlog.store.lists import SessionFilter
    from turnlog.store.model import LOCAL

    with _open_store() as store:
        return [(tag, None) for tag, _ in sorted(store.list_facets(LOCAL, SessionFilter(archived=None)).tags)]


@_completing
def complete_users(_: str) -> _Named:
    """Return the users."""
    with _open_accounts() as accounts:
        return [(user.name, user.full_name or user.role.value) for user in accounts.list_users()]


@_completing
def complete_tokens(_: str) -> _Named:
    """Return the ids of tokens, without those that were revoked."""
    with _open_accounts() as accounts:
        tokens = [token for token in accounts.list_tokens() if token.revoked_ns is None]
    return [(token.id, f"{token.user} {token.kind} {token.label}") for token in tokens]


@_completing
def complete_links(_: str) -> _Named:
    """Return the ids of links, without those that were revoked."""
    with _open_accounts() as accounts:
        return [(link.id, link.title) for link in accounts.list_links() if link.revoked_ns is None]


@_completing
def complete_machines(_: str) -> _Named:
    """Return the names of machines."""
    from turnlog.store.model import LOCAL

    with _open_store() as store:
        return [(each.origin, f"{each.user}@{each.host}") for each in store.list_machines(LOCAL)]


@_completing
def complete_rules(_: str) -> _Named:
    """Return the patterns of rules."""
    from turnlog.store.model import LOCAL

    with _open_store() as store:
        return [(rule.pattern, rule.visibility.value) for rule in store.list_rules(LOCAL)]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for a shell.

    Examples:
      turnlog completion bash > ~/.local/share/bash-completion/completions/turnlog
      turnlog completion zsh > ~/.zfunc/_turnlog       # with ~/.zfunc in $fpath
      turnlog completion fish > ~/.config/fish/completions/turnlog.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(program, {}, NAME, COMPLETE).source())
