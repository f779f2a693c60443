"""`turnlog export` as people type it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command_line import invoke, run_here
from planted import list_secrets, write_planted

SECRETS = list_secrets()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_planted(tmp_path_factory.mktemp("planted"), SECRETS)


@pytest.mark.parametrize("form", ["html", "md", "json", "jsonl", "csv"])
def test_a_session_is_written_where_one_says_for_its_owner_alone(
    planted: Path, tmp_path: Path, form: str
) -> None:
    target = tmp_path / f"out.{form}"
    done = invoke("export", planted, "--format", form, "--output", target)
    assert done.exit_code == 0, done.output
    assert "redacted: " in done.output
    assert SECRETS["github"] not in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == [target.name]


def test_what_was_taken_out_is_told_to_programs(planted: Path, tmp_path: Path) -> None:
    done = invoke("export", planted, "--format", "md", "--output", tmp_path / "a.md", "--json")
    (written,) = json.loads(done.stdout)
    assert written["path"] == str(tmp_path / "a.md")
    assert written["size"] == (tmp_path / "a.md").stat().st_size
    kinds = {each["kind"] for each in written["redacted"]}
    assert {"token", "password", "private-key", "email", "home-directory"} <= kinds


def test_nothing_is_taken_out_if_one_says_so(planted: Path, tmp_path: Path) -> None:
    target = tmp_path / "all.jsonl"
    assert invoke("export", planted, "--format", "jsonl", "--no-redact", "--output", target).exit_code == 0
    assert target.read_bytes() == planted.read_bytes()


def test_words_of_the_configuration_and_of_the_command_are_taken_out(planted: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[redaction]\nwords = ["widgets"]\n')
    target = tmp_path / "a.md"
    args = ("export", planted, "--format", "md", "--word", "Please", "--output", target)
    assert invoke(*args, env={"TURNLOG_HOME": str(home)}).exit_code == 0
    text = target.read_text()
    assert "widgets" not in text.lower()
    assert "please" not in text.lower()


def test_a_file_that_is_there_stays_unless_it_may_go(planted: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.md"
    target.write_text("mine")
    done = run_here("export", planted, "--format", "md", "--output", target)
    assert done.returncode == 2
    assert b"it already exists; --force overwrites it" in done.stderr
    assert target.read_text() == "mine"
    assert invoke("export", planted, "--format", "md", "--output", target, "--force").exit_code == 0
    assert target.read_text() != "mine"


def test_several_sessions_go_into_a_folder(planted: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(planted.read_bytes())
    done = invoke("export", planted, other, "--format", "csv", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert sorted(os.listdir(tmp_path / "out")) == [f"{planted.stem}.csv", "other.csv"]


def test_many_sessions_are_told_and_written_as_each_by_itself(planted: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in (3, 1, 4, 0, 2)]
    data = planted.read_bytes().splitlines(keepends=True)
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(data[: len(data) - number]))
    done = run_here("export", *paths, "--format", "md", "--output", tmp_path / "all", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [Path(each["path"]).stem for each in told] == [path.stem for path in paths]
    for path, each in zip(paths, told, strict=True):
        target = tmp_path / "alone" / f"{path.stem}.md"
        alone = json.loads(invoke("export", path, "--format", "md", "--output", target, "--json").stdout)
        assert alone == [{**each, "path": str(target)}]
        assert target.read_bytes() == Path(each["path"]).read_bytes()


def test_what_is_wrong_with_one_of_many_sessions_is_told(planted: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(6)]
    data = planted.read_bytes()
    for path in paths:
        path.write_bytes(data)
    paths[3].write_bytes(data.splitlines(keepends=True)[0])
    done = run_here("export", *paths, "--format", "md", "--turns", "2", "--output", tmp_path / "all")
    assert done.returncode == 2
    assert done.stderr == b"turnlog: there are no turns 2 to 2; turns are numbered 1 to 1\n"
    assert "3.md" not in os.listdir(tmp_path / "all")
    assert not [name for name in os.listdir(tmp_path / "all") if name.startswith(".")]


def test_it_can_be_piped_on(planted: Path) -> None:
    done = invoke("export", planted, "--format", "md", "--turns", "2", "--output", "-")
    assert done.exit_code == 0
    assert done.stdout.startswith("# ")
    assert "### Turn 2\n" in done.stdout
    assert "taken out" not in done.stdout


@pytest.mark.parametrize("args", [(), ("--raw", "--format", "md"), ("--format", "pdf"), ("--raw",)])
def test_misuse_is_told(planted: Path, args: tuple[str, ...]) -> None:
    assert invoke("export", planted, *args).exit_code == 2


@pytest.mark.parametrize("turns", ["0", "7-3", "x", "-", "1-2-3"])
def test_ranges_that_are_none_are_told(planted: Path, turns: str) -> None:
    done = invoke("export", planted, "--format", "md", "--turns", turns, "--output", "-")
    assert done.exit_code == 2
    assert "--turns" in done.stderr


def test_turns_that_are_not_there_are_told_in_a_line(planted: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.md"
    done = run_here("export", planted, "--format", "md", "--turns", "900-", "--output", target)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_told(planted: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_here("export", planted, "--format", "md", "--output", tmp_path / "file" / "a.md")
    assert done.returncode == 2
    assert b"the folder cannot be created" in done.stderr
    assert len(done.stderr.splitlines()) == 1
