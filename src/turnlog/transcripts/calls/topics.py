"""What a call is about, in a few words: the path, the command, the question."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec import Raw

_TELLING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Agent": ("subagent_type", "description"),
        "Task": ("subagent_type", "description"),
        "Glob": ("pattern", "path"),
        "Grep": ("pattern", "path"),
        "Skill": ("skill", "args"),
    }
)
"""What to tell of a tool's input, where it takes more than one value to say what is done."""

_USUAL = ("file_path", "notebook_path", "path", "command", "pattern", "query", "url", "description", "prompt")


def topic_of(name: str, given: object, project: str | None = None) -> str:
    """Return what a tool was asked for, as it stands; paths as seen from the project. Never raises."""
    if not isinstance(given, Raw):
        return ""
    try:
        values = msgspec.json.decode(given, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode(given)
    names = _TELLING.get(name) or next(((usual,) for usual in _USUAL if usual in values), ())
    told = [text for each in names if (text := _text(values.get(each)))]
    if not told:
        told = [f"{each}={_decode(value)}" for each, value in values.items()]
    return " ".join(text.removeprefix(f"{project}/") if project else text for text in told)


def _text(value: Raw | None) -> str | None:
    try:
        return None if value is None else msgspec.json.decode(value, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _decode(value: Raw) -> str:
    return bytes(value).decode("utf-8", "replace")
