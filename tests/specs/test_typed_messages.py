"""Spec 001 §4: every message says its own `type`, and its `subtype` where that tells it apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import turnlog.messages
from golden import DATA, all_entry_lines, lines
from turnlog.messages import UNSET, decode, encode
from turnlog.messages.base import Value
from turnlog.messages.control.frames import UnknownResponseBody
from turnlog.messages.control.requests import UnknownControlRequest
from turnlog.messages.hook_events import HOOK_EVENTS, UnknownHookEvent
from turnlog.messages.sdk.stream import new_user_message

SPELLING = {"hookEventName": "hook_event_name"}


def list_public() -> Iterator[type[Value]]:
    """Yield every public class that a tag tells apart."""
    for module in walk_packages(turnlog.messages.__path__, "turnlog.messages."):
        loaded = import_module(module.name)
        for name, cls in vars(loaded).items():
            is_own = isinstance(cls, type) and cls.__module__ == module.name
            if is_own and issubclass(cls, Value) and not name.startswith("_"):
                yield cls


TAGGED = [cls for cls in list_public() if cls.__struct_config__.tag not in (None, cls.__name__)]


def line_names() -> list[str]:
    folders = ("stream", "control", "hooks")
    return [
        str(path.relative_to(DATA).with_suffix(""))
        for each in folders
        for path in (DATA / each).glob("*.jsonl")
    ]


def told(value: object, name: str) -> Any:
    found = getattr(value, name, None)
    return None if found is UNSET else found


def test_there_are_as_many_as_the_protocols_have() -> None:
    assert len(TAGGED) > 400


@pytest.mark.parametrize("cls", TAGGED, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_a_class_has_its_tag_under_the_name_that_it_is_written_with(cls: type[Value]) -> None:
    config = cls.__struct_config__
    assert config.tag_field is not None
    name = SPELLING.get(config.tag_field, config.tag_field)
    assert getattr(cls, name) == config.tag
    assert name not in cls.__struct_fields__


def test_every_entry_says_the_type_and_the_subtype_of_its_line() -> None:
    for line in all_entry_lines().values():
        entry = decode(line).entry
        try:
            written = json.loads(line)
        except ValueError:
            continue
        if isinstance(written, dict) and isinstance(written.get("type"), str):
            assert told(entry, "type") == written["type"]
            if written["type"] in ("system", "result"):
                assert told(entry, "subtype") == written.get("subtype")


@pytest.mark.parametrize("name", line_names())
def test_every_message_says_the_type_of_its_line(name: str) -> None:
    for line in lines(name):
        entry = decode(line).entry
        written = json.loads(line)
        if isinstance(written.get("type"), str):
            assert told(entry, "type") == written["type"]
            if isinstance(written.get("subtype"), str):
                assert told(entry, "subtype") == written["subtype"]
        elif isinstance(written.get("hook_event_name"), str):
            assert told(entry, "type") == told(entry, "hook_event_name") == written["hook_event_name"]


def test_a_message_that_was_made_says_its_type_and_writes_it_once() -> None:
    message = new_user_message("Hello", session_id="s1")
    assert message.type == "user"
    assert encode(message).count(b'"type":"user"') == 1


def test_what_nobody_declared_says_it_under_the_same_name_as_its_neighbours() -> None:
    assert UnknownControlRequest(b"{}", "dance").subtype == "dance"
    assert UnknownResponseBody(b"{}", "maybe").subtype == "maybe"
    assert UnknownHookEvent(b"{}", "MoonRise").hook_event_name == "MoonRise"
    assert {name: event.hook_event_name for name, event in HOOK_EVENTS.items()} == {
        name: name for name in HOOK_EVENTS
    }
