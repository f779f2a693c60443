"""What Prometheus may know. Labels are routes, never addresses: those hold what people looked for."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnlog.server.counting import ArchiveCounter
from turnlog.server.receiving import HookReceiver
from turnlog.server.security.gate import Seen
from turnlog.server.sync_state import SyncPhase, SyncState
from turnlog.store.opening import measure_store
from turnlog.store.places import StorePlace

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
