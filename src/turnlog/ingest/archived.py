"""What is asked of the archive about one session besides its records."""

from __future__ import annotations

from pathlib import Path

from msgspec import json

from turnlog.messages import Position
from turnlog.store.interface import KnownSession, KnownSource, Store, find_sessions, read_all
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope, SourceKind
from turnlog.transcripts.agents import LineProblem
from turnlog.transcripts.line_reader import decode_agent_meta, decode_workflow_record
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import list_line_problems
from turnlog.transcripts.summary import Summary

_SIDECARS = (SourceKind.AGENT_META, SourceKind.WORKFLOW)


def find_transcript(known: KnownSession) -> KnownSource | None:
    """Return the session's main file; of several, the first that is still there."""
    found = [source for source in known.sources if source.kind is SourceKind.TRANSCRIPT]
    return min(found, key=lambda source: not source.present, default=None)


def read_summary(store: Store, scope: Scope, stored: StoredSession) -> Summary:
    """Return a session at a glance; raises `KeyError` for one that is not there any more."""
    data = stored.row.summary
    if not data:  # lists leave it out
        found = [each for each in find_sessions(store, scope, stored.key) if each.key == stored.key]
        data = found[0].row.summary if found else b""
    if not data:
        raise KeyError(stored.key)
    return json.decode(data, type=Summary)


def list_problems(
    store: Store, scope: Scope, known: KnownSession, session: SessionRecords
) -> list[LineProblem]:
    """Return what is wrong or unknown in all files of a session, named by their paths."""
    found = list_line_problems(session)
    small = [source for source in known.sources if source.kind in _SIDECARS]
    for source in sorted(small, key=lambda each: (_SIDECARS.index(each.kind), Path(each.path))):
        data = b"".join(read_all(store.archive, scope, source.source, source.generation))
        is_meta = source.kind is SourceKind.AGENT_META
        seen = decode_agent_meta(data) if is_meta else decode_workflow_record(data)
        found += (LineProblem(Position(source.path, 0), problem) for problem in seen.problems)
    return found
