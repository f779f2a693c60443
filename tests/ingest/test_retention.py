"""The retention guard: what would be deleted before it is archived."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from turnlog.ingest.machine import Exclusion
from turnlog.ingest.pipeline import sync
from turnlog.ingest.retention import (
    Retention,
    build_retention_report,
    list_expiring,
    list_managed_settings,
    read_retention,
)
from turnlog.store.interface import KnownSession
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import locate_sessions

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def write(config: Path, name: str, age_days: float, text: str = '{"type":"user"}\n') -> Path:
    path = config / "projects" / "-p" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    let_age(path, age_days)
    return path


def let_age(path: Path, days: float) -> None:
    time = (NOW - days * DAY).timestamp()
    os.utime(path, (time, time))


def archive(config: Path, folder: Path) -> list[KnownSession]:
    store = open_store(folder / "turnlog.db")
    try:
        sync(store, folder / "turnlog.db", locate_sessions([config]).sessions, origin="here", within=[config])
        return list(store.list_known(LOCAL))
    finally:
        store.close()


@pytest.mark.parametrize(
    ("files", "days", "source"),
    [
        ({}, 30, None),
        ({"settings.json": "{}"}, 30, None),
        ({"settings.json": '{"cleanupPeriodDays": 99999, "model": "x"}'}, 99999, "settings.json"),
        ({"settings.json": '{"cleanupPeriodDays": 0}'}, 0, "settings.json"),
        ({"settings.json": '{"cleanupPeriodDays": -3}'}, 0, "settings.json"),
        ({"settings.json": '{"cleanupPeriodDays": null}'}, 30, None),
        ({"settings.json": '{"cleanupPeriodDays": "7"}'}, 30, None),
        ({"settings.json": "not JSON"}, 30, None),
        ({"settings.local.json": '{"cleanupPeriodDays": 7}'}, 7, "settings.local.json"),
        (
            {
                "settings.json": '{"cleanupPeriodDays": 60}',
                "settings.local.json": '{"cleanupPeriodDays": 7}',
            },
            7,
            "settings.local.json",
        ),
        (
            {"settings.json": '{"cleanupPeriodDays": 60}', "managed.json": '{"cleanupPeriodDays": 365}'},
            365,
            "managed.json",
        ),
        ({"settings.json": '{"cleanupPeriodDays": 60}', "managed.json": "{}"}, 60, "settings.json"),
    ],
)
def test_settings_say_how_long_sessions_are_kept(
    tmp_path: Path, files: dict[str, str], days: float, source: str | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = read_retention(tmp_path, [tmp_path / "managed.json"])
    assert found == Retention(days, None if source is None else tmp_path / source)


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("linux", "/etc/claude-code"), ("darwin", "/Library/Application Support/ClaudeCode")],
)
def test_an_administrator_s_settings_are_where_the_system_has_them(platform: str, folder: str) -> None:
    assert list_managed_settings(platform)[0] == Path(folder) / "managed-settings.json"


def test_sessions_that_are_deleted_soon_are_listed_by_time(tmp_path: Path) -> None:
    old = write(tmp_path, "old.jsonl", 40)
    soon = write(tmp_path, "soon.jsonl", 28)
    write(tmp_path, "young.jsonl", 26)
    found = list_expiring(locate_sessions([tmp_path]).sessions, [], NOW, 30)
    assert [(each.path, each.deletes_at) for each in found] == [(old, NOW - 10 * DAY), (soon, NOW + 2 * DAY)]
    assert [(each.archived, each.missing_bytes) for each in found] == [(False, 16), (False, 16)]


def test_with_no_days_at_all_everything_is_endangered(tmp_path: Path) -> None:
    write(tmp_path, "new.jsonl", 0)
    [found] = list_expiring(locate_sessions([tmp_path]).sessions, [], NOW, 0)
    assert found.deletes_at == NOW


def test_with_days_without_end_nothing_is(tmp_path: Path) -> None:
    write(tmp_path, "old.jsonl", 4000)
    assert list_expiring(locate_sessions([tmp_path]).sessions, [], NOW, 1e30) == []


def test_what_is_archived_is_not_missed(tmp_path: Path) -> None:
    config = tmp_path / "config"
    path = write(config, "old.jsonl", 40)
    known = archive(config, tmp_path)
    sessions = locate_sessions([config]).sessions
    [found] = list_expiring(sessions, known, NOW, 30)
    assert (found.archived, found.missing_bytes) == (True, 0)
    with path.open("a") as file:
        file.write('{"type":"user"}\n' * 2)
    let_age(path, 40)
    [found] = list_expiring(sessions, known, NOW, 30)
    assert (found.archived, found.missing_bytes) == (False, 32)


def test_a_file_that_was_replaced_is_missed_as_a_whole(tmp_path: Path) -> None:
    config = tmp_path / "config"
    path = write(config, "old.jsonl", 40, '{"type":"user"}\n' * 3)
    known = archive(config, tmp_path)
    path.write_text('{"type":"user"}\n')
    let_age(path, 40)
    [found] = list_expiring(locate_sessions([config]).sessions, known, NOW, 30)
    assert (found.archived, found.missing_bytes) == (False, 16)


def test_a_session_is_as_old_as_its_oldest_file_that_is_missed(tmp_path: Path) -> None:
    config = tmp_path / "config"
    name = "00000000-0000-4000-8000-000000000000"
    write(config, f"{name}.jsonl", 1)
    known = archive(config, tmp_path)
    write(config, f"{name}/subagents/agent-1.jsonl", 29)
    [found] = list_expiring(locate_sessions([config]).sessions, known, NOW, 30)
    assert (found.path.name, found.archived) == (f"{name}.jsonl", False)
    assert found.deletes_at == NOW + DAY


def test_there_is_a_warning_only_if_something_would_be_lost(tmp_path: Path) -> None:
    config = tmp_path / "config"
    write(config, "old.jsonl", 40)
    write(config, "young.jsonl", 1)
    report = build_retention_report([config, tmp_path / "none"], [], NOW)
    assert (report.days, report.deleted_soon, report.not_archived, report.missing_bytes) == (30, 1, 1, 16)
    assert report.first_at == NOW - 10 * DAY
    assert report.warning is not None
    assert "1 session" in report.warning
    assert "turnlog sync" in report.warning
    report = build_retention_report([config], archive(config, tmp_path), NOW)
    assert (report.deleted_soon, report.not_archived, report.warning) == (1, 0, None)


def test_what_is_excluded_is_not_missed(tmp_path: Path) -> None:
    config = tmp_path / "config"
    write(config, "old.jsonl", 40, '{"type":"user","cwd":"/private"}\n')
    report = build_retention_report([config], [], NOW, exclusion=Exclusion(["/private"]))
    assert (report.deleted_soon, report.warning) == (0, None)


def test_every_config_dir_has_its_own_time(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, "a.jsonl", 10)
    write(two, "b.jsonl", 10)
    (two / "settings.json").write_text('{"cleanupPeriodDays": 5}')
    report = build_retention_report([one, two], [], NOW)
    assert (report.days, report.not_archived) == (5, 1)
