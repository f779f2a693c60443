"""`turnlog statusline`: one line, whatever happens."""

from __future__ import annotations

import json
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from command_line import TURNLOG, environment, run

SAID = {
    "session_id": "s-1",
    "model": {"id": "claude-opus-5", "display_name": "Opus"},
    "cost": {"total_cost_usd": 1.234},
    "context_window": {"used_percentage": 58.2},
}


def show(text: bytes, home: Path, *args: str) -> str:
    ran = subprocess.run(
        [*TURNLOG, "statusline", *args],
        input=text,
        capture_output=True,
        env=environment({"TURNLOG_HOME": str(home)}),
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout.decode()


def answer(number: int, time: datetime, session: str = "s-1") -> str:
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    message = {"id": f"m-{number}", "model": "claude-opus-5", "usage": usage, "stop_reason": "end_turn"}
    line = {"type": "assistant", "uuid": f"u-{number}", "sessionId": session, "message": message}
    return json.dumps({**line, "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z")}) + "\n"


def test_without_an_archive_what_the_input_says_is_shown(tmp_path: Path) -> None:
    assert show(json.dumps(SAID).encode(), tmp_path) == "Opus | $1.23 session | context 58%\n"


def test_a_limit_that_the_program_tells_is_shown(tmp_path: Path) -> None:
    limits = {"five_hour": {"used_percentage": 31, "resets_at": time.time() + 3700}}
    line = show(json.dumps({**SAID, "rate_limits": limits}).encode(), tmp_path)
    assert "31% of 5 h, 1 h 2 min left" in line


def test_the_archive_tells_today_and_the_block(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    home, config = tmp_path / "home", tmp_path / "claude"
    path = config / "projects" / "-tea" / "s-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(answer(1, now) + answer(2, now - timedelta(days=2), "s-2"))
    ran = run("sync", env={"TURNLOG_HOME": str(home), "CLAUDE_CONFIG_DIR": str(config)})
    assert ran.returncode == 0
    line = show(json.dumps({**SAID, "cost": {}}).encode(), home, "--timezone", "UTC")
    parts = line.rstrip("\n").split(" | ")
    # A million tokens at 5 dollars; the other session's was the day before yesterday.
    assert parts[:3] == ["Opus", "$5.00 session", "$5.00 today"]
    assert parts[3].startswith("$5.00 block, ")
    assert parts[3].endswith(" left")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"garbage",
        b"[1, 2]",
        b"{}",
        b"\xff\xfe",
        b'{"model": 7}',
        b"x" * (2 << 20),
        b'{"cost": {"total_cost_usd": NaN}}',
    ],
)
def test_broken_input_is_no_reason_to_fail(text: bytes, tmp_path: Path) -> None:
    assert show(text, tmp_path) == "turnlog\n"


def test_a_part_of_the_wrong_form_is_left_out(tmp_path: Path) -> None:
    text = json.dumps({**SAID, "cost": "much", "context_window": [1]}).encode()
    assert show(text, tmp_path) == "Opus\n"


def test_a_broken_archive_and_a_broken_configuration_are_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "turnlog.db").write_bytes(b"not a database" * 1000)
    assert show(json.dumps(SAID).encode(), tmp_path) == "Opus | $1.23 session | context 58%\n"
    (tmp_path / "config.toml").write_text("[nonsense]\n")
    assert show(json.dumps(SAID).encode(), tmp_path) == "Opus | $1.23 session | context 58%\n"


def test_an_input_that_never_ends_does_not_hold_it_up(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*TURNLOG, "statusline"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment({"TURNLOG_HOME": str(tmp_path)}),
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(SAID).encode())
    process.stdin.flush()
    assert process.stdout is not None
    assert process.stdout.read() == b"Opus | $1.23 session | context 58%\n"
    process.stdin.close()
    process.stdout.close()
    assert process.wait() == 0


def test_names_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    text = json.dumps({"model": {"display_name": "\x1b]0;owned\x07Opus\n" + "x" * 100}}).encode()
    line = show(text, tmp_path)
    assert not set(line) & set("\x1b\x07")
    assert line.count("\n") == 1
    assert len(line) < 60


def test_colours_are_there_when_asked_for(tmp_path: Path) -> None:
    assert "\x1b[" in show(json.dumps(SAID).encode(), tmp_path, "--color")


def test_it_can_be_had_as_json(tmp_path: Path) -> None:
    found = json.loads(show(json.dumps(SAID).encode(), tmp_path, "--json"))
    assert (found["model"], found["session_usd"], found["context_used"]) == ("Opus", 1.234, 58.2)
    assert found["today_usd"] is None
