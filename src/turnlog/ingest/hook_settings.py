"""turnlog's entries in the text of Claude Code's settings, put in and taken out byte by byte.

People write these files by hand: everything else keeps its bytes, and taking out what was put in gives back
the very text that was there. An entry is told by the end of its command, which also says what must stay when it
goes: a list or an object that was there and empty; or nothing, not even the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from turnlog.messages.spans import Span, find_span, list_items, list_members

_HOOKS = "hooks"
_MARK = re.compile(r" # turnlog((?: kept-\w+)*)$")
_NEW_FILE, _EMPTY_HOOKS, _EMPTY_LIST = "kept-nothing", "kept-hooks", "kept-list"
_LAST_LINE = re.compile(rb"\{\s*\n([ \t]*)$")


class NotSettingsError(ValueError):
    """A text that is not what Claude Code reads as its settings."""


class Entry(Struct, frozen=True, gc=False):
    """One of turnlog's hooks."""

    event: str
    command: str
    """Without what tells it from others."""
    timeout: object = None


def list_entries(text: bytes) -> list[Entry]:
    """Return turnlog's entries; raises `NotSettingsError`."""
    return [
        Entry(event, _MARK.sub("", hook["command"]), hook.get("timeout"))
        for event, groups in _read_hooks(text).items()
        for group in groups
        for hook in _list_own(group)
    ]


def add_entries(text: bytes | None, entries: Sequence[Entry]) -> bytes:
    """Return the text with entries, of which it has none yet; None for a file that is not there.

    Raises `NotSettingsError`.
    """
    marks = []
    if text is None:
        text, marks = b"{}\n", [_NEW_FILE]
    hooks = _read_hooks(text)
    style = _Style(text)
    if find_span(text, (_HOOKS,)) is None:
        made = {entry.event: [_make_group(entry, marks)] for entry in entries}
        return _add_member(text, (), _HOOKS, made, style) if made else text
    if not hooks:
        marks = [*marks, _EMPTY_HOOKS]
    for entry in entries:
        path = (_HOOKS, entry.event)
        if entry.event in hooks:
            empty = [] if hooks[entry.event] else [_EMPTY_LIST]
            text = _add_item(text, path, _make_group(entry, [*marks, *empty]), style)
        else:
            text = _add_member(text, (_HOOKS,), entry.event, [_make_group(entry, marks)], style)
    return text


def remove_entries(text: bytes) -> bytes | None:
    """Return the text without turnlog's entries; None if nothing but them was ever in it.

    Raises `NotSettingsError`.
    """
    hooks = _read_hooks(text)
    own = {event: [group for group in groups if _list_own(group)] for event, groups in hooks.items()}
    marks = {mark for groups in own.values() for group in groups for mark in _list_marks(group)}
    style = _Style(text)
    emptied = {
        event
        for event, groups in hooks.items()
        if own[event]
        and all(_is_own(group) for group in groups)
        and not any(_EMPTY_LIST in _list_marks(group) for group in groups)
    }
    if emptied and emptied == set(hooks) and _EMPTY_HOOKS not in marks:
        text = _remove_member(text, (), _HOOKS, style)
        return None if _NEW_FILE in marks and text.strip() == b"{}" else text
    for event in reversed(hooks):
        if event in emptied:
            text = _remove_member(text, (_HOOKS,), event, style)
        elif own[event]:
            text = _remove_groups(text, event, hooks[event], style)
    return text


def _read_hooks(text: bytes) -> dict[str, list[Any]]:
    try:
        read = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise NotSettingsError(f"not valid JSON ({error})") from error
    if not isinstance(read, dict):
        raise NotSettingsError("not a JSON object")
    hooks = read.get(_HOOKS, {})
    if not isinstance(hooks, dict):
        raise NotSettingsError('"hooks" is not an object')
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise NotSettingsError(f'"hooks" has no list for "{event}"')
    return hooks


def _list_own(group: object) -> list[Mapping[str, Any]]:
    hooks = group.get(_HOOKS) if isinstance(group, dict) else None
    found = hooks if isinstance(hooks, list) else []
    return [hook for hook in found if isinstance(hook, dict) and _is_own_hook(hook)]


def _is_own_hook(hook: Mapping[str, Any]) -> bool:
    command = hook.get("command")
    return isinstance(command, str) and _MARK.search(command) is not None


def _is_own(group: Any) -> bool:
    return bool(_list_own(group)) and len(_list_own(group)) == len(group[_HOOKS])


