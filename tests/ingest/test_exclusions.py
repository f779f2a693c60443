"""What a person excludes is never archived."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.ingest.machine import Exclusion
from turnlog.transcripts.session_files import SessionFiles

LINE = '{"type":"user","uuid":"u","sessionId":"s","cwd":"%s","message":{"content":"Hello"}}\n'


@pytest.fixture
def files(tmp_path: Path) -> SessionFiles:
    path = tmp_path / "-home-ada-secret" / "s.jsonl"
    path.parent.mkdir()
    path.write_text('{"type":"mode","mode":"normal"}\n' + LINE % "/home/ada/secret")
    return SessionFiles("s", path, path.parent.name, path.with_suffix(""))


@pytest.mark.parametrize(
    ("pattern", "excluded"),
    [
        ("/home/ada/secret", True),
        ("/home/ada/secret/", True),
        ("/home/ada", True),
        ("/home/*/secret", True),
        ("/home/**/secret", True),
        ("/home/ada/sec?et", True),
        ("/home/ada/secrets", False),
        ("/home/ada/sec", False),
        ("/home/*", True),
        ("/ada/*", False),
        ("**/-home-ada-secret/*.jsonl", True),
        ("secret", False),
        ("", False),
    ],
)
def test_a_pattern_is_held_against_paths_and_directories(
    files: SessionFiles, pattern: str, excluded: bool
) -> None:
    assert Exclusion([pattern]).excludes(files) is excluded


def test_home_is_the_persons_own(files: SessionFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert Exclusion(["~/secret"]).excludes(files)


def test_nothing_is_excluded_by_no_pattern(files: SessionFiles) -> None:
    assert not Exclusion()
    assert not Exclusion().excludes(files)


def test_a_file_that_cannot_be_read_is_not_excluded(files: SessionFiles) -> None:
    assert files.path is not None
    files.path.unlink()
    assert not Exclusion(["/home/ada/secret"]).excludes(files)
