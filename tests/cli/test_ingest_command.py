"""`turnlog ingest`: from pipes, files and sockets into the archive; nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import TURNLOG, environment, invoke

ID = "11111111-2222-4333-8444-555555555555"


def message(type_: str, **more: object) -> bytes:
    return json.dumps({"type": type_, "session_id": ID, **more}).encode() + b"\n"


STREAM = [
    message("system", subtype="init", cwd="/home/ada/tea", tools=[], model="m", uuid="i"),
    b'{"type":"control_request","request_id":"r1","request":{"subtype":"interrupt"}}\n',
    message(
        "assistant",
        uuid="a",
        message={
            "role": "assistant",
            "id": "m1",
            "model": "m",
            "usage": {"output_tokens": 5},
            "content": [{"type": "text", "text": "Kettle on"}],
        },
    ),
    message("result", subtype="success", is_error=False, total_cost_usd=0.25, result="Kettle on", uuid="r"),
]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "claude").mkdir()
    return {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}


def ingest(env: dict[str, str], data: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*TURNLOG, "ingest", *(args or ("-",))],
        input=data,
        env=environment(env),
        capture_output=True,
        timeout=60,
        check=False,
    )


def kept(env: dict[str, str]) -> bytes:
    [path] = Path(env["TURNLOG_HOME"], "captured", "projects").glob(f"*/{ID}.stream.jsonl")
    return path.read_bytes()


def await_(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_a_stream_in_a_pipe_becomes_a_session_and_nothing_is_printed(env: dict[str, str]) -> None:
    done = ingest(env, b"".join(STREAM))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"{ID}: 4 lines kept\n"
    assert kept(env) == b"".join(STREAM)
    shown = invoke("show", ID, env=env).stdout_bytes
    assert b"Kettle on" in shown
    assert b"Claude Code says $0.25" in shown
    assert invoke("verify", env=env).exit_code == 0


def test_what_is_kept_can_be_copied_on(env: dict[str, str]) -> None:
    data = b"".join([*STREAM, b"torn"])
    done = ingest(env, data, "-", "--tee", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (1, data, b"")
    assert kept(env) == data + b"\n"


def test_programs_are_told_what_was_kept(env: dict[str, str]) -> None:
    done = ingest(env, b"".join([*STREAM, b"no json\n"]), "-", "--json")
    told = json.loads(done.stdout)
    [session] = told["sessions"]
    assert (session["session_id"], session["lines"], session["broken"], told["archived"]) == (ID, 5, 1, True)
    assert done.returncode == 1


def test_a_file_can_be_taken_twice(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "stream.jsonl").write_bytes(b"".join(STREAM))
    for _ in range(2):
        assert ingest(env, b"", str(tmp_path / "stream.jsonl")).returncode == 0
    assert kept(env) == b"".join(STREAM)


def test_what_cannot_be_is_said_in_a_line(env: dict[str, str], tmp_path: Path) -> None:
    for args, reason in (
        ((str(tmp_path / "nowhere.jsonl"),), b"No such file"),
        (("tcp:0.0.0.0:0",), b"--remote"),
        (("tcp:here",), b"Expected tcp:HOST:PORT"),
        (("-", "--tee", "--json"), b"both write"),
    ):
        done = ingest(env, b"", *args)
        assert done.returncode == 2
        assert reason in done.stderr
        assert done.stderr.count(b"\n") == 1
    empty = ingest(env, b"")
    assert (empty.returncode, empty.stderr) == (1, b"nothing arrived\n")


@pytest.mark.parametrize("address", ["unix:{}", "tcp:0"])
def test_streams_come_over_a_socket(env: dict[str, str], tmp_path: Path, address: str) -> None:
    place = tmp_path / "s"
    process = subprocess.Popen(
        [*TURNLOG, "ingest", address.format(place)], env=environment(env), stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        told = process.stderr.readline().decode().split()[2].rstrip(";")
        if told.startswith("unix:"):
            assert place.stat().st_mode & 0o777 == 0o600
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(place))
        else:
            connection = socket.create_connection(("127.0.0.1", int(told.rpartition(":")[2])))
        with connection:
            connection.sendall(b"".join(STREAM[:2]))
            await_(lambda: any(Path(env["TURNLOG_HOME"]).glob("captured/projects/*/*.jsonl")))
            connection.sendall(b"".join(STREAM[2:]))
        await_(lambda: kept(env) == b"".join(STREAM))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert not place.exists()
    finally:
        process.kill()
        process.communicate()
    assert b"Kettle on" in invoke("show", ID, env=env).stdout_bytes


def test_what_was_copied_on_survives_a_kill(env: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*TURNLOG, "ingest", "-", "--tee"], env=environment(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(STREAM[0])
    process.stdin.flush()
    acknowledged = [process.stdout.readline()]
    for number in range(50):
        process.stdin.write(message("system", subtype="status", uuid=f"u{number}"))
        process.stdin.flush()
        acknowledged.append(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert kept(env)[: len(b"".join(acknowledged))] == b"".join(acknowledged)
    assert ingest(env, STREAM[-1]).returncode == 0
    assert b"Kettle on" in invoke("show", ID, env=env).stdout_bytes


def test_an_interrupt_keeps_what_came_and_what_the_program_still_says(env: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*TURNLOG, "ingest", "-", "--tee"],
        env=environment(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(STREAM[0])
    process.stdin.flush()
    assert process.stdout.readline() == STREAM[0]
    process.send_signal(signal.SIGINT)
    process.stdin.write(STREAM[-1])
    process.stdin.close()
    assert process.stdout.read() == STREAM[-1]
    assert process.wait(60) == 130
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()
    assert kept(env) == STREAM[0] + STREAM[-1]


def test_both_tellings_of_a_session_are_one_and_the_capture_can_be_looked_at(env: dict[str, str]) -> None:
    own = Path(env["CLAUDE_CONFIG_DIR"], "projects", "-home-ada-tea", f"{ID}.jsonl")
    own.parent.mkdir(parents=True)
    entry = {"type": "user", "uuid": "u1", "sessionId": ID, "message": {"role": "user", "content": "Brew tea"}}
    own.write_text(json.dumps(entry) + "\n")
    pieces = [
        {
            "type": "message_start",
            "message": {"id": "m2", "type": "message", "role": "assistant", "content": []},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "And bisc\u001b[2J"},
        },
    ]
    cut_off = [message("stream_event", event=each, parent_tool_use_id=None, uuid="e") for each in pieces]
    assert ingest(env, b"".join([*STREAM, *cut_off])).returncode == 0
    listed = json.loads(invoke("sessions", "--json", env=env).stdout_bytes)
    assert [each["id"] for each in listed["sessions"]] == [ID]
    assert b"Brew tea" in invoke("show", ID, env=env).stdout_bytes
    captured = invoke("show", ID, "--capture", env=env).stdout_bytes
    assert b"control_request interrupt" in captured
    assert b"$0.2500 so far" in captured
    assert b"cut off: And bisc\\x1b[2J" in captured
    [file] = json.loads(invoke("show", ID, "--capture", "--json", env=env).stdout_bytes)
    assert [each["entry"] for each in file["lines"]] == [json.loads(line) for line in (*STREAM, *cut_off)]
    assert file["cut_off"] == [{"id": "m2", "text": "And bisc\u001b[2J"}]
    out = Path(env["TURNLOG_HOME"], "out")
    assert invoke("export", ID, "--raw", "--output", out, env=env).exit_code == 0
    assert b"".join(STREAM) in b"".join(path.read_bytes() for path in out.rglob("*.stream.jsonl"))
    assert invoke("forget", ID, "--yes", env=env).exit_code == 0
    assert own.exists()
    assert not [*Path(env["TURNLOG_HOME"], "captured").rglob("*.jsonl")]
    assert os.listdir(env["TURNLOG_HOME"])
