"""`turnlog run` with a stand-in for the program: what is shown, asked, interrupted, kept, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from command_line import TURNLOG, environment, invoke
from conversing import Terminal, open_terminal
from stand_in_program import SESSION
from turnlog.cli.run import plan_launch
from turnlog.cli.terminal import MisuseError

STAND_IN = Path(__file__).parents[1] / "stand_in_program.py"
PROGRAM = ("--", sys.executable, str(STAND_IN))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "claude").mkdir()
    return {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}


def run(env: dict[str, str], *args: str, said: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TURNLOG, "run", *args],
        env=environment(env),
        input=said or "",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def kept(env: dict[str, str]) -> list[dict[str, object]]:
    [path] = Path(env["TURNLOG_HOME"], "captured", "projects").glob(f"*/{SESSION}.stream.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def terminal(env: dict[str, str], *args: str) -> AbstractContextManager[Terminal]:
    return open_terminal([*TURNLOG, "run", "--no-color", *args, *PROGRAM, "3"], environment(env))


def test_a_script_gets_one_turn_and_the_programs_status(env: dict[str, str]) -> None:
    done = run(env, "-p", "hello", *PROGRAM, "4")
    assert done.returncode == 4
    assert done.stdout.splitlines() == [
        f"session {SESSION} · model-1 · default",
        "Hello from model-1.",
        "done · 1.5 s · $0.2500 so far",
    ]
    assert done.stderr == ""


def test_both_sides_are_kept_and_are_a_session(env: dict[str, str]) -> None:
    run(env, "-p", "ask ls", *PROGRAM)
    types = [each["type"] for each in kept(env) if each["type"] != "stream_event"]
    assert types == [
        *("control_request", "control_response", "user", "system", "control_request", "control_response"),
        *("assistant", "result"),
    ]
    shown = invoke("show", SESSION, env=env).stdout
    assert "> you\n  ask ls" in shown
    assert "● claude\n  You said:" in shown
    assert invoke("verify", env=env).exit_code == 0


def test_without_a_terminal_the_answer_is_no_and_says_why(env: dict[str, str]) -> None:
    done = run(env, *PROGRAM, said="ask rm -rf /")
    assert '"behavior": "deny", "message": "Nobody can be asked' in done.stdout


def test_what_is_shown_does_not_act_on_the_terminal(env: dict[str, str]) -> None:
    done = run(env, "-p", "tool", *PROGRAM)
    assert "✗ Bash echo \\x1b[31mred\n  no\n  such\n" in done.stdout
    died = run(env, "-p", "die", *PROGRAM)
    assert (died.returncode, died.stdout.splitlines()[1]) == (7, "Going…")
    assert died.stderr == "something went wrong \\x1b]0;title\\x07\nturnlog: this was not answered: die\n"


def test_background_work_is_waited_for(env: dict[str, str]) -> None:
    done = run(env, "-p", "background", *PROGRAM)
    assert (done.returncode, "Now it is done." in done.stdout) == (0, True)


def test_programs_get_the_programs_own_lines(env: dict[str, str]) -> None:
    done = run(env, "--json", "-p", "hello", *PROGRAM)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == [each for each in kept(env) if each["type"] not in ("user", "control_request")]


def test_a_conversation_at_a_terminal(env: dict[str, str]) -> None:
    with terminal(env) as shown:
        shown.expect("> ")
        shown.type("hello\n")
        shown.expect("Hello from model-1.")
        shown.expect("> ")
        shown.type("/model model-2\n")
        shown.expect("model: model-2")
        shown.type("/mode bypassPermissions\n")
        shown.expect("the program refused: not allowed here")
        shown.type("/mode plan\n")
        shown.expect("mode: plan")
        shown.type("/mode nonsense\n")
        shown.expect("the mode must be one of: ")
        shown.type("hello\n")
        shown.expect("Hello from model-2.")
        shown.expect("> ")
        shown.type("\x04")
        assert shown.end() == 3


def test_a_tool_that_asks_for_leave_is_shown_whole_and_gets_what_is_typed(env: dict[str, str]) -> None:
    with terminal(env) as shown:
        shown.expect("> ")
        for typed, answer in (
            ("y", '"behavior": "allow", "updatedInput": {"command": "a\\u001b[2Jb"}}'),
            ("n", '"behavior": "deny", "message": "The user said no."}'),
            ("use another one", '"behavior": "deny", "message": "use another one"}'),
            ("", '"behavior": "deny"'),
            ("always", '"destination": "session", "rules": [{"toolName": "Bash"}], "behavior": "allow"'),
        ):
            shown.type("ask a\x16\x1b[2Jb\n")  # Ctrl-V, as one types what acts
            shown.expect("Bash asks for permission:")
            assert "command: a\\x1b[2Jb" in shown.expect("Allow? [y]es  [n]o  [a]lways")
            shown.type(f"{typed}\n")
            shown.expect("You said: ")
            assert answer in shown.expect("done").replace("\r\n", "")
            shown.expect("> ")
        shown.type("choose\n")
        shown.expect("2. Black")
        shown.type("2\n")
        assert '"answers": {"Which tea?": "Black"}' in shown.expect("done").replace("\r\n", "")


def test_what_was_typed_ahead_is_the_next_prompt_and_no_answer(env: dict[str, str]) -> None:
    with terminal(env) as shown:
        shown.expect("> ")
        shown.type("ask rm\ny\n")
        shown.expect("Allow? ")
        shown.type("n\n")
        assert "The user said no." in shown.expect("done")
        shown.expect("Hello from model-1.")  # to `y`


def test_ctrl_c_interrupts_the_turn_and_twice_ends_the_program(env: dict[str, str]) -> None:
    with terminal(env) as shown:
        shown.expect("> ")
        shown.type("work\n")
        shown.expect("Working…")
        shown.process.send_signal(signal.SIGINT)
        shown.expect("interrupting; Ctrl-C again ends the program")
        shown.expect("interrupted")
        shown.expect("> ")
        shown.type("ask ls\n")
        shown.expect("Allow?")
        shown.process.send_signal(signal.SIGINT)
        assert '"interrupt": true' in shown.expect("done").replace("\r\n", "")
        shown.expect("> ")
        shown.process.send_signal(signal.SIGINT)
        shown.expect("Ctrl-C again or Ctrl-D ends the program")
        shown.process.send_signal(signal.SIGINT)
        assert shown.end() == 128 + signal.SIGTERM
    requests = [each["request"] for each in kept(env) if each["type"] == "control_request"]
    assert {"subtype": "interrupt"} in requests


def test_nothing_that_was_typed_is_lost_when_the_program_dies(env: dict[str, str]) -> None:
    with terminal(env) as shown:
        shown.expect("> ")
        shown.type("die of thirst\n")
        shown.expect("this was not answered: die of thirst")
        assert shown.end() == 7
    assert any(each["type"] == "user" for each in kept(env))


def test_a_program_that_is_not_there_is_named(env: dict[str, str]) -> None:
    done = run(env, "--", "no-such-program")
    assert done.returncode == 2
    assert done.stderr == (
        "turnlog: no-such-program: no such program; "
        "install Claude Code, or give its path: turnlog run -- PATH\n"
    )


def test_a_program_that_does_not_speak_the_protocol_is_no_reason_to_hang(env: dict[str, str]) -> None:
    done = run(env, "-p", "hello", "--", "sh", "-c", "echo what?; exit 5", "sh")
    assert done.returncode == 5
    assert "this was not answered: hello" in done.stderr


def test_what_the_program_needs_is_added_unless_it_is_there() -> None:
    plain = plan_launch((sys.executable,), None)
    assert plain.command[1:] == (
        *("--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
        *("--include-partial-messages", "--permission-prompt-tool", "stdio"),
    )
    given = plan_launch(
        (sys.executable, "--verbose", "--input-format=stream-json", "-p", "Hi", "--model", "m"), None
    )
    assert given.prompt == "Hi"
    assert given.command[1:5] == ("--verbose", "--input-format=stream-json", "--model", "m")
    for arguments, prompt in ((("--output-format", "json"), None), (("-p", "Hi"), "Ho")):
        with pytest.raises(MisuseError):
            plan_launch((sys.executable, *arguments), prompt)
