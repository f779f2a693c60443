"""Copies of a store: made by `pg_dump` while others write, checked, and remembered.

A copy is of one state of all tables. It lies under another name until it is whole and was read once, so there
is never half of one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from turnlog.errors import StoreError
from turnlog.store.care import Backup
from turnlog.store.identity import Scope
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.postgres.wire import ACCOUNTS, SCHEMA

__all__ = [
    "find_holding",
    "has_accounts",
    "list_backups",
    "read_table",
    "record_backup",
    "run_program",
    "write_backup",
]

OnProgress = Callable[[int, int], None]
_COPY = re.compile(r"^COPY \S+ \((.*?)\) FROM stdin;\n(.*?)^\\\.$", re.MULTILINE | re.DOTALL)
"""How the rows of a table stand in what `pg_restore` prints."""
_DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian has the programs that are not on the path."""


def write_backup(
    address: str, size: int, target: Path, *, force: bool, on_progress: OnProgress | None = None
) -> Backup:
    """Write a copy of the tables to a file; raises `StoreError` if it is there, unless by `force`.

    `size` is what they take now, by which progress is told: a copy is smaller.
    """
    target = Path(os.path.abspath(target))
    if target.exists() and not force:
        raise StoreError(f"{target} already exists; nothing was overwritten")
    new = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        if on_progress is not None:
            on_progress(0, size)
        schemas = (f"--schema={name}" for name in (SCHEMA, ACCOUNTS))  # what is not there is left out
        run_program("pg_dump", address, "--format=custom", *schemas, "--no-owner", f"--file={new}")
        run_program("pg_restore", None, f"--file={os.devnull}", os.fspath(new))  # all of it is read
        if on_progress is not None:
            on_progress(size, size)
        with new.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(new, target)
        return Backup(os.fspath(target), time.time_ns(), target.stat().st_size)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        new.unlink(missing_ok=True)


def record_backup(connection: Connection, backup: Backup) -> None:
    """Remember that a copy was made, in the transaction of the caller."""
    path = pack_text(backup.path)
    connection.execute("DELETE FROM backups WHERE path = %s", (path,))
    connection.execute("INSERT INTO backups VALUES (%s, %s)", (path, backup.at_ns))


def list_backups(connection: Connection) -> list[Backup]:
    """Return the copies that were made, by time."""
    rows = connection.execute("SELECT path, at_ns FROM backups ORDER BY at_ns, path")
    return [Backup(unpack_text(path), at_ns, _size_of(unpack_text(path))) for path, at_ns in rows]


def read_table(source: Path, table: str) -> list[dict[str, str]]:
    """Return the rows of a table in a copy, as text; raises `StoreError` if it is no copy of a store."""
    given = ("--data-only", f"--schema={SCHEMA}", f"--table={table}", "--file=-", os.fspath(source))
    try:
        script = run_program("pg_restore", None, *given)
    except StoreError as error:
        raise StoreError(f"{source} is not a backup of a store on a server, or is damaged ({error})") from error
    found = _COPY.search(script)
    if found is None:
        raise StoreError(f"{source} is not a backup of a turnlog store")
    names = found[1].split(", ")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in found[2].splitlines()]


def has_accounts(source: Path) -> bool:
    """Tell whether a copy has accounts, too; raises `StoreError` if it cannot be read."""
    listed = run_program("pg_restore", None, "--list", os.fspath(source))
    return re.search(rf" SCHEMA - {ACCOUNTS}\b", listed) is not None


def find_holding(source: Path, scope: Scope, keys: Iterable[str]) -> set[str]:
    """Return which of some sessions a copy has; raises `StoreError` if it cannot be read."""
    held = {row["key"] for row in read_table(source, "sessions") if row["owner"] == scope.owner}
    return held.intersection(keys)


def run_program(name: str, address: str | None, *given: str) -> str:
    """Run a program of PostgreSQL's and return what it prints; raises `StoreError` if it fails."""
    program = _find_program(name)
    environment = dict(os.environ)
    command: list[str] = [program, *given]
    if address is not None:
        parts = conninfo_to_dict(address)
        password = parts.pop("password", None)
        if password is not None:  # what a program is called with can be seen by others
            environment["PGPASSWORD"] = str(password)
        command.insert(1, f"--dbname={make_conninfo('', **parts)}")
    done = _run(command, environment)
    if done.returncode:
        message = " ".join(done.stderr.decode(errors="replace").split())
        raise StoreError(f"{name} failed: {message or f'it ended with {done.returncode}'}")
    return done.stdout.decode(errors="replace")


def _run(command: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError as error:
        raise StoreError(f"{command[0]} cannot be run: {error.strerror or error}") from error


def _find_program(name: str) -> str:
    """Return a program, the newest that there is: it knows older servers, too."""
    folders = [path for path in _DEBIAN.glob("*/bin") if path.parent.name.isdigit() and (path / name).exists()]
    if folders:
        return os.fspath(max(folders, key=lambda path: int(path.parent.name)) / name)
    found = shutil.which(name)
    if found is None:
        raise StoreError(f"Backups of a store on a server need {name}, which is not installed")
    return found


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
