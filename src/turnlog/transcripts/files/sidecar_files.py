"""Reading the small JSON files that lie beside transcripts.

They may be broken, half written, or nothing that they should be. Whatever is wrong is a `Problem`, and no more
of a file is read than such a file can have.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TypeVar

from turnlog.messages import Dialect, Problem, ProblemKind, Unknown, View
from turnlog.messages.recovery import recover
from turnlog.messages.salvage import view
from turnlog.messages.sidecars import AgentMeta, WorkflowRecord

META_LIMIT = 1 << 20
"""How many bytes an agent's metadata may have."""
RECORD_LIMIT = 1 << 26
"""How many bytes a workflow's record may have: it holds the script and its result."""

T = TypeVar("T")


def read_agent_meta(path: Path) -> View[AgentMeta]:
    """Read what an agent was started with; the value is an `Unknown` if nothing can be made of the file."""
    return _read(path, AgentMeta, META_LIMIT)


def read_workflow_record(path: Path) -> View[WorkflowRecord]:
    """Read what became of a workflow; the value is an `Unknown` if nothing can be made of the file."""
    return _read(path, WorkflowRecord, RECORD_LIMIT)


def decode_agent_meta(data: bytes) -> View[AgentMeta]:
    """Decode what `read_agent_meta` reads; of a longer file, a byte more than the limit will do."""
    return _decode(data, AgentMeta, META_LIMIT)


def decode_workflow_record(data: bytes) -> View[WorkflowRecord]:
    """Decode what `read_workflow_record` reads; of a longer file, a byte more than the limit will do."""
    return _decode(data, WorkflowRecord, RECORD_LIMIT)


def _read(path: Path, type_: type[T], limit: int) -> View[T]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return _refuse("a regular file", "something else")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        return _refuse("a file that can be read", getattr(error, "strerror", None) or str(error))
    return _decode(data, type_, limit)


def _decode(data: bytes, type_: type[T], limit: int) -> View[T]:
    if len(data) > limit:
        return _refuse(f"at most {limit} bytes", "more")
    seen = view(type_, data)
    whole = recover(data) if isinstance(seen.value, Unknown) else None
    if whole is not None and whole.dialect is Dialect.UNKNOWN:  # no object at all, and that says why
        return View(seen.value, data, whole.problems)
    return seen


def _refuse(expected: str, found: str) -> View[T]:
    return View(Unknown(b""), b"", (Problem(ProblemKind.MALFORMED, expected, found, ()),))
