"""What readers see of some lines: in the terminal, in exports, over HTTP and over MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from command_line import invoke
from server_app import Served, serving
from turnlog import read
from turnlog.export.formats import Format, render_session
from turnlog.ingest.pipeline import sync
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.queries.memory import query

CONFIG = (
    {"type": "user", "uuid": "m1", "message": "Create a script"},
    {
        "type": "system", "uuid": "m2", "parentUuid": "m1", "message": "config loaded", "isMeta": True,
        "subtype": "meta",
    },
    {"type": "system", "uuid": "m3", "parentUuid": "m2", "message": "by its subtype", "subtype": "meta"},
    {"type": "system", "uuid": "m4", "parentUuid": "m3", "message": "by its flag", "isMeta": True},
    {"type": "assistant", "uuid": "m5", "parentUuid": "m4", "message": "Here it is.", "subtype": "response"},
)  # fmt: skip
"""Spec 000's metadata, between a prompt and its answer."""


def write_000(folder: Path, lines: Sequence[dict[str, Any]], session: str = "session-000") -> Path:
    """Write lines as spec 000 has them."""
    common = {"sessionId": session}
    return _write(folder, session, [common | _stamp(number) | line for number, line in enumerate(lines)])


def write_002(folder: Path, lines: Sequence[dict[str, Any]], session: str = "session-002") -> Path:
    """Write lines as spec 002 has them; those with a `session_id` are the stream's."""
    common = {"sessionId": session, "cwd": "/home/ada/app", "version": "2.1.50"}
    whole = [
        line if "session_id" in line else common | _stamp(number) | line for number, line in enumerate(lines)
    ]
    return _write(folder, session, whole)


def write_004(folder: Path, lines: Sequence[dict[str, Any]], session: str = "session_004") -> Path:
    """Write lines as spec 004 has them: with times in milliseconds, and texts in messages."""
    common = {"sessionId": session, "version": "1.0.128", "parentUuid": None}
    whole = []
    for number, line in enumerate(lines):
        message = {"type": "message", "content": line["message"]}
        whole.append(common | line | {"timestamp": 1738160130000 + number, "message": message})
    return _write(folder, session, whole)


def show(path: Path, *options: str) -> str:
    """Return what `turnlog show` prints."""
    shown = invoke("show", path, *options)
    assert shown.exit_code == 0, shown.output
    return shown.output


def export(path: Path, form: Format = Format.MARKDOWN) -> str:
    """Return a session as a file of this form."""
    session = read(path)
    return b"".join(render_session(query(session), session.summary, form)).decode()


@contextmanager
def served(path: Path, home: Path) -> Iterator[Served]:
    """Archive a session, and run a server over the archive."""
    store = open_store(home / "turnlog.db")
    folder = home / "claude" / "projects" / "-home-ada-app"
    folder.mkdir(parents=True)
    (folder / path.name).write_bytes(path.read_bytes())
    sync(store, home / "turnlog.db", locate_sessions([home / "claude"]).sessions, origin="test")
    with serving(home / "home", store=store) as running:
        yield running
    store.close()


def ask(server: Served, path: str) -> Any:
    """Return what the server answers."""
    answer = server.get(path)
    assert answer.status == 200, answer.body
    return answer.json


def _write(folder: Path, session: str, lines: Sequence[dict[str, Any]]) -> Path:
    path = folder / f"{session}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _stamp(number: int) -> dict[str, str]:
    return {"timestamp": f"2026-02-22T10:00:{number:02}.000Z"}
