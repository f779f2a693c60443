"""What Prometheus may know. Labels are routes, never addresses: those hold what people looked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turnlog.server.security.gate import Seen
from turnlog.server.sync_state import SyncPhase, SyncState
from turnlog.store.identity import LOCAL
from turnlog.store.interface import Store

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The figures of one server."""

    def __init__(self, store: Store, syncing: SyncState, place: Path | None = None) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._requests = Counter(
            "turnlog_requests", "Requests that were answered.", ("method", "route", "status"), registry=registry
        )
        self._durations = Histogram(
            "turnlog_request_seconds",
            "How long answers took.",
            ("route",),
            buckets=_BUCKETS,
            registry=registry,
        )
        registry.register(_Archive(store, place))
        registry.register(_Sync(syncing))
        ProcessCollector(registry=registry)

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
    """Sessions and bytes; the sessions are counted again only when something happened."""

    def __init__(self, store: Store, place: Path | None) -> None:
        self._store = store
        self._place = place
        self._counted = (-1, 0)

    def collect(self) -> Iterator[Metric]:
        last = self._store.find_last_change(LOCAL)
        if last != self._counted[0]:
            self._counted = (last, sum(1 for _ in self._store.list_known(LOCAL)))
        yield GaugeMetricFamily("turnlog_sessions", "Sessions in the archive.", value=self._counted[1])
        yield CounterMetricFamily("turnlog_changes", "Entries of the feed.", value=last)
        if self._place is not None:
            names = (os.fspath(self._place) + end for end in ("", "-wal"))
            size = sum(os.path.getsize(name) for name in names if os.path.exists(name))
            yield GaugeMetricFamily("turnlog_database_bytes", "The archive's files.", value=size)

    def describe(self) -> Iterator[Metric]:
        return iter(())


class _Sync(Collector):
    def __init__(self, state: SyncState) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        state = self._state
        phase = GaugeMetricFamily("turnlog_sync_phase", "What the follower does: 1 for one.", labels=("phase",))
        for each in SyncPhase:
            phase.add_metric((each.value,), float(state.phase is each))
        yield phase
        yield CounterMetricFamily("turnlog_sync_looks", "Looks that found something.", value=state.looks)
        yield CounterMetricFamily("turnlog_sync_failures", "Looks that failed.", value=state.failures)
        yield CounterMetricFamily("turnlog_sync_restarts", "Times the follower ended.", value=state.restarts)
        yield CounterMetricFamily("turnlog_sync_lines", "Lines that were archived.", value=state.lines)
        yield CounterMetricFamily("turnlog_sync_bytes", "Bytes that were archived.", value=state.bytes)
        yield CounterMetricFamily("turnlog_sync_seconds", "Time that took.", value=state.seconds)

    def describe(self) -> Iterator[Metric]:
        return iter(())
