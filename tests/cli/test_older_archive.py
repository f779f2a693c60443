"""Commands on an archive that an older version made, whose tables lack something."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from command_line import run_here
from turnlog.store.catalogue.schema import STEPS
from turnlog.store.catalogue.sqlite import SqliteDatabase
from turnlog.store.catalogue.sqlite_engine import SQLITE_STEPS


def test_reading_brings_an_older_archive_up_to_date_and_says_so(tmp_path: Path) -> None:
    place = tmp_path / "home" / "turnlog.db"
    with closing(SqliteDatabase(place, STEPS)) as database:
        database.make()

    env = {"TURNLOG_HOME": str(place.parent), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    ran = run_here("status", env=env)
    assert ran.returncode == 0
    assert b"0 sessions" in ran.stdout
    assert b"the archive was made by an older version; run `turnlog sync`" in ran.stderr
    with closing(SqliteDatabase(place, SQLITE_STEPS, read_only=True)) as database:
        assert database.read(SQLITE_STEPS.list_missing) == []

    again = run_here("status", env=env)
    assert (again.returncode, again.stderr) == (0, b"")
