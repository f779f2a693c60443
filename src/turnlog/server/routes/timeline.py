"""What happened in a session, in order: its timeline, and its actions.

`/api/sessions/{id}/timeline` is a window of messages with the hook events and notes under them;
`/api/sessions/{id}/actions` is every call and event, from files and from hooks, with its outcome.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Annotated, Literal

import msgspec
from litestar import get
from msgspec import Raw, Struct

from turnlog.instants import find_moment
from turnlog.messages import Line
from turnlog.server import values
from turnlog.server.audit import GivenSession
from turnlog.server.errors import InvalidRequestError
from turnlog.server.messages import Message
from turnlog.server.requests import LARGEST, Categories, integer, query
from turnlog.server.routes.messages import WINDOW, GivenWindow
from turnlog.server.security.callers import LINKED
from turnlog.server.windows import find_window, view_window
from turnlog.transcripts.actions import (
    ActionState,
    HookRun,
    describe_event,
    describe_runs,
    merge_runs,
    read_hook_line,
    report_of,
)
from turnlog.transcripts.conversation.messages import Rule
from turnlog.transcripts.hooks import GROUPS, HookDelivery, HookGroup, match_lines
from turnlog.transcripts.kinds import CallState, Category, topic_of
from turnlog.transcripts.queries.chapters import EVERY_MESSAGE, Chapter
from turnlog.transcripts.queries.sessions import Action as ActionRecord
from turnlog.transcripts.queries.sessions import (
    ActionFilter,
    ActionKind,
    ActionPoint,
    ActionTally,
    HookPlace,
    SessionActions,
    TimeSpan,
)
from turnlog.transcripts.queries.threads import build_call
from turnlog.transcripts.segment_builder import time_of
from turnlog.transcripts.segments import CallRecord, EventRecord, MessageRecord


class HookCommand(Struct, frozen=True, gc=False, kw_only=True):
    """A command that a hook event triggered, as reported in the session's files."""

    name: str
    """The name of the hook, such as `PreToolUse:Bash`."""
    command: str | None
    outcome: str | None
    """The outcome: `ok`, `failed`, `blocked`, `cancelled`, `context`, `told`, `stopped`, `deferred`, or the
    decision on a call; null while it runs, or if only its start was reported."""
    exit_code: int | None
    duration_ms: int | None
    output: str | None
    """Its output."""


class HookItem(Struct, frozen=True, gc=False, kw_only=True):
    """A hook event."""

    id: int
    """The delivery's number in this archive."""
    delivery_id: str
    at: datetime | None
    """When it arrived."""
    event_name: str
    tool_name: str | None
    label: str
    """For people."""
    group: HookGroup | None
    """What it says about the agent's state; null if nothing."""
    context: Raw | None
    """What is specific to the event; null also if it is too long."""
    tool_use_id: str | None
    agent_id: str | None
    message: int | None
    """The index of the message that it is placed under; null above the first."""
    commands: tuple[HookCommand, ...]
    """From lines that report the same event, which are not shown again."""


class NoteItem(Struct, frozen=True, gc=False, kw_only=True):
    """Something that happened between messages: to the queue, a snapshot of files, or how long a turn took."""

    line: int
    """The line's position in the file, from 0."""
    message: int | None
    """The index of the message that it is placed under; null above the first."""
    category: Literal["queue", "snapshot", "system"]
    text: str
    """What happened, in a sentence."""
    created_at: datetime | None


class MessageEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="message"):
    """A message, at its place in the file."""

    message: Message


class HookEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="hook"):
    """A hook event, after the message that it is placed under."""

    hook: HookItem


class NoteEntry(Struct, frozen=True, gc=False, kw_only=True, tag_field="kind", tag="note"):
    """What happened below a message, where it stands in the file."""

    note: NoteItem


TimelineEntry = MessageEntry | HookEntry | NoteEntry


class TimelineWindow(Struct, frozen=True, gc=False, kw_only=True):
    """A window of messages with what happened under them, and how to continue in both directions."""

    items: tuple[TimelineEntry, ...]
    total: int
    """The number of messages in the file, ignoring filters."""
    before: str | None
    """Pass it as `before` for the messages above; None at the beginning."""
    after: str | None
    """Pass it as `after` for the messages below; None at the end."""
    revision: int
    """The revision of the session; it increases when its files change."""
    omitted: int = 0
    """The number of hook events under these messages that were left out; `/hook-events` has them all."""


