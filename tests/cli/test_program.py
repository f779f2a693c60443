"""The command `turnlog` itself: help, completion, errors and exit statuses."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import click
import pytest

from command_line import TURNLOG, environment, invoke, run, show_in_terminal
from turnlog.cli.program import COMMANDS, program

NAMES = list(COMMANDS)
HEAVY = ("msgspec", "rich", "genai_prices", "turnlog.messages", "turnlog.transcripts", "turnlog.config")


def loaded_by(*args: str, env: dict[str, str] | None = None) -> set[str]:
    """Return the modules that a run has imported."""
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        f"sys.argv = ['turnlog', *{args!r}]\n"
        "import turnlog.cli\n"
        "turnlog.cli.main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment(env), check=True)
    return set(ran.stderr.decode().split())


@pytest.mark.parametrize("args", [["--help"], ["--version"]])
def test_help_imports_nothing_that_it_does_not_need(args: list[str]) -> None:
    assert [name for name in loaded_by(*args) if name.startswith(HEAVY)] == []


def test_completing_a_command_imports_nothing_that_it_does_not_need() -> None:
    env = {"_TURNLOG_COMPLETE": "bash_complete", "COMP_WORDS": "turnlog us", "COMP_CWORD": "1"}
    assert [name for name in loaded_by(env=env) if name.startswith(HEAVY)] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_command_says_of_itself_what_the_list_says(name: str) -> None:
    command = program.get_command(click.Context(program), name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.get_short_help_str(limit=200) == COMMANDS[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_examples(name: str) -> None:
    shown = invoke(name, "--help")
    assert shown.exit_code == 0
    assert "Examples:" in shown.output
    assert invoke(name, "-h").output == shown.output


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("completion", "mcp", "schema")])
def test_every_command_that_prints_data_can_print_json(name: str) -> None:
    command = program.get_command(click.Context(program), name)
    inner = command.commands if isinstance(command, click.Group) else {}
    for words in [[name, each] for each in inner] or [[name]]:
        assert "--json" in invoke(*words, "--help").output


def test_the_version_is_the_package_s() -> None:
    assert run("--version").stdout.decode() == f"turnlog {version('turnlog')}\n"


def test_without_a_command_the_help_is_shown_as_misuse() -> None:
    ran = run()
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"\nArchive:\n  sync " in ran.stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["shwo"], "No such command 'shwo'"),
        (["--colour"], "No such option"),
        (["usage", "moon"], "'moon' is not one of"),
        (["usage", "--nope"], "No such option"),
        (["usage", "--path"], "requires an argument"),
        (["completion", "cmd"], "'cmd' is not one of"),
        (["completion"], "Missing argument"),
        (["show", "/no/such/file"], "/no/such/file: No such file or directory"),
        (["show"], "`turnlog sessions` lists what is archived"),
        (["validate", "/no/such/file"], "/no/such/file: No such file or directory"),
        (["usage", "--path", "/no/such/file"], "/no/such/file: No such file or directory"),
        (["migrate", "/no/such/file", "/no/such/folder/out"], "No such file or directory"),
        (["show", "./\x1b[31m\n"], "\\x1b[31m"),
    ],
)
def test_misuse_is_one_clear_line(args: list[str], says: str) -> None:
    ran = run(*args)
    lines = ran.stderr.decode().splitlines()
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert len(lines) == 1
    assert lines[0].startswith("turnlog: ")
    assert says in lines[0]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str) -> None:
    ran = run("completion", shell)
    assert ran.returncode == 0
    assert b"_TURNLOG_COMPLETE" in ran.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [("turnlog us", "usage"), ("turnlog usage --b", "--breakdown"), ("turnlog usage se", "session")],
)
def test_commands_options_and_choices_are_completed(words: str, expected: str) -> None:
    at = len(words.split()) - 1
    ran = run(env={"_TURNLOG_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)})
    assert f"plain,{expected}" in ran.stdout.decode().split()


def test_the_bash_script_is_valid() -> None:
    script = run("completion", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=script, check=False).returncode == 0


def test_a_reader_who_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [*TURNLOG, "--help"], stdout=writer, stderr=subprocess.PIPE, env=environment(), check=False
    )
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_an_interruption_ends_quietly(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("{}\n" * 2_000_000)
    shown = show_in_terminal("usage", "--path", path, interrupt=True)
    assert shown.status == 130
    assert "Reading sessions" in shown.text
    assert "Traceback" not in shown.text


def test_the_installed_script_is_this_program() -> None:
    (script,) = entry_points(group="console_scripts", name="turnlog")
    assert script.value == "turnlog.cli:main"
    assert callable(script.load())
