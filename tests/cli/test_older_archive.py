"""Commands on an archive that an older version made."""

from __future__ import annotations

from pathlib import Path

from command_line import run
from turnlog.store.sqlite.connection import Options, open_to_write
from turnlog.store.sqlite.migrations import MIGRATIONS, list_missing, migrate


def test_reading_brings_an_older_archive_up_to_date_and_says_so(tmp_path: Path) -> None:
    place = tmp_path / "home" / "turnlog.db"
    place.parent.mkdir()
    connection = open_to_write(place, Options())
    migrate(connection, MIGRATIONS[:3])
    connection.close()

    env = {"TURNLOG_HOME": str(place.parent), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    ran = run("status", env=env)
    assert ran.returncode == 0
    assert b"0 sessions" in ran.stdout
    assert b"the archive was made by an older version; run `turnlog sync`" in ran.stderr
    connection = open_to_write(place, Options())
    assert list_missing(connection) == []
    connection.close()

    again = run("status", env=env)
    assert (again.returncode, again.stderr) == (0, b"")