_MOST_HOOKS = 1000
"""Under the messages of one window."""
_MOST_HOOK_LINES = 2000
"""That report hook events, for one response: the first ones."""
_TELLING = frozenset({Rule.HOOK.value, Rule.LONE_PROGRESS.value})
"""The rules of messages that may report a hook event."""
_NOTED: Mapping[str, Literal["queue", "snapshot", "system"]] = {
    "queue-operation": "queue",
    "file-history-snapshot": "snapshot",
    "file-history-delta": "snapshot",
    "system/turn_duration": "system",
}
"""The types of lines that are no messages, but say what happened; and their categories (spec 002)."""
_MOST_LINES = 20_000
"""That are looked through for them in one window: a call's progress may be thousands of lines."""


def view_timeline(
    session: SessionActions,
    chapter: Chapter | None,
    rows: Sequence[MessageRecord],
    messages: Sequence[Message],
    above: bool,
    notes: Mapping[int | None, Sequence[NoteEntry]] | None = None,
) -> tuple[tuple[TimelineEntry, ...], int]:
    """Return messages of one chapter with what happened under them, and how many hook events are left out.

    With `above`, the window begins with what stands above the first message.
    """
    notes = notes or {}
    shown = {message.index for message in messages}
    under = session.list_hooks_under(chapter, shown, above=above, count=_MOST_HOOKS)
    runs = list_runs(session, [hook for _, hook in under.hooks])
    told = (
        set() if chapter is None else _find_told(session, chapter, [row for row in rows if row.index in shown])
    )
    hooks: dict[int | None, list[TimelineEntry]] = {}
    for at, fact in under.hooks:
        hooks.setdefault(at, []).append(HookEntry(hook=_view_hook(fact, at, runs.get(fact.id, ()))))
    items: list[TimelineEntry] = [*notes.get(None, ()), *hooks.get(None, ())]
    for message in messages:
        if message.index not in told:
            items.append(MessageEntry(message=message))
        items += hooks.get(message.index, ())
        items += notes.get(message.index, ())
    return tuple(items), under.total - len(under.hooks)


def list_notes(
    chapter: Chapter, rows: Sequence[MessageRecord], below: MessageRecord | None, above: bool
) -> dict[int | None, list[NoteEntry]]:
    """Return what lines that are no messages say happened, by the message that they stand under.

    `rows` are messages next to each other, and `below` is the one behind them. With `above`, what stands above
    the first of them comes, too, under None.
    """
    if not rows:
        return {}
    firsts = [row.lines[0] for row in rows]
    first, end = 0 if above else firsts[0], chapter.count_lines if below is None else below.lines[0]
    shown = {number for row in rows for number in row.lines}
    found = {
        line.number: line
        for line in chapter.list_lines(first, min(end - first, _MOST_LINES))
        if line.type in _NOTED and line.number not in shown
    }
    notes: dict[int | None, list[NoteEntry]] = {}
    for number, line in values.read_lines(chapter, found).items():
        text, at = values.one_line(report_of(line.entry)), bisect_right(firsts, number) - 1
        if text:
            message = rows[at].index if at >= 0 else None
            record = found[number]
            note = NoteItem(
                line=number,
                message=message,
                category=_NOTED[record.type],
                text=text,
                created_at=find_moment(record.time),
            )
            notes.setdefault(message, []).append(NoteEntry(note=note))
    return notes


def list_runs(session: SessionActions, hooks: Sequence[HookDelivery]) -> dict[int, list[HookRun]]:
    """Return the commands that hook events ran, by event id, as the session's files report them."""
    lines = list(islice(session.list_hook_lines(hooks), _MOST_HOOK_LINES))
    told = [event.told for _, event in lines]
    near, wanted = session.list_hooks_near(told), {hook.id for hook in hooks}
    owners = match_lines(told, [hook.told for hook in near])
    own = [
        (chapter, event.line, near[owners[number]].id)
        for number, (chapter, event) in enumerate(lines)
        if number in owners and near[owners[number]].id in wanted
    ]
    own = [*values.limit_by_size(own, lambda each: each[0].get_line(each[1]).length)]
    read = values.read_each((chapter, [line]) for chapter, line, _ in own)
    found: dict[int, list[HookRun]] = {}
    for chapter, line, hook in own:
        hook_line = read_hook_line(read[chapter][line].entry)
        if hook_line is not None:
            found.setdefault(hook, []).extend(hook_line.runs)
    return {number: merge_runs(runs) for number, runs in found.items()}


