"""The part of docs/api.md that is made: every operation with its parameters and an example.

`python -m api_reference` (with tests/ on the path) writes it; `make docs` does. The examples are real answers
about the sample sessions and a made-up one, shortened.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from api_archive import IMAGES, INLINE, ODD, OFFLOADED, TOOLS, fill
from board_scenarios import Told
from live_client import listening
from server_app import Answer, Served, serving
from turnlog.server.app import describe
from turnlog.server.requests import ServerContext
from turnlog.store.interface import MaintainedStore
from turnlog.store.opening import open_store

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
MARK = "<!-- What follows is made by `make docs`. -->\n"
SHORT = 160
"""Characters of a text in an example."""

WAITING = "5e551011-0000-4000-8000-000000000001"
"""A session that waits for a permission."""

EXAMPLES = {
    "/api/projects": "?limit=1",
    "/api/sessions": "?text=package.json",
    "/api/sessions/{id}": f"/{TOOLS}",
    "/api/sessions/{id}/marks": f"/{TOOLS}/marks",
    "/api/sessions/{id}/messages": f"/{TOOLS}/messages?around=700150e0-0000-4000-9000-000000000005&limit=1",
    "/api/sessions/{id}/messages/{index}/raw": f"/{TOOLS}/messages/1/raw",
    "/api/sessions/{id}/turns": f"/{TOOLS}/turns?limit=1",
    "/api/sessions/{id}/tree": f"/{TOOLS}/tree?limit=3",
    "/api/sessions/{id}/agents": f"/{INLINE}/agents",
    "/api/sessions/{id}/problems": f"/{ODD}/problems?limit=1&cursor=3",
    "/api/sessions/{id}/sidechains": f"/{TOOLS}/sidechains",
    "/api/sessions/{id}/sidechains/{message_uuid}": f"/{TOOLS}/sidechains/700150e0-0000-4000-9000-000000000002",
    "/api/sessions/{id}/calls": f"/{TOOLS}/calls?limit=1&state=failed",
    "/api/sessions/{id}/timeline": f"/{TOOLS}/timeline?around=0&limit=1",
    "/api/sessions/{id}/actions": f"/{TOOLS}/actions?limit=1",
    "/api/sessions/{id}/hook-events": f"/{WAITING}/hook-events",
    "/api/sessions/{id}/captures": f"/{TOOLS}/captures",
    "/api/sessions/{id}/forget": f"/{ODD}/forget",
    "/api/sessions/{id}/restore": f"/{ODD}/restore",
    "/api/sessions/{id}/access": f"/{TOOLS}/access",
    "/api/sessions/{id}/deletion-preview": f"/{ODD}/deletion-preview",
    "/api/ingest/state": f"?origin={'0123456789abcdef' * 2}",
    "/api/search": "?q=comparison",
    "/api/export": f"?id={TOOLS}&format=md",
    "/api/export/preview": f"?id={TOOLS}&format=md",
    "/api/usage": "?by=model&since=2026-03-04&project=orchard",
}
"""What is asked for; what is not here is asked for as it is. Of sessions, what stands behind /api/sessions."""
BODIES: dict[tuple[str, str], Any] = {
    ("PATCH", "/api/sessions/{id}/marks"): {
        "name": "The comparison",
        "starred": True,
        "add_tags": ["config"],
    },
    ("POST", "/api/sessions/{id}/forget"): {"dry_run": True},
    ("POST", "/api/sessions/{id}/restore"): {"dry_run": True},
    ("PUT", "/api/rules"): {"pattern": "*/website", "visibility": "team"},
    ("POST", "/api/rules/preview"): {"pattern": "*/website", "visibility": None},
    ("POST", "/api/hooks"): {
        "session_id": WAITING,
        "hook_event_name": "Notification",
        "notification_type": "auth_success",
    },
}
NOT_SHOWN = {
    ("GET", "/api/sessions/{id}/captures/{source}"),
    ("GET", "/api/archive/verify"),
    ("POST", "/api/archive/verify"),
    ("DELETE", "/api/archive/tombstones/{session_id}"),
    ("POST", "/api/ingest"),
    ("POST", "/api/ingest/hooks"),
    ("POST", "/api/login"),
    ("GET", "/api/login/oidc"),
    ("GET", "/api/login/callback"),
    ("POST", "/api/logout"),
    ("POST", "/api/users"),
    ("PATCH", "/api/users/{name}"),
    ("POST", "/api/users/{name}/disable"),
    ("POST", "/api/users/{name}/enable"),
    ("POST", "/api/tokens"),
    ("DELETE", "/api/tokens/{id}"),
    ("GET", "/api/machines"),
    ("PUT", "/api/machines/{origin}"),
    ("PUT", "/api/sessions/{id}/access"),
    ("POST", "/api/access"),
    ("POST", "/api/links"),
    ("POST", "/api/links/preview"),
    ("DELETE", "/api/links/{id}"),
    ("DELETE", "/api/sessions/{id}"),
}
"""What would answer something else each time, or nothing here; and what is asked in no words."""


def build_reference() -> str:
    """Return the part of the page that is made."""
    schema = json.loads(describe())
    with TemporaryDirectory() as folder:
        home = Path(folder)
        with closing(open_store(home / "turnlog.db")) as store:
            fill(store, home / "turnlog.db", home / ".claude")
            _ask_permission(store)
            around = ServerContext(place=home / "turnlog.db", config_dirs=(home / ".claude",))
            with serving(home / "home", store=store, around=around) as api:
                parts = [
                    part
                    for path, methods in schema["paths"].items()
                    for method, operation in methods.items()
                    for part in _describe(api, method.upper(), path, operation, schema["components"]["schemas"])
                ]
    return _settle("\n".join(parts), folder)


def _ask_permission(store: MaintainedStore) -> None:
    """Have a session wait, for mission control to show."""
    told = Told(store, Path(), time.time_ns(), WAITING)
    given = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "git push"}}
    told.hook("UserPromptSubmit", 90, prompt="Publish it")
    told.hook("PermissionRequest", 61, **given)


def _describe(
    api: Served, method: str, path: str, operation: dict[str, Any], shapes: dict[str, Any]
) -> Iterator[str]:
    yield f"## `{method} {path}`\n"
    yield operation["description"] + "\n"
    parameters = operation.get("parameters", [])
    if parameters:
        yield "| parameter | | |\n| --- | --- | --- |"
        yield from (_tell_parameter(each, shapes) for each in parameters)
        yield ""
    yield from _show(api, method, path)


def _tell_parameter(parameter: dict[str, Any], shapes: dict[str, Any]) -> str:
    schema = parameter["schema"]
    value = schema.get("default")
    default = "" if value is None else f"default `{json.dumps(value)}`"
    where = "in the path" if parameter["in"] == "path" else default
    limits = [f"from {schema['minimum']:.0f}" if "minimum" in schema else ""]
    limits += [f"to {schema['maximum']:.0f}" if schema.get("maximum", 1 << 53) < 1 << 53 else ""]
    text = ", ".join(filter(None, (where, " ".join(filter(None, limits)))))
    values = ", ".join(f"`{each}`" for each in _list_values(schema, shapes))
    means = parameter["description"] + (f" One of {values}." if values else "")
    return f"| `{parameter['name']}` | {text} | {means} |"


def _list_values(schema: Any, shapes: dict[str, Any]) -> list[str]:
    """Return the words that a parameter may be."""
    if "$ref" in schema:
        return _list_values(shapes[schema["$ref"].rpartition("/")[2]], shapes)
    inside = [
        *schema.get("anyOf", ()),
        *schema.get("allOf", ()),
        *([schema["items"]] if "items" in schema else ()),
    ]
    return schema.get("enum") or [value for each in inside for value in _list_values(each, shapes)]


def _show(api: Served, method: str, path: str) -> Iterator[str]:
    asked = _find_example(api, path)
    if path == "/api/live":
        yield f"    {method} {asked}\n"
        yield _show_stream(api)
        return
    if (method, path) in NOT_SHOWN:
        return
    given = BODIES.get((method, path))
    body = None if given is None else json.dumps(given).encode()
    headers = {**api.bearer, **({} if body is None else {"Content-Type": "application/json"})}
    answer = api.ask(method, asked, headers, body)
    yield f"    {method} {asked}\n" + ("" if body is None else f"    {body.decode()}\n")
    assert answer.status in (200, 201), answer.body
    yield from _show_answer(answer)


def _show_stream(api: Served) -> str:
    """Return how a stream begins that does not end."""
    with listening(api) as client:
        event = client.read("hello")
    return f"```\nid: {event.id}\nevent: {event.name}\ndata: {json.dumps(event.data)}\n```\n"


def _find_example(api: Served, path: str) -> str:
    if path.endswith("/{number}"):
        return str(api.get(f"/api/sessions/{IMAGES}/messages").json["items"][0]["blocks"][1]["image"]["href"])
    if "/tool-results/" in path:
        [block] = api.get(f"/api/sessions/{OFFLOADED}/messages").json["items"][1]["blocks"]
        return str(block["call"]["result"]["offloaded"]["href"])
    given = EXAMPLES.get(path, "")
    return f"/api/sessions{given}" if given.startswith("/") else f"{path}{given}"


def _show_answer(answer: Answer) -> Iterator[str]:
    kind = answer.headers["content-type"]
    if kind == "application/json":
        yield f"```json\n{json.dumps(_shorten(answer.json), indent=2, ensure_ascii=False)}\n```\n"
    elif kind.startswith("image/"):
        yield f"The answer is `{kind}`.\n"
    else:
        text = answer.body.decode().splitlines()[0]
        yield f"```\n{text[:SHORT]}…\n```\n"


def _shorten(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shorten(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_shorten(each) for each in value[:3]]
    return value if not isinstance(value, str) or len(value) <= SHORT else value[:SHORT] + "…"


def _settle(text: str, folder: str) -> str:
    """Put the same names for what differs each time."""
    names: dict[str, str] = {}
    text = text.replace(folder, "/home/ada")
    text = re.sub(
        r"\b[0-9a-f]{32}\b", lambda found: names.setdefault(found[0], f"{len(names) + 1:02x}" * 16), text
    )
    text = re.sub(r'"(version|newest)": "[^"]+"', r'"\1": "…"', text)
    text = re.sub(r"\b[0-9a-f]{16}:[0-9]+", "0123456789abcdef:21", text)
    text = re.sub(r'"(seq|last_change)": [0-9]+', r'"\1": 21', text)  # copies are told of as they turn up
    today = datetime.now(UTC)
    for day in {today - timedelta(days=1), today}:  # what happens while this is written
        text = re.sub(rf"{day:%Y-%m-%d}T[0-9:.]+Z", "2026-03-04T12:00:00Z", text)
    text = re.sub(r'"next": "W[^"]{20,}"', '"next": "…"', text)  # holds a key, in a form of its own
    text = re.sub(r'("place": "[^"]+",\n  "bytes": )[0-9]+', r"\g<1>2500000", text)  # as SQLite happens to grow
    text = re.sub(r'"waited_ms": [0-9]+', '"waited_ms": 61000', text)
    text = re.sub(r"\b[0-9]{19}-[0-9a-z]+", "1772625600000000000-0123456789abcdef", text)
    text = re.sub(r'"timestamp": 1[0-9]{9}\b', '"timestamp": 1772625600', text)
    return re.sub(r"key=[\w-]+", "key=…", text)


if __name__ == "__main__":
    head = PAGE.read_text().partition(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n{build_reference()}")
