"""What a call did to a file, as far as it tells.

The result is trusted more than the input: a person may have changed an edit before it was made, and newer
versions tell the whole file as it was before.
"""

from __future__ import annotations

from msgspec import Struct

from turnlog.messages.tool_io import (
    EditInput,
    EditResult,
    MultiEditInput,
    MultiEditResult,
    WriteInput,
    WriteResult,
)
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState


class Replacement(Struct, frozen=True, gc=False):
    """A piece of a file, and what it became."""

    old: str
    new: str
    everywhere: bool = False


class FileEdit(Struct, frozen=True, gc=False, kw_only=True):
    """What a call did to a file: wrote all of it, or replaced pieces."""

    before: str | None = None
    """The whole file before, if that is told."""
    content: str | None = None
    """The whole file after, if it was written anew."""
    replacements: tuple[Replacement, ...] = ()


def read_edit(call: Call) -> FileEdit | None:
    """Return what a call did to its file; None if it did nothing, or does not tell."""
    if call.state is not CallState.RESOLVED:
        return None
    given, seen = call.view_input().value, call.view_result()
    told = None if seen is None else seen.value
    before = getattr(told, "original_file", None) or getattr(told, "original_file_contents", None)
    before = before if isinstance(before, str) else None
    match given:
        case WriteInput():
            content = told.content if isinstance(told, WriteResult) else None
            written = content if isinstance(content, str) else given.content
            return FileEdit(before=before, content=written) if isinstance(written, str) else None
        case EditInput():
            made = told if isinstance(told, EditResult) else given
            return FileEdit(before=before, replacements=_read_replacements((made,)))
        case MultiEditInput():
            several = told.edits if isinstance(told, MultiEditResult) else given.edits
            made_all = several if isinstance(several, tuple) else ()
            return FileEdit(before=before, replacements=_read_replacements(made_all))
        case _:
            return None


def _read_replacements(edits: tuple[object, ...]) -> tuple[Replacement, ...]:
    found = []
    for edit in edits:
        old, new = getattr(edit, "old_string", None), getattr(edit, "new_string", None)
        if isinstance(old, str) and isinstance(new, str):
            found.append(Replacement(old, new, getattr(edit, "replace_all", None) is True))
    return tuple(found)
