"""Events in a few words: what each is about, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from turnlog.messages.channels import AnyEntry
from turnlog.messages.metadata import FileHistoryDelta, FileHistorySnapshot, QueueOperation
from turnlog.messages.system import ApiErrorNotice
from turnlog.transcripts.hooks.lines import HookRun, read_hook_line
from turnlog.transcripts.lines.texts import content_text, text_of

__all__ = ["tell_event", "tell_outcome", "tell_runs"]

_MOST_NAMES = 20


def tell_event(entry: AnyEntry) -> tuple[str, str]:
    """Return what an event is about, and what came of it; either may be empty."""
    hook = read_hook_line(entry)
    if hook is not None:
        return tell_runs(hook.runs)
    tell = _TELLERS.get(type(entry))
    return (text_of(entry), "") if tell is None else tell(entry)


def tell_runs(runs: tuple[HookRun, ...] | list[HookRun]) -> tuple[str, str]:
    """Return the commands of a hook, and what came of them; the failures, if there are any."""
    names = dict.fromkeys(run.command or run.name for run in runs)
    outcomes = [tell_outcome(run) for run in runs]
    failures = [each for run, each in zip(runs, outcomes, strict=True) if run.outcome in ("failed", "blocked")]
    return ", ".join(names), ", ".join(dict.fromkeys(filter(None, failures or outcomes)))


def tell_outcome(run: HookRun) -> str:
    """Return what came of a command; empty if that is not known."""
    if run.outcome == "failed" and run.exit_code:
        return f"exit {run.exit_code}"
    return run.outcome or ""


def _tell_snapshot(entry: Any) -> tuple[str, str]:
    kept = getattr(entry.snapshot, "tracked_file_backups", None)
    names = list(kept) if isinstance(kept, Mapping) else []
    shown = ", ".join(name.rpartition("/")[2] for name in names[:_MOST_NAMES])
    return shown, f"{len(names)} {'file' if len(names) == 1 else 'files'} kept"


def _tell_delta(entry: Any) -> tuple[str, str]:
    path = entry.tracking_path
    return (path.rpartition("/")[2] if isinstance(path, str) else "", "1 file kept")


def _tell_queue(entry: Any) -> tuple[str, str]:
    return content_text(entry.content), entry.reason if isinstance(entry.reason, str) else ""


def _tell_failure(entry: Any) -> tuple[str, str]:
    errors = [each for each in (entry.error, entry.cause) if each is not None]
    said = next(filter(None, (_say_error(each) for each in errors)), "") or text_of(entry)
    attempt, most = entry.retry_attempt, entry.max_retries
    if not isinstance(attempt, int):
        return said, ""
    return said, f"retry {attempt} of {most}" if isinstance(most, int) else f"retry {attempt}"


def _say_error(error: object) -> str:
    if isinstance(error, str):
        return error
    parts = (getattr(error, name, None) for name in ("code", "message", "path", "status"))
    return " ".join(str(part) for part in parts if isinstance(part, str | int) and not isinstance(part, bool))


_TELLERS: Mapping[type, Callable[[Any], tuple[str, str]]] = {
    FileHistorySnapshot: _tell_snapshot,
    FileHistoryDelta: _tell_delta,
    QueueOperation: _tell_queue,
    ApiErrorNotice: _tell_failure,
}
