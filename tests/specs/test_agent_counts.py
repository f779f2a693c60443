"""How many sub-agents a session has is the same number wherever it is told."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import command_line
import turnlog
from server_app import serving
from turnlog.ingest.pipeline import sync
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import locate_path

NAME = "5e550000-0000-4000-8000-000000000001"


def lines_000() -> list[dict[str, Any]]:
    """Spec 000's sidechain: Claude as the user of a sub-agent."""
    more = {"sessionId": NAME, "timestamp": "2025-01-27T10:00:00Z"}
    return [
        {"type": "user", "uuid": "m1", "message": "Look at this", **more},
        {
            "type": "assistant",
            "uuid": "m2",
            "parentUuid": "m1",
            "subtype": "response",
            "message": "Yes",
            **more,
        },
        {
            "type": "user",
            "uuid": "m3",
            "parentUuid": "m2",
            "message": "Analyze this code",
            "isSidechain": True,
            "userType": "external",
            **more,
        },
        {
            "type": "assistant",
            "uuid": "m4",
            "parentUuid": "m3",
            "subtype": "response",
            "message": "It is fine",
            "isSidechain": True,
            **more,
        },
    ]


def lines_today() -> list[dict[str, Any]]:
    """The same as Claude Code writes it, without ids of agents."""
    return [
        line
        | {"message": {"role": line["type"], "content": line["message"]}, "isSidechain": "isSidechain" in line}
        for line in lines_000()
    ]


@pytest.mark.parametrize("beside", [0, 2])
@pytest.mark.parametrize("lines", [lines_000(), lines_today()], ids=["spec-000", "today"])
def test_summary_list_api_and_command_line_count_the_same_agents(
    tmp_path: Path, lines: list[dict[str, Any]], beside: int
) -> None:
    folder, place = tmp_path / "claude" / "projects" / "-p", tmp_path / "home" / "turnlog.db"
    agents = folder / NAME / "subagents"
    for each in (agents, place.parent):
        each.mkdir(parents=True)
    path = folder / f"{NAME}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for number in range(beside):
        text = "".join(json.dumps(line | {"isSidechain": True}) + "\n" for line in lines_today())
        (agents / f"agent-a{number}.jsonl").write_text(text)
    expected = 1 + beside

    session = turnlog.read(path)
    assert (session.summary.counts.agents, len(session.agents)) == (expected, expected)
    with closing(open_store(place)) as store:
        sync(store, place, locate_path(folder).sessions, origin="here")
        [stored] = store.list_sessions(LOCAL).sessions
        assert stored.row is not None
        assert stored.row.agents == expected
        with serving(tmp_path / "server", store=store) as api:
            [listed] = api.get("/api/sessions").json["items"]
            told = api.get(f"/api/sessions/{NAME}").json
            assert (listed["agents"], told["session"]["agents"]) == (expected, expected)
            assert told["summary"]["counts"]["agents"] == expected
    env = {"TURNLOG_HOME": str(place.parent)}
    [row] = json.loads(command_line.run("sessions", "--json", env=env).stdout)["sessions"]
    shown = json.loads(command_line.run("show", path, "--json", env=env).stdout)
    assert (row["agents"], shown["summary"]["counts"]["agents"]) == (expected, expected)
