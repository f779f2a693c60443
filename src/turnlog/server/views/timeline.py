"""A window of messages with what happened under them: hook events, and lines that are no messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Literal

import msgspec
from msgspec import Raw

from turnlog.server.shapes.messages import Message
from turnlog.server.shapes.timeline import (
    HookCommand,
    HookEntry,
    HookItem,
    MessageEntry,
    NoteEntry,
    NoteItem,
    TimelineEntry,
)
from turnlog.server.views.limits import LONGEST_SHOWN, cut, cut_json, head_of, say, sayable
from turnlog.server.views.lines import fit, read_each, read_lines
from turnlog.server.views.moments import moment
from turnlog.transcripts.actions import report_of
from turnlog.transcripts.conversation.placements import Rule
from turnlog.transcripts.hooks.deliveries import HookDelivery, match_lines
from turnlog.transcripts.hooks.lines import HookRun, merge_runs, read_hook_line
from turnlog.transcripts.hooks.table import GROUPS
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.timeline import SessionTimeline
from turnlog.transcripts.records import MessageRecord

MOST_HOOKS = 1000
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
    session: SessionTimeline,
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
    under = session.list_hooks_under(chapter, shown, above=above, count=MOST_HOOKS)
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
    for number, line in read_lines(chapter, found).items():
        text, at = head_of(report_of(line.entry)), bisect_right(firsts, number) - 1
        if text:
            message = rows[at].index if at >= 0 else None
            record = found[number]
            note = NoteItem(
                line=number,
                message=message,
                category=_NOTED[record.type],
                text=text,
                created_at=moment(record.time),
            )
            notes.setdefault(message, []).append(NoteEntry(note=note))
    return notes


def list_runs(session: SessionTimeline, hooks: Sequence[HookDelivery]) -> dict[int, list[HookRun]]:
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


def _find_told(session: SessionTimeline, chapter: Chapter, rows: Sequence[MessageRecord]) -> set[int]:
    """Return the messages that say nothing but what a hook event tells that was delivered."""
    telling = [row.lines[0] for row in rows if row.rule in _TELLING and row.own_lines == 1]
    events = [event for event in chapter.list_events_at(telling) if event.hook is not None]
    told = [event.told for event in events]
    found = match_lines(told, [hook.told for hook in session.list_hooks_near(told)])
    return {message for number in found if (message := events[number].message) is not None}


def _view_hook(fact: HookDelivery, message: int | None, runs: Sequence[HookRun]) -> HookItem:
    return HookItem(
        id=fact.id,
        delivery_id=sayable(fact.delivery_id),
        at=moment(fact.received_ns // 1000),
        event_name=sayable(fact.event_name),
        tool_name=say(fact.tool_name),
        label=sayable(fact.label or fact.event_name),
        group=GROUPS.get(fact.group_name),
        context=_read_context(fact.context),
        tool_use_id=say(fact.tool_use_id),
        agent_id=say(fact.agent_id),
        message=message,
        commands=tuple(map(_view_command, runs)),
    )


def _view_command(run: HookRun) -> HookCommand:
    return HookCommand(
        name=sayable(run.name),
        command=say(run.command),
        outcome=say(run.outcome),
        exit_code=run.exit_code,
        duration_ms=run.duration_ms,
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
    return cut_json(Raw(data))
