"""Who wrote each line of a file, by playing its edits again.

The file is followed from edit to edit. Where an edit tells what the file was before, what changed since the
last one was done by somebody else; lines that stayed keep their origin, wherever they moved. What cannot be
played again, because nobody knows what it was applied to, is remembered by its words: a line that has them is
attributed to it, and said to be unsure.

To tell what a call did to a file, the result is trusted more than the input: a person may have changed an edit
before it was made, and newer versions tell the whole file as it was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from turnlog.messages.tool_io.files import (
    EditInput,
    EditResult,
    MultiEditInput,
    MultiEditResult,
    WriteInput,
    WriteResult,
)
from turnlog.transcripts.calls import Call
from turnlog.transcripts.kinds import CallState


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


_TELLING = 6
"""How many characters a line has at least that is recognised by its words alone."""


class Authorship(Struct, frozen=True, gc=False):
    """Where a line is from."""

    edit: int | None
    """The number of the edit that wrote it; None if none of them did."""
    sure: bool
    """Whether the way from that edit to this line is known, and not only its words."""


_NOBODY = Authorship(None, True)


def attribute(edits: Iterable[FileEdit], current: str) -> list[Authorship]:
    """Return who wrote each line of a file, given all edits in order and what it says now."""
    file = _File()
    for number, edit in enumerate(edits):
        file.play(number, edit)
    return file.finish(current.splitlines())


class _File:
    """A file on its way through its edits."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._origins: list[Authorship] = []
        self._known = False
        """Whether the lines are those of the file, and not just of parts of it."""
        self._words: dict[str, int] = {}
        """Which edit last wrote a line with these words."""

    def play(self, number: int, edit: FileEdit) -> None:
        """Take an edit."""
        if edit.before is not None:
            self._become(edit.before.splitlines(), _NOBODY)
            self._known = True
        if edit.content is not None:
            after: str | None = edit.content
        elif self._known:
            after = _replace("\n".join(self._lines), edit)
        else:
            after = None
        written = edit.content or "\n".join(each.new for each in edit.replacements)
        self._words |= {line.strip(): number for line in written.splitlines()}
        if after is None:
            self._known = False  # something was changed, and nobody knows where
            return
        self._become(after.splitlines(), Authorship(number, True))
        self._known = True

    def finish(self, lines: list[str]) -> list[Authorship]:
        """Return who wrote the lines that the file has now."""
        self._become(lines, _NOBODY)
        return [
            self._guess(line) if origin.edit is None else origin
            for line, origin in zip(self._lines, self._origins, strict=True)
        ]

    def _guess(self, line: str) -> Authorship:
        words = line.strip()
        number = self._words.get(words) if len(words) >= _TELLING else None
        return _NOBODY if number is None else Authorship(number, False)

    def _become(self, lines: list[str], origin: Authorship) -> None:
        """Make the file another; lines that stay keep their origin, all others get this one."""
        if lines == self._lines:
            return
        origins = [origin] * len(lines)
        for old, new, count in _match(self._lines, lines):
            origins[new : new + count] = self._origins[old : old + count]
        self._lines, self._origins = lines, origins


def _replace(text: str, edit: FileEdit) -> str | None:
    for each in edit.replacements:
        if each.old not in text:
            return None
        text = text.replace(each.old, each.new, -1 if each.everywhere else 1)
    return text


def _match(old: Sequence[str], new: Sequence[str]) -> Iterable[tuple[int, int, int]]:
    """Yield stretches that two texts share; what they begin and end with is found without comparing all."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    most -= head
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    yield 0, 0, head
    inner = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for block in inner.get_matching_blocks():
        yield head + block.a, head + block.b, block.size
    yield len(old) - tail, len(new) - tail, tail
