"""Calls as the API tells them: what their records say, and with their bodies what their lines say.

Claude Code puts long results into files of their own. A result says where its file is, and that is untrusted:
only the name counts, among the files of results that the archive has of the same session.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import quote

from msgspec import Raw
from msgspec.structs import replace

from turnlog.server.shapes.calls import Call, CallResult, Offloaded
from turnlog.server.views.images import has_bytes, view_image
from turnlog.server.views.limits import LONGEST_SHOWN, cut, cut_json, head_of, say, sayable
from turnlog.server.views.lines import fit, read_each
from turnlog.server.views.moments import moment, took_ms
from turnlog.store.interface import KnownSource, Store, find_known
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope, SourceKind
from turnlog.transcripts.calls.call import Call as BuiltCall
from turnlog.transcripts.calls.results import Result
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.lines.kinds import Category
from turnlog.transcripts.queries.bodies import build_call
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.records import CallRecord


def view_call(chapter: Chapter, record: CallRecord) -> Call:
    """Return a call without its body."""
    return Call(
        index=record.index,
        source=chapter.source,
        uuid=None,
        id=say(record.id),
        name=sayable(record.name),
        category=Category(record.category),
        state=CallState(record.state),
        title="",
        path=say(record.path),
        changes_file=record.changes_file,
        message=record.message,
        agent_id=say(record.agent_id),
        started_at=moment(record.started),
        ended_at=moment(record.ended),
        duration_ms=took_ms(record.started, record.ended),
    )


class CallViewer:
    """Tells calls of one session with their bodies; the store is asked when the first result has a file."""

    def __init__(self, store: Store, scope: Scope, session: StoredSession) -> None:
        self._store = store
        self._scope = scope
        self._key = session.key
        self._project = session.row.project

    def list_calls(self, calls: Sequence[tuple[Chapter, CallRecord]]) -> tuple[Call, ...]:
        """Return calls with their bodies; only the first, if they are very long together."""
        calls = fit(calls, lambda each: each[0].measure(_list_lines(each[1])))
        lines = read_each((chapter, _list_lines(record)) for chapter, record in calls)
        return tuple(
            self.view(chapter, record, build_call(record, lines[chapter])) for chapter, record in calls
        )

    def view(self, chapter: Chapter, record: CallRecord, call: BuiltCall) -> Call:
        """Return a call with its body."""
        given = call.block.input
        return replace(
            view_call(chapter, record),
            uuid=say(call.extracted_id),
            title=head_of(topic_of(call.name, given, self._project)),
            input=cut_json(given) if isinstance(given, Raw) else None,
            result=None if call.result is None else self._view_result(chapter, call.result),
        )

    def _view_result(self, chapter: Chapter, result: Result) -> CallResult:
        text, truncated = cut(result.text, LONGEST_SHOWN)
        images = filter(has_bytes, result.images)
        return CallResult(
            text=text,
            truncated=truncated,
            length=len(result.text),
            is_error=result.is_error if isinstance(result.is_error, bool) else None,
            images=tuple(view_image(each, result.place.line, self._key, chapter) for each in images),
            offloaded=self._find_file(result.offloaded_path),
            details=cut_json(result.display) if isinstance(result.display, Raw) else None,
        )

    def _find_file(self, told: str | None) -> Offloaded | None:
        """Return the file that a result names; None if it names none, or none that is here."""
        found = None if told is None else self._files.get(_name_of(told))
        if found is None:
            return None
        return Offloaded(
            href=f"/api/sessions/{quote(self._key, safe='')}/tool-results/{quote(found.source, safe='')}",
            name=sayable(_name_of(found.path)),
            size=found.length,
        )

    @cached_property
    def _files(self) -> dict[str, KnownSource]:
        known = find_known(self._store, self._scope, self._key)
        sources = () if known is None else known.sources
        return {_name_of(each.path): each for each in sources if each.kind is SourceKind.TOOL_RESULT}


def _list_lines(record: CallRecord) -> set[int]:
    """Return the lines of a call and its result."""
    return {record.line} if record.result_line is None else {record.line, record.result_line}


def _name_of(path: str) -> str:
    return PureWindowsPath(PurePosixPath(path).name).name
