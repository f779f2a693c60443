"""A session that files and hooks both tell of, with all ways in which they can."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from turnlog.ingest.pipeline import sync
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.hooks import HookDelivery

HOOKED = "40010000-0000-4000-8000-00000000000a"
HEARD = "4ea2d000-0000-4000-8000-00000000000a"
"""A session without files."""
AGENT = "a7e0"
BEGINS = datetime(2026, 4, 1, 9, tzinfo=UTC)
_USAGE = {"input_tokens": 10, "output_tokens": 20}


class Lines:
    """Writes lines; each says itself when it was."""

    def __init__(self, **common: Any) -> None:
        self._common = common
        self._parent: str | None = None
        self._count = 0
        self.data = b""

    def add(self, seconds: float, kind: str, **fields: Any) -> str:
        self._count += 1
        uuid = f"{self._common.get('agentId', 'main')}-{self._count}"
        line: dict[str, Any] = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self._parent,
            "timestamp": stamp(seconds),
        }
        line |= {"sessionId": HOOKED, "cwd": "/home/ada/hooked", "isSidechain": False, "version": "2.1.200"}
        self.data += json.dumps(line | self._common | fields).encode() + b"\n"
        self._parent = uuid
        return uuid

    def user(self, seconds: float, content: Any) -> None:
        self.add(seconds, "user", message={"role": "user", "content": content})

    def answer(self, seconds: float, *blocks: Any) -> None:
        message: dict[str, Any] = {
            "id": f"msg_{self._common.get('agentId', 'main')}_{self._count}",
            "role": "assistant",
        }
        message |= {"type": "message", "model": "claude-sonnet-4-5", "content": list(blocks), "usage": _USAGE}
        self.add(seconds, "assistant", message=message)

    def result(self, seconds: float, id: str, content: str, failed: bool = False) -> None:
        block = {"type": "tool_result", "tool_use_id": id, "content": content} | (
            {"is_error": True} if failed else {}
        )
        self.user(seconds, [block])

    def attach(self, seconds: float, kind: str, event: str, id: str, **fields: Any) -> None:
        attachment = {"type": kind, "hookEvent": event, "hookName": fields.pop("name", event), "toolUseID": id}
        self.add(seconds, "attachment", attachment=attachment | fields)

    def progress(self, seconds: float, event: str, id: str, command: str) -> None:
        data = {"type": "hook_progress", "hookEvent": event, "hookName": event, "command": command}
        self.add(seconds, "progress", data=data, toolUseID=id, parentToolUseID=id)


def stamp(seconds: float) -> str:
    return (BEGINS + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def call(id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def write_transcript() -> bytes:
    to = Lines()
    to.attach(0.4, "hook_success", "SessionStart", "own-1", command="./greet.sh", stdout="hello", exitCode=0)
    to.user(1, "Fix the tests")  # 1
    to.add(1.1, "file-history-snapshot", messageId="main-2", snapshot={"trackedFileBackups": {"/a/b.py": "x"}})
    to.answer(
        2, {"type": "text", "text": "I look."}, call("toolu_read", "Read", file_path="/home/ada/hooked/a.py")
    )
    to.progress(2.1, "PreToolUse", "toolu_read", "./check.sh")
    to.attach(
        2.4, "hook_success", "PreToolUse", "toolu_read", name="PreToolUse:Read", command="./check.sh",
        durationMs=250, exitCode=0, stdout="fine",
    )  # fmt: skip
    to.result(3, "toolu_read", "print(1)")
    to.attach(
        3.5, "hook_non_blocking_error", "PostToolUse", "toolu_read", name="PostToolUse:Read",
        command="./types.sh", durationMs=400, exitCode=2, stderr="wrong types",
    )  # fmt: skip
    to.answer(4, call("toolu_bash", "Bash", command="pytest -x"))  # 4
    to.result(9, "toolu_bash", "exit 1\n1 failed", failed=True)
    to.attach(9.2, "hook_blocking_error", "PostToolUse", "toolu_bash", blockingError={"blockingError": "no"})
    to.add(9.3, "queue-operation", operation="enqueue", content="and the docs")
    to.answer(
        8, {"type": "text", "text": "A clock that goes backwards."}, call("toolu_task", "Agent", prompt="Go")
    )
    to.add(10, "system", subtype="api_error", error={"code": "ECONNRESET"}, retryAttempt=1, maxRetries=10)
    to.result(20, "toolu_task", "done")
    to.answer(21, {"type": "text", "text": "Done."})
    to.add(
        21.5, "system", subtype="stop_hook_summary", toolUseID="own-2", hookErrors=[], hookCount=1,
        hookInfos=[{"command": "./bell.sh", "durationMs": 30}],
    )  # fmt: skip
    to.user(30, "Thanks")
    to.answer(31, call("toolu_ask", "Bash", command="rm -rf build"))
    return to.data


def write_agent() -> bytes:
    to = Lines(agentId=AGENT, isSidechain=True)
    to.user(11, "Go")
    to.answer(12, call("toolu_inner", "Grep", pattern="def"))
    to.result(13, "toolu_inner", "a.py:1")
    to.answer(14, {"type": "text", "text": "Found."})
    return to.data


def make_deliveries() -> list[HookDelivery]:
    """Return what hooks delivered: about calls and about none, in the session and in its agent."""
    said: list[tuple[float, str, dict[str, Any]]] = [
        (0.1, "SessionStart", {"label": "Session started (startup)", "context": '{"source":"startup"}'}),
        (0.9, "UserPromptSubmit", {"label": "Fix the tests", "group_name": "autonomous"}),
        (2.15, "PreToolUse", {"tool_use_id": "toolu_read", "tool_name": "Read", "group_name": "autonomous"}),
        (3.1, "PostToolUse", {"tool_use_id": "toolu_read", "tool_name": "Read", "group_name": "autonomous"}),
        (9.1, "PostToolUseFailure", {"tool_use_id": "toolu_bash", "tool_name": "Bash"}),
        (11.5, "SubagentStart", {"agent_id": AGENT, "label": "Agent started"}),
        (12.1, "PreToolUse", {"tool_use_id": "toolu_inner", "tool_name": "Grep", "agent_id": AGENT}),
        (13.9, "Notification", {"agent_id": AGENT, "notification_type": "agent_note"}),
        (15, "SubagentStop", {"agent_id": AGENT}),
        (16, "Notification", {"notification_type": "auth_success"}),
        (21.49, "Stop", {"label": "Stopped", "group_name": "needs_you"}),
        (31.1, "PreToolUse", {"tool_use_id": "toolu_ask", "tool_name": "Bash"}),
        (
            31.2,
            "PermissionRequest",
            {"tool_use_id": "toolu_ask", "tool_name": "Bash", "group_name": "needs_you"},
        ),
    ]
    begin = int(BEGINS.timestamp() * 1_000_000_000)
    return [
        HookDelivery(
            delivery_id=f"d{number:02}",
            received_ns=begin + int(seconds * 1_000) * 1_000_000,
            payload=json.dumps({"hook_event_name": event}).encode(),
            session_id=HOOKED,
            event_name=event,
            **more,
        )
        for number, (seconds, event, more) in enumerate(said)
    ]


def write_session(config: Path) -> Path:
    folder = config / "projects" / "-home-ada-hooked"
    agents = folder / HOOKED / "subagents"
    agents.mkdir(parents=True)
    (folder / f"{HOOKED}.jsonl").write_bytes(write_transcript())
    (agents / f"agent-{AGENT}.jsonl").write_bytes(write_agent())
    return config


def fill_hooked(store: MaintainedStore, place: Path, config: Path) -> None:
    """Sync the session, and keep what its hooks delivered."""
    sync(store, place, locate_sessions([write_session(config)]).sessions, origin="test")
    store.add_deliveries(LOCAL, make_deliveries())


def fill_heard(store: MaintainedStore) -> None:
    """Keep what hooks told of a session that has no files."""
    begin = int(BEGINS.timestamp() * 1_000_000_000)
    store.add_deliveries(
        LOCAL,
        [
            HookDelivery(
                delivery_id=f"heard-{number}",
                received_ns=begin + number,
                payload=json.dumps({"hook_event_name": event}).encode(),
                session_id=HEARD,
                event_name=event,
                label=label,
            )
            for number, (event, label) in enumerate(
                [("SessionStart", "Session started (startup)"), ("UserPromptSubmit", "Look around")]
            )
        ],
    )
