"""What any file says about usage, by the full reader: arrays, older dialects, the stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog.transcripts.files.reader import read_lines
from turnlog.transcripts.usage.scanning import ReportedSighting, Scan, pack_sightings
from turnlog.transcripts.usage.sightings import SessionUsage, UsageFold, find_reported_cost


def read_usage(path: Path, source: str) -> Scan:
    """Return what a file says, line by line; raises `OSError`."""
    fold = UsageFold()
    cwds: dict[str, None] = {}
    for line in read_lines(path, source=source):
        fold.add(line)
        cwd = getattr(line.entry, "cwd", None)
        if isinstance(cwd, str) and cwd:
            cwds.setdefault(cwd)
    reported = [each for session in fold.list_sessions() for each in _list_reported(session, source)]
    return pack_sightings(fold.list_sightings(), reported, [*cwds])


def _list_reported(session: SessionUsage, source: str) -> Iterator[ReportedSighting]:
    for kind, entry in (("cost-state", session.cost_state), ("result", session.result)):
        cost = None if entry is None else find_reported_cost(entry)
        if cost is not None:
            yield ReportedSighting(session.session, source, kind, cost)