def _find_told(session: SessionActions, chapter: Chapter, rows: Sequence[MessageRecord]) -> set[int]:
    """Return the messages that only repeat a hook event that was also delivered."""
    telling = [row.lines[0] for row in rows if row.rule in _TELLING and row.own_lines == 1]
    events = [event for event in chapter.list_events_at(telling) if event.hook is not None]
    told = [event.told for event in events]
    found = match_lines(told, [hook.told for hook in session.list_hooks_near(told)])
    return {message for number in found if (message := events[number].message) is not None}


def _view_hook(fact: HookDelivery, message: int | None, runs: Sequence[HookRun]) -> HookItem:
    return values.fill_clean(
        HookItem,
        fact,
        at=find_moment(fact.received_ns // 1000),
        label=fact.label or fact.event_name,
        group=GROUPS.get(fact.group_name),
        context=_read_context(fact.context),
        message=message,
        commands=tuple(map(_view_command, runs)),
    )


def _view_command(run: HookRun) -> HookCommand:
    return values.fill_clean(
        HookCommand,
        run,
        output=None if run.output is None else values.truncate(run.output, values.LONGEST_SHOWN)[0],
    )


def _read_context(text: str | None) -> Raw | None:
    if text is None:
        return None
    try:
        data = text.encode()
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return values.limit_json(Raw(data))


@get("/api/sessions/{id:str}/timeline", opt=LINKED, dependencies=WINDOW, sync_to_thread=True)
def list_timeline(
    requested: GivenSession,
    window: GivenWindow,
) -> TimelineWindow:
    """List consecutive messages, with what happened under them: hook events and notes.

    Windows are those of `/messages`, in file order. A hook event is placed under the message that made its
    call (`PreToolUse` and `PermissionRequest` directly after it), otherwise under the last one that is not
    later; events before the first message are in the first window. A message counts as being as late as the
    latest time on any line so far, since times in files can run backwards. Events of a sub-agent are in the
    sub-agent's own file, if it has one. The order depends on the data alone, not on what arrived first.

    Lines that report the same hook event, for the same call or within 10 seconds, become its `commands`, not
    separate messages. Lines that are not messages but say what happened (to the queue, snapshots of files, how
    long a turn took) are notes under the message above them, unless messages are selected by filters. A window
    has at most 1,000 hook events; `omitted` says how many were left out. A session known only from hooks has
    hook events and no messages.
    """
    reference = requested.get_reference()
    requested.check_unchanged(
        reference.key, reference.revision, requested.store.read_feed(requested.visible).last
    )
    with requested.store.open_session(requested.visible, reference.key, hooks=reference.hooks) as session:
        if reference.stored is None:
            items, omitted = view_timeline(session, None, (), (), above=True)
            return TimelineWindow(items=items, total=0, before=None, after=None, revision=0, omitted=omitted)
        found = find_window(session, *window)
        selection, chapter = found.selection, found.selection.chapter
        messages = view_window(requested.store, requested.visible, reference.stored, found)
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
        revision=reference.revision,
        omitted=omitted,
    )


class ActionsOrder(StrEnum):
    """In which order actions come."""

    ORDER = "order"
    """As they happened."""
    SLOWEST = "slowest"


class Action(Struct, frozen=True, gc=False, kw_only=True):
    """A call, a hook event, or another event that a line of a file reports."""

    index: int
    """Its position among the requested actions, from 0."""
    kind: Literal["call", "hook", "event"]
    category: Category
    at: datetime | None
    name: str
    """The name of the tool, the hook event, or the line's type."""
    title: str
    """What it is about."""
    outcome: str
    """The outcome, in a few words; empty if there is nothing to report."""
    state: ActionState
    duration_ms: int | None
    turn: int | None
    """The index of the turn that it belongs to; null before the first prompt."""
    message: int | None
    """The index of the message that it is in or under, in `source`; null if there is none."""
    message_uuid: str | None
    """The uuid of that message."""
    source: str | None
    """The file that it is in; null for hook events that belong to no file."""
    call: int | None
    """The index of the call, in `source`."""
    agent_id: str | None
    """The sub-agent that did it."""


class ActionSpan(Struct, frozen=True, gc=False, kw_only=True, rename={"since": "from", "until": "to"}):
    """What happened in an interval of time."""

    since: datetime
    until: datetime
    """Not any more in it."""
    actions: int
    failed: int


