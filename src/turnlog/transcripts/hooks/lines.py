"""What lines of a session's files tell of hooks: that one was set off, what its command said, what came of it.

The same is told in several ways, by the age of the file: `hook_progress` lines, attachments, a summary at the
end of a turn, and messages of the stream. `merge_runs` puts together what they say of each command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import attachments
from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import AttachmentEntry, ProgressEntry
from turnlog.messages.metadata import SavedHookContext
from turnlog.messages.progress import HookProgress
from turnlog.messages.sdk import HookProgressMessage, HookResponseMessage, HookStartedMessage
from turnlog.messages.system import StopHookSummary

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
        return _read_progress(entry) if type(entry.data) is HookProgress else None  # type: ignore[union-attr]
    read = _READERS.get(kind)
    return None if read is None else read(entry)


def _read_attachment(carried: Any) -> HookLine:
    return HookLine(
        _text(carried.hook_event) or "",
        _text(getattr(carried, "tool_use_id", None)),
        (
            HookRun(
                name=_text(carried.hook_name) or _text(carried.hook_event) or "",
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
    event = _text(data.hook_event) or ""
    run = HookRun(name=_text(data.hook_name) or event, kind="hook_progress", command=_text(data.command))
    return HookLine(event, _text(entry.parent_tool_use_id) or _text(entry.tool_use_id), (run,))


def _read_summary(entry: Any) -> HookLine:
    kind = "stop_hook_summary"
    infos = entry.hook_infos if type(entry.hook_infos) is tuple else ()
    errors = entry.hook_errors if type(entry.hook_errors) is tuple else ()
    runs = [
        HookRun(name=_STOP, kind=kind, command=_text(info.command), duration_ms=_number(info.duration_ms))
        for info in infos
    ]
    failed = [HookRun(name=_STOP, kind=kind, outcome="failed", output=error) for error in errors]
    return HookLine(_STOP, _text(entry.tool_use_id), (*runs, *failed))


def _read_context(entry: Any) -> HookLine:
    event = _text(entry.hook_event) or ""
    run = HookRun(
        name=_text(entry.hook_name) or event,
        kind="saved_hook_context",
        outcome="context",
        output=_join(entry.content),
    )
    return HookLine(event, _text(entry.tool_use_id), (run,))


def _read_message(entry: Any) -> HookLine:
    event = _text(entry.hook_event) or ""
    exit_code = _number(getattr(entry, "exit_code", None))
    outcome = None
    if type(entry) is HookResponseMessage:
        outcome = "ok" if exit_code in (0, None) and entry.outcome != "error" else "failed"
    run = HookRun(
        name=_text(entry.hook_name) or event,
        kind=type(entry).__name__,
        outcome=outcome,
        exit_code=exit_code,
        output=_find_output(entry),
    )
    return HookLine(event, None, (run,))


def _find_command(carried: Any) -> str | None:
    error = getattr(carried, "blocking_error", None)
    return _text(getattr(carried, "command", None)) or _text(getattr(error, "command", None))


def _find_output(carried: Any) -> str | None:
    """Return what a hook said, the most telling first."""
    error = getattr(carried, "blocking_error", None)
    said = (
        _text(getattr(error, "blocking_error", None)),
        *(_join(getattr(carried, name, None)) for name in ("content", "message", "output", "stdout", "stderr")),
    )
    return next(filter(None, said), None)


def _join(content: object) -> str | None:
    if isinstance(content, tuple):
        return "\n".join(piece for piece in content if isinstance(piece, str)) or None
    return _text(content)


def _text(value: object) -> str | None:
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
    attachments.HookPermissionDecision: lambda carried: _text(carried.decision) or "decided",
    attachments.HookDeferredTool: _always("deferred"),
    attachments.HookAdditionalContext: _always("context"),
    attachments.HookSystemMessage: _always("told"),
    attachments.AsyncHookResponse: _answer,
}
"""What came of a hook, by the attachment that tells of it."""

_READERS: Mapping[type, Callable[[Any], HookLine]] = {
    StopHookSummary: _read_summary,
    SavedHookContext: _read_context,
    HookStartedMessage: _read_message,
    HookProgressMessage: _read_message,
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
