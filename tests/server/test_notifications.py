"""Webhooks to a real listener, notifications by a stand-in for the desktop's own program."""

from __future__ import annotations

import http.client
import json
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from board_scenarios import Told
from command_line import run_here
from server_app import Served, serving
from turnlog.config import NotificationSettings, Occasion
from turnlog.server.notifications import (
    Notification,
    Notifier,
    SendError,
    Webhook,
    build_command,
    build_notification,
    build_test_notification,
    find_occasion,
)
from turnlog.server.requests import ServerContext
from turnlog.server.session_states import Column, Evidence, SessionState, StateChange
from turnlog.store.interface import MaintainedStore
from turnlog.store.opening import open_store
from turnlog.transcripts.agent_status import AgentPhase, WaitReason

PATIENCE = 60.0
NOW = time.time_ns()
BOTH = (Occasion.WAITS, Occasion.ENDS)


class Listener:
    """Whoever is told; answers with each status in turn, the last one for good."""

    def __init__(self, statuses: list[int]) -> None:
        self.got: queue.Queue[tuple[str, dict[str, str], Any]] = queue.Queue()
        self._statuses = statuses
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.got.put((self.path, dict(self.headers), json.loads(body)))
                status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
                self.send_response(status)
                if status in (301, 302, 307, 308):
                    self.send_header("Location", f"{listener.url}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def listening_on(*statuses: int) -> Iterator[Listener]:
    listener = Listener(list(statuses) or [204])
    try:
        yield listener
    finally:
        listener.close()


def change(
    phase: AgentPhase, why: WaitReason | None = None, *, before: Column | None = Column.WORKING, ago: float = 0
) -> StateChange:
    state = SessionState(
        phase=phase, why=why, since_ns=NOW - round(ago * 1e9), evidence=Evidence.HOOKS, seen_ns=NOW
    )
    return StateChange(session_id="s1", before=before, state=state, title="Make tea", project="/work/tea")


ASKS = change(AgentPhase.NEEDS_YOU, WaitReason.PERMISSION)
ENDS = change(AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (ASKS, Occasion.WAITS),
        (replace(ASKS, before=None), Occasion.WAITS),
        (replace(ASKS, before=Column.DONE), Occasion.WAITS),
        (replace(ASKS, before=Column.NEEDS_YOU), None),
        (ENDS, Occasion.ENDS),
        (replace(ENDS, before=Column.NEEDS_YOU), Occasion.ENDS),
        (replace(ENDS, before=None), None),
        (replace(ENDS, before=Column.DONE), None),
        (change(AgentPhase.ENDED), Occasion.ENDS),
        (change(AgentPhase.IDLE), None),
        (change(AgentPhase.AUTONOMOUS), None),
        (change(AgentPhase.NEEDS_YOU, WaitReason.FAILED), Occasion.WAITS),
        (change(AgentPhase.NEEDS_YOU, WaitReason.IDLE, before=Column.DONE), None),
        (change(AgentPhase.NEEDS_YOU, WaitReason.PERMISSION, ago=600), None),
    ],
)
def test_what_is_an_occasion(told: StateChange, expected: Occasion | None) -> None:
    assert find_occasion(told, BOTH, NOW) is expected
    assert find_occasion(told, (), NOW) is None


def test_that_it_waits_is_told_to_who_does_not_hear_of_ends() -> None:
    idle = change(AgentPhase.NEEDS_YOU, WaitReason.IDLE, before=Column.DONE)
    assert find_occasion(idle, (Occasion.WAITS,), NOW) is Occasion.WAITS
    assert find_occasion(ENDS, (Occasion.WAITS,), NOW) is None


def test_a_webhook_is_told_no_more_than_is_said() -> None:
    with listening_on() as listener:
        address = f"{listener.url.replace('://', '://ada:s%20ecret@')}/hook?token=x"
        Webhook(address).send(build_notification(Occasion.WAITS, ASKS))
        path, headers, body = listener.got.get(timeout=PATIENCE)
    assert path == "/hook?token=x"
    assert headers["Authorization"] == "Basic YWRhOnMgZWNyZXQ="
    assert body == {
        "event": "waits",
        "session_id": "s1",
        "title": "Make tea",
        "project": "/work/tea",
        "why": "permission",
        "text": "Make tea needs a permission",
        "at": body["at"],
        "turnlog": body["turnlog"],
    }
    assert Webhook(address).name == f"{listener.url}/hook"


