"""`/api/sessions/{id}/timeline`: a conversation with the hook events that came in between."""

from __future__ import annotations

from typing import Any

from litestar import Request, get

from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_heard
from turnlog.server.parameters import (
    Active,
    After,
    AgentId,
    Around,
    Before,
    BranchNumber,
    Categories,
    Lanes,
    NamedSession,
    Roles,
    Source,
    WindowLimit,
)
from turnlog.server.security.policies import LINKED
from turnlog.server.shapes.timeline import TimelineWindow
from turnlog.server.views.timeline import list_notes, view_timeline
from turnlog.server.views.windows import Asked, ask_window, build_filter, view_window
from turnlog.transcripts.queries.chapters import EVERY_MESSAGE


@get("/api/sessions/{id:str}/timeline", opt=LINKED, sync_to_thread=True)
def list_timeline(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    source: Source = None,
    agent: AgentId = None,
    around: Around = None,
    before: Before = None,
    after: After = None,
    limit: WindowLimit = 100,
    lane: Lanes = None,
    role: Roles = None,
    category: Categories = None,
    branch: BranchNumber = None,
    active: Active = None,
) -> TimelineWindow:
    """List consecutive messages, with what happened under them: hook events and notes.

    Windows are those of `/messages`. A hook event is placed under the message that made its call, otherwise
    under the last one that is not later; events before the first message are in the first window. Lines that
    report the same hook event become its `commands`, not separate messages. Lines that are not messages but
    say what happened (to the queue, snapshots of files, how long a turn took) are notes under the message above
    them, unless messages are selected by filters. A session known only from hooks has hook events and no
    messages.
    """
    heard = get_heard(store, visible, id, visit)
    check_unchanged(request, heard.key, heard.revision, store.read_feed(visible).last)
    with store.open_session(visible, heard.key, hooks=heard.hooks) as session:
        if heard.stored is None:
            items, omitted = view_timeline(session, None, (), (), above=True)
            return TimelineWindow(items=items, total=0, before=None, after=None, revision=0, omitted=omitted)
        where = build_filter(lane, role, category, branch, active)
        found = ask_window(session, Asked(source, agent, around, before, after, limit), where)
        selection, chapter = found.selection, found.selection.chapter
        messages = view_window(store, visible, heard.stored, found)
        above = messages[0].index if messages else found.at
        below = messages[-1].index + 1 if messages else found.at
        is_first = not selection.list_before(above, 1)
        behind = selection.list_after(below, 1)
        notes = None
        if chapter is not None and selection.where == EVERY_MESSAGE:
            shown = [row for row in found.rows if above <= row.index < below]
            notes = list_notes(chapter, shown, behind[0] if behind else None, is_first)
        items, omitted = view_timeline(session, chapter, found.rows, messages, is_first, notes)
    return TimelineWindow(
        items=items,
        total=selection.total,
        before=None if is_first else str(above),
        after=str(below - 1) if behind else None,
        revision=heard.revision,
        omitted=omitted,
    )


HANDLERS = (list_timeline,)
