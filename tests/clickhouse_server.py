"""A ClickHouse server for tests, on loopback: the real engine (chdb) behind as much of its HTTP interface as
`turnlog.store.clickhouse` needs.

The engine is in a process of its own, which can be killed and started again on the same folder and port, and
ends with the process that started it. One statement is worked on at a time. Each has a connection to the engine
of its own, which has the settings that came with it. Parameters may be no longer than a server's limit.
"""
# mypy: disable-error-code="import-untyped, no-untyped-call"

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from email.parser import BytesHeaderParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import lz4.frame
import zstandard

HOST = "127.0.0.1"


class ClickHouseServer:
    """A server on a folder; it is not started by that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        """As `TURNLOG_INDEX` takes it."""
        return f"clickhouse://{HOST}:{self.port}/turnlog"

    def start(self) -> None:
        """Start it, again on the port that it had, and return when it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder.with_suffix(".log")
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(self.folder), str(self.port), str(os.getpid())],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        assert port, log.read_text(errors="replace")[-3000:]
        self.port = int(port)

    def kill(self) -> None:
        """End it at once, whatever it is at."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Have it end after what it is at."""
        self._end(signal.SIGTERM)

    def measure_cpu(self) -> float:
        """Return how many seconds it has used of a core."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


LONGEST = 131_072 + 1
"""The most bytes that a server takes as a parameter (`http_max_field_value_size`, and one)."""
_NO_SETTINGS = {
    "query", "database", "client_protocol_version", "enable_http_compression", "wait_end_of_query", "query_id",
}  # fmt: skip
"""What comes with a request besides settings and parameters."""
_INSERT = re.compile(rb"\s*(INSERT INTO [^\n]*) FORMAT Native\n")
_FORMAT = re.compile(rb"\sFORMAT (\w+)[\s;]*\Z")
_CODE = re.compile(r"Code: (\d+)\. ")
_FORM = re.compile(r'boundary="?([^";]+)"?')
_COMPRESSED = {"lz4": lz4.frame.decompress, "zstd": zstandard.decompress}


class RefusedRequestError(Exception):
    """A request that a server does not take, in its words."""


class Engine:
    """The engine of this process, which works on one folder."""

    def __init__(self, folder: str) -> None:
        import chdb  # it takes long, and only this process needs it

        self._folder = folder
        self._connect = chdb.connect
        self._keeper = chdb.connect(folder)  # it runs as long as there is a connection
        self._lock = threading.Lock()

    def execute(self, statement: bytes, fields: dict[str, str]) -> tuple[bytes, dict[str, str]]:
        """Return what a statement gives, with the headers that tell of it."""
        given = {name[6:]: value for name, value in fields.items() if name.startswith("param_")}
        settings = {
            name: value
            for name, value in fields.items()
            if name not in _NO_SETTINGS and not name.startswith("param_")
        }
        with self._lock:
            connection = self._connect(self._folder)
            try:
                return self._run(connection, statement, given, settings, fields.get("database", ""))
            finally:
                connection.close()

    def close(self) -> None:
        """Wait until it is at nothing, and end it."""
        with self._lock:
            self._keeper.close()

    def _run(
        self, connection: Any, statement: bytes, given: dict[str, str], settings: dict[str, str], database: str
    ) -> tuple[bytes, dict[str, str]]:
        if database:
            connection.query(f"USE `{database}`")
        if settings:
            values = (f"{name} = '{value}'" for name, value in settings.items())
            connection.query(f"SET {', '.join(values)}")
        insert = _INSERT.match(statement)
        if insert is not None:
            with connection.send_insert(insert[1].decode(), "Native") as sent:
                sent.append(statement[insert.end() :])
                written = sent.finish().rows_written
            return b"", {"X-ClickHouse-Summary": json.dumps({"written_rows": str(written)})}
        named = _FORMAT.search(statement)
        form = "TabSeparated" if named is None else named[1].decode()
        found = connection.query(statement.decode(), form, params=given)
        return bytes(found.bytes()), {"X-ClickHouse-Format": form}


class Handler(BaseHTTPRequestHandler):
    """Answers requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_POST(self) -> None:
        try:
            body = self._read_body()
        except (OSError, ValueError):
            self.close_connection = True  # cut in the middle: nothing of it is done
            return
        try:
            fields = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            body = _COMPRESSED.get(self.headers.get("Content-Encoding", ""), bytes)(body)
            form = _FORM.search(self.headers.get("Content-Type", ""))
            if form is not None:
                fields |= _parse_form(body, form[1].encode())
                body = b""
            for name, value in fields.items():
                if len(value.encode()) > LONGEST:
                    raise RefusedRequestError(
                        f"Code: 1000. DB::Exception: HTML Form Exception: Field value too long: {name}"
                    )
            statement = fields.get("query", "").encode() + body
            answer, headers = self.server.engine.execute(statement, fields)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
            told = str(error)
            found = _CODE.search(told)
            code, start = ("1002", 0) if found is None else (found[1], found.start())
            self._send(500, told[start:].encode(errors="replace"), {"X-ClickHouse-Exception-Code": code})
        else:
            self._send(200, answer, {**headers, "X-ClickHouse-Timezone": "UTC"})

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self._read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self._read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _read(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError("The body ended early")
        return data

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _parse_form(body: bytes, boundary: bytes) -> dict[str, str]:
    """Return the fields of a form, as which a statement comes that has much bound to it."""
    fields = {}
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary)[1:-1]:
        head, _, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = BytesHeaderParser().parsebytes(head).get_param("name", header="content-disposition")
        fields[str(name)] = value.decode()
    return fields


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, engine: Engine, port: int) -> None:
        self.engine = engine
        super().__init__((HOST, port), Handler)


def main(folder: str, port: int, parent: int) -> None:
    """Serve until the process that wants it is gone, or says so."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    engine = Engine(folder)
    server = _HTTPServer(engine, port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    while not ended.wait(0.5) and os.getppid() == parent:
        time.sleep(0)
    engine.close()
    os._exit(0)  # whoever has a connection open does not matter any more


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
