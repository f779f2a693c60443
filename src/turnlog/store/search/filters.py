"""Filters, held against where a passage stands: yes, no, or not known.

Paths, branches and models contain the value, ids begin with it, tools, persons and hosts are it. In models,
tools, persons and hosts `*` stands for anything. Case and accents do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET, UnsetType

from turnlog.store.lists import list_model_forms
from turnlog.store.search.language import Filter
from turnlog.store.search.normal import normalise
from turnlog.store.search.settings import Setting

__all__ = ["Test", "build_test"]

Test = Callable[[Setting], bool | None]

_FIELDS: Mapping[str, str] = {
    "project": "project",
    "session": "session_ids",
    "tool": "tool",
    "model": "model",
    "role": "role",
    "category": "category",
    "branch": "branch",
    "person": "person",
    "file": "file",
    "kind": "kind",
    "agent": "agents",
}
_PARTS = frozenset({"project", "branch", "file"})
_BEGINNINGS = frozenset({"session", "agent"})
_STATES: Mapping[str, str] = {"error": "is_error", "sidechain": "is_sidechain"}


def build_test(part: Filter) -> Test:
    """Return what decides a filter; it says None where the setting does not tell."""
    if part.name == "is":
        return _build_state_test(part)
    if part.name in ("after", "before"):
        return _build_time_test(part)
    if part.name == "machine":
        return _build_machine_test(part)
    field, wanted = _FIELDS[part.name], [normalise(value) for value in part.values]
    if part.name == "model":
        wanted = [f"*{form}*" for value in wanted for form in list_model_forms(value)]
    fits = _fits_part if part.name in _PARTS else _fits_beginning if part.name in _BEGINNINGS else _fits_whole

    def test(setting: Setting) -> bool | None:
        found: str | tuple[str, ...] | None | UnsetType = getattr(setting, field)
        if found is UNSET:
            return None
        values = (found,) if isinstance(found, str) else found or ()
        return any(fits(normalise(value), each) for value in values for each in wanted)

    return test


def _build_machine_test(part: Filter) -> Test:
    wanted = [normalise(value) for value in part.values]

    def test(setting: Setting) -> bool | None:
        if setting.machine is UNSET:
            return None
        origin, *hosts = map(normalise, setting.machine or ("",))
        return any(
            _fits_beginning(origin, each) or any(_fits_whole(host, each) for host in hosts) for each in wanted
        )

    return test


def _build_state_test(part: Filter) -> Test:
    fields = [_STATES[value] for value in part.values]

    def test(setting: Setting) -> bool | None:
        found = [getattr(setting, field) for field in fields]
        return True if True in found else None if UNSET in found else False

    return test


def _build_time_test(part: Filter) -> Test:
    instant, is_after = part.instant, part.name == "after"

    def test(setting: Setting) -> bool | None:
        time = setting.time
        if time is UNSET:
            return None
        return time is not None and instant is not None and (time >= instant if is_after else time < instant)

    return test


def _fits_part(value: str, wanted: str) -> bool:
    return wanted in value


def _fits_beginning(value: str, wanted: str) -> bool:
    return value.startswith(wanted)


def _fits_whole(value: str, wanted: str) -> bool:
    if "*" not in wanted:
        return value == wanted
    first, *between, last = wanted.split("*")
    if len(value) < len(first) + len(last) or not value.startswith(first) or not value.endswith(last):
        return False
    at, end = len(first), len(value) - len(last)
    for piece in between:
        found = value.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
