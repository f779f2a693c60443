"""What lines report that are neither prompts nor answers, in words.

`report_of` is the sentence that stands for such a line wherever people read it: in `show`, on the page, in
exports and over MCP. The action log has columns, so `describe_event` tells apart what an event is about and
what came of it.

Events are lines that are neither said nor called, but happened (spec 002 §6); `lines.content` says of which
sort a line is. What the program put in the user's mouth is none.

What lines tell of hooks (that one was set off, what its command said, what came of it) is told in several
ways, by the age of the file: `hook_progress` lines, attachments, a summary at the end of a turn, and messages
of the stream. `merge_runs` puts together what they say of each command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import turnlog.messages.sdk.messages as sdk
from turnlog.messages import AnyEntry, Line, UnsetType, attachments, entries, metadata, system
from turnlog.messages.base import UnknownTagged
from turnlog.messages.blocks import ToolResultBlock
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, ProgressEntry, UserEntry
from turnlog.messages.message import Message
from turnlog.messages.metadata import QueueOperation
from turnlog.messages.sdk.messages import AssistantMessage, HookResponseMessage, has_failed
from turnlog.transcripts.kinds import CallState, Category, HashedEnum, topic_of
from turnlog.transcripts.lines.content import (
    content_text,
    find_category,
    is_answer,
    is_call,
    is_prompt,
    list_blocks,
    text_of,
)

_STOP = "Stop"
FAILURES = frozenset({"failed", "blocked"})
"""What came of a command that did not go well."""


class HookRun(Struct, frozen=True, gc=False, kw_only=True):
    """One command of a hook, as far as a line tells of it."""

    name: str
    """Of the hook, as `PreToolUse:Bash`."""
    kind: str
    """Of the line."""
    command: str | None = None
    outcome: str | None = None
    """None if the line does not tell: then it tells that it was set off."""
    exit_code: int | None = None
    duration_ms: int | None = None
    output: str | None = None


class HookLine(Struct, frozen=True, gc=False):
    """What a line tells of a hook event."""

    event: str
    """Its name; empty if the line does not say."""
    tool_use_id: str | None
    """The call that it is about; where there is none, an id of its own, or nothing."""
    runs: tuple[HookRun, ...]

    @property
    def duration_ms(self) -> int | None:
        """How long it took: commands run side by side."""
        return max((run.duration_ms for run in self.runs if run.duration_ms is not None), default=None)

    @property
    def outcome(self) -> str | None:
        """What came of it; a failure if any of its commands failed."""
        outcomes = [run.outcome for run in self.runs if run.outcome is not None]
        return next((each for each in outcomes if each in FAILURES), outcomes[0] if outcomes else None)


def read_hook_line(entry: AnyEntry) -> HookLine | None:
    """Return what an entry tells of a hook; None if it is about none."""
    kind = type(entry)
    if kind is AttachmentEntry:
        carried: Any = entry.attachment  # type: ignore[union-attr]
        return _read_attachment(carried) if type(carried) in _OUTCOMES else None
    if kind is ProgressEntry:
        return _read_progress(entry) if type(entry.data) is entries.HookProgress else None  # type: ignore[union-attr]
    read = _READERS.get(kind)
    return None if read is None else read(entry)


def _read_attachment(carried: Any) -> HookLine:
    return HookLine(
        _find_text(carried.hook_event) or "",
        _find_text(getattr(carried, "tool_use_id", None)),
        (
            HookRun(
                name=_find_text(carried.hook_name) or _find_text(carried.hook_event) or "",
                kind=carried.type,
                command=_find_command(carried),
                outcome=_OUTCOMES[type(carried)](carried),
                exit_code=_number(getattr(carried, "exit_code", None)),
                duration_ms=_number(getattr(carried, "duration_ms", None)),
                output=_find_output(carried),
            ),
        ),
    )


def _read_progress(entry: Any) -> HookLine:
    data = entry.data
    event = _find_text(data.hook_event) or ""
    run = HookRun(
        name=_find_text(data.hook_name) or event, kind="hook_progress", command=_find_text(data.command)
    )
    return HookLine(event, _find_text(entry.parent_tool_use_id) or _find_text(entry.tool_use_id), (run,))


def _read_summary(entry: Any) -> HookLine:
    kind = "stop_hook_summary"
    infos = entry.hook_infos if type(entry.hook_infos) is tuple else ()
    errors = entry.hook_errors if type(entry.hook_errors) is tuple else ()
    runs = [
        HookRun(name=_STOP, kind=kind, command=_find_text(info.command), duration_ms=_number(info.duration_ms))
        for info in infos
    ]
    failed = [HookRun(name=_STOP, kind=kind, outcome="failed", output=error) for error in errors]
    return HookLine(_STOP, _find_text(entry.tool_use_id), (*runs, *failed))


def _read_context(entry: Any) -> HookLine:
    event = _find_text(entry.hook_event) or ""
    run = HookRun(
        name=_find_text(entry.hook_name) or event,
        kind="saved_hook_context",
        outcome="context",
        output=_join_texts(entry.content),
    )
    return HookLine(event, _find_text(entry.tool_use_id), (run,))


def _read_message(entry: Any) -> HookLine:
    event = _find_text(entry.hook_event) or ""
    exit_code = _number(getattr(entry, "exit_code", None))
    outcome = None
    if type(entry) is HookResponseMessage:
        outcome = "ok" if exit_code in (0, None) and entry.outcome != "error" else "failed"
    run = HookRun(
        name=_find_text(entry.hook_name) or event,
        kind=type(entry).__name__,
        outcome=outcome,
        exit_code=exit_code,
        output=_find_output(entry),
    )
    return HookLine(event, None, (run,))


def _find_command(carried: Any) -> str | None:
    error = getattr(carried, "blocking_error", None)
    return _find_text(getattr(carried, "command", None)) or _find_text(getattr(error, "command", None))


def _find_output(carried: Any) -> str | None:
    """Return what a hook said, the most telling first."""
    error = getattr(carried, "blocking_error", None)
    said = (
        _find_text(getattr(error, "blocking_error", None)),
        *(
            _join_texts(getattr(carried, name, None))
            for name in ("content", "message", "output", "stdout", "stderr")
        ),
    )
    return next(filter(None, said), None)


def _join_texts(content: object) -> str | None:
    if isinstance(content, tuple):
        return "\n".join(piece for piece in content if isinstance(piece, str)) or None
    return _find_text(content)


def _find_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 53
    return int(value) if is_number else None  # type: ignore[call-overload]


def _always(outcome: str) -> Callable[[Any], str]:
    return lambda _: outcome


def _answer(carried: Any) -> str:
    return "ok" if _number(carried.exit_code) in (0, None) else "failed"


_OUTCOMES: Mapping[type, Callable[[Any], str | None]] = {
    attachments.HookSuccess: _always("ok"),
    attachments.HookNonBlockingError: _always("failed"),
    attachments.HookBlockingError: _always("blocked"),
    attachments.HookCancelled: _always("cancelled"),
    attachments.HookErrorDuringExecution: _always("failed"),
    attachments.HookStoppedContinuation: _always("stopped"),
    attachments.HookPermissionDecision: lambda carried: _find_text(carried.decision) or "decided",
    attachments.HookDeferredTool: _always("deferred"),
    attachments.HookAdditionalContext: _always("context"),
    attachments.HookSystemMessage: _always("told"),
    attachments.AsyncHookResponse: _answer,
}
"""What came of a hook, by the attachment that tells of it."""

_READERS: Mapping[type, Callable[[Any], HookLine]] = {
    system.StopHookSummary: _read_summary,
    metadata.SavedHookContext: _read_context,
    sdk.HookStartedMessage: _read_message,
    sdk.HookProgressMessage: _read_message,
    HookResponseMessage: _read_message,
}


def merge_runs(runs: Iterable[HookRun]) -> list[HookRun]:
    """Return the commands that runs in the order of their lines are of: the richer line of each counts."""
    merged: list[tuple[HookRun, set[str]]] = []
    for run in runs:
        for number, (known, kinds) in enumerate(merged):
            if run.kind not in kinds and _is_same(known, run):
                merged[number] = _add(known, run), kinds | {run.kind}
                break
        else:
            merged.append((run, {run.kind}))
    return [run for run, _ in merged]


def _is_same(known: HookRun, run: HookRun) -> bool:
    if known.command is not None and run.command is not None:
        return known.command == run.command
    # What a hook said is told apart from what its command did; only the hook's name links them.
    return known.name == run.name and (known.output is None or run.output is None)


def _add(known: HookRun, run: HookRun) -> HookRun:
    """Return what two lines tell of a command; the first that says something counts."""
    first, second = (known, run) if known.outcome is not None else (run, known)
    return replace(
        first,
        command=first.command or second.command,
        outcome=first.outcome or second.outcome,
        exit_code=second.exit_code if first.exit_code is None else first.exit_code,
        duration_ms=second.duration_ms if first.duration_ms is None else first.duration_ms,
        output=first.output or second.output,
    )


class ActionState(HashedEnum):
    """What is known about an action's outcome."""

    OK = "ok"
    FAILED = "failed"
    RUNNING = "running"
    """It goes on in the background, or just now."""
    WAITING = "waiting"
    """For a permission or an answer of the person."""
    REJECTED = "rejected"
    """It was not allowed, or was stopped."""
    UNRESOLVED = "unresolved"
    """Nothing tells what came of it."""
    NOTE = "note"
    """It has no outcome."""


