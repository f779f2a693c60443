"""The archive over MCP, asked by the package's own client: in this process, through pipes, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from api_archive import fill
from command_line import TURNLOG, environment
from turnlog.integrations.mcp import NOTICE, build_server
from turnlog.store.model import LOCAL, Scope
from turnlog.store.opening import open_store

TOOLS = ["search", "file_history", "list_projects", "list_sessions", "read_conversation", "usage"]
_PATIENCE = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample sessions in its archive."""
    folder = tmp_path_factory.mktemp("mcp")
    with closing(open_store(folder / "turnlog.db")) as store:
        fill(store, folder / "turnlog.db", folder / "claude")
    return folder


def ask(home: Path, tool: str, scope: Scope = LOCAL, **given: object) -> Any:
    """Return what a tool answers; what it refuses, as text."""

    async def talk() -> Any:
        with closing(open_store(home / "turnlog.db")) as store:
            async with Client(build_server(store, scope)) as client:
                result = await client.call_tool(tool, dict(given))
                text = result.content[0].text  # type: ignore[union-attr]
                return text if result.is_error else json.loads(text)

    return asyncio.run(talk())


def test_the_tools_say_that_they_only_read(home: Path) -> None:
    async def talk() -> list[Any]:
        with closing(open_store(home / "turnlog.db")) as store:
            async with Client(build_server(store, LOCAL)) as client:
                return list((await client.list_tools()).tools)

    tools = asyncio.run(talk())
    assert [tool.name for tool in tools] == TOOLS
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description for tool in tools)


def test_what_is_found_leads_to_its_message(home: Path) -> None:
    found = ask(home, "search", query="tool:Bash", limit=3)
    assert found["notice"] == NOTICE
    assert len(found["hits"]) == 3
    hit = next(hit for hit in found["hits"] if hit["message"])
    read = ask(home, "read_conversation", session=hit["session"], around=hit["message"], limit=5)
    assert read["notice"] == NOTICE
    if hit["agent"] is None:
        assert hit["message"] in [message["message"] for message in read["messages"]]


def test_pages_go_on_where_they_ended(home: Path) -> None:
    first = ask(home, "search", query="tool:Bash", limit=2)
    second = ask(home, "search", query="tool:Bash", limit=2, cursor=first["next"])
    assert first["hits"] != second["hits"]


def test_a_conversation_is_read_in_windows(home: Path) -> None:
    listed = ask(home, "list_sessions", limit=50)
    longest = max(listed["sessions"], key=lambda session: session["messages"])
    seen: list[str] = []
    after: int | None = None
    while True:
        window = ask(home, "read_conversation", session=longest["session"], limit=7, after=after)
        seen += [message["message"] for message in window["messages"]]
        after = window["after"]
        if after is None:
            break
    assert len(seen) == len(set(seen)) == window["total"]


def test_long_messages_are_cut_and_say_so(home: Path) -> None:
    for session in ask(home, "list_sessions", limit=50)["sessions"]:
        for message in ask(home, "read_conversation", session=session["session"], limit=50)["messages"]:
            assert len(message["untrusted"]) <= 1500


def test_a_file_has_a_history(home: Path) -> None:
    paths = ask(home, "search", query="tool:Edit", limit=1)
    assert paths["hits"]
    found = ask(home, "file_history", path=".py", limit=5)
    assert all(hit["session_id"] for hit in found["hits"])


def test_projects_and_usage_are_told(home: Path) -> None:
    projects = ask(home, "list_projects")
    assert projects["total"] == len(projects["projects"]) > 0
    assert ask(home, "usage", by="project")["rows"]


def test_somebody_else_sees_nothing(home: Path) -> None:
    other = Scope("somebody else")
    assert ask(home, "search", other, query="tool:Bash")["hits"] == []
    assert ask(home, "list_sessions", other)["sessions"] == []
    assert ask(home, "list_projects", other)["projects"] == []


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("search", {"query": '"open'}, "character"),
        ("search", {"query": "a", "cursor": "nonsense"}, "cursor"),
        ("read_conversation", {"session": "nobody-knows"}, "no such session"),
        ("search", {"query": "a", "limit": 5000}, "50"),
        ("usage", {"by": "moon"}, "daily"),
    ],
)
def test_what_cannot_be_asked_is_told(home: Path, tool: str, given: dict[str, Any], told: str) -> None:
    answer = ask(home, tool, **given)
    assert isinstance(answer, str)
    assert told in answer


def test_it_speaks_through_pipes(home: Path) -> None:
    env = environment({"TURNLOG_HOME": str(home)})
    started = StdioServerParameters(command=TURNLOG[0], args=[*TURNLOG[1:], "mcp"], env=env)

    async def talk() -> list[str]:
        async with Client(started) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(talk()) == TOOLS


def test_over_http_the_token_is_needed(home: Path) -> None:
    async def talk(url: str, token: str) -> list[str]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    with _serve(home) as url:
        assert httpx2.post(url, json={}).status_code == 401
        assert httpx2.post(url, json={}, headers={"Authorization": "Bearer wrong"}).status_code == 401
        token = (home / "server-token").read_text().strip()
        assert asyncio.run(talk(url, token)) == TOOLS
        foreign = {"Authorization": f"Bearer {token}", "Host": "evil.example"}
        assert httpx2.post(url, json={}, headers=foreign).status_code in (400, 403, 421)


@contextmanager
def _serve(home: Path) -> Iterator[str]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = environment({"TURNLOG_HOME": str(home)})
    process = subprocess.Popen(
        [*TURNLOG, "mcp", "--http", "--port", str(port)], env=env, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + _PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def test_the_web_framework_is_not_loaded() -> None:
    code = "import sys, turnlog.integrations.mcp; assert 'litestar' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
