"""Hook events as the API tells them, with the commands that lines tell of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from turnlog.messages import Line
from turnlog.server.shapes.timeline import HookCommand, HookItem
from turnlog.server.views.limits import LONGEST_SHOWN, cut, cut_json, say, sayable
from turnlog.server.views.moments import moment
from turnlog.server.views.stretches import fit
from turnlog.server.views.windows import read_places
from turnlog.store.care import CaredStore
from turnlog.store.identity import Place, Scope
from turnlog.store.timeline import EventFact, HookFact
from turnlog.transcripts.hooks.lines import HookRun, read_hook_line
from turnlog.transcripts.hooks.matching import Told, match_lines
from turnlog.transcripts.hooks.merging import merge_runs
from turnlog.transcripts.hooks.table import GROUPS

__all__ = ["HookSession", "find_told", "list_runs", "view_command", "view_hook"]

_MOST_LINES = 2000
"""That tell of the hook events of one answer: those that stand first."""


class HookSession(Struct, frozen=True):
    """A session whose hook events are asked for."""

    store: CaredStore
    scope: Scope
    key: str
    id: str
    """As hooks name it."""


def list_runs(session: HookSession, hooks: Sequence[HookFact]) -> dict[int, list[HookRun]]:
    """Return the commands of hook events, by their numbers, as lines of the session's files tell of them."""
    if not hooks:
        return {}
    store, scope = session.store, session.scope
    lines = store.list_hook_lines(scope, session.key, [hook.told for hook in hooks])[:_MOST_LINES]
    owners = _find_owners(session, lines, {hook.id for hook in hooks})
    told = fit(store, scope, [line for line in lines if line.place in owners], lambda line: (line.place,))
    read = read_places(store, scope, [line.place for line in told])
    found: dict[int, list[HookRun]] = {}
    for line in told:
        hook_line = read_hook_line(read[line.place].entry)
        if hook_line is not None:
            found.setdefault(owners[line.place], []).extend(hook_line.runs)
    return {number: merge_runs(runs) for number, runs in found.items()}


def find_told(session: HookSession, lines: Sequence[tuple[Line, int | None]]) -> set[int]:
    """Return which of some lines, each with its time, tell of a hook event that was delivered."""
    known: list[tuple[int, Told]] = []
    for number, (line, at) in enumerate(lines):
        hook = read_hook_line(line.entry)
        if hook is not None and hook.event:
            began = None if at is None else at - 1000 * (hook.duration_ms or 0)
            known.append((number, Told(hook.event, hook.tool_use_id, began)))
    told = [each for _, each in known]
    near = session.store.list_hooks_near(session.scope, session.id, told) if told else []
    return {known[line][0] for line in match_lines(told, [hook.told for hook in near])}


def view_hook(fact: HookFact, message: int | None, runs: Sequence[HookRun]) -> HookItem:
    """Return a hook event."""
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
        commands=tuple(map(view_command, runs)),
    )


def view_command(run: HookRun) -> HookCommand:
    """Return a command of a hook."""
    return HookCommand(
        name=sayable(run.name),
        command=say(run.command),
        outcome=say(run.outcome),
        exit_code=run.exit_code,
        duration_ms=run.duration_ms,
        output=None if run.output is None else cut(run.output, LONGEST_SHOWN)[0],
    )


def _find_owners(session: HookSession, lines: Sequence[EventFact], wanted: set[int]) -> Mapping[Place, int]:
    """Return to which of the wanted hook events lines belong, by their places."""
    if not lines:
        return {}
    told = [line.told for line in lines]
    near = session.store.list_hooks_near(session.scope, session.id, told)
    found = match_lines(told, [hook.told for hook in near])
    return {lines[line].place: near[hook].id for line, hook in found.items() if near[hook].id in wanted}


def _read_context(text: str | None) -> Raw | None:
    if text is None:
        return None
    try:
        data = text.encode()
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return cut_json(Raw(data))
