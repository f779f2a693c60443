"""All that a store keeps of a session besides its bytes, to compare with what another one keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turnlog.store.interface import Store
from turnlog.store.model import LOCAL
from turnlog.transcripts.segments import MessageRecord

Records = Mapping[str, list[object]]
"""By what they are, each with its file where they are of one."""


def list_records(store: Store, key: str) -> Records:
    """Return all records of a session, and its segments as they are kept."""
    with store.open_session(LOCAL, key) as session:
        files = session.files
        found: dict[str, list[object]] = {
            "facts": [file.facts for file in files],
            "heads": [(file.source, head) for file in files for head in file.heads],
            "turns": [*session.list_turns()],
            "agents": [*session.list_agents()],
        }
        sections: dict[str, list[tuple[str, Iterable[object]]]] = {
            "lines": [(file.source, file.list_lines()) for file in files],
            "messages": [(file.source, file.list_messages()) for file in files],
            "calls": [(file.source, file.list_calls()) for file in files],
            "events": [(file.source, file.list_events()) for file in files],
            "sightings": [(file.source, file.list_sightings()) for file in files],
            "branches": [(file.source, file.list_branches()) for file in files],
            # By their bytes: whoever has the same lines has the same segments.
            "segments": [(file.source, [file.load(head.number) for head in file.heads]) for file in files],
        }
        found |= {
            name: [(source, each) for source, own in rows for each in own] for name, rows in sections.items()
        }
    return found


def list_messages(store: Store, key: str, source: str | None = None) -> list[MessageRecord]:
    """Return the messages of a session's transcript, or of another file."""
    with store.open_session(LOCAL, key) as session:
        chapter = session.find_chapter(source)
        return [] if chapter is None else [*chapter.list_messages()]
