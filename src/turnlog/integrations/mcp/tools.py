"""What can be asked of the archive: bounded questions that change nothing."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from typing import Annotated, Any

import msgspec
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from turnlog.errors import TurnlogError
from turnlog.instants import find_moment
from turnlog.integrations.mcp.answers import (
    Call,
    Conversation,
    Found,
    Hit,
    Listed,
    Message,
    Project,
    Projects,
    Sessions,
)
from turnlog.server.errors import RequestError
from turnlog.server.messages import CallBlock
from turnlog.server.messages import Message as Shown
from turnlog.server.sessions import find_session, name_session
from turnlog.server.values import clean_optional, clean_text, dollars, head_of
from turnlog.server.windows import Asked, ask_window, view_window
from turnlog.store.interface import Store
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import Scope
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import Hit as Passage
from turnlog.store.search.paging import SearchOrder
from turnlog.store.usage.building import UsageQuery, build_report
from turnlog.store.usage.cells import Span
from turnlog.store.usage.report import Grouping
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.queries.chapters import EVERY_MESSAGE

_SECONDS = 20.0
"""How long a search may take."""
_SHORT, _LONG = 1_500, 12_000
"""How many characters of a message are told."""
_ANSWER = 400

Limit = Annotated[int, Field(ge=1, le=50, description="The maximum number of results.")]
Cursor = Annotated[str | None, Field(max_length=400, description="`next` from the previous response.")]


class ArchiveTools:
    """Questions about a store, as whoever may see what is in a scope."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def search(
        self,
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=1000,
                description='Words, "phrases", prefix*, -not, OR, exact code; filters project: session: tool: '
                "model: role: branch: file: is:error after:7d before:2026-01-31.",
            ),
        ],
        limit: Limit = 20,
        order: SearchOrder = SearchOrder.NEWEST,
        cursor: Cursor = None,
    ) -> str:
        """Find passages in all earlier sessions: prompts, answers, tool inputs and outputs."""
        return _answer(lambda: self._search(query, limit, order, cursor))

    def file_history(
        self,
        path: Annotated[
            str, Field(min_length=1, max_length=1000, description="A file, or the end of its path.")
        ],
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> str:
        """Tell what earlier sessions did to a file, the newest first: each call that read or changed it."""
        quoted = path.replace('"', "")
        return _answer(lambda: self._search(f'file:"{quoted}"', limit, SearchOrder.NEWEST, cursor))

    def list_projects(
        self, text: Annotated[str | None, Field(max_length=500, description="Part of the path.")] = None
    ) -> str:
        """List the projects that sessions were in, the newest first."""
        return _answer(lambda: self._list_projects(text))

    def list_sessions(
        self,
        project: Annotated[str | None, Field(max_length=500, description="Part of its path.")] = None,
        text: Annotated[str | None, Field(max_length=500, description="Part of the title.")] = None,
        series: Annotated[
            str | None, Field(max_length=100, description="All sessions of one series, as a list names it.")
        ] = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> str:
        """List earlier sessions, the newest first; those that a program started with one prompt are one."""
        asked = SessionFilter(project=project, text=text, series=series)
        return _answer(lambda: self._list_sessions(asked, limit, cursor))

    def read_conversation(
        self,
        session: Annotated[
            str,
            Field(
                min_length=4,
                max_length=200,
                description="As returned by a search or list, or the beginning of its id.",
            ),
        ],
        around: Annotated[str | None, Field(max_length=200, description="The id of a message.")] = None,
        before: Annotated[int | None, Field(ge=0, description="Only messages before this number.")] = None,
        after: Annotated[int | None, Field(ge=0, description="Only messages after this number.")] = None,
        agent: Annotated[str | None, Field(max_length=200, description="The id of a sub-agent.")] = None,
        limit: Limit = 20,
        full: Annotated[bool, Field(description="Return more of each message.")] = False,
    ) -> str:
        """Read a window of a session: its beginning, or around, above or below a message."""
        asked = Asked(None, agent, around, before, after, limit)
        return _answer(lambda: self._read(session, asked, _LONG if full else _SHORT))

    def usage(
        self,
        by: Grouping = Grouping.DAILY,
        since: date | None = None,
        until: date | None = None,
        project: Annotated[str | None, Field(max_length=500, description="Part of its path.")] = None,
        top: Annotated[int, Field(ge=1, le=100)] = 31,
    ) -> str:
        """Count tokens and dollars by day, week, month, session, project, model, tool or block of 5 hours."""
        query = UsageQuery(
            zone=UTC,
            zone_name="UTC",
            now=datetime.now(UTC),
            by=by,
            breakdown=None,
            span=Span(since, until),
            project=project,
            most=top,
        )
        return _answer(lambda: build_report(self._store.read_usage(self._scope), query))

    def _search(self, text: str, limit: int, order: SearchOrder, cursor: str | None) -> Found:
        deadline = time.monotonic() + _SECONDS
        page = self._store.search(
            self._scope,
            parse_query(text),
            order=order,
            limit=limit,
            cursor=cursor,
            cancelled=lambda: time.monotonic() > deadline,
        )
        return Found(hits=tuple(map(_tell_hit, page.hits)), next=page.next)

    def _list_projects(self, text: str | None) -> Projects:
        found = self._store.list_projects(self._scope, text=text)
        told = tuple(
            Project(
                path=clean_optional(each.path),
                sessions=each.sessions,
                last_at=find_moment(each.last_time),
                cost_usd=dollars(each.cost),
            )
            for each in found[:200]
        )
        return Projects(projects=told, total=len(found))

    def _list_sessions(self, asked: SessionFilter, limit: int, cursor: str | None) -> Sessions:
        grouped = asked.series is None
        page = self._store.list_sessions(self._scope, asked, limit=limit, cursor=cursor, grouped=grouped)
        return Sessions(sessions=tuple(map(_tell_session, page.sessions)), total=page.total, next=page.next)

    def _read(self, name: str, asked: Asked, length: int) -> Conversation:
        session = find_session(self._store, self._scope, name)
        with self._store.open_session(self._scope, session.key) as opened:
            found = ask_window(opened, asked, EVERY_MESSAGE)
            shown = view_window(self._store, self._scope, session, found)
            wanted = None if asked.around is None or not found.rows else found.rows[found.anchor].index
            above = shown[0].index if shown else found.at
            below = shown[-1].index if shown else found.at
            return Conversation(
                session_id=name_session(session),
                messages=tuple(
                    _tell_message(each, length)
                    for each in shown
                    if each.rule != Rule.META or each.index == wanted
                ),
                total=found.selection.total,
                before=above if found.selection.list_before(above, 1) else None,
                after=below if found.selection.list_after(below + 1, 1) else None,
            )


def _answer(ask: Any) -> str:
    try:
        return msgspec.json.encode(ask()).decode()
    except (TurnlogError, RequestError) as error:
        raise ToolError(str(error)) from None


def _tell_hit(hit: Passage) -> Hit:
    return Hit(
        session=clean_text(hit.session or hit.session_id),
        session_id=clean_text(hit.session_id),
        message=clean_optional(hit.message_id),
        kind=hit.kind,
        at=find_moment(hit.time),
        project=clean_optional(hit.project),
        tool=clean_optional(hit.tool),
        agent=clean_optional(hit.agent_id),
        untrusted=clean_text(hit.snippet.text),
    )


def _tell_session(stored: StoredSession) -> Listed:
    row = stored.row
    title = stored.marks.name or row.title
    return Listed(
        session=stored.key,
        session_id=name_session(stored),
        project=clean_optional(row.project),
        branch=clean_text(row.branches[-1]) if row.branches else None,
        started_at=find_moment(row.first_time),
        last_at=find_moment(row.last_time),
        messages=row.messages,
        cost_usd=dollars(row.cost),
        series=row.series,
        alike=stored.alike,
        untrusted=None if title is None else head_of(title),
    )


def _tell_message(shown: Shown, length: int) -> Message:
    calls = tuple(
        Call(
            tool=block.call.name,
            state=str(block.call.state),
            untrusted=_tell_call(block, length),
        )
        for block in shown.blocks
        if isinstance(block, CallBlock)
    )
    return Message(
        message=shown.uuid,
        author=shown.author,
        at=shown.created_at,
        untrusted=shown.content[:length],
        cut=len(shown.content) > length,
        calls=calls,
    )


def _tell_call(block: CallBlock, length: int) -> str:
    answer = "" if block.call.result is None else block.call.result.text
    return f"{block.call.title[:_ANSWER]}\n{answer[: max(_ANSWER, length // 4)]}".strip()
