"""`turnlog validate`: from files to findings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command_line import invoke, run_here, show_in_terminal
from golden import DATA
from turnlog.transcripts.validation.rules import RULES

CLEAN = DATA / "transcripts" / "usage-split-message"
MALFORMED = DATA / "transcripts" / "malformed" / "session.jsonl"
UNKNOWN = b'{"type":"hologram","sessionId":"s"}\n'
TITLE = b'{"type":"custom-title","customTitle":"Tea","sessionId":"s"}\n'


def test_a_clean_file_is_said_to_be_clean(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(TITLE)
    ran = run_here("validate", path)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == b"1 file, 1 line: no problems\n"


def test_errors_are_listed_and_counted() -> None:
    ran = run_here("validate", MALFORMED)
    assert (ran.returncode, ran.stderr) == (1, b"")
    lines = ran.stdout.decode().splitlines()
    assert lines[0] == str(MALFORMED)
    assert lines[1].split()[:4] == ["error", "line", "2", "line-malformed"]
    assert lines[2].split()[:4] == ["error", "line", "3", "line-malformed"]
    assert lines[-1] == "1 file, 4 lines: 2 errors"


def test_json_has_each_finding_with_its_place() -> None:
    shown = invoke("validate", MALFORMED, "--json")
    assert shown.exit_code == 1
    report = json.loads(shown.stdout)
    (file,) = report["files"]
    assert report["counts"] == file["counts"] == {"error": 2, "warning": 0, "note": 0}
    first = file["findings"][0]
    assert (first["rule"], first["line"], first["offset"], first["path"]) == ("line-malformed", 2, 248, "$")
    assert MALFORMED.read_bytes()[248:].startswith(b"{")


def test_notes_are_counted_and_listed_if_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(UNKNOWN)
    assert invoke("validate", path).stdout == "1 file, 1 line: 1 note\n"
    shown = invoke("validate", path, "--severity", "note")
    assert shown.exit_code == 0
    assert "line-unknown-type" in shown.stdout
    assert invoke("validate", path, "--strict").exit_code == 0


def test_warnings_fail_only_if_they_are_to(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(UNKNOWN.replace(b"hologram", rb"holo\ud800"))
    counts = json.loads(invoke("validate", path, "--json").stdout)["counts"]
    assert (counts["error"], counts["warning"]) == (0, 1)
    assert invoke("validate", path).exit_code == 0
    assert "line-bad-text" in invoke("validate", path).stdout
    assert "line-bad-text" not in invoke("validate", path, "--severity", "error").stdout
    assert invoke("validate", path, "--strict").exit_code == 1
    assert invoke("validate", path, "--strict", "--severity", "error").exit_code == 1


def test_many_findings_of_a_kind_are_cut_unless_all_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"broken\n" * 30)
    assert "… and 20 more (list them with --all)" in invoke("validate", path).stdout
    assert invoke("validate", path, "--all").stdout.count("line-malformed") == 30


def test_folders_and_files_are_taken_together(tmp_path: Path) -> None:
    shutil.copytree(CLEAN, tmp_path / "sessions" / "clean")
    shutil.copy(MALFORMED, tmp_path / "sessions" / "bad.jsonl")
    report = json.loads(invoke("validate", tmp_path / "sessions", MALFORMED, "--json").stdout)
    assert len(report["files"]) == 3
    assert report["counts"]["error"] == 4
    twice = json.loads(invoke("validate", MALFORMED, MALFORMED, "--json").stdout)
    assert len(twice["files"]) == 1


def test_the_rules_are_listed() -> None:
    shown = invoke("validate", "--rules")
    assert shown.exit_code == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()[1:]] == [rule.id for rule in RULES]
    listed = json.loads(invoke("validate", "--rules", "--json").stdout)
    assert [rule["id"] for rule in listed] == [rule.id for rule in RULES]


def test_something_must_be_named() -> None:
    ran = run_here("validate")
    assert ran.returncode == 2
    assert ran.stderr == b"turnlog: Missing argument 'PATH|ID...' (see `turnlog validate --help`)\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("binary.bin", bytes(range(256)) * 40),
        ("text.txt", b"hello\n"),
        ("array.json", b"[1, 2, 3]\n"),
        ("latin.txt", "Käse\n".encode("latin-1")),
        ("long.jsonl", b"x" * 1_000_000 + b"\n"),
    ],
)
def test_what_is_no_transcript_is_full_of_errors(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    shown = invoke("validate", path)
    assert shown.exit_code == 1
    assert "error" in shown.stdout.splitlines()[-1]


def test_an_empty_file_has_nothing_to_check(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    ran = run_here("validate", path)
    assert (ran.returncode, ran.stdout, ran.stderr.decode()) == (1, b"", f"turnlog: no lines in {path}\n")


def test_a_folder_without_sessions_has_nothing_to_check(tmp_path: Path) -> None:
    ran = run_here("validate", tmp_path)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.decode() == f"turnlog: {tmp_path}: no session files in this folder\n"


@pytest.mark.parametrize("folder", ["stream", "hooks", "legacy", "control"])
def test_every_dialect_is_checked(folder: str) -> None:
    files = [path for path in sorted((DATA / folder).rglob("*.json*")) if path.is_file()]
    shown = invoke("validate", *files, "--json")
    assert shown.exit_code in (0, 1)
    assert len(json.loads(shown.stdout)["files"]) == len(files)


def test_what_is_quoted_from_a_line_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    evil = r"\u001b]0;owned\u0007\u009b2J\u202e[bold]"
    path.write_text(f'{{"type":"{evil}","{evil}":1,"sessionId":"s"}}\n{{"type":"user","uuid":"{evil}"}}\n')
    shown = show_in_terminal("validate", path, "--severity", "note", "--no-color", "--no-pager")
    assert not set(shown.text) & set("\x1b\x07\x9b\u202e")
    assert "owned" in shown.text
    assert "[bold]" in shown.text
