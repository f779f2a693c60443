"""`turnlog doctor` and `turnlog notify`: checking this machine.

Each check of the doctor says what it found, and none keeps the others from looking.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.output import Output, output_options
from turnlog.cli.terminal import FOUND_PROBLEMS, clean_line
from turnlog.config import Settings, find_home
from turnlog.errors import ConfigError, ServiceError, StoreError
from turnlog.ingest.machine import Exclusion, find_origin, read_origin
from turnlog.ingest.retention import build_retention_report, list_managed_settings, read_retention
from turnlog.ingest.services import find_service
from turnlog.server.notifications import Sent, list_targets, send_test
from turnlog.store.account_model import UserRole
from turnlog.store.accounts import find_file, open_accounts
from turnlog.store.model import LOCAL, StorePlace, find_blob_place, find_index_place, home_of, is_made
from turnlog.store.opening import check_index, check_quickly, find_holder, measure_backlog, open_store
from turnlog.transcripts.session_files import list_config_dirs, path_text

_LEAST = 64 << 20
"""Bytes without which nothing more can be archived."""
_ENOUGH = 1 << 30


class State(StrEnum):
    """How something is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True, gc=False):
    """What a check found."""

    state: State
    subject: str
    message: str


def run_checks() -> list[Finding]:
    """Look at everything; writes nothing."""
    settings, config = _read_settings()
    return [
        Finding(State.OK, "version", f"turnlog {version('turnlog')}, Python {platform.python_version()}"),
        config,
        *_check_home(settings.home),
        *_check_store(settings.place),
        *_check_accounts(settings.place),
        *_check_space(settings),
        *_check_config_dirs(settings),
        *_check_retention(settings),
        _check_writer(settings.place),
        _check_service(),
        *_check_backups(settings),
    ]


def _read_settings() -> tuple[Settings, Finding]:
    try:
        settings = Settings.from_env()
    except ConfigError as error:
        # The rest can be looked at as if there were no file.
        own = Path(os.path.expanduser("~"))
        settings = Settings(home=find_home(os.environ), config_dirs=tuple(list_config_dirs(os.environ, own)))
        return settings, Finding(State.FAIL, "config", path_text(str(error)))
    path = settings.home / "config.toml"
    said = f"{path_text(path)}" if path.exists() else "no config.toml, nothing is excluded"
    return settings, Finding(State.OK, "config", said)


def _check_home(home: Path) -> Iterator[Finding]:
    name = path_text(home)
    if not home.is_dir():
        yield Finding(State.WARN, "home", f"{name} does not exist yet; `turnlog sync` creates it")
    elif not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(State.FAIL, "home", f"{name} is not writable")
    else:
        yield _check_mode("home", home)


def _check_mode(subject: str, path: Path) -> Finding:
    mode = path.stat().st_mode & 0o777
    if os.name == "posix" and mode & 0o077:
        return Finding(State.WARN, subject, f"{path_text(path)} is accessible to other users (mode {mode:03o})")
    return Finding(State.OK, subject, path_text(path))


_MUCH_BEHIND = 10_000


def _check_store(place: StorePlace) -> Iterator[Finding]:
    if not is_made(place):
        yield Finding(State.WARN, "store", "nothing is archived yet; run `turnlog sync`")
        return
    yield _check_mode("store", place) if isinstance(place, Path) else Finding(State.OK, "store", f"{place}")
    try:
        damage = check_quickly(place)
    except StoreError as error:
        yield Finding(State.FAIL, "store", path_text(str(error)))
        return
    if damage:
        yield Finding(State.FAIL, "store", f"{damage[0]}; `turnlog verify` shows what can be repaired")
    else:
        yield Finding(State.OK, "store", "made by this version; a quick check found no damage")
    if (blobs := find_blob_place(place)) is not None:
        yield Finding(State.OK, "blobs", f"{path_text(str(blobs))} is reachable")
    if (index := find_index_place(place)) is not None:
        try:
            check_index(place)
        except StoreError as error:
            yield Finding(State.FAIL, "index", path_text(str(error)))
            return
        backlog = measure_backlog(place)
        behind = 0 if backlog is None else backlog.entries
        state = State.WARN if behind > _MUCH_BEHIND else State.OK
        yield Finding(state, "index", f"{path_text(str(index))} is reachable, {behind:,} changes behind")


def _check_accounts(place: StorePlace) -> Iterator[Finding]:
    try:
        accounts = open_accounts(place, create=False)
    except StoreError as error:
        if isinstance(place, Path):  # of a server, the store has told
            yield Finding(State.FAIL, "accounts", path_text(str(error)))
        return
    with closing(accounts):
        users = [user for user in accounts.list_users() if user.disabled_ns is None]
    if not users:
        yield Finding(State.OK, "accounts", "none: the archive belongs to one person")
        return
    if isinstance(place, Path):
        yield _check_mode("accounts", find_file(place))
    admins = sum(user.role is UserRole.ADMIN for user in users)
    yield Finding(State.OK, "accounts", f"{len(users):,} active, {admins:,} of them admins")


