"""What a sync did, in words."""

from __future__ import annotations

from turnlog.cli.rendering.figures import size_text
from turnlog.export.plain import plural
from turnlog.ingest.glance import SyncReport


def describe_sync(report: SyncReport) -> str:
    """Return what a sync did, in words."""
    parts = [f"{plural(report.sessions, 'session')}: {report.added:,} new, {report.changed:,} changed"]
    if report.rederived:
        parts.append(f"{report.rederived:,} derived again by newer rules")
    if report.gone:
        parts.append(f"{report.gone:,} deleted from disk and kept here")
    parts.append(
        f"{size_text(report.bytes)} and {plural(report.lines, 'line')} archived in {report.seconds:.1f} s"
    )
    return "; ".join(parts)