CALL_STATES: Mapping[CallState, ActionState] = {
    CallState.RESOLVED: ActionState.OK,
    CallState.FAILED: ActionState.FAILED,
    CallState.PLACEHOLDER: ActionState.RUNNING,
    CallState.REJECTED: ActionState.REJECTED,
    CallState.INTERRUPTED: ActionState.REJECTED,
    CallState.UNRESOLVED: ActionState.UNRESOLVED,
}
"""What the state of a call is among those of actions."""

FAILED_HOOKS = frozenset({"StopFailure"})
"""Hook events that are failures by themselves."""

TOLD_FAILURES = frozenset({"PostToolUseFailure", "StopFailure"})
"""Hook events that tell of failures: errors by category (spec 002 §5). That of a call is the call's own."""


_PROMPTS = frozenset({UserEntry, sdk.UserMessage, sdk.UserMessageReplay})
_STOPPED = frozenset({"cancelled", "stopped", "deny", "deferred"})
_NOTED = frozenset({None, "context", "told"})
_ERROR = "error"


class Event(Struct, frozen=True, gc=False):
    """What a line tells that happened."""

    category: Category
    name: str
    """The hook event, what was done to the queue, or the type of the line."""
    state: ActionState
    duration_ms: int | None = None
    hook: str | None = None
    """The hook event that it tells of."""
    tool_use_id: str | None = None
    """The call that this was about."""