class ActionPage(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's actions, and an overview of all of them."""

    items: tuple[Action, ...]
    total: int
    """The number of requested actions."""
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    counts: dict[Category, int]
    """How many actions of each category the session has, ignoring filters."""
    names: dict[str, int]
    """How many there are of each name (tools, hook events, line types), ignoring filters."""
    failed: int
    """How many of all actions failed."""
    overview: tuple[ActionSpan, ...]
    """All actions over time, in at most 120 intervals of equal length; empty intervals are left out."""
    revision: int
    """The revision of the session; it increases when its files change."""


_OUTCOMES: Mapping[str, str] = {
    CallState.RESOLVED: "ok",
    CallState.FAILED: "failed",
    CallState.PLACEHOLDER: "continues in the background",
    CallState.REJECTED: "not allowed",
    CallState.INTERRUPTED: "interrupted",
    CallState.UNRESOLVED: "no result",
}
_LIVE: Mapping[str, str] = {ActionState.RUNNING: "running", ActionState.WAITING: "waits for you"}
_LONGEST_OUTCOME = 120
_TALLIES: values.Memo[ActionTally] = values.Memo(32)
"""All actions of sessions at a glance: pages share it."""


class _LocatedAction(Struct, frozen=True):
    """An action with what is kept of it: a call or an event and the file that has it, or a delivery."""

    action: ActionRecord
    chapter: Chapter | None = None
    record: CallRecord | EventRecord | None = None

    @property
    def lines(self) -> list[int]:
        """The lines that describe it; of a call, the result's line only if it failed."""
        record = self.record
        if record is None:
            return []
        if isinstance(record, CallRecord) and record.state == CallState.FAILED:
            return [*{record.line, record.line if record.result_line is None else record.result_line}]
        return [record.line]


class _Details(Struct, frozen=True, gc=False):
    """Where an action is, and what it is about."""

    source: str | None
    message: int | None
    title: str
    outcome: str
    at: int | None = None
    """When it was, if that is known."""
    call: int | None = None
    agent_id: str | None = None


def _view_actions(
    session: SessionActions, project: str | None, actions: Sequence[ActionRecord], first: int
) -> tuple[Action, ...]:
    """Return actions with what they are about; only the first, if their lines are very long together."""
    found = [_find(session, action) for action in actions]
    found = [
        *values.limit_by_size(
            found, lambda each: 0 if each.chapter is None else each.chapter.measure(each.lines)
        )
    ]
    lines = values.read_each((each.chapter, each.lines) for each in found if each.chapter is not None)
    hooks = session.list_hooks_at([each.action.number for each in found if each.action.kind is ActionKind.HOOK])
    facts, runs = {hook.id: hook for hook in hooks}, list_runs(session, hooks)
    places = session.find_hook_places(hooks)
    turns = session.find_turns(each.action.point.at for each in found)
    shown: list[Action] = []
    for index, each in enumerate(found, first):
        action, chapter = each.action, each.chapter
        if action.kind is ActionKind.HOOK:
            number = action.number
            details = _describe_hook(facts.get(number), places.get(number), runs.get(number, ()))
        elif chapter is None or each.record is None:
            call = action.number if action.kind is ActionKind.CALL else None
            details = _Details(action.point.name, None, "", "", call=call)
        elif isinstance(each.record, CallRecord):
            details = _describe_call(chapter, each.record, lines[chapter], action.state, project)
        else:
            details = _describe_event(chapter, each.record, lines[chapter][each.record.line])
        shown.append(_view(session, action, details, index, turns))
    return tuple(shown)


def _find(session: SessionActions, action: ActionRecord) -> _LocatedAction:
    chapter = None if action.kind is ActionKind.HOOK else session.find_chapter(action.point.name)
    if chapter is None:
        return _LocatedAction(action)
    number = [action.number]
    is_call = action.kind is ActionKind.CALL
    records = chapter.list_calls_at(number) if is_call else chapter.list_events_at(number)
    return _LocatedAction(action, chapter, records[0] if records else None)


def _view(
    session: SessionActions, action: ActionRecord, details: _Details, index: int, turns: Mapping[int, int]
) -> Action:
    chapter = None if details.source is None else session.find_chapter(details.source)
    rows = [] if chapter is None or details.message is None else chapter.list_at([details.message])
    row = rows[0] if rows else None
    turn = None if row is None else row.turn
    agent = details.agent_id or (None if row is None else row.agent_id)
    return values.fill_clean(
        Action,
        action,
        details,
        index=index,
        kind=action.kind.value,
        category=Category(action.category),
        at=find_moment(details.at),
        title=values.one_line(details.title),
        outcome=values.one_line(details.outcome)[:_LONGEST_OUTCOME],
        state=ActionState(action.state),
        turn=turns.get(action.point.at) if turn is None else turn,
        message_uuid=None if row is None else row.id,
        agent_id=agent,
    )


def _describe_call(
    chapter: Chapter, record: CallRecord, lines: Mapping[int, Line], state: str, project: str | None
) -> _Details:
    call = build_call(record, lines)
    outcome = _LIVE.get(state) or _OUTCOMES.get(record.state, record.state)
    if record.state == CallState.FAILED and call.result is not None:
        outcome = call.result.text.strip().partition("\n")[0] or outcome
    title = topic_of(call.name, call.block.input, project)
    return _Details(chapter.source, record.message, title, outcome, record.started, record.index)


def _describe_event(chapter: Chapter, record: EventRecord, line: Line) -> _Details:
    title, outcome = describe_event(line.entry)
    return _Details(chapter.source, record.message, title, outcome, time_of(line))


def _describe_hook(fact: HookDelivery | None, place: HookPlace | None, runs: Sequence[HookRun]) -> _Details:
    commands, outcome = describe_runs(tuple(runs))
    label = "" if fact is None else fact.label or ""
    return _Details(
        None if place is None else place.source,
        None if place is None else place.message,
        commands or label,
        outcome,
        None if fact is None else fact.received_ns // 1000,
        agent_id=None if fact is None else fact.agent_id,
    )


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
    requested: GivenSession,
    category: Categories = None,
    outcome: Annotated[list[ActionState] | None, query("Their outcome.", max_items=20)] = None,
    name: Annotated[
        str | None, query("The name of the tool, the hook event, or the line's type.", max_length=200)
    ] = None,
    min_ms: Annotated[int | None, integer("Only actions that took at least this many milliseconds.")] = None,
    sort: Annotated[ActionsOrder, query("The order.")] = ActionsOrder.ORDER,
    limit: Annotated[int, integer("The maximum number of actions.", least=1, most=200)] = 100,
    cursor: Annotated[
        str | None, query("Where to continue: `next` from the previous response.", max_length=200)
    ] = None,
) -> ActionPage:
    """List the actions of a session: calls of all agents, hook events, and other events.

    Calls and events are in file order; several files and hook events are merged by time. Slowest first, only
    actions with a known duration are listed. This also works for sessions known only from hooks. Copied lines,
    and text that the program inserted as the user, are left out.

    A call without a result is `running` if its last hook event says that it began, `waiting` if that event
    requested a permission, and `unresolved` otherwise. A hook event has failed if one of its commands has; a
    failed call is counted once, as the call itself.
    """
    reference = requested.get_reference()
    last_change = requested.store.read_feed(requested.visible).last
    requested.check_unchanged(reference.key, reference.revision, last_change)
    where = ActionFilter(
        categories=None if category is None else tuple(each.value for each in category),
        states=None if outcome is None else tuple(each.value for each in outcome),
        name=name,
        min_ms=0 if min_ms is None and sort is ActionsOrder.SLOWEST else min_ms,
    )
    begin = None if cursor is None else _read_cursor(cursor)
    with requested.store.open_session(requested.visible, reference.key, hooks=reference.hooks) as session:
        actions = session.list_actions(
            where,
            after=None if begin is None else begin.point,
            after_ms=None if begin is None else begin.duration_ms,
            slowest=sort is ActionsOrder.SLOWEST,
            count=limit + 1,
        )
        project = None if reference.stored is None else reference.stored.row.project
        items = _view_actions(session, project, actions[:limit], 0 if begin is None else begin.index)
        tally = _TALLIES.get_or_build(
            requested.store,
            (requested.visible, reference.key, last_change, where),
            lambda: session.tally_actions(where, spans=_MOST_SPANS),
        )
    return ActionPage(
        items=items,
        total=tally.total,
        next=_write_cursor(items, actions) if len(items) < len(actions) else None,
        counts={Category(name): count for name, count in tally.counts.items()},
        names={values.clean_text(name): count for name, count in tally.names.items()},
        failed=tally.failed,
        overview=tuple(_view_spans(tally.spans)),
        revision=reference.revision,
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


def _write_cursor(items: Sequence[Action], actions: Sequence[ActionRecord]) -> str:
    last = actions[len(items) - 1]
    cursor = _Cursor(items[-1].index + 1, last.point, last.duration_ms)
    return b64encode(msgspec.json.encode(cursor), altchars=b"-_").decode()


def _view_spans(spans: Sequence[TimeSpan]) -> Iterator[ActionSpan]:
    for span in spans:
        since, until = find_moment(span.since), find_moment(span.until)
        if since is not None and until is not None:
            yield ActionSpan(since=since, until=until, actions=span.actions, failed=span.failed)
