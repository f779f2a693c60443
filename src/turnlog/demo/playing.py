"""Playing sample sessions live: lines are written when their time has come."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime

from turnlog.demo.installing import Scene


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
