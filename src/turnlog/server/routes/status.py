"""What the server reports of itself: health, readiness, status, metrics for Prometheus, and notifications.

Labels of metrics are routes, never addresses: those contain what people searched for. The archive is counted
again only when something happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from threading import Event, Lock
from typing import Literal
from urllib.parse import urlsplit

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnlog.config import Occasion
from turnlog.errors import StoreError
from turnlog.ingest.hook_install import HookScope, NotSettingsError, find_settings, list_entries
from turnlog.server.notifications import Notifier, Sent, list_targets, send_test, show_address
from turnlog.server.requests import GivenContext, GivenScope, GivenStore, GivenSync, ServerContext
from turnlog.server.routes.hooks import GivenHooks, HookReceiver
from turnlog.server.routes.mission_control import count_columns
from turnlog.server.security.callers import ADMINS, OPERATORS, PUBLIC
from turnlog.server.security.gate import AnsweredRequest
from turnlog.server.session_states import Column
from turnlog.server.sessions import WITH_PROBLEMS
from turnlog.server.state_watch import GivenWatch
from turnlog.server.sync import SyncPhase, SyncState, SyncStatus, view_sync
from turnlog.server.values import LruDict
from turnlog.shapes import fill
from turnlog.store.interface import FileCounts, MaintainedStore, Store, count_files
from turnlog.store.model import LOCAL, Scope, StorePlace
from turnlog.store.opening import measure_backlog, measure_store

_VERSION = version("turnlog")

_MOST_SCOPES = 256


class ArchiveCounts(Struct, frozen=True, gc=False, kw_only=True):
    """What there is, as of an entry of the feed."""

    last_change: int
    files: FileCounts
    problems: int
    """Sessions with wrong or unknown content in their lines."""


class ArchiveCounter:
    """Counts what may be seen, for each scope apart; from any thread."""

    def __init__(self, store: Store, scope: Scope) -> None:
        """Take the scope that is counted where none is named."""
        self._store = store
        self._scope = scope
        self._counted: LruDict[Scope, ArchiveCounts] = LruDict(_MOST_SCOPES)
        self._lock = Lock()

    def count(self, scope: Scope | None = None) -> ArchiveCounts:
        """Return what there is now."""
        scope = scope or self._scope
        last = self._store.read_feed(scope).last
        with self._lock:
            counted = self._counted.get(scope)
        if counted is None or counted.last_change != last:
            # What comes in meanwhile is counted under a number that is too low, and so again next time.
            counted = ArchiveCounts(
                last_change=last,
                files=count_files(self._store, scope),
                problems=self._store.list_sessions(scope, WITH_PROBLEMS, limit=0).total,
            )
        with self._lock:
            self._counted.put(scope, counted)
        return counted


_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The figures of one server."""

    def __init__(self, counter: ArchiveCounter, syncing: SyncState, place: StorePlace | None = None) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._requests = Counter(
            "turnlog_requests", "Requests answered.", ("method", "route", "status"), registry=registry
        )
        self._durations = Histogram(
            "turnlog_request_seconds",
            "Response times.",
            ("route",),
            buckets=_BUCKETS,
            registry=registry,
        )
        registry.register(_ArchiveCollector(counter, place))
        registry.register(_SyncCollector(syncing))
        ProcessCollector(registry=registry)

    def watch_hooks(self, hooks: HookReceiver) -> None:
        """Tell of hook deliveries, too."""
        self._registry.register(_HookCollector(hooks))

    def observe(self, seen: AnsweredRequest) -> None:
        """Count a request."""
        method = seen.method if seen.method in _METHODS else "other"
        self._requests.labels(method, seen.route, str(seen.status)).inc()
        self._durations.labels(seen.route).observe(seen.seconds)

    def render(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self._registry)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _LiveCollector(Collector):
    """Figures that are what they are when they are asked for."""

    def describe(self) -> Iterator[Metric]:
        return iter(())


class _ArchiveCollector(_LiveCollector):
    """Sessions and bytes."""

    def __init__(self, counter: ArchiveCounter, place: StorePlace | None) -> None:
        self._counter = counter
        self._place = place

    def collect(self) -> Iterator[Metric]:
        counted = self._counter.count()
        files = counted.files
        yield GaugeMetricFamily("turnlog_sessions", "Sessions in the archive.", value=files.sessions)
        yield GaugeMetricFamily(
            "turnlog_sessions_only_here", "Sessions whose files are gone.", value=files.only_here
        )
        yield GaugeMetricFamily("turnlog_archived_bytes", "Raw bytes read.", value=files.bytes)
        yield CounterMetricFamily("turnlog_changes", "Entries of the feed.", value=counted.last_change)
        if self._place is not None:
            size = measure_store(self._place)
            yield GaugeMetricFamily("turnlog_database_bytes", "The archive's files.", value=size)
            if (backlog := measure_backlog(self._place)) is not None:
                told = "Changes that the index has yet to learn of."
                yield GaugeMetricFamily("turnlog_index_backlog", told, value=backlog.entries)


