"""Spec 002's closed sets are unions in the OpenAPI document and in the page's types, not plain strings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from turnlog.server.app import describe

TYPES = Path(__file__).parents[2] / "web" / "src" / "api" / "schema.ts"
SCHEMAS: dict[str, Any] = json.loads(describe())["components"]["schemas"]

ROLES = {"user", "assistant", "tool_use", "tool_result", "system", "progress", "summary"}
MESSAGE_TYPES = ROLES | {"thinking", "error", "hook"}
LANES = {"main", "tool", "agent"}
CATEGORIES = {
    "skill",
    "mcp",
    "builtin",
    "agent",
    "hook",
    "hook_progress",
    "error",
    "system",
    "snapshot",
    "queue",
}
GROUPS = {"autonomous", "needs_you", "delivered"}
AUTHORS = {"human", "claude", "agent", "system"}
KINDS = {
    "prompt",
    "answer",
    "thinking",
    "tool-input",
    "tool-output",
    "summary",
    "notice",
    "title",
    "hook",
}

UNIONS = [
    ("Message", "role", ROLES),
    ("Message", "types", MESSAGE_TYPES),
    ("Message", "author", AUTHORS),
    ("Message", "lane", LANES),
    ("Message", "category", CATEGORIES),
    ("Call", "category", CATEGORIES),
    ("Action", "category", CATEGORIES),
    ("Hit", "role", ROLES),
    ("Hit", "kind", KINDS),
    ("HookEventItem", "group", GROUPS),
    ("HookItem", "group", GROUPS),
    ("Agent", "state", {"running", "done", "failed", "stopped", "unknown"}),
]


def list_values(schema: dict[str, Any]) -> set[str]:
    """Return every value that a field can have, null aside; nothing where it can be any string."""
    if "$ref" in schema:
        return list_values(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "items" in schema:
        return list_values(schema["items"])
    parts = schema.get("anyOf", schema.get("oneOf", ()))
    return {each for each in schema.get("enum", ()) if each is not None}.union(*map(list_values, parts))


@pytest.mark.parametrize(("shape", "field", "values"), UNIONS)
def test_the_document_lists_every_value(shape: str, field: str, values: set[str]) -> None:
    assert list_values(SCHEMAS[shape]["properties"][field]) == values


@pytest.mark.parametrize(("shape", "field", "values"), UNIONS)
def test_the_page_has_no_plain_string(shape: str, field: str, values: set[str]) -> None:
    [body] = re.findall(rf"^        readonly {shape}: {{\n(.*?)^        }};", TYPES.read_text(), re.S | re.M)
    [told] = re.findall(rf"^            readonly {field}: (.*);$", body, re.M)
    assert not re.search(r"\bstring\b", told)


def test_spec_002_and_the_page_call_roles_the_same() -> None:
    assert set(SCHEMAS["Role"]["enum"]) == ROLES
    assert not [name for name in SCHEMAS if "_" in name], "two classes of one name"
