"""`/api/mission-control`: who works, who waits for the person, and why."""

from __future__ import annotations

from litestar import get

from turnlog.server.board.board import build_board
from turnlog.server.board.watching import GivenWatch
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.shapes.board import MissionControl


@get("/api/mission-control", sync_to_thread=True)
def get_mission_control(store: GivenStore, visible: GivenScope, watch: GivenWatch) -> MissionControl:
    """Return what the sessions of the last 24 hours are doing: which work, which wait for you, since when, why.

    The state comes from hooks, if there are any, otherwise from the transcript.
    """
    return build_board(store, watch, visible)


HANDLERS = (get_mission_control,)
