"""A machine that pushes to a store, without anything between them; and what two stores must have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from session_records import list_records
from turnlog.ingest.change_check import match_known
from turnlog.ingest.pusher import build_deletion, collect_changes, identify_session
from turnlog.ingest.sync_plan import build_plan
from turnlog.ingest.upload_protocol import (
    CHUNK,
    PROTOCOL,
    Outcome,
    SessionAnswer,
    SessionUpload,
    Upload,
    encode_upload,
    from_server_session,
    to_server_session,
)
from turnlog.ingest.upload_receiver import ReceivedUpload, UploadReceiver
from turnlog.ingest.verification import verify_session
from turnlog.store.interface import KnownSession, MaintainedStore, find_sessions
from turnlog.store.model import LOCAL, StorePlace
from turnlog.store.opening import open_store
from turnlog.store.search.language import parse_query
from turnlog.store.usage_cells import merge_cells
from turnlog.testing.checks import read_bytes, sort_sources
from turnlog.transcripts.session_files import SessionFiles

ORIGIN = "0123456789abcdef" * 2


class PushedStore:
    """A store that takes what one machine pushes."""

    def __init__(self, place: StorePlace, limit: int = CHUNK) -> None:
        self.store: MaintainedStore = open_store(place)
        self.taker = UploadReceiver(self.store)
        self.limit = limit
        self.uploads = 0

    def list_known(self) -> list[KnownSession]:
        """What the machine is told that the server has."""
        return [
            from_server_session(to_server_session(known), ORIGIN)
            for known in self.store.list_known(LOCAL, ORIGIN)
        ]

    def push(self, sessions: Iterable[SessionFiles], within: Iterable[Path] = ()) -> None:
        """Push all that is new, part by part."""
        plan = build_plan(sessions, self.list_known(), ORIGIN, within)
        for task in plan.tasks:
            assert task.files is not None
            self.push_session(task.files, task.known)
        for gone in plan.gone:
            self.take(build_deletion(gone))

    def push_session(self, files: SessionFiles, known: KnownSession | None) -> None:
        while True:
            upload = collect_changes(
                identify_session(files), *match_known(files, known), known, origin=ORIGIN, limit=self.limit
            ).upload
            if upload is None:
                return
            answer = self.take(upload)
            assert (answer.outcome, answer.reason) == (Outcome.TAKEN, "")
            if answer.session is None:
                return
            known = from_server_session(answer.session, ORIGIN)
            if not upload.has_more:
                return

    def take(self, *uploads: SessionUpload) -> SessionAnswer:
        """Take some sessions at once, and return what became of the last."""
        self.uploads += 1
        upload = Upload(protocol=PROTOCOL, origin=ORIGIN, sessions=uploads)
        [answer] = self.taker.take([ReceivedUpload(ORIGIN, encode_upload(upload))])
        assert len(answer.sessions) == len(uploads)
        return answer.sessions[-1]


def check_same(one: MaintainedStore, other: MaintainedStore, *, copies: bool = True) -> None:
    """Two stores have the same, but for how often they wrote and when.

    What is a copy of what depends on what came together, where uuids are not unique.
    """
    mine, yours = _know(one, copies), _know(other, copies)
    assert mine == yours
    for known in mine:
        for name, rows in _list_rows(one, known).items():
            assert rows == _list_rows(other, known)[name], (known.session_id, name)
    assert _list_hits(one) == _list_hits(other)
    assert _list_usage(one) == _list_usage(other)
    assert one.list_facets(LOCAL) == other.list_facets(LOCAL)
    assert one.list_projects(LOCAL) == other.list_projects(LOCAL)
    assert [each.row for each in find_sessions(one, LOCAL, "")] == [
        each.row for each in find_sessions(other, LOCAL, "")
    ]


def _list_rows(store: MaintainedStore, known: KnownSession) -> dict[str, object]:
    all_of = [(source.source, at) for source in known.sources for at in range(source.generation + 1)]
    return {"bytes": [read_bytes(store, LOCAL, *each) for each in all_of], **list_records(store, known.key)}


def _list_hits(store: MaintainedStore) -> Sequence[object]:
    hits = store.search(LOCAL, parse_query("*e* OR *o*"), limit=100_000).hits
    return sorted((hit.source or "", hit.line or 0, hit.ordinal, hit.snippet) for hit in hits)


def _list_usage(store: MaintainedStore) -> list[object]:
    usage = store.read_usage(LOCAL)
    answers = sorted(usage.list_answers(), key=lambda answer: answer.message)
    return [merge_cells(usage.list_cells()), answers, [*usage.list_calls()], [*usage.list_reported()]]


def check_sound(store: MaintainedStore) -> None:
    """All that a store has follows from its bytes."""
    for known in list(store.list_known(LOCAL)):
        assert verify_session(store, LOCAL, known).disagreements == ()
    assert store.list_flaws(LOCAL) == []


def _know(store: MaintainedStore, copies: bool = True) -> list[KnownSession]:
    return [_mask(sort_sources(known), copies) for known in store.list_known(LOCAL)]


def _mask(known: KnownSession, copies: bool) -> KnownSession:
    sources = [source if copies else replace(source, copied_from=None) for source in known.sources]
    return replace(known, revision=0, sources=tuple(sources))
