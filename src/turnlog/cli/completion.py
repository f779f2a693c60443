"""Shell completion: `turnlog completion` prints click's scripts, which ask the archive for ids, tags and names.

Without an archive nothing is offered, and nothing is reported as wrong: the person is in the middle of typing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click
from click.shell_completion import CompletionItem, get_completion_class

from turnlog.cli.program import COMPLETE, NAME, program
from turnlog.cli.terminal import shorten
from turnlog.errors import TurnlogError

if TYPE_CHECKING:
    from turnlog.store.accounts import Accounts
    from turnlog.store.interface import MaintainedStore

_T = TypeVar("_T")
_MOST = 30
_LONGEST_TITLE = 60


def complete_sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids that begin so, the newest first."""
    from turnlog.store.lists import SessionFilter
    from turnlog.store.model import LOCAL

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
    from turnlog.store.lists import SessionFilter
    from turnlog.store.model import LOCAL

    tags = _ask(lambda store: store.list_facets(LOCAL, SessionFilter(archived=None)).tags)
    return [CompletionItem(tag) for tag, _ in sorted(tags or ()) if tag.startswith(incomplete)]


def complete_users(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the users whose names begin so."""
    users = _ask_accounts(lambda accounts: accounts.list_users()) or ()
    return [
        CompletionItem(user.name, help=shorten(user.full_name or user.role.value, _LONGEST_TITLE))
        for user in users
        if user.name.startswith(incomplete)
    ]


def complete_tokens(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the tokens whose ids begin so, without those that were revoked."""
    tokens = _ask_accounts(lambda accounts: accounts.list_tokens()) or ()
    return [
        CompletionItem(token.id, help=shorten(f"{token.user} {token.kind} {token.label}", _LONGEST_TITLE))
        for token in tokens
        if token.id.startswith(incomplete) and token.revoked_ns is None
    ]


def complete_links(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the links whose ids begin so, without those that were revoked."""
    links = _ask_accounts(lambda accounts: accounts.list_links()) or ()
    return [
        CompletionItem(link.id, help=shorten(link.title, _LONGEST_TITLE))
        for link in links
        if link.id.startswith(incomplete) and link.revoked_ns is None
    ]


def complete_machines(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the machines whose names begin so."""
    from turnlog.store.model import LOCAL

    machines = _ask(lambda store: store.list_machines(LOCAL)) or ()
    return [
        CompletionItem(machine.origin, help=shorten(f"{machine.user}@{machine.host}", _LONGEST_TITLE))
        for machine in machines
        if machine.origin.startswith(incomplete)
    ]


def complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the patterns of rules that begin so."""
    from turnlog.store.model import LOCAL

    rules = _ask(lambda store: store.list_rules(LOCAL)) or ()
    return [
        CompletionItem(rule.pattern, help=rule.visibility.value)
        for rule in rules
        if rule.pattern.startswith(incomplete)
    ]


def _ask_accounts(question: Callable[[Accounts], _T]) -> _T | None:
    from turnlog.cli.accounts import opened_accounts
    from turnlog.config import Settings

    try:
        with opened_accounts(Settings.from_env()) as accounts:
            return question(accounts)
    except (TurnlogError, click.ClickException, OSError):
        return None


def _ask(question: Callable[[MaintainedStore], _T]) -> _T | None:
    # Imported here: commands have these functions, and hardly ever are they called.
    from turnlog.cli.stores import open_for
    from turnlog.config import Settings

    try:
        with open_for(Settings.from_env()) as store:
            return question(store)
    except (TurnlogError, click.ClickException, OSError):
        return None


@click.command(
    "completion",
    epilog="""\b
Examples:
  turnlog completion bash > ~/.local/share/bash-completion/completions/turnlog
  turnlog completion zsh > ~/.zfunc/_turnlog       # with ~/.zfunc in $fpath
  turnlog completion fish > ~/.config/fish/completions/turnlog.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for a shell."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(program, {}, NAME, COMPLETE).source())
