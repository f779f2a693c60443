"""`/metrics`: the figures for Prometheus, and the counts of the archive that they share with the status.

Labels are routes, never addresses: those contain what people searched for. The archive is counted again only
when something happened.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnlog.server.routes.hooks import HookReceiver
from turnlog.server.security.callers import ADMINS
from turnlog.server.security.gate import Seen
from turnlog.server.sync import SyncPhase, SyncState
from turnlog.store.interface import FileCounts, Store, count_files
from turnlog.store.lists import SessionFilter
from turnlog.store.model import Scope
from turnlog.store.opening import measure_store
from turnlog.store.places import StorePlace

_MOST_SCOPES = 256
WITH_PROBLEMS = SessionFilter(problems=True, archived=None)


class Counted(Struct, frozen=True, gc=False, kw_only=True):
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
        self._counted: OrderedDict[Scope, Counted] = OrderedDict()
        self._lock = Lock()

    def count(self, scope: Scope | None = None) -> Counted:
        """Return what there is now."""
        scope = scope or self._scope
        last = self._store.read_feed(scope).last
        with self._lock:
            counted = self._counted.get(scope)
        if counted is None or counted.last_change != last:
            # What comes in meanwhile is counted under a number that is too low, and so again next time.
            counted = Counted(
                last_change=last,
                files=count_files(self._store, scope),
                problems=self._store.list_sessions(scope, WITH_PROBLEMS, limit=0).total,
            )
        with self._lock:
            self._counted[scope] = counted
            self._counted.move_to_end(scope)
            if len(self._counted) > _MOST_SCOPES:
                self._counted.popitem(last=False)
        return counted


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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
        registry.register(_Archive(counter, place))
        registry.register(_Sync(syncing))
        ProcessCollector(registry=registry)

    def watch_hooks(self, hooks: HookReceiver) -> None:
        """Tell of hook deliveries, too."""
        self._registry.register(_Hooks(hooks))

    def observe(self, seen: Seen) -> None:
        """Count a request."""
        method = seen.method if seen.method in _METHODS else "other"
        self._requests.labels(method, seen.route, str(seen.status)).inc()
        self._durations.labels(seen.route).observe(seen.seconds)

    def render(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self._registry)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _Archive(Collector):
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

    def describe(self) -> Iterator[Metric]:
        return iter(())


class _Sync(Collector):
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

    def describe(self) -> Iterator[Metric]:
        return iter(())


class _Hooks(Collector):
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
            yield GaugeMetricFamily("turnlog_spool_aside", "Files that could not be read.", value=counts.aside)

    def describe(self) -> Iterator[Metric]:
        return iter(())


@get("/metrics", opt=ADMINS, sync_to_thread=True, include_in_schema=False)
def get_metrics(metrics: NamedDependency[SkipValidation[Metrics]]) -> Response[bytes]:
    """Return all figures."""
    return Response(metrics.render(), media_type=CONTENT_TYPE)
