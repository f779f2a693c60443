"""What a session is made of besides its messages and calls: turns, tree, agents, problems."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from litestar import Request, get
from litestar.params import QueryParameter

from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import FROM_ZERO, LARGEST, Cursor, Limit, NamedSession, Source, find_next
from turnlog.server.security.policies import LINKED
from turnlog.server.shapes.conversations import (
    Agent,
    Agents,
    Branch,
    LineProblem,
    Problems,
    Tree,
    Turns,
)
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.stretches import fit
from turnlog.server.views.turns import group_turn_calls, is_edited, view_turn
from turnlog.server.views.windows import read_places, read_titles
from turnlog.store.rows import AgentRow
from turnlog.transcripts.agents.agent import AgentLink
from turnlog.transcripts.agents.states import AgentState

__all__ = ["HANDLERS", "get_tree", "list_agents", "list_problems", "list_turns"]

_MOST_BRANCHES = 10_000
_MOST_PROBLEMS = 50
"""Of one line."""


@get("/api/sessions/{id:str}/turns", opt=LINKED, sync_to_thread=True)
def list_turns(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    limit: Limit = 200,
    cursor: Cursor = 0,
) -> Turns:
    """List a session's turns: each prompt with what it took to answer it."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    rows = store.list_turns(visible, session.key, first=cursor, count=limit)
    total = store.count_turns(visible, session.key)
    prompts = store.list_at(visible, session.key, [row.prompt for row in rows])
    titles = read_titles(store, visible, prompts)
    own = {row.index: row for row in prompts}
    above = store.list_at(visible, session.key, [row.parent for row in prompts if row.parent is not None])
    parents = {row.index: row for row in above}
    calls = group_turn_calls(store.list_turn_calls(visible, session.key, first=cursor, count=limit))
    items = tuple(
        view_turn(
            row,
            own[row.prompt],
            titles[row.prompt],
            calls.get(row.index, ()),
            is_edited(own[row.prompt], parents),
        )
        for row in rows
        if row.prompt in titles
    )
    return Turns(items=items, total=total, next=find_next(cursor, items, total), revision=session.revision)


@get("/api/sessions/{id:str}/tree", opt=LINKED, sync_to_thread=True)
def get_tree(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    source: Source = None,
    first: Annotated[
        int,
        QueryParameter(
            ge=0,
            le=LARGEST,
            description="The index of the first message to return.",
            schema_extra=FROM_ZERO,
        ),
    ] = 0,
    limit: Annotated[
        int, QueryParameter(ge=1, le=10_000, description="The maximum number of messages.")
    ] = 1000,
) -> Tree:
    """Return which message follows which, starting at one, and all branches."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    rows = store.list_outline(visible, session.key, source=source, first=first, count=limit)
    branches = store.list_branches(visible, session.key, source=source)
    return Tree(
        parents=tuple(row.parent for row in rows),
        first=first,
        total=store.count_messages(visible, session.key, source=source),
        branches=tuple(
            Branch(
                index=branch.index,
                first=branch.first,
                last=branch.last,
                parent=branch.parent,
                messages=branch.messages,
                active=branch.active,
            )
            for branch in branches[:_MOST_BRANCHES]
        ),
        revision=session.revision,
    )


@get("/api/sessions/{id:str}/agents", opt=LINKED, sync_to_thread=True)
def list_agents(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    limit: Annotated[int, QueryParameter(ge=1, le=5000, description="The maximum number of agents.")] = 1000,
    cursor: Cursor = 0,
) -> Agents:
    """List a session's sub-agents, at any depth."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    rows = store.list_agents(visible, session.key)
    items = tuple(map(_view_agent, rows[cursor : cursor + limit]))
    return Agents(
        items=items, total=len(rows), next=find_next(cursor, items, len(rows)), revision=session.revision
    )


@get("/api/sessions/{id:str}/problems", sync_to_thread=True)
def list_problems(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    limit: Annotated[int, QueryParameter(ge=1, le=200, description="The maximum number of lines.")] = 100,
    cursor: Cursor = 0,
) -> Problems:
    """List what is wrong or unknown in a session's files, line by line.

    `limit` and `cursor` count lines; each may have several problems.
    """
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    flawed = store.list_flawed(visible, session.key, first=cursor, count=limit + 1)
    shown = fit(store, visible, flawed[:limit], lambda each: (each.place,))
    lines = read_places(store, visible, [each.place for each in shown])
    items = tuple(
        LineProblem(
            path=sayable(each.path),
            source=each.place.source,
            offset=each.place.offset,
            line=each.number,
            kind=problem.kind,
            message=head_of(str(problem)),
        )
        for each in shown
        for problem in islice(lines[each.place].problems, _MOST_PROBLEMS)
    )
    return Problems(items=items, next=find_next(cursor, shown, cursor + len(flawed)))


def _view_agent(row: AgentRow) -> Agent:
    return Agent(
        index=row.index,
        id=sayable(row.id),
        type=say(row.type),
        description=None if row.description is None else head_of(row.description),
        state=AgentState(row.state),
        depth=row.depth,
        inline=row.inline,
        background=row.background,
        parent_id=say(row.parent_id),
        run_id=say(row.run_id),
        source=row.file,
        call=row.call,
        call_source=row.call_source,
        linked_by=None if row.linked_by is None else AgentLink(row.linked_by),
    )


HANDLERS = (list_turns, get_tree, list_agents, list_problems)
