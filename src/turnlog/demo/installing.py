"""Putting the sample sessions where turnlog finds them."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from turnlog.demo.plays import PLAYS
from turnlog.demo.stage import Stage
from turnlog.ingest.spool import SPOOL
from turnlog.instants import to_microseconds
from turnlog.transcripts.session_files import project_folder_name


class Scene:
    """A file of a sample session, and the lines that are still to come."""

    def __init__(self, path: Path, stage: Stage, now: datetime) -> None:
        self.path = path
        self._written = b"".join(data for at, data in stage.lines if at <= now)
        self.coming = [(at, data) for at, data in stage.lines if at > now]
        """Those that are written later, each with when."""

    def write(self) -> None:
        """Write what has happened so far."""
        if self._written:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(self._written)


def install(into: Path, now: datetime | None = None, home: Path | None = None) -> list[Scene]:
    """Put the samples into a folder as Claude Code would: `into` becomes a `CLAUDE_CONFIG_DIR`.

    What hooks were told is put into the spool of `home`, turnlog's own directory, if there is one. Returns the
    scenes; what is still to come in them, `play_live` writes.
    """
    now = datetime.now(UTC) if now is None else now
    scenes = list_scenes(into, now)
    for scene in scenes:
        scene.write()
    if home is not None:
        _deliver(home / SPOOL, now)
    return scenes


def _deliver(spool: Path, now: datetime) -> None:
    spool.mkdir(mode=0o700, parents=True)
    for stage in (build(now) for build in PLAYS):
        for number, (at, payload) in enumerate(stage.hooks, 1):
            since = to_microseconds(at) * 1000 + number  # those of one moment in their order
            (spool / f"{since}-demo-{stage.name}-{number}.json").write_bytes(payload)


def list_scenes(into: Path, now: datetime) -> list[Scene]:
    """Return all files of lines; small files beside them are written at once."""
    scenes = []
    for build in PLAYS:
        stage = build(now)
        folder = into / "projects" / project_folder_name(stage.project)
        scenes.append(Scene(folder / f"{stage.session_id}.jsonl", stage, now))
        for agent, meta in stage.agents:
            beside = folder / stage.session_id / "subagents"
            scenes.append(Scene(beside / f"agent-{agent.agent_id}.jsonl", agent, now))
            beside.mkdir(parents=True, exist_ok=True)
            (beside / f"agent-{agent.agent_id}.meta.json").write_text(json.dumps(meta))
    return scenes


def play_live(scenes: Sequence[Scene], stopped: threading.Event) -> None:
    """Write what is still to come, each line at its time, until all is written or it is stopped."""
    coming = sorted((at, str(scene.path), data) for scene in scenes for at, data in scene.coming)
    by_path = {str(scene.path): scene.path for scene in scenes}
    for at, path, data in coming:
        if stopped.wait(max(0.0, (at - datetime.now(UTC)).total_seconds())):
            return
        place = by_path[path]
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            file.write(data)