@pytest.mark.parametrize(("status", "again"), [(302, False), (404, False), (500, True), (429, True)])
def test_nobody_is_followed_elsewhere(status: int, again: bool) -> None:
    with listening_on(status) as listener:
        with pytest.raises(SendError, match=f"it responded with {status}") as caught:
            Webhook(listener.url).send(build_test_notification())
        assert caught.value.again is again
        listener.got.get(timeout=PATIENCE)
        assert listener.got.empty()


def test_a_webhook_that_hangs_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(SendError, match="did not respond"):
            Webhook(address, timeout=0.2).send(build_test_notification())
    with pytest.raises(SendError, match="cannot be reached"):
        Webhook(address, timeout=0.2).send(build_test_notification())


class Kept:
    """A target that keeps what it gets, or refuses it a few times."""

    name = "kept"

    def __init__(self, refusals: int = 0, *, again: bool = True) -> None:
        self.got: queue.Queue[Notification] = queue.Queue()
        self.attempts = 0
        self._refusals = refusals
        self._again = again

    def send(self, notice: Notification) -> None:
        self.attempts += 1
        if self.attempts <= self._refusals:
            raise SendError("not now", again=self._again)
        self.got.put(notice)


@contextmanager
def notifying(
    target: Kept, *, hold: float = 0.0, settings: NotificationSettings | None = None
) -> Iterator[Notifier]:
    notifier = Notifier(
        settings or NotificationSettings(), [target], hold_seconds=hold, pauses=(0.01, 0.01, 0.01)
    )
    notifier.start()
    try:
        yield notifier
    finally:
        notifier.stop()


def fresh(told: StateChange) -> StateChange:
    return replace(told, state=replace(told.state, since_ns=time.time_ns()))


def test_each_transition_is_told_once() -> None:
    target, asks = Kept(), fresh(ASKS)
    with notifying(target) as notifier:
        notifier.note(asks)
        assert target.got.get(timeout=PATIENCE).event == "waits"
        notifier.note(asks)
        notifier.note(replace(fresh(ENDS), session_id="s2"))
        assert target.got.get(timeout=PATIENCE).session_id == "s2"
    assert target.got.empty()


def test_what_does_not_hold_is_not_told() -> None:
    target = Kept()
    with notifying(target, hold=0.5) as notifier:
        notifier.note(fresh(ASKS))
        notifier.note(fresh(change(AgentPhase.AUTONOMOUS, before=Column.NEEDS_YOU)))
        notifier.note(replace(fresh(ASKS), session_id="s2"))
        assert target.got.get(timeout=PATIENCE).session_id == "s2"
    assert target.got.empty()


@pytest.mark.parametrize(
    ("refusals", "again", "attempts", "arrives"),
    [(2, True, 3, True), (9, True, 4, False), (9, False, 1, False)],
)
def test_what_fails_is_tried_again_a_few_times(
    refusals: int, again: bool, attempts: int, arrives: bool
) -> None:
    target = Kept(refusals, again=again)
    with notifying(target) as notifier:
        notifier.note(fresh(ASKS))
        await_true(lambda: target.attempts >= attempts)
        if arrives:
            target.got.get(timeout=PATIENCE)
    assert target.attempts == attempts


