"""What the official SDK drops of the stream, found by sending every golden message through its classes.

`docs/agent-sdk.md` holds the table; a test compares. `python -m sdk_losses` in this folder writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import golden
import turnlog
from turnlog.integrations.agent_sdk import from_sdk, to_sdk
from turnlog.messages.base import Value

PAGE = Path(__file__).parents[1] / "docs" / "agent-sdk.md"
BEGIN, END = "<!-- begin: what the SDK drops -->\n", "<!-- end: what the SDK drops -->"


def messages() -> Iterator[Value]:
    """Yield every golden message of the stream."""
    for path in sorted((golden.DATA / "stream").glob("*.jsonl")):
        for line in golden.lines(f"stream/{path.stem}"):
            entry = turnlog.decode(line).entry
            assert isinstance(entry, Value)
            yield entry


def losses() -> dict[str, set[str]]:
    """Return, by the class of a message, the places that do not come back from the SDK's objects."""
    lost: dict[str, set[str]] = {}
    for message in messages():
        found = lost.setdefault(type(message).__name__, set())
        try:
            theirs = to_sdk(message)
        except KeyError as missing:
            found.add(f"the message, where it lacks `{missing.args[0]}`")
            continue
        if theirs is None:
            found.add("the message")
            continue
        found |= set(_missing(_wire(message), _wire(from_sdk(theirs)), ""))
    return {name: places for name, places in sorted(lost.items()) if places}


def _wire(message: Value) -> Any:
    return json.loads(turnlog.encode(message))


def _missing(ours: Any, theirs: Any, place: str) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            inner = f"{place}.{key}" if place else key
            if key in theirs:
                yield from _missing(value, theirs[key], inner)
            elif value is not None:
                yield f"`{inner}`"
    elif isinstance(ours, list) and isinstance(theirs, list):
        yield from _missing_items(ours, theirs, f"{place}[]")


def _missing_items(ours: list[Any], theirs: list[Any], place: str) -> Iterator[str]:
    kept = iter(theirs)
    following = next(kept, None)
    for item in ours:
        type_ = item.get("type") if isinstance(item, dict) else None
        if following is not None and (not isinstance(following, dict) or following.get("type") == type_):
            yield from _missing(item, following, place)
            following = next(kept, None)
        else:
            yield f"`{type_}` blocks"


def render() -> str:
    """Return the table as Markdown."""
    rows = [f"| `{name}` | {', '.join(sorted(places))} |" for name, places in losses().items()]
    return "\n".join(["| message | what the SDK's objects do not hold |", "| --- | --- |", *rows]) + "\n"


def replace_table(text: str) -> str:
    """Return a page with the table as it is now."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}{render()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(replace_table(PAGE.read_text()))
