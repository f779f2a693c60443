"""Every recipe of docs/library.md runs, on the sample sessions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from api_archive import NOW
from command_line import invoke
from turnlog.demo import install

PAGE = Path(__file__).parents[1] / "docs" / "library.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRELUDE, *RECIPES = BLOCK.findall(PAGE.read_text())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cookbook")
    install(folder / "claude", NOW)
    env = {"TURNLOG_HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
    assert invoke("sync", env=env).exit_code == 0
    return folder


def run(recipe: str, home: Path, monkeypatch: pytest.MonkeyPatch, cwd: Path) -> dict[str, Any]:
    monkeypatch.setenv("TURNLOG_HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    monkeypatch.chdir(cwd)
    names: dict[str, Any] = {}
    exec(compile(PRELUDE + recipe, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    return names


def test_there_are_ten() -> None:
    assert len(RECIPES) == 10


@pytest.mark.parametrize("recipe", RECIPES, ids=[str(number) for number in range(1, len(RECIPES) + 1)])
def test_a_recipe_runs_and_says_something(
    recipe: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(recipe, home, monkeypatch, tmp_path)
    assert capsys.readouterr().out.strip()


def test_the_table_of_calls_has_all_of_them(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = run(RECIPES[1], home, monkeypatch, tmp_path)
    assert len(names["calls"]) == sum(len(session.calls) for session in names["all_sessions"]()) > 0


def test_following_gives_what_is_added(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = run(RECIPES[6], home, monkeypatch, tmp_path)
    path = tmp_path / "live.jsonl"
    path.write_text('{"type":"mode","mode":"a"}\n')
    lines = names["follow"](path, pause=0)
    assert next(lines).entry.mode == "a"
    with path.open("a") as file:
        file.write('{"type":"mode","mode":"b"}\n')
    assert next(lines).entry.mode == "b"


def test_pages_to_share_are_written(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = run(RECIPES[9], home, monkeypatch, tmp_path)
    assert len(list(tmp_path.glob("*.html"))) == sum(1 for _ in names["all_sessions"]())
