"""`turnlog migrate`: from the command line to a corrected file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import invoke, run_here
from golden import DATA

CASES = sorted((DATA / "transcripts").glob("migration-*"))
SIBLINGS = DATA / "transcripts" / "migration-siblings"
LEFT = DATA / "transcripts" / "migration-left"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_is_corrected_and_correcting_it_again_changes_nothing(case: Path, tmp_path: Path) -> None:
    before, after = (next(case.glob(f"{name}.*")) for name in ("before", "after"))
    once, twice = tmp_path / "once", tmp_path / "twice"
    assert invoke("migrate", before, once).exit_code == 0
    assert once.read_bytes() == after.read_bytes()
    again = invoke("migrate", once, twice)
    assert twice.read_bytes() == after.read_bytes()
    assert "\ncorrected: 0\n" in again.stdout


def test_what_was_done_is_said(tmp_path: Path) -> None:
    ran = run_here("migrate", SIBLINGS / "before.jsonl", tmp_path / "out.jsonl")
    assert (ran.returncode, ran.stderr) == (0, b"")
    lines = ran.stdout.decode().splitlines()
    assert lines[0] == "7 documents, 2 tool messages: 0 right as they were"
    assert lines[1].startswith("corrected: 2 (")


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    shown = invoke("migrate", SIBLINGS / "before.jsonl", out, "--dry-run")
    assert shown.exit_code == 0
    assert "to correct: 2 (" in shown.stdout
    assert list(tmp_path.iterdir()) == []


def test_json_lists_everything(tmp_path: Path) -> None:
    shown = invoke("migrate", LEFT / "before.jsonl", tmp_path / "out.jsonl", "--json", "--dry-run")
    report = json.loads(shown.stdout)
    assert report["dry_run"] is True
    assert report["changed"] == len(report["corrections"])
    assert sum(report["left_for"].values()) == len(report["left"]) == 6
    assert {each["reason"] for each in report["left"]} == report["left_for"].keys()


def test_what_is_left_as_it_is_is_listed_with_its_reason(tmp_path: Path) -> None:
    text = invoke("migrate", LEFT / "before.jsonl", tmp_path / "out.jsonl").stdout
    assert "left as they are: 6 (" in text
    assert "  byte 0, gone_tool_0: container-missing\n" in text


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(b"broken\n" * 100 + (SIBLINGS / "before.jsonl").read_bytes())
    text = invoke("migrate", source, tmp_path / "out.jsonl").stdout
    assert text.endswith("  … and 80 more (--json lists all)\n")


def test_a_file_is_overwritten_only_with_force(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    ran = run_here("migrate", SIBLINGS / "before.jsonl", out)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode() == f"turnlog: {out}: already exists; --force overwrites it\n"
    assert out.read_text() == "precious"
    assert invoke("migrate", SIBLINGS / "before.jsonl", out, "--force").exit_code == 0
    assert out.read_bytes() == (SIBLINGS / "after.jsonl").read_bytes()


def test_a_file_is_corrected_in_place_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_bytes((SIBLINGS / "before.jsonl").read_bytes())
    assert invoke("migrate", path, path).exit_code == 2
    assert path.read_bytes() == (SIBLINGS / "before.jsonl").read_bytes()
    assert invoke("migrate", path, path, "--force").exit_code == 0
    assert path.read_bytes() == (SIBLINGS / "after.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("name", "content"), [("empty", b""), ("blank", b"\n\n"), ("binary", bytes(range(256)))]
)
def test_a_file_without_documents_has_nothing_to_correct(tmp_path: Path, name: str, content: bytes) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    ran = run_here("migrate", source, tmp_path / "out")
    assert ran.returncode == 1
    assert ran.stderr.decode() == f"turnlog: {source}: no documents\n"


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "gone" / "out"):
        ran = run_here("migrate", SIBLINGS / "before.jsonl", target, "--force")
        assert ran.returncode == 2
        assert len(ran.stderr.splitlines()) == 1
    assert run_here("migrate", tmp_path, tmp_path / "out").stderr.endswith(b"is a folder, not a file\n")


def test_names_of_documents_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text((LEFT / "before.jsonl").read_text().replace("gone_tool_0", r"\u001b]0;owned\u0007\u202e"))
    shown = invoke("migrate", source, tmp_path / "out.jsonl")
    assert "  byte 0, \\x1b]0;owned\\x07\\u202e: " in shown.stdout
