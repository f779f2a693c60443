"""Sessions for tests of mission control: transcripts and hook events, at times counted from a moment."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnlog.ingest.pipeline import sync
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.hooks import build_delivery

SECOND = 1_000_000_000
_numbers = itertools.count()


class Told:
    """A session that is told line by line and event by event; times are seconds before `now`."""

    def __init__(self, store: MaintainedStore, place: Path, now_ns: int, session: str) -> None:
        self.session = session
        self._store = store
        self._place = place
        self._now = now_ns
        self._path = place.parent / "claude" / "projects" / "-work" / f"{session}.jsonl"
        self._parent: str | None = None
        self._count = 0

    def at(self, ago: float) -> int:
        """Return a time in nanoseconds."""
        return self._now - round(ago * SECOND)

    def hook(self, name: str, ago: float, **fields: Any) -> None:
        """Deliver a hook event."""
        payload = {"session_id": self.session, "hook_event_name": name, "cwd": "/work/tea"} | fields
        delivery = build_delivery(f"d{next(_numbers)}", self.at(ago), json.dumps(payload).encode())
        self._store.add_deliveries(LOCAL, [delivery])

    def prompt(self, text: str, ago: float, **more: Any) -> None:
        self._write("user", {"role": "user", "content": text}, ago, more)

    def answer(self, *blocks: Any, ago: float, stop: str | None = "end_turn", **more: Any) -> None:
        message = {
            "id": f"msg_{self.session}_{self._count}",
            "type": "message",
            "role": "assistant",
            "model": more.pop("model", "claude-sonnet-4-5"),
            "content": [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks],
            "stop_reason": stop,
            "usage": {
                "input_tokens": 10,
                "output_tokens": 5,
                "cache_read_input_tokens": 20_000,
                "cache_creation_input_tokens": 300,
            },
        }
        self._write("assistant", message, ago, more)

    def call(self, id: str, name: str, given: Any, ago: float) -> None:
        block = {"type": "tool_use", "id": id, "name": name, "input": given}
        self.answer(block, ago=ago, stop="tool_use")

    def result(self, id: str, text: str, ago: float) -> None:
        block = {"type": "tool_result", "tool_use_id": id, "content": text}
        self._write("user", {"role": "user", "content": [block]}, ago, {})

    def _write(self, kind: str, message: Any, ago: float, more: dict[str, Any]) -> None:
        self._count += 1
        uuid = f"00000000-0000-4000-8000-{self._count:012d}"
        at = datetime.fromtimestamp(self.at(ago) / SECOND, UTC)
        line = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "cwd": "/work/tea",
            "sessionId": self.session,
            "version": "2.1.150",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        } | more
        self._parent = uuid
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def keep(self) -> None:
        """Bring the transcript into the store."""
        sync(
            self._store,
            self._place,
            locate_sessions([self._place.parent / "claude"]).sessions,
            origin="test",
        )


QUESTION = {
    "questions": [
        {
            "question": "Which tea?",
            "header": "Tea",
            "options": [{"label": "Green", "description": "x"}, {"label": "Black", "description": "y"}],
            "multiSelect": False,
        }
    ]
}