def await_true(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_is_started_for_nobody() -> None:
    before = threading.active_count()
    notifier = Notifier(NotificationSettings())
    notifier.start()
    notifier.note(fresh(ASKS))
    assert threading.active_count() == before


def test_titles_are_no_programs() -> None:
    nasty = replace(
        build_notification(Occasion.WAITS, ASKS),
        text='"; do shell script "rm -rf ~" --<b>&\x1b[31m\n-x',
        project="$(id) `id`",
    )
    linux, mac = build_command(nasty, "linux"), build_command(nasty, "darwin")
    assert linux is not None
    assert linux[:4] == ["notify-send", "--app-name=turnlog", "--", "turnlog"]
    assert linux[4] == '"; do shell script "rm -rf ~" --&lt;b&gt;&amp; [31m -x\n$(id) `id`'
    assert mac is not None
    assert mac[:7] == [
        "osascript",
        "-e",
        "on run argv",
        "-e",
        "display notification (item 2 of argv) with title (item 1 of argv)",
        "-e",
        "end run",
    ]
    assert mac[7:] == ["turnlog", '"; do shell script "rm -rf ~" --<b>& [31m -x\n$(id) `id`']
    assert build_command(nasty, "plan9") is None


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for `notify-send` that writes down what it was given."""
    folder, out = tmp_path / "bin", tmp_path / "shown"
    folder.mkdir()
    program = folder / "notify-send"
    program.write_text(f'#!/bin/sh\nfor each in "$@"; do printf "%s\\0" "$each"; done >> "{out}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("turnlog.server.notifications.sys.platform", "linux")
    return out


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MaintainedStore]:
    opened = open_store(tmp_path / "turnlog.db")
    yield opened
    opened.close()


@contextmanager
def serving_with(store: MaintainedStore, tmp_path: Path, settings: NotificationSettings) -> Iterator[Served]:
    around = ServerContext(notifications=settings)
    with serving(tmp_path / "home", store=store, around=around) as running:
        yield running


def test_a_session_that_begins_to_wait_is_told_everywhere(
    store: MaintainedStore, tmp_path: Path, shown: Path
) -> None:
    with listening_on() as listener:
        settings = NotificationSettings(desktop=True, webhooks=(f"{listener.url}/hook",))
        with serving_with(store, tmp_path, settings):
            told = Told(store, tmp_path / "turnlog.db", time.time_ns(), "s1")
            told.hook("UserPromptSubmit", 3, prompt="Make tea")
            given = {"command": "kettle on"}
            told.hook("PermissionRequest", 2, tool_name="Bash", tool_use_id="t1", tool_input=given)
            _, _, body = listener.got.get(timeout=PATIENCE)
            await_true(lambda: shown.exists() and shown.read_bytes().endswith(b"\0"))
    assert (body["event"], body["session_id"], body["why"]) == ("waits", "s1", "permission")
    assert "kettle" not in json.dumps(body)
    assert "kettle" not in shown.read_text()
    assert shown.read_text().split("\0")[:4] == ["--app-name=turnlog", "--", "turnlog", "s1 needs a permission"]


def test_what_waited_before_the_server_started_is_no_news(store: MaintainedStore, tmp_path: Path) -> None:
    with listening_on() as listener:
        settings = NotificationSettings(webhooks=(listener.url,))
        old = Told(store, tmp_path / "turnlog.db", time.time_ns(), "old")
        old.hook("StopFailure", 2, error="rate_limit")
        with serving_with(store, tmp_path, settings):
            old.hook("Notification", 1, notification_type="auth_success")
            new = Told(store, tmp_path / "turnlog.db", time.time_ns(), "new")
            new.hook("StopFailure", 0, error="rate_limit")
            _, _, body = listener.got.get(timeout=PATIENCE)
    assert (body["session_id"], listener.got.empty()) == ("new", True)


def test_the_api_says_who_is_told_without_secrets(store: MaintainedStore, tmp_path: Path, shown: Path) -> None:
    with listening_on(500) as listener:
        address = f"{listener.url.replace('://', '://ada:secret@')}/hook?token=x"
        settings = NotificationSettings(desktop=True, webhooks=(address,), on=(Occasion.WAITS,))
        with serving_with(store, tmp_path, settings) as served:
            assert served.get("/api/notifications").json == {
                "desktop": True,
                "webhooks": [{"url": f"{listener.url}/hook", "on": ["waits"]}],
                "on": ["waits"],
            }
            answer = served.ask("POST", "/api/notifications/test", served.bearer)
            assert served.ask("POST", "/api/notifications/test").status == 401
    assert answer.json == {
        "sent": [
            {"target": "desktop", "ok": True, "message": "sent"},
            {
                "target": f"{listener.url}/hook",
                "ok": False,
                "message": f"it responded with 500 {http.client.responses[500]}",
            },
        ]
    }
    assert "turnlog can reach you here" in shown.read_text()


def test_the_command_line_tries_them(tmp_path: Path) -> None:
    env = {"TURNLOG_HOME": os.fspath(tmp_path)}
    nobody = run_here("notify", "test", env=env)
    assert (nobody.returncode, nobody.stdout.startswith(b"Nobody would be notified: ")) == (1, True)
    with listening_on(200, 404) as listener:
        (tmp_path / "config.toml").write_text(f'[notifications]\nwebhooks = ["{listener.url}/hook"]\n')
        fine, refused = run_here("notify", "test", env=env), run_here("notify", "test", "--json", env=env)
        assert listener.got.get(timeout=PATIENCE)[2]["event"] == "test"
    assert (fine.returncode, fine.stdout) == (0, f"{listener.url}/hook: sent\n".encode())
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["sent"][0]["message"] == "it responded with 404 Not Found"


def test_the_desktop_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[notifications]\ndesktop = true\n")
    told = run_here("notify", "test", env={"TURNLOG_HOME": os.fspath(tmp_path), "PATH": os.fspath(tmp_path)})
    assert told.returncode == 1
    assert told.stdout.startswith(b"desktop: ")