def read_event(line: Line) -> Event | None:
    """Return what a line tells that happened; None if it is said, called, or repeated elsewhere."""
    entry = line.entry
    kind = type(entry)
    if kind in _PROMPTS or (kind is AssistantEntry and not _may_be_error(entry)):
        return None  # as nearly all lines
    category = find_category(line)
    if category is None:
        return None
    hook = read_hook_line(entry)
    if hook is not None and (event := hook.event):
        state, took = _judge(hook), hook.duration_ms
        return Event(category, event, state, took, hook=event, tool_use_id=hook.tool_use_id)
    state = ActionState.FAILED if category is Category.ERROR else ActionState.NOTE
    return Event(category, _name(entry), state, _find_duration(entry))


def _may_be_error(entry: Any) -> bool:
    return entry.is_api_error_message is True or entry.is_error is True or isinstance(entry.subtype, str)


def _judge(hook: HookLine) -> ActionState:
    outcome = hook.outcome
    if outcome in FAILURES:
        return ActionState.FAILED
    if outcome in _STOPPED:
        return ActionState.REJECTED
    return ActionState.NOTE if outcome in _NOTED else ActionState.OK


def _name(entry: AnyEntry) -> str:
    if isinstance(entry, AssistantEntry | AssistantMessage):
        return _ERROR
    if isinstance(entry, entries.UnknownEntry):
        return entry.type or "unknown"
    if isinstance(entry, QueueOperation):
        return str(entry.operation)
    if isinstance(entry, AttachmentEntry):
        return _name_type(type(entry.attachment), getattr(entry.attachment, "type", None))
    if isinstance(entry, ProgressEntry):
        return _name_type(type(entry.data), getattr(entry.data, "type", None))
    return _name_type(type(entry), getattr(entry, "type", None))


