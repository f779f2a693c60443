"""What the server reports of itself: health, readiness, status, and notifications."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct

from turnlog.config import Occasion
from turnlog.errors import StoreError
from turnlog.ingest.hook_install import HookScope, find_settings
from turnlog.ingest.hook_settings import NotSettingsError, list_entries
from turnlog.server.board.board import count_columns
from turnlog.server.board.states import Column
from turnlog.server.board.watch import GivenWatch
from turnlog.server.notifications import Notifier, Sent, list_targets, send_test, show_address
from turnlog.server.requests import GivenScope, GivenStore, GivenSurroundings, GivenSync, Surroundings
from turnlog.server.routes.hooks import GivenHooks, HookReceiver
from turnlog.server.routes.metrics import ArchiveCounter
from turnlog.server.security.callers import ADMINS, OPERATORS, PUBLIC
from turnlog.server.sync import SyncStatus, view_sync
from turnlog.store.interface import CaredStore, Store
from turnlog.store.model import LOCAL, Scope


class Readiness:
    """Ready, until the server is about to end."""

    def __init__(self) -> None:
        self.is_ending = False
        """Whether it answers for a moment longer, and wants no more requests."""


GivenReadiness = NamedDependency[SkipValidation[Readiness]]
"""Parameter `readiness`: whether requests should be sent here."""


class Health(Struct, frozen=True, gc=False, kw_only=True):
    """Whether the server works; needs no authentication."""

    status: Literal["ok", "failing"]
    version: str


class ReadyState(Struct, frozen=True, gc=False, kw_only=True):
    """Whether requests should be sent here; needs no authentication."""

    ready: bool
    reason: Literal["ending", "failing"] | None = None
    """Why not."""


class HookStatus(Struct, frozen=True, gc=False, kw_only=True):
    """What is known about Claude Code's hooks."""

    installed: bool | None
    """Whether the user's settings name turnlog's hooks; null if they cannot be read."""
    deliveries: int
    """In the archive."""
    spooled: int
    """Files waiting to be imported."""
    aside: int
    """Files that could not be read."""


class Status(Struct, frozen=True, gc=False, kw_only=True):
    """What the archive has."""

    version: str
    sessions: int
    only_here: int
    """Sessions whose original files no longer exist."""
    files: int
    bytes: int
    """The original size of the newest generations."""
    lines: int
    problems: int
    """Sessions with wrong or unknown content in their lines."""
    needs_you: int
    """Sessions of the last 24 hours that are waiting for somebody."""
    working: int
    hooks: HookStatus
    demo: bool
    """Whether these are the sample sessions."""
    last_change: int
    """The last entry of the feed."""
    sync: SyncStatus


class WebhookItem(Struct, frozen=True, gc=False, kw_only=True):
    """An address that receives notifications."""

    url: str
    """Without its query and secrets."""
    on: tuple[Occasion, ...]


class Notifications(Struct, frozen=True, gc=False, kw_only=True):
    """The settings in `config.toml`; they cannot be changed here."""

    desktop: bool
    webhooks: tuple[WebhookItem, ...]
    on: tuple[Occasion, ...]
    """Which events are reported."""


class TestedNotifications(Struct, frozen=True, gc=False, kw_only=True):
    """The results of a test."""

    sent: tuple[Sent, ...]


def view_hooks(store: CaredStore, scope: Scope, hooks: HookReceiver, around: Surroundings) -> HookStatus:
    """Return whether hooks are installed, and how much they brought; a viewer learns only the latter."""
    if scope.viewer is not None:
        return HookStatus(installed=None, deliveries=store.count_deliveries(scope), spooled=0, aside=0)
    counts = None if hooks.spool is None else hooks.spool.count()
    return HookStatus(
        installed=_are_installed(around),
        deliveries=store.count_deliveries(scope),
        spooled=0 if counts is None else counts.waiting,
        aside=0 if counts is None else counts.aside,
    )


def _are_installed(around: Surroundings) -> bool | None:
    """Tell whether any settings of the user's name turnlog's hooks; None if they cannot be read."""
    try:
        texts = [path.read_bytes() for path in _list_settings(around) if path.exists()]
        return any(list_entries(text) for text in texts)
    except (OSError, NotSettingsError):
        return None


def _list_settings(around: Surroundings) -> list[Path]:
    return find_settings(HookScope.USER, around.config_dirs, Path())


_VERSION = version("turnlog")


@get("/api/health", opt=PUBLIC, sync_to_thread=True)
def get_health(store: GivenStore) -> Response[Health]:
    """Return whether the server works, and its version."""
    works = _answers(store)
    return Response(
        Health(status="ok" if works else "failing", version=_VERSION), status_code=200 if works else 503
    )


@get("/api/ready", opt=PUBLIC, sync_to_thread=True)
def get_ready(store: GivenStore, readiness: GivenReadiness) -> Response[ReadyState]:
    """Return whether requests should be sent here: not while the store fails or the server is shutting down.

    With `serve --drain`, a server that is asked to stop reports it here for a while before it ends.
    """
    if readiness.is_ending:
        return Response(ReadyState(ready=False, reason="ending"), status_code=503)
    if not _answers(store):
        return Response(ReadyState(ready=False, reason="failing"), status_code=503)
    return Response(ReadyState(ready=True))


def _answers(store: Store) -> bool:
    try:
        store.read_feed(LOCAL)
    except StoreError:
        return False
    return True


@get("/api/status", sync_to_thread=True)
def get_status(
    store: GivenStore,
    visible: GivenScope,
    syncing: GivenSync,
    surroundings: GivenSurroundings,
    hooks: GivenHooks,
    watch: GivenWatch,
    counter: NamedDependency[SkipValidation[ArchiveCounter]],
) -> Status:
    """Return what the archive has, how much of it exists only there, and how many sessions need attention."""
    counted, columns = counter.count(visible), count_columns(store, watch, visible)
    files = counted.files
    return Status(
        version=_VERSION,
        sessions=files.sessions,
        only_here=files.only_here,
        files=files.files,
        bytes=files.bytes,
        lines=files.lines,
        problems=counted.problems,
        needs_you=columns[Column.NEEDS_YOU],
        working=columns[Column.WORKING],
        hooks=view_hooks(store, visible, hooks, surroundings),
        demo=surroundings.demo,
        last_change=counted.last_change,
        sync=view_sync(syncing, in_detail=visible.viewer is None),
    )


_GivenNotifier = NamedDependency[SkipValidation[Notifier]]


@get("/api/notifications", opt=ADMINS, sync_to_thread=False)
def get_notifications(notifier: _GivenNotifier) -> Notifications:
    """Return who is notified when a session waits or ends; only `config.toml` can change that."""
    settings = notifier.settings
    return Notifications(
        desktop=settings.desktop,
        webhooks=tuple(
            WebhookItem(url=show_address(urlsplit(address)), on=settings.on) for address in settings.webhooks
        ),
        on=settings.on,
    )


@post("/api/notifications/test", opt=OPERATORS, status_code=200, sync_to_thread=True)
def test_notifications(notifier: _GivenNotifier) -> TestedNotifications:
    """Send a test notification to everyone now, and return the results."""
    return TestedNotifications(sent=tuple(send_test(list_targets(notifier.settings))))
