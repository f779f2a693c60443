"""The commands that a hook event set off, put together from the lines that tell of them: each once."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from turnlog.transcripts.hooks.lines import HookRun

__all__ = ["merge_runs"]


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
