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
from turnlog.server.views.lines import fit, read_each
from turnlog.server.views.turns import group_turn_calls, is_edited, view_turn
from turnlog.server.views.windows import read_titles
from turnlog.transcripts.agents.agent import AgentLink
from turnlog.transcripts.agents.states import AgentState
from turnlog.transcripts.records import AgentRecord

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
    with store.open_session(visible, session.key) as opened:
        main, total = opened.main, opened.count_turns()
        rows = [] if main is None else opened.list_turns(cursor, limit)
        prompts = [] if main is None else main.list_at(row.prompt for row in rows)
        titles = {} if main is None else read_titles(main, prompts)
        above = [] if main is None else main.list_at(row.parent for row in prompts if row.parent is not None)
        calls = group_turn_calls(opened.list_turn_calls(cursor, limit))
    own = {row.index: row for row in prompts}
    parents = {row.index: row for row in above}
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
    with store.open_session(visible, session.key) as opened:
        chapter = opened.find_chapter(source)
        parents = () if chapter is None else tuple(row.parent for row in chapter.list_messages(first, limit))
        branches = [] if chapter is None else chapter.list_branches()
        total = 0 if chapter is None else chapter.count_messages
    return Tree(
        parents=parents,
        first=first,
        total=total,
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
    with store.open_session(visible, session.key) as opened:
        rows = opened.list_agents()
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
    with store.open_session(visible, session.key) as opened:
        files = sorted(opened.files, key=lambda file: file.source)
        every = ((file, line) for file in files for line in file.list_flawed())
        flawed = list(islice(every, cursor, cursor + limit + 1))
        shown = fit(flawed[:limit], lambda each: each[1].length)
        lines = read_each((file, [line.number]) for file, line in shown)
        items = tuple(
            LineProblem(
                path=sayable(file.facts.path),
                source=file.source,
                offset=line.offset,
                line=line.number,
                kind=problem.kind,
                message=head_of(str(problem)),
            )
            for file, line in shown
            for problem in islice(lines[file][line.number].problems, _MOST_PROBLEMS)
        )
    return Problems(items=items, next=find_next(cursor, shown, cursor + len(flawed)))


def _view_agent(row: AgentRecord) -> Agent:
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
