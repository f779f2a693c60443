"""A tool that was given a path relative to the `cwd` of its line works on the file below that directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import turnlog
from api_archive import Writer, call
from command_line import invoke
from turnlog.transcripts.calls import TouchedFile

NAME = "4e1a7000-0000-4000-8000-000000000001"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project, and a session that wrote files of it by names relative to two of its folders."""
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    writer = Writer(NAME, cwd=str(folder))
    for number, (cwd, given, text) in enumerate(
        [
            ("", "src/cart.py", "total = 0\n"),
            ("src", "./bill.py", "due = 1\n"),
            ("src", "../notes.md", "# Notes\n"),
        ]
    ):
        writer.user(f"Write {given}")
        at = {"cwd": str(folder / cwd)}
        writer.answer(call(f"c{number}", "Write", file_path=given, content=text), **at)
        writer.result(f"c{number}", "done")
    path = tmp_path / "claude" / "projects" / "-shop" / f"{NAME}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(writer.data)
    (folder / "src" / "cart.py").write_text("total = 0\n")
    (folder / "src" / "bill.py").write_text("due = 1\n")
    (folder / "notes.md").write_text("# Notes\n")
    return folder


@pytest.fixture
def env(tmp_path: Path, project: Path) -> dict[str, str]:
    settings = {"TURNLOG_HOME": str(tmp_path / "turnlog"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    assert invoke("sync", env=settings).exit_code == 0
    return settings


@pytest.mark.parametrize(
    ("name", "given"),
    [("src/cart.py", "src/cart.py"), ("src/bill.py", "./bill.py"), ("notes.md", "../notes.md")],
)
def test_blame_finds_who_wrote_it(project: Path, env: dict[str, str], name: str, given: str) -> None:
    done = invoke("blame", project / name, "--json", env=env)
    assert done.exit_code == 0, done.output
    [line] = json.loads(done.stdout)
    assert (line["origin"]["prompt"], line["sure"]) == (f"Write {given}", True)


def test_search_finds_calls_by_the_whole_path(project: Path, env: dict[str, str]) -> None:
    done = invoke("search", f"file:{project / 'src' / 'bill.py'}", "--json", env=env)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["hits"]


def test_turns_name_the_files_in_full(project: Path, tmp_path: Path) -> None:
    session = turnlog.read(tmp_path / "claude" / "projects" / "-shop" / f"{NAME}.jsonl")
    assert [turn.files for turn in session.turns] == [
        (TouchedFile(str(project / name), True),) for name in ("src/cart.py", "src/bill.py", "notes.md")
    ]


@pytest.mark.parametrize(
    ("cwd", "given", "path"),
    [
        ("/home/ada", "/etc/hosts", "/etc/hosts"),
        ("/home/ada", "~/notes.md", "~/notes.md"),
        (None, "notes.md", "notes.md"),
        ("C:\\ada", "src\\cart.py", "C:\\ada\\src\\cart.py"),
        ("C:\\ada", "D:\\cart.py", "D:\\cart.py"),
    ],
)
def test_only_relative_paths_are_resolved_and_only_where_the_directory_is_known(
    cwd: str | None, given: str, path: str
) -> None:
    writer = Writer(NAME, cwd=cwd)
    writer.answer(call("c", "Read", file_path=given))
    [found] = turnlog.transcripts.build_calls([turnlog.decode(writer.data.strip())]).calls
    assert turnlog.transcripts.list_touched_files([found]) == (TouchedFile(path, False),)
