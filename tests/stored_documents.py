"""Stored messages of spec 003 for tests: made up, or golden files before and after their migration."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from golden import DATA
from turnlog.transcripts.migration import Migration, migrate

FOLDERS = {path.name.removeprefix("migration-"): path for path in (DATA / "transcripts").glob("migration-*")}
NAMES = sorted(FOLDERS)


def golden(name: str, state: str) -> Path:
    [path] = FOLDERS[name].glob(f"{state}.*")
    return path


def migrated(data: bytes) -> tuple[bytes, Migration]:
    """Return what a file becomes."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in"), Path(folder, "out")
        source.write_bytes(data)
        report = migrate(source, target)
        return target.read_bytes(), report


def document(kind: str, uuid: str | None, parent: str | None, **more: Any) -> dict[str, Any]:
    """Make up a document; a tool message is marked as one."""
    members: dict[str, Any] = {"_id": "1", "type": kind, "sessionId": "s-1", "parentUuid": parent}
    if uuid is not None:
        members["uuid"] = uuid
    if kind.startswith("tool_"):
        members["isSidechain"] = True
    return {**members, "content": "said", **more}


def call_text(**members: Any) -> str:
    return json.dumps({"type": "tool_use", "name": "Read", "input": {}, **members})


def call_block(identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "Read", "input": {}}


def result_block(identity: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": "80"}


def joined(documents: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in documents)