def _check_space(settings: Settings) -> Iterator[Finding]:
    home, place = settings.home, settings.place
    there = next((path for path in (home, *home.absolute().parents) if path.is_dir()), None)
    if there is None:
        return
    free = shutil.disk_usage(there).free
    size = place.stat().st_size if isinstance(place, Path) and place.exists() else 0
    said = f"{free / 1e9:,.1f} GB free on the archive's disk"
    if free < _LEAST:
        yield Finding(State.FAIL, "space", said)
    elif free < max(_ENOUGH, 2 * size):  # forgetting writes the archive anew
        yield Finding(State.WARN, "space", f"{said}; the archive has {size / 1e9:,.1f} GB")
    else:
        yield Finding(State.OK, "space", said)


def _check_config_dirs(settings: Settings) -> Iterator[Finding]:
    there = [path for path in settings.config_dirs if path.is_dir()]
    for path in there:
        if os.access(path, os.R_OK | os.X_OK):
            yield Finding(State.OK, "Claude Code", path_text(path))
        else:
            yield Finding(State.FAIL, "Claude Code", f"{path_text(path)} is not readable")
    if not there:
        places = ", ".join(map(path_text, settings.config_dirs))
        yield Finding(State.WARN, "Claude Code", f"no data in {places}")


def _check_retention(settings: Settings) -> Iterator[Finding]:
    there = [path for path in settings.config_dirs if path.is_dir() and os.access(path, os.R_OK | os.X_OK)]
    managed = list_managed_settings()
    for path in there:
        found = read_retention(path, managed)
        source = "unless a settings file says otherwise" if found.source is None else path_text(found.source)
        yield Finding(State.OK, "clean-up", f"sessions are deleted after {found.days:g} days ({source})")
    place = settings.place
    try:
        opened = open_store(place, read_only=True)
    except StoreError:
        return  # told before
    with closing(opened) as store:
        known = store.list_known(LOCAL, read_origin(settings.home))
        report = build_retention_report(there, known, datetime.now(UTC), managed, Exclusion(settings.exclude))
    if report.warning is not None:
        yield Finding(State.WARN, "clean-up", report.warning)


def _check_writer(place: StorePlace) -> Finding:
    try:
        holder = find_holder(place, find_origin(home_of(place))) if is_made(place) else None
    except (StoreError, OSError):
        holder = None
    if holder is None:
        return Finding(State.OK, "writer", "no process is keeping the archive up to date")
    _, pid, _ = holder.rsplit("/", 2)
    return Finding(State.OK, "writer", f"process {pid} is keeping the archive up to date")


def _check_service() -> Finding:
    try:
        found = find_service().ask()
    except ServiceError as error:
        return Finding(State.WARN, "service", str(error))
    if not found.installed:
        return Finding(State.WARN, "service", "not installed; run `turnlog service install`")
    if found.running is False:
        return Finding(State.WARN, "service", f"installed, but not running ({found.state or found.path})")
    return Finding(State.OK, "service", "running" if found.running else "installed")


def _check_backups(settings: Settings) -> Iterator[Finding]:
    try:
        opened = open_store(settings.place, read_only=True)
    except StoreError:
        return
    with closing(opened) as store:
        backups = store.list_backups()
    there = [backup for backup in backups if backup.size is not None]
    if there:
        at = datetime.fromtimestamp(there[-1].at_ns / 1e9, UTC)
        yield Finding(State.OK, "backup", f"{path_text(there[-1].path)}, made at {at:%Y-%m-%d %H:%M} UTC")
    elif backups:
        yield Finding(State.WARN, "backup", f"{path_text(backups[-1].path)} no longer exists")


@click.command("doctor")
@output_options()
def doctor_command(output: Output) -> None:
    """Check this machine for problems with turnlog.

    Nothing is changed. A line says `ok`, `warn` or `fail`; exit status 1 means that something failed.
    `turnlog verify` checks whether the archive still has the bytes that it was given.

    Examples:
      turnlog doctor
      turnlog doctor --json
    """
    findings = run_checks()
    output.settings = Settings()  # those of the file may be what is wrong
    told = (f"{each.state.value:<4}  {clean_line(f'{each.subject}: {each.message}')}" for each in findings)
    output.show(findings, told)
    if any(finding.state is State.FAIL for finding in findings):
        raise click.exceptions.Exit(FOUND_PROBLEMS)


class NotifyDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog notify test --json` prints."""

    sent: tuple[Sent, ...]


@click.group("notify")
def notify_command() -> None:
    """Test the notifications for sessions that wait or end.

    They are set up in config.toml, and sent by `turnlog serve`.

    Examples:
      turnlog notify test

    In config.toml:
      [notifications]
      desktop = true
      webhooks = ["https://example.org/hook"]
      on = ["waits", "ends"]
    """


@notify_command.command("test")
@output_options()
def _test_notifications(output: Output) -> None:
    """Send one to every target in config.toml, and show the outcome."""
    settings = output.settings
    sent = tuple(send_test(list_targets(settings.notifications)))
    if output.as_json:
        output.print_json(NotifyDocument(sent=sent))
    elif not sent:
        path = settings.home / "config.toml"
        output.print([clean_line(f"Nobody would be notified: {path} has no [notifications] with targets.")])
    else:
        output.print(clean_line(f"{each.target}: {each.message}") for each in sent)
    if not sent or not all(each.ok for each in sent):
        sys.exit(FOUND_PROBLEMS)
