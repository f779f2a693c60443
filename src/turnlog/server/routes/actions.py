"""`/api/sessions/{id}/actions`: every call and event in order, with what came of it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from litestar import Request, get
from litestar.params import QueryParameter
from msgspec import Struct

from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import InvalidRequestError
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_heard
from turnlog.server.parameters import FROM_ZERO, LARGEST, Categories, NamedSession
from turnlog.server.security.policies import LINKED
from turnlog.server.shapes.actions import Action as Shown
from turnlog.server.shapes.actions import ActionPage, ActionsOrder, ActionSpan
from turnlog.server.views.actions import TALLIES, view_actions
from turnlog.server.views.limits import sayable
from turnlog.server.views.moments import moment
from turnlog.transcripts.actions import ActionState
from turnlog.transcripts.lines.kinds import Category
from turnlog.transcripts.queries.actions import Action, ActionFilter, ActionPoint, TimeSpan

_MOST_SPANS = 120


class _Cursor(Struct, frozen=True, gc=False, array_like=True):
    """Behind which action a page begins."""

    index: int
    """Of the first on the page."""
    point: ActionPoint
    duration_ms: int | None


_decode = msgspec.json.Decoder(_Cursor).decode


@get("/api/sessions/{id:str}/actions", opt=LINKED, sync_to_thread=True)
def list_actions(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    category: Categories = None,
    outcome: Annotated[
        list[ActionState] | None, QueryParameter(max_items=20, description="Their outcome.")
    ] = None,
    name: Annotated[
        str | None,
        QueryParameter(max_length=200, description="The name of the tool, the hook event, or the line's type."),
    ] = None,
    min_ms: Annotated[
        int | None,
        QueryParameter(
            ge=0,
            le=LARGEST,
            description="Only actions that took at least this many milliseconds.",
            schema_extra=FROM_ZERO,
        ),
    ] = None,
    sort: Annotated[ActionsOrder, QueryParameter(description="The order.")] = ActionsOrder.ORDER,
    limit: Annotated[int, QueryParameter(ge=1, le=200, description="The maximum number of actions.")] = 100,
    cursor: Annotated[
        str | None,
        QueryParameter(max_length=200, description="Where to continue: `next` from the previous response."),
    ] = None,
) -> ActionPage:
    """List the actions of a session: calls of all agents, hook events, and other events.

    Calls and events are in file order; several files and hook events are merged by time. Slowest first, only
    actions with a known duration are listed. This also works for sessions known only from hooks.
    """
    heard = get_heard(store, visible, id, visit)
    last_change = store.read_feed(visible).last
    check_unchanged(request, heard.key, heard.revision, last_change)
    where = ActionFilter(
        categories=None if category is None else tuple(each.value for each in category),
        states=None if outcome is None else tuple(each.value for each in outcome),
        name=name,
        min_ms=0 if min_ms is None and sort is ActionsOrder.SLOWEST else min_ms,
    )
    begin = None if cursor is None else _read_cursor(cursor)
    with store.open_session(visible, heard.key, hooks=heard.hooks) as session:
        actions = session.list_actions(
            where,
            after=None if begin is None else begin.point,
            after_ms=None if begin is None else begin.duration_ms,
            slowest=sort is ActionsOrder.SLOWEST,
            count=limit + 1,
        )
        project = None if heard.stored is None else heard.stored.row.project
        items = view_actions(session, project, actions[:limit], 0 if begin is None else begin.index)
        tally = TALLIES.recall(
            store,
            (visible, heard.key, last_change, where),
            lambda: session.tally_actions(where, spans=_MOST_SPANS),
        )
    return ActionPage(
        items=items,
        total=tally.total,
        next=_write_cursor(items, actions) if len(items) < len(actions) else None,
        counts={Category(name): count for name, count in tally.counts.items()},
        names={sayable(name): count for name, count in tally.names.items()},
        failed=tally.failed,
        overview=tuple(_view_spans(tally.spans)),
        revision=heard.revision,
    )


def _read_cursor(text: str) -> _Cursor:
    try:
        found = _decode(b64decode(text.encode(), altchars=b"-_", validate=True))
    except (ValueError, msgspec.MsgspecError):
        raise InvalidRequestError("This cursor is not from this server") from None
    numbers = (found.index, found.duration_ms or 0, *(found.point.at, found.point.line, found.point.part))
    if not all(-LARGEST <= number <= LARGEST for number in numbers):
        raise InvalidRequestError("This cursor is not from this server")
    return found


def _write_cursor(items: Sequence[Shown], actions: Sequence[Action]) -> str:
    last = actions[len(items) - 1]
    cursor = _Cursor(items[-1].index + 1, last.point, last.duration_ms)
    return b64encode(msgspec.json.encode(cursor), altchars=b"-_").decode()


def _view_spans(spans: Sequence[TimeSpan]) -> Iterator[ActionSpan]:
    for span in spans:
        since, until = moment(span.since), moment(span.until)
        if since is not None and until is not None:
            yield ActionSpan(since=since, until=until, actions=span.actions, failed=span.failed)


HANDLERS = (list_actions,)
