"""`turnlog hooks`: have Claude Code report events as they happen; where that is installed, and what arrives."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.output import Output, choice_option, output_options
from turnlog.cli.terminal import FOUND_PROBLEMS, MisuseError, clean, clean_line, dry_option
from turnlog.config import Settings
from turnlog.errors import HookError, TurnlogError
from turnlog.export.plain_text import plural
from turnlog.ingest import hook_install
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.server.processes import find_server
from turnlog.store.model import LOCAL, is_made
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import EVENTS
from turnlog.transcripts.session_files import path_text


class ScopeStatus(Struct, frozen=True, gc=False, kw_only=True):
    """What a settings file has."""

    scope: hook_install.HookScope
    path: str
    events: tuple[str, ...]
    """Those that turnlog's hook is installed for."""
    elsewhere: bool
    """Whether they hand events to another archive, or are of another version."""
    problem: str | None


class HooksDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog hooks status --json` prints."""

    scopes: tuple[ScopeStatus, ...]
    script: str
    script_version: int | None
    script_current: bool
    server: str | None
    """Where the server is; null if none runs."""
    deliveries: int | None
    """In the archive; null if there is none."""
    spooled: int
    quarantined: int
    ok: bool


def inspect_hooks(settings: Settings, project: Path) -> HooksDocument:
    """Return how the hooks are doing."""
    scopes = tuple(
        _read_scope(settings, scope, path)
        for scope in hook_install.HookScope
        for path in hook_install.find_settings(scope, settings.config_dirs, project)
    )
    script, counts = hook_install.read_script(settings.home), Spool(settings.home / SPOOL).count()
    server = find_server(settings.home)
    installed = [scope for scope in scopes if scope.events]
    wrong = any(scope.elsewhere or scope.problem for scope in scopes) or not script.current
    return HooksDocument(
        scopes=scopes,
        script=path_text(script.path),
        script_version=script.version,
        script_current=script.current,
        server=None if server is None else server.url,
        deliveries=_count_deliveries(settings),
        spooled=counts.waiting,
        quarantined=counts.quarantined,
        ok=bool(installed) and not wrong,
    )


def describe_status(found: HooksDocument) -> Iterator[str]:
    """Yield it as lines for people."""
    for scope in found.scopes:
        if scope.problem is not None:
            said = f"cannot be read: {scope.problem}"
        elif not scope.events:
            said = "not installed"
        else:
            said = f"installed for {plural(len(scope.events), 'event')}"
            if scope.elsewhere:
                said += (
                    ", but for another archive or by another version; run `turnlog hooks install` to update it"
                )
        yield clean_line(f"{scope.scope.value}: {said}  ({scope.path})")
    if found.script_current:
        yield clean_line(f"script: version {found.script_version}  ({found.script})")
    elif found.script_version is None:
        yield clean_line(f"script: missing  ({found.script})")
    else:
        yield clean_line(f"script: another version; run `turnlog hooks install` to update it  ({found.script})")
    yield f"server: {'not running' if found.server is None else clean_line(found.server)}"
    kept = "no archive yet" if found.deliveries is None else f"{found.deliveries:,} in the archive"
    yield f"deliveries: {kept}, {found.spooled:,} in the spool, {found.quarantined:,} quarantined"


def _read_scope(settings: Settings, scope: hook_install.HookScope, path: Path) -> ScopeStatus:
    problem, entries = None, []
    try:
        entries = hook_install.list_installed(path)
    except HookError as error:
        problem = error.reason
    expected = {entry.command for entry in hook_install.build_entries(settings.home, ["Stop"])}
    return ScopeStatus(
        scope=scope,
        path=path_text(path),
        events=tuple(sorted({entry.event for entry in entries})),
        elsewhere=any(entry.command not in expected for entry in entries),
        problem=problem,
    )


def _count_deliveries(settings: Settings) -> int | None:
    place = settings.place
    if not is_made(place):
        return None
    try:
        opened = open_store(place, read_only=True)
    except TurnlogError:
        return None
    with closing(opened) as store:
        return store.count_deliveries(LOCAL)


class HookChange(Struct, frozen=True, gc=False, kw_only=True):
    """The result for a settings file, as `turnlog hooks install --json` and `uninstall --json` print it."""

    path: str
    outcome: str
    """`installed`, `removed` or `unchanged`."""
    backup: str | None
    """Where a copy of how it was is."""
    diff: str | None = None
    """With --dry-run."""


_scope_option = choice_option(
    "--scope",
    default=hook_install.HookScope.USER,
    help="Which settings: yours, a project's, or yours for a project.",
)
_project_option = click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    metavar="DIR",
    help="The project's folder, if not this one.",
)


@click.group("hooks")
def hooks_command() -> None:
    """Have Claude Code report events as they happen.

    Adds hooks to Claude Code's settings that pass each event to turnlog without waiting for it: they take a
    few milliseconds, whether a server is running or not, and nothing is lost if none is.

    Examples:
      turnlog hooks install --dry-run     what would change in ~/.claude/settings.json
      turnlog hooks install
      turnlog hooks install --scope local --events Stop,Notification
      turnlog hooks status
      turnlog hooks uninstall
    """


@hooks_command.command("install")
@_scope_option
@_project_option
@click.option(
    "--events", "named", metavar="NAME,...", help="Only these events.  [default: all that turnlog uses]"
)
@dry_option
@output_options()
def _install(scope: str, project: Path, named: str | None, dry_run: bool, output: Output) -> None:
    """Add turnlog's hooks to Claude Code's settings, if they are not there yet.

    Every other byte of the file stays as it is. A copy of the original file is kept.
    """
    settings = output.settings
    events = hook_install.choose_events(_read_names(named), hook_install.find_claude_version(os.environ))
    entries = hook_install.build_entries(settings.home, events)
    paths = hook_install.find_settings(hook_install.HookScope(scope), settings.config_dirs, project)
    plans = [hook_install.plan_install(path, entries) for path in paths]
    if not dry_run:
        hook_install.install_script(settings.home)
    _apply_plans(output, settings, plans, "installed", dry_run=dry_run)


@hooks_command.command("uninstall")
@_scope_option
@_project_option
@dry_option
@output_options()
def _uninstall(scope: str, project: Path, dry_run: bool, output: Output) -> None:
    """Remove turnlog's hooks from Claude Code's settings, and nothing else.

    What was delivered stays in the archive.
    """
    settings = output.settings
    plans = [
        hook_install.plan_uninstall(path)
        for path in hook_install.find_settings(hook_install.HookScope(scope), settings.config_dirs, project)
    ]
    _apply_plans(output, settings, plans, "removed", dry_run=dry_run)


@hooks_command.command("status")
@_project_option
@output_options()
def _status(project: Path, output: Output) -> None:
    """Show where hooks are installed, and whether events arrive.

    Exit status 1 means that they are not installed anywhere, or that something is wrong with them.
    """
    found = inspect_hooks(output.settings, project)
    output.show(found, describe_status(found))
    if not found.ok:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _read_names(named: str | None) -> list[str]:
    names = [name.strip() for name in (named or "").split(",") if name.strip()]
    for name in names:
        if name not in EVENTS:
            raise MisuseError(f"--events {name}: no such event; the events are {', '.join(sorted(EVENTS))}")
    return names


def _apply_plans(
    output: Output, settings: Settings, plans: Sequence[hook_install.Plan], done: str, *, dry_run: bool
) -> None:
    changes = []
    for plan in plans:
        backup = hook_install.write_plan(plan, settings.home) if plan.changes and not dry_run else None
        changes.append(
            HookChange(
                path=path_text(plan.path),
                outcome=done if plan.changes else "unchanged",
                backup=None if backup is None else path_text(backup),
                diff="".join(_compare(plan)) if dry_run else None,
            )
        )
    if output.as_json:
        output.print_json(changes)
    elif dry_run:
        output.print(line for plan in plans for line in _show(plan))
    else:
        output.print(line for change in changes for line in _describe_change(change))


def _describe_change(change: HookChange) -> Iterator[str]:
    kept = "" if change.backup is None else f"; the original is kept: {change.backup}"
    yield clean_line(f"{change.outcome}: {change.path}{kept}")


def _show(plan: hook_install.Plan) -> Iterator[str]:
    if not plan.changes:
        yield clean_line(f"unchanged: {path_text(plan.path)}")
    yield from (clean(line.rstrip("\r\n")) for line in _compare(plan))


def _compare(plan: hook_install.Plan) -> Iterator[str]:
    name = path_text(plan.path)
    before, after = (
        (text or b"").decode("utf-8", "replace").splitlines(keepends=True) for text in (plan.before, plan.after)
    )
    yield from difflib.unified_diff(before, after, name, name)
