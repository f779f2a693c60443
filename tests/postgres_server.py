"""A PostgreSQL server for tests: one cluster for each test process.

It listens on a socket in a folder of its own. Who is root has it run as the user `postgres`, since it refuses
to run as root. Losing power is no matter here, so nothing waits for the disk: where there is room, the folder
is in memory, where making a database takes a quarter of the time. It is gone with the process, however that
ends: a shell waits for the end of a pipe to it, and then clears up.
"""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from uuid import uuid4

import psycopg

from turnlog.store.model import ServerPlace
from turnlog.store.opening import open_store

_USER = "postgres"
_MEMORY = Path("/dev/shm")
_ROOM = 2 << 30
"""What databases take until they are dropped, at the end of each module of tests."""
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "shared_buffers": "64MB",
    "max_connections": "80",
    "log_min_messages": "fatal",
}


def find_programs() -> Path | None:
    """Return the folder of the server's programs, None if they are not installed."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True
    )
    on_path = shutil.which("pg_ctl")
    if on_path is not None:
        folders.append(Path(on_path).resolve().parent)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


class PostgresServer:
    """A cluster in a folder."""

    def __init__(self) -> None:
        programs = find_programs()
        assert programs is not None, "PostgreSQL is not installed: `make test` does that"
        self._programs = programs
        in_memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
        self.folder = Path(tempfile.mkdtemp(prefix="turnlog-pg-", dir=_MEMORY if in_memory else "/tmp"))
        self._made: list[str] = []
        if os.getuid() == 0:
            os.chown(self.folder, pwd.getpwnam(_USER).pw_uid, -1)
        self._data = self.folder / "data"
        self._run("initdb", "-D", self._data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in _SETTINGS.items())
            file.write(f"unix_socket_directories = '{self.folder}'\n")
        self.start()
        stop = f"'{programs / 'pg_ctl'}' -D '{self._data}' -m immediate -w stop"
        self._keeper = subprocess.Popen(
            self._build_command("sh", "-c", f"cat; {stop}; rm -rf '{self.folder}'"),
            cwd="/", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def start(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-l", self.folder / "log", "-w", "-t", "120", "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "-t", "120", "stop")

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def remove(self) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()

    def address(self, database: str = _USER) -> str:
        return f"postgresql://{_USER}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = _USER) -> list[tuple[object, ...]]:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def create(self, template: str = "template0") -> str:
        """Make a database, and return its name."""
        name = f"t{uuid4().hex}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        self._made.append(name)
        return name

    def drop_all(self) -> None:
        """Drop the databases that were made, but for the template."""
        for name in self._made:
            self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._made.clear()

    @functools.cached_property
    def archive(self) -> str:
        """A database with an archive in which nothing is: to copy it is faster than to make another one."""
        name = self.create()
        open_store(ServerPlace(self.address(name), self.folder)).close()
        self._made.remove(name)
        return name

    def _run(self, program: str, *given: object) -> None:
        done = subprocess.run(
            self._build_command(str(self._programs / program), *map(str, given)),
            cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout.decode()

    def _build_command(self, *command: str) -> list[str]:
        if os.getuid() != 0:
            return [*command]
        return ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", *command]


def make_database() -> str:
    """Return the address of a new database."""
    server = start_server()
    return server.address(server.create())


def make_archive() -> str:
    """Return the address of a new database with an archive in which nothing is."""
    server = start_server()
    return server.address(server.create(server.archive))


@functools.cache
def start_server() -> PostgresServer:
    """Return the cluster of this process, which is removed at its end."""
    return PostgresServer()


def drop_databases() -> None:
    """Drop what was made in the cluster of this process, if there is one."""
    if start_server.cache_info().currsize:
        start_server().drop_all()