class _SyncCollector(_LiveCollector):
    def __init__(self, state: SyncState) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        state = self._state
        phase = GaugeMetricFamily(
            "turnlog_sync_phase", "What the follower is doing: 1 for the current phase.", labels=("phase",)
        )
        for each in SyncPhase:
            phase.add_metric((each.value,), float(state.phase is each))
        yield phase
        yield CounterMetricFamily("turnlog_sync_looks", "Scans that found something.", value=state.looks)
        yield CounterMetricFamily("turnlog_sync_failures", "Scans that failed.", value=state.failures)
        yield CounterMetricFamily("turnlog_sync_restarts", "Times the follower exited.", value=state.restarts)
        yield CounterMetricFamily("turnlog_sync_lines", "Lines archived.", value=state.lines)
        yield CounterMetricFamily("turnlog_sync_bytes", "Bytes archived.", value=state.bytes)
        yield CounterMetricFamily("turnlog_sync_seconds", "Time spent archiving.", value=state.seconds)


class _HookCollector(_LiveCollector):
    def __init__(self, hooks: HookReceiver) -> None:
        self._hooks = hooks

    def collect(self) -> Iterator[Metric]:
        received = CounterMetricFamily(
            "turnlog_hooks_received", "Hook deliveries kept, by destination.", labels=("kept",)
        )
        for place, count in self._hooks.received.items():
            received.add_metric((place,), count)
        yield received
        sessions, events = self._hooks.window.count()
        yield GaugeMetricFamily("turnlog_live_sessions", "Sessions in the live window.", value=sessions)
        yield GaugeMetricFamily("turnlog_live_events", "Hook events in the live window.", value=events)
        if self._hooks.spool is not None:
            counts = self._hooks.spool.count()
            yield GaugeMetricFamily(
                "turnlog_spool_files", "Files waiting to be imported.", value=counts.waiting
            )
            yield GaugeMetricFamily(
                "turnlog_spool_quarantined", "Files that could not be read.", value=counts.quarantined
            )


@get("/metrics", opt=ADMINS, sync_to_thread=True, include_in_schema=False)
def get_metrics(metrics: NamedDependency[SkipValidation[Metrics]]) -> Response[bytes]:
    """Return all figures."""
    return Response(metrics.render(), media_type=_CONTENT_TYPE)


GivenEnding = NamedDependency[SkipValidation[Event]]
"""Parameter `ending`: set when the server answers for a moment longer, and wants no more requests."""


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
    quarantined: int
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


def _view_hooks(
    store: MaintainedStore, scope: Scope, hooks: HookReceiver, context: ServerContext
) -> HookStatus:
    """Return whether hooks are installed, and how much they brought; a viewer learns only the latter."""
    if scope.viewer is not None:
        return HookStatus(installed=None, deliveries=store.count_deliveries(scope), spooled=0, quarantined=0)
    counts = None if hooks.spool is None else hooks.spool.count()
    return HookStatus(
        installed=_are_installed(context),
        deliveries=store.count_deliveries(scope),
        spooled=0 if counts is None else counts.waiting,
        quarantined=0 if counts is None else counts.quarantined,
    )


def _are_installed(context: ServerContext) -> bool | None:
    """Tell whether any settings of the user's name turnlog's hooks; None if they cannot be read."""
    try:
        paths = find_settings(HookScope.USER, context.config_dirs, Path())
        texts = [path.read_bytes() for path in paths if path.exists()]
        return any(list_entries(text) for text in texts)
    except (OSError, NotSettingsError):
        return None


@get("/api/health", opt=PUBLIC, sync_to_thread=True)
def get_health(store: GivenStore) -> Response[Health]:
    """Return whether the server works, and its version."""
    works = _is_store_readable(store)
    return Response(
        Health(status="ok" if works else "failing", version=_VERSION), status_code=200 if works else 503
    )


@get("/api/ready", opt=PUBLIC, sync_to_thread=True)
def get_ready(store: GivenStore, ending: GivenEnding) -> Response[ReadyState]:
    """Return whether requests should be sent here: not while the store fails or the server is shutting down.

    With `serve --drain`, a server that is asked to stop reports it here for a while before it ends.
    """
    if ending.is_set():
        return Response(ReadyState(ready=False, reason="ending"), status_code=503)
    if not _is_store_readable(store):
        return Response(ReadyState(ready=False, reason="failing"), status_code=503)
    return Response(ReadyState(ready=True))


def _is_store_readable(store: Store) -> bool:
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
    context: GivenContext,
    hooks: GivenHooks,
    watch: GivenWatch,
    counter: NamedDependency[SkipValidation[ArchiveCounter]],
) -> Status:
    """Return what the archive has, how much of it exists only there, and how many sessions need attention."""
    counted, columns = counter.count(visible), count_columns(store, watch, visible)
    return fill(
        Status,
        counted.files,
        counted,
        version=_VERSION,
        needs_you=columns[Column.NEEDS_YOU],
        working=columns[Column.WORKING],
        hooks=_view_hooks(store, visible, hooks, context),
        demo=context.demo,
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
