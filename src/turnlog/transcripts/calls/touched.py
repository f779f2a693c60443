"""Which files calls read and changed: as their inputs name them, below the directory of the call's line."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec
from msgspec import UNSET, Struct, UnsetType

from turnlog.messages.envelope import Envelope
from turnlog.messages.salvage import REFUSALS
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState

_FILE_TOOLS: Mapping[str, tuple[str, bool]] = MappingProxyType(
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
        path, changes = find_file(call)
        if path is not None and call.state not in NOT_DONE:
            found[path] = found.get(path, False) or changes
    return tuple(Touched(path, changed) for path, changed in found.items())


def find_file(call: Call) -> tuple[str | None, bool]:
    """Return the file that a call works on, if it is on one, and whether the call changed it."""
    field, changes = _FILE_TOOLS.get(call.name, ("", False))
    path = _read_path(call, field) if field else None
    if not isinstance(path, str):
        return None, False
    entry = call.place.line.entry
    cwd = entry.cwd if isinstance(entry, Envelope) else None
    return _resolve(path, cwd if isinstance(cwd, str) else ""), changes and call.state not in NOT_DONE


class _Paths(Struct, frozen=True, gc=False):
    """What of an input is read: nothing else of it need have a type for that."""

    file_path: str | UnsetType = UNSET
    notebook_path: str | UnsetType = UNSET


_decode_paths = msgspec.json.Decoder(_Paths).decode


def _read_path(call: Call, field: str) -> object:
    raw = call.block.input
    try:
        return None if raw is UNSET else getattr(_decode_paths(raw), field)
    except REFUSALS:
        return getattr(call.view_input().value, field, None)


def _resolve(path: str, cwd: str) -> str:
    """Return a path below the directory that it is relative to; as it stands where that is not known."""
    if not path or path.startswith(("/", "\\", "~")) or ntpath.splitdrive(path)[0]:
        return path
    if cwd.startswith("/"):
        return posixpath.normpath(posixpath.join(cwd, path))
    return ntpath.normpath(ntpath.join(cwd, path)) if ntpath.splitdrive(cwd)[0] else path
