"""The archive as a session store of the official Agent SDK.

    options = ClaudeAgentOptions(session_store=TurnlogSessionStore())

mirrors sessions into turnlog as they happen, and resumes from it: also sessions whose files Claude Code has
deleted by now, and those that were never mirrored, but archived from Claude Code's own files. Nothing blocks
the event loop: all work is done in threads, one call after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

from anyio import to_thread
from claude_agent_sdk import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    fold_session_summary,
)
from msgspec.structs import replace

from turnlog.config import Settings
from turnlog.integrations.agent_sdk.mirroring.entries import Entry
from turnlog.integrations.agent_sdk.mirroring.mirror import Fold, Mirror
from turnlog.integrations.agent_sdk.mirroring.notes import Name

T = TypeVar("T")


class TurnlogSessionStore(SessionStore):
    """Keeps and gives back the SDK's sessions, with all optional methods."""

    def __init__(self, home: str | os.PathLike[str] | None = None, *, settings: Settings | None = None) -> None:
        """Use the archive that the environment names (`TURNLOG_HOME`, `TURNLOG_STORE`), or that in `home`.

        Raises `ConfigError` for settings that say anything wrong.
        """
        given = settings or Settings.from_env()
        self._mirror = Mirror(given if home is None else replace(given, home=Path(home), store=None))
        self._lock = Lock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Keep entries: when this returns, they are on the disk. Those whose `uuid` is there are left out."""
        name, given = _name(key), cast("list[Entry]", list(entries))
        await self._run(lambda: self._mirror.append(name, given))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a session or a part of it, whether its files are there or not."""
        name = _name(key)
        found = await self._run(lambda: self._mirror.load(name))
        return cast("list[SessionStoreEntry] | None", found)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, mirrored or archived."""
        found = await self._run(lambda: self._mirror.list_sessions(project_key))
        return [{"session_id": session_id, "mtime": modified} for session_id, modified in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the SDK's own summaries of a project's sessions; only what is new of them is read."""
        found = await self._run(lambda: self._mirror.list_summaries(project_key, _make_fold(project_key)))
        return [
            {"session_id": session_id, "mtime": modified, "data": data} for session_id, modified, data in found
        ]

    async def delete(self, key: SessionKey) -> None:
        """Forget a session for good, as `turnlog forget` does; files of Claude Code's own are not touched.

        A part of a session is only not told any more: the archive has it until the session is forgotten.
        """
        name = _name(key)
        await self._run(lambda: self._mirror.delete(name))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return what else belongs to a session, as `subagents/agent-…`."""
        return await self._run(lambda: self._mirror.list_subpaths(key["project_key"], key["session_id"]))

    async def _run(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(self._do, work)

    def _do(self, work: Callable[[], T]) -> T:
        with self._lock:
            return work()


def _name(key: SessionKey) -> Name:
    return key["project_key"], key["session_id"], key.get("subpath") or None


def _make_fold(project: str) -> Fold:
    def fold(before: dict[str, Any] | None, entries: Sequence[Entry]) -> dict[str, Any]:
        # The summary's own id and time are not part of what is made of entries.
        key: SessionKey = {"project_key": project, "session_id": ""}
        known: SessionSummaryEntry | None = (
            None if before is None else {"session_id": "", "mtime": 0, "data": before}
        )
        return fold_session_summary(known, key, cast("list[SessionStoreEntry]", list(entries)))["data"]

    return fold