def _list_marks(group: object) -> list[str]:
    found = (_MARK.search(hook["command"]) for hook in _list_own(group))
    return [mark for match in found if match is not None for mark in match[1].split()]


def _make_group(entry: Entry, marks: Sequence[str]) -> dict[str, Any]:
    command = " ".join((f"{entry.command} # turnlog", *marks))
    return {_HOOKS: [{"type": "command", "command": command, "timeout": entry.timeout}]}


class _Style:
    """How a text is laid out."""

    def __init__(self, text: bytes) -> None:
        members = list_members(text)
        lead = text[: members[0].key_start] if members else b""
        found = _LAST_LINE.search(lead)
        self.indent = b"  " if found is None else found[1]
        self.line = b"\r\n" if b"\r\n" in text else b"\n"
        self.flat = bool(members) and b"\n" not in text.strip()

    def render(self, value: object, depth: int) -> bytes:
        """Return a value as it is written at a depth."""
        if self.flat:
            return json.dumps(value, ensure_ascii=False).encode()
        indent = self.indent.decode()
        lines = json.dumps(value, ensure_ascii=False, indent=indent).encode().split(b"\n")
        return (self.line + self.indent * depth).join(lines)

    def lead(self, depth: int, *, first: bool) -> bytes:
        """Return what stands before something at a depth."""
        if self.flat:
            return b"" if first else b" "
        return self.line + self.indent * depth

    def trail(self, depth: int) -> bytes:
        """Return what stands behind the only thing in something at a depth."""
        return b"" if self.flat else self.line + self.indent * depth


_Path = tuple[str | int, ...]


def _add_member(text: bytes, path: _Path, key: str, value: object, style: _Style) -> bytes:
    depth = len(path) + 1
    written = json.dumps(key).encode() + b": " + style.render(value, depth)
    span = _get_span(text, path)
    members = list_members(text, span.start)
    return _insert(text, span, members[-1].value.end if members else None, written, depth, style)


def _add_item(text: bytes, path: _Path, value: object, style: _Style) -> bytes:
    depth = len(path) + 1
    span = _get_span(text, path)
    items = list_items(text, span.start)
    written = style.render(value, depth)
    return _insert(text, span, items[-1].end if items else None, written, depth, style)


def _insert(text: bytes, span: Span, after: int | None, written: bytes, depth: int, style: _Style) -> bytes:
    """Put something behind the last in a container, or into one that is empty, whose blanks stay behind it."""
    if after is None:
        at = span.start + 1
        written = style.lead(depth, first=True) + written + style.trail(depth - 1)
    else:
        at = after
        written = b"," + style.lead(depth, first=False) + written
    return text[:at] + written + text[at:]


def _remove_member(text: bytes, path: _Path, key: str, style: _Style) -> bytes:
    span = _get_span(text, path)
    members = list_members(text, span.start)
    number = max(at for at, member in enumerate(members) if member.key == key)
    parts = [Span(member.key_start, member.value.end) for member in members]
    return _cut(text, span, parts, number, len(path), style)


def _remove_groups(text: bytes, event: str, groups: Sequence[Any], style: _Style) -> bytes:
    path = (_HOOKS, event)
    for number in reversed(range(len(groups))):
        if _is_own(groups[number]):
            span = _get_span(text, path)
            text = _cut(text, span, list_items(text, span.start), number, len(path), style)
        elif _list_own(groups[number]):
            inner = (*path, number, _HOOKS)
            for at in reversed(list(_find_own(groups[number][_HOOKS]))):
                span = _get_span(text, inner)
                text = _cut(text, span, list_items(text, span.start), at, len(inner), style)
    return text


def _find_own(hooks: Sequence[Any]) -> Iterator[int]:
    return (at for at, hook in enumerate(hooks) if isinstance(hook, dict) and _is_own_hook(hook))


def _cut(text: bytes, span: Span, parts: Sequence[Span], number: int, depth: int, style: _Style) -> bytes:
    """Take one part out of a container, with what stands between it and its neighbour."""
    part = parts[number]
    if number > 0:
        return text[: parts[number - 1].end] + text[part.end :]
    if len(parts) > 1:
        return text[: part.start] + text[parts[1].start :]
    trail = style.trail(depth)
    end = part.end + (len(trail) if text[part.end :].startswith(trail) else 0)
    return text[: span.start + 1] + text[end:]


def _get_span(text: bytes, path: _Path) -> Span:
    span = find_span(text, path)
    if span is None:
        raise NotSettingsError("it cannot be read")
    return span
