"""The calls of a file, for `turnlog usage tool` without an archive."""

from __future__ import annotations

from pathlib import Path

from turnlog.instants import to_microseconds
from turnlog.messages import Line
from turnlog.messages.envelope import instant
from turnlog.store.usage_report import FAILED, CallUse
from turnlog.transcripts.calls.builder import build_calls
from turnlog.transcripts.files.reader import read_lines
from turnlog.transcripts.files.session_files import path_text
from turnlog.transcripts.usage.sightings import find_sighting


def read_calls(path: Path) -> list[CallUse]:
    """Return the calls of a file; raises `OSError`."""
    source = path_text(path)
    found: list[CallUse] = []
    for index, call in enumerate(build_calls(read_lines(path, source=source)).calls):
        answer = find_sighting(call.place.line)
        found.append(
            CallUse(
                message=None if answer is None else answer.message,
                id=call.id,
                name=call.name,
                failed=call.state in FAILED,
                started=_time_of(call.place.line),
                ended=None if call.result is None else _time_of(call.result.place.line),
                source=source,
                order=index,
            )
        )
    return found


def _time_of(line: Line) -> int | None:
    moment = instant(getattr(line.entry, "timestamp", None))
    return None if moment is None else to_microseconds(moment)