def _name_type(kind: type, said: object) -> str:
    config = getattr(kind, "__struct_config__", None)
    tag = None if config is None else config.tag
    return str(tag) if tag is not None else said if isinstance(said, str) and said else "unknown"


def _find_duration(entry: AnyEntry) -> int | None:
    value = getattr(entry, "duration_ms", None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return int(value) if is_number else None  # type: ignore[arg-type]


REPORTED = frozenset(
    {QueueOperation, metadata.FileHistorySnapshot, metadata.FileHistoryDelta, system.TurnDuration}
)
"""What has no message of its own, but happened while the reader looks on: small rows between messages."""

_MOST_NAMES = 20
_FEW_NAMES = 3
_QUEUE = {
    metadata.QueueAction.ENQUEUE: "Queued",
    metadata.QueueAction.DEQUEUE: "Taken from the queue",
    metadata.QueueAction.REMOVE: "Removed from the queue",
    metadata.QueueAction.POP_ALL: "Queue emptied",
}


def report_of(entry: AnyEntry) -> str:
    """Return what an entry says to a reader: its text, or a sentence about what it reports.

    It is empty for prompts and answers without text, and for what reports nothing, as a snapshot of no files.
    """
    report = _REPORTS.get(type(entry))
    if report is not None:
        return report(entry)
    text = text_of(entry)
    if text.strip() or is_answer(entry):
        return text
    if is_prompt(entry):  # a result of a call that is not here
        results = (
            content_text(block.content) for block in list_blocks(entry) if type(block) is ToolResultBlock
        )
        return "\n\n".join(filter(None, results))
    return _report_hook(entry) or _label(entry)


def join_reports(entries: Iterable[AnyEntry]) -> str:
    """Return what several entries report, on one line; what is repeated is counted."""
    reports = Counter(filter(None, map(report_of, entries)))
    return " · ".join(text if count == 1 else f"{text} ({count} times)" for text, count in reports.items())


def describe_event(entry: AnyEntry) -> tuple[str, str]:
    """Return what an event is about, and what came of it; either may be empty."""
    hook = read_hook_line(entry)
    if hook is not None:
        return describe_runs(hook.runs)
    tell = _DESCRIBERS.get(type(entry))
    return (report_of(entry), "") if tell is None else tell(entry)


def describe_runs(runs: tuple[HookRun, ...] | list[HookRun]) -> tuple[str, str]:
    """Return the commands of a hook, and what came of them; the failures, if there are any."""
    names = dict.fromkeys(run.command or run.name for run in runs)
    outcomes = [describe_outcome(run) for run in runs]
    failures = [each for run, each in zip(runs, outcomes, strict=True) if run.outcome in ("failed", "blocked")]
    return ", ".join(names), ", ".join(dict.fromkeys(filter(None, failures or outcomes)))


def describe_outcome(run: HookRun) -> str:
    """Return what came of a command; empty if that is not known."""
    if run.outcome == "failed" and run.exit_code:
        return f"exit {run.exit_code}"
    return run.outcome or ""


def _describe_snapshot(entry: Any) -> tuple[str, str]:
    kept = getattr(entry.snapshot, "tracked_file_backups", None)
    names = list(kept) if isinstance(kept, Mapping) else []
    shown = ", ".join(name.rpartition("/")[2] for name in names[:_MOST_NAMES])
    return shown, f"{len(names)} {'file' if len(names) == 1 else 'files'} kept"


def _describe_delta(entry: Any) -> tuple[str, str]:
    path = entry.tracking_path
    return (path.rpartition("/")[2] if isinstance(path, str) else "", "1 file kept")


def _describe_queue(entry: Any) -> tuple[str, str]:
    return content_text(entry.content), entry.reason if isinstance(entry.reason, str) else ""


def _describe_failure(entry: Any) -> tuple[str, str]:
    errors = [each for each in (entry.error, entry.cause) if each is not None]
    said = next(filter(None, (_say_error(each) for each in errors)), "") or text_of(entry)
    return said, _count_retry(entry.retry_attempt, entry.max_retries)


def _say_error(error: object) -> str:
    if isinstance(error, str):
        return error
    parts = (getattr(error, name, None) for name in ("code", "message", "path", "status"))
    return " ".join(str(part) for part in parts if isinstance(part, str | int) and not isinstance(part, bool))


_DESCRIBERS: Mapping[type, Callable[[Any], tuple[str, str]]] = {
    metadata.FileHistorySnapshot: _describe_snapshot,
    metadata.FileHistoryDelta: _describe_delta,
    QueueOperation: _describe_queue,
    system.ApiErrorNotice: _describe_failure,
}


def _report_progress(entry: Any) -> str:
    report = _CARRIED.get(type(entry.data))
    return _report_hook(entry) or _label(entry.data) if report is None else report(entry.data)


def _report_attachment(entry: Any) -> str:
    report = _CARRIED.get(type(entry.attachment))
    said = text_of(entry) if report is None else report(entry.attachment)
    return said if said.strip() else _report_hook(entry) or _label(entry.attachment)


def _report_output(data: Any) -> str:
    """The last line of the output is where the command stands now."""
    for output in (data.output, data.full_output):
        last = _last_line(output)
        if last:
            return last
    took = _duration(data.elapsed_time_seconds, 1000)
    return f"Running for {took}" if took else "Running"


def _report_agent(data: Any) -> str:
    nested = [data.message, *(data.normalized_messages if isinstance(data.normalized_messages, tuple) else ())]
    messages = [each.message for each in nested if isinstance(getattr(each, "message", None), Message)]
    said = next(filter(None, map(_describe_nested, reversed(messages))), "") or _first_line(data.prompt)
    return _join(f"Agent {_text(data.agent_id)}".rstrip(), said)


def _describe_nested(message: Message) -> str:
    """Return what a sub-agent's message does: the last call in it, else how its text begins."""
    blocks = message.content if isinstance(message.content, tuple) else ()
    calls = [block for block in blocks if is_call(block)]
    if calls:
        name = _text(calls[-1].name)
        return f"{name} {_first_line(topic_of(name, calls[-1].input))}".strip()
    return _first_line(content_text(message.content))


def _report_mcp(data: Any) -> str:
    took = _duration(data.elapsed_time_ms)
    status = " in ".join(filter(None, (_text(data.status), took)))
    return _join(" ".join(filter(None, ("MCP", _text(data.server_name), _text(data.tool_name)))), status)


def _report_wait(data: Any) -> str:
    kind = _text(data.task_type)
    return _join("Waiting for a task", _text(data.task_description)) + (f" ({kind})" if kind else "")


def _report_results(data: Any) -> str:
    count = data.result_count if isinstance(data.result_count, int) else 0
    return _join(f"{count} search result{'' if count == 1 else 's'}", _text(data.query))


def _report_hook(entry: Any) -> str:
    """Return which hook it was, its command, and what came of it; empty if the entry is about none."""
    hook = read_hook_line(entry)
    if hook is None:
        return ""
    about, outcome = describe_runs(hook.runs)
    names = dict.fromkeys(run.name for run in hook.runs if run.name)
    name = _name_hook(", ".join(names), hook.event)
    said = next(filter(None, (_last_line(run.output) for run in hook.runs)), "")
    return _join(name, ", ".join(filter(None, ("" if about in names else about, outcome, said))))


def _name_hook(name: str, event: str) -> str:
    """Today's names begin with the event, as `PreToolUse:Bash`."""
    if not event or name.startswith(event):
        return f"Hook {name}".rstrip()
    return f"Hook {name} ({event})" if name else f"Hook {event}"


def _report_hook_started(entry: Any) -> str:
    event, name = _text(entry.hook_event), _text(entry.hook_name)
    said = "" if not event or name.startswith(event) else f" ({event})"
    return f"Hook {name or event} started" + (said if name else "")


def _report_sign_in(entry: Any) -> str:
    last = _last_line(entry.output[-1]) if isinstance(entry.output, tuple) and entry.output else ""
    error = _text(entry.error)
    if error:
        return _join("Sign-in failed", error)
    done = "Signing in" if entry.is_authenticating is True else "Signed in"
    return last if last.startswith(done) else _join(done, last)


def _report_task(entry: Any) -> str:
    return _join("Task started", _text(entry.description))


def _report_task_progress(entry: Any) -> str:
    what = _text(entry.summary) or _text(entry.description)
    tool = _text(entry.last_tool_name)
    return _join("Task", what) + (f" ({tool})" if tool else "")


def _report_task_update(entry: Any) -> str:
    return _join("Task updated", _text(getattr(entry.patch, "status", None)))


def _report_task_status(carried: Any) -> str:
    said = (
        _text(carried.description),
        _text(carried.status),
        _text(carried.delta_summary),
    )
    return _join("Task", ", ".join(filter(None, said)))


def _report_tool(entry: Any) -> str:
    took = _duration(entry.elapsed_time_seconds, 1000)
    return f"{_text(entry.tool_name) or 'A tool'} is running" + (f", {took}" if took else "")


def _report_limit(entry: Any) -> str:
    told = entry.rate_limit_info
    said = (_text(getattr(told, name, None)) for name in ("rate_limit_type", "status"))
    return _join("Rate limit", ", ".join(filter(None, said)))


def _report_retry(entry: Any) -> str:
    return ", ".join(filter(None, _describe_failure(entry))) or _label(entry)


def _report_api_retry(entry: Any) -> str:
    reason = " ".join(str(each) for each in (entry.error, entry.error_status) if isinstance(each, str | int))
    return ", ".join(
        filter(None, (_join("Request failed", reason), _count_retry(entry.attempt, entry.max_retries)))
    )


def _report_result(entry: Any) -> str:
    if not has_failed(entry):
        return text_of(entry) or "Turn completed"
    errors = entry.errors if isinstance(entry.errors, tuple) else ()
    return (
        "\n".join(each for each in errors if isinstance(each, str))
        or text_of(entry)
        or _name_text(entry.subtype)
    )


def _report_end(entry: Any) -> str:
    """Spec 002 ends a session with such a line; in a workflow's journal it is an agent's answer."""
    if isinstance(entry.key, str):
        return text_of(entry) or _join("Agent answered", _text(entry.label))
    try:
        said = msgspec.json.decode(entry.result, type=str)
    except (TypeError, msgspec.DecodeError, UnicodeDecodeError):
        said = ""
    return _join("Session completed", said)


def _report_model(entry: Any) -> str:
    models = " to ".join(filter(None, (_text(entry.original_model), _text(entry.fallback_model))))
    return text_of(entry) or _join("Model changed", models)


def _report_turn(entry: Any) -> str:
    took = _duration(entry.duration_ms)
    return f"Turn took {took}" if took else "Turn ended"


def _report_queue(entry: Any) -> str:
    about, reason = _describe_queue(entry)
    done = _QUEUE.get(entry.operation) or f"Queue: {entry.operation}"
    return _join(done, _first_line(about)) + (f" ({reason})" if reason else "")


def _report_snapshot(entry: Any) -> str:
    kept = getattr(entry.snapshot, "tracked_file_backups", None)
    return _count_files([*kept] if isinstance(kept, Mapping) else [])


def _report_delta(entry: Any) -> str:
    return _count_files([_text(entry.tracking_path)])


def _count_files(paths: list[str]) -> str:
    if not paths:
        return ""
    names = [path.rpartition("/")[2] for path in paths]
    more = f" and {len(names) - _FEW_NAMES} more" if len(names) > _FEW_NAMES else ""
    counted = f"Snapshot of {len(paths)} {'file' if len(paths) == 1 else 'files'}"
    return _join(counted, ", ".join(names[:_FEW_NAMES])) + more


def _count_retry(attempt: object, most: object) -> str:
    if not isinstance(attempt, int):
        return ""
    return f"retry {attempt} of {most}" if isinstance(most, int) else f"retry {attempt}"


def _join(what: str, said: str) -> str:
    return f"{what}: {said}" if said else what


def _label(value: object) -> str:
    """Return the name of a type as words: what is left where nothing else is said."""
    if isinstance(value, entries.UnknownEntry | UnknownTagged):
        return _name_text(value.type)
    config = getattr(type(value), "__struct_config__", None)
    return _name_text(None if config is None else config.tag) or _name_text(getattr(value, "type", None))


def _name_text(name: object) -> str:
    words = str(name).replace("_", " ").replace("-", " ") if isinstance(name, str) else ""
    return words[:1].upper() + words[1:]


def _text(value: object) -> str:
    return str(value) if isinstance(value, str) else ""


def _first_line(text: object) -> str:
    return next((line.strip() for line in _text(text).splitlines() if line.strip()), "")


def _last_line(text: object) -> str:
    return next((line.strip() for line in reversed(_text(text).splitlines()) if line.strip()), "")


def _duration(value: object, unit: int = 1) -> str:
    """Return how long something took, given in so many milliseconds; empty if that is not said."""
    if isinstance(value, UnsetType | bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 43:
        return ""
    seconds = value * unit / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


_CARRIED: Mapping[type, Callable[[Any], str]] = {
    entries.BashProgress: _report_output,
    entries.AgentProgress: _report_agent,
    entries.McpProgress: _report_mcp,
    entries.WaitingForTask: _report_wait,
    entries.QueryUpdate: lambda data: _join("Searching the web", _text(data.query)),
    entries.SearchResultsReceived: _report_results,
    attachments.AgentMention: lambda carried: _join("Agent mentioned", _text(carried.agent_type)),
    attachments.GoalStatus: lambda carried: _join("Goal", _text(carried.condition) or _text(carried.reason)),
    attachments.MaxTurnsReached: lambda carried: _join("Turn limit reached", str(carried.max_turns)),
    attachments.TaskStatus: _report_task_status,
}
"""How what progress lines and attachments carry is reported."""

_REPORTS: Mapping[type, Callable[[Any], str]] = {
    ProgressEntry: _report_progress,
    AttachmentEntry: _report_attachment,
    system.TurnDuration: _report_turn,
    QueueOperation: _report_queue,
    metadata.FileHistorySnapshot: _report_snapshot,
    metadata.FileHistoryDelta: _report_delta,
    metadata.JournalResult: _report_end,
    system.ApiErrorNotice: _report_retry,
    system.ModelFallback: _report_model,
    # the stream
    sdk.HookStartedMessage: _report_hook_started,
    sdk.AuthStatusMessage: _report_sign_in,
    sdk.TaskStartedMessage: _report_task,
    sdk.TaskProgressMessage: _report_task_progress,
    sdk.TaskUpdatedMessage: _report_task_update,
    sdk.ToolProgressMessage: _report_tool,
    sdk.RateLimitEvent: _report_limit,
    sdk.ApiRetryMessage: _report_api_retry,
    sdk.ResultMessage: _report_result,
}
"""How entries are reported whose own text is missing, or does not say what happened."""
