"""`/api/sessions/{id}/timeline`: a window of messages with the hook events and notes under them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Literal

import msgspec
from litestar import get
from msgspec import Raw, Struct

from turnlog.instants import find_moment
from turnlog.messages import view
from turnlog.server import values
from turnlog.server.audit import GivenSession
from turnlog.server.messages import Message
from turnlog.server.requests import (
    check_unchanged,
)
from turnlog.server.routes.messages import WINDOW, GivenWindow
from turnlog.server.security.callers import LINKED
from turnlog.server.values import LONGEST_SHOWN, cut, fit, read_each
from turnlog.server.windows import find_window, view_window
from turnlog.transcripts.actions import HookRun, merge_runs, read_hook_line, report_of
from turnlog.transcripts.conversation.messages import Rule
from turnlog.transcripts.hooks import GROUPS, HookDelivery, HookGroup, match_lines
from turnlog.transcripts.queries.chapters import EVERY_MESSAGE, Chapter
from turnlog.transcripts.queries.sessions import SessionActions
from turnlog.transcripts.segments import MessageRecord


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
"""That tell of the hook events of one answer: those that stand first."""
_TELLING = frozenset({Rule.HOOK.value, Rule.LONE_PROGRESS.value})
"""The rules of messages that may tell of a hook event."""
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
    """Return the commands of hook events, by their numbers, as lines of the session's files tell of them."""
    lines = list(islice(session.list_hook_lines(hooks), _MOST_HOOK_LINES))
    told = [event.told for _, event in lines]
    near, wanted = session.list_hooks_near(told), {hook.id for hook in hooks}
    owners = match_lines(told, [hook.told for hook in near])
    own = [
        (chapter, event.line, near[owners[number]].id)
        for number, (chapter, event) in enumerate(lines)
        if number in owners and near[owners[number]].id in wanted
    ]
    own = [*fit(own, lambda each: each[0].get_line(each[1]).length)]
    read = read_each((chapter, [line]) for chapter, line, _ in own)
    found: dict[int, list[HookRun]] = {}
    for chapter, line, hook in own:
        hook_line = read_hook_line(read[chapter][line].entry)
        if hook_line is not None:
            found.setdefault(hook, []).extend(hook_line.runs)
    return {number: merge_runs(runs) for number, runs in found.items()}


def _find_told(session: SessionActions, chapter: Chapter, rows: Sequence[MessageRecord]) -> set[int]:
    """Return the messages that say nothing but what a hook event tells that was delivered."""
    telling = [row.lines[0] for row in rows if row.rule in _TELLING and row.own_lines == 1]
    events = [event for event in chapter.list_events_at(telling) if event.hook is not None]
    told = [event.told for event in events]
    found = match_lines(told, [hook.told for hook in session.list_hooks_near(told)])
    return {message for number in found if (message := events[number].message) is not None}


def _view_hook(fact: HookDelivery, message: int | None, runs: Sequence[HookRun]) -> HookItem:
    return view(
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
    return view(
        HookCommand,
        run,
        output=None if run.output is None else cut(run.output, LONGEST_SHOWN)[0],
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
    asked: GivenSession,
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
    heard = asked.get_heard()
    check_unchanged(asked.request, heard.key, heard.revision, asked.store.read_feed(asked.visible).last)
    with asked.store.open_session(asked.visible, heard.key, hooks=heard.hooks) as session:
        if heard.stored is None:
            items, omitted = view_timeline(session, None, (), (), above=True)
            return TimelineWindow(items=items, total=0, before=None, after=None, revision=0, omitted=omitted)
        found = find_window(session, *window)
        selection, chapter = found.selection, found.selection.chapter
        messages = view_window(asked.store, asked.visible, heard.stored, found)
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
