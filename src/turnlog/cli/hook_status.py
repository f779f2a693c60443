"""How turnlog's hooks are doing: where they are installed, and what arrives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.errors import HookError, TurnlogError
from turnlog.export.plain import plural
from turnlog.ingest.hook_install import (
    HookScope,
    build_entries,
    find_settings,
    list_installed,
    read_script,
)
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.server.presence import find_server
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.places import is_made
from turnlog.transcripts.files.session_files import path_text


class ScopeStatus(Struct, frozen=True, gc=False, kw_only=True):
    """What a settings file has."""

    scope: HookScope
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
    aside: int
    fine: bool


def look_at_hooks(settings: Settings, project: Path) -> HooksDocument:
    """Return how the hooks are doing."""
    scopes = tuple(
        _look_at(settings, scope, path)
        for scope in HookScope
        for path in find_settings(scope, settings.config_dirs, project)
    )
    script, counts = read_script(settings.home), Spool(settings.home / SPOOL).count()
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
        aside=counts.aside,
        fine=bool(installed) and not wrong,
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
    yield f"deliveries: {kept}, {found.spooled:,} in the spool, {found.aside:,} set aside"


def _look_at(settings: Settings, scope: HookScope, path: Path) -> ScopeStatus:
    problem, entries = None, []
    try:
        entries = list_installed(path)
    except HookError as error:
        problem = error.reason
    expected = {entry.command for entry in build_entries(settings.home, ["Stop"])}
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
        store = open_store(place, read_only=True)
    except TurnlogError:
        return None
    try:
        return store.count_deliveries(LOCAL)
    finally:
        store.close()
