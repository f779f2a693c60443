"""Which files calls read and changed, as their inputs name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState

__all__ = ["FILE_TOOLS", "NOT_DONE", "Touched", "list_touched"]

FILE_TOOLS: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
        "Read": ("file_path", False),
        "NotebookRead": ("notebook_path", False),
        "Write": ("file_path", True),
        "Edit": ("file_path", True),
        "MultiEdit": ("file_path", True),
        "NotebookEdit": ("notebook_path", True),
    }
)
"""The tools that work on one file: where their input names it, and whether they change it."""

NOT_DONE = frozenset({CallState.FAILED, CallState.REJECTED, CallState.INTERRUPTED})
"""What became of calls that touched nothing."""


class Touched(Struct, frozen=True, gc=False):
    """A file that was read or changed."""

    path: str
    changed: bool


def list_touched(calls: Iterable[Call]) -> tuple[Touched, ...]:
    """Return the files that some calls touched, each once, in order; calls that failed touched nothing."""
    found: dict[str, bool] = {}
    for call in calls:
        field, changes = FILE_TOOLS.get(call.name, ("", False))
        if not field or call.state in NOT_DONE:
            continue
        path = getattr(call.view_input().value, field, None)
        if isinstance(path, str):
            found[path] = found.get(path, False) or changes
    return tuple(Touched(path, changed) for path, changed in found.items())
