"""The part of the embedded store that tells what was done and what happened: timeline and action log."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.actions import EVERY_ACTION, ActionFilter, ActionOutline, ActionPoint, ActionTally
from turnlog.store.identity import Scope
from turnlog.store.sqlite.action_log import ActionLog
from turnlog.store.sqlite.connection import translate
from turnlog.store.sqlite.overview import Overview
from turnlog.store.sqlite.timelines import Timelines
from turnlog.store.timeline import EventFact, HookFact, HookPlace, HooksUnder
from turnlog.transcripts.hooks.matching import Told

__all__ = ["Acting"]


class Acting(Overview):
    """What `SqliteStore` tells of hook events and actions."""

    def list_hooks_under(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        messages: Sequence[int],
        *,
        source: str | None = None,
        above: bool = False,
        count: int = 1000,
    ) -> HooksUnder:
        """Return the hook events under messages of a chapter; with `above`, also those before the first."""
        with translate(self._path):
            return self._timelines(scope).list_under(scope, key, session_id, messages, source, above, count)

    def list_hooks_at(self, scope: Scope, session_id: str, ids: Sequence[int]) -> list[HookFact]:
        """Return hook events of a session by their numbers, in the order of these."""
        with translate(self._path):
            return self._timelines(scope).list_at(scope, session_id, ids)

    def find_hook_places(
        self, scope: Scope, key: str, session_id: str, ids: Sequence[int]
    ) -> dict[int, HookPlace]:
        """Return where hook events stand, by their numbers."""
        with translate(self._path):
            return self._timelines(scope).find_places(scope, key, session_id, ids)

    def list_hooks_near(self, scope: Scope, session_id: str, lines: Sequence[Told]) -> list[HookFact]:
        """Return the hook events that lines may tell of."""
        with translate(self._path):
            return self._timelines(scope).list_near(scope, session_id, lines)

    def list_hook_lines(self, scope: Scope, key: str, hooks: Sequence[Told]) -> list[EventFact]:
        """Return the lines of a session that may tell of hook events, by file and number."""
        with translate(self._path):
            return self._timelines(scope).list_hook_lines(scope, key, hooks)

    def list_events_at(self, scope: Scope, key: str, lines: Sequence[tuple[str, int]]) -> list[EventFact]:
        """Return lines of a session by file and number, in the order of these; only those that are events."""
        with translate(self._path):
            return self._timelines(scope).list_events_at(scope, key, lines)

    def find_turns(self, scope: Scope, key: str, times: Sequence[int]) -> dict[int, int]:
        """Return the turn that was under way at times, in microseconds."""
        with translate(self._path):
            return self._timelines(scope).find_turns(scope, key, times)

    def list_actions(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        where: ActionFilter = EVERY_ACTION,
        *,
        after: ActionPoint | None = None,
        after_ms: int | None = None,
        slowest: bool = False,
        count: int = 100,
    ) -> list[ActionOutline]:
        """Return the actions that are wanted, behind a point; the slowest first, if they are to be."""
        with translate(self._path):
            return self._actions(scope).list_actions(
                scope, key, session_id, where, after, after_ms, slowest, count
            )

    def tally_actions(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        where: ActionFilter = EVERY_ACTION,
        *,
        spans: int = 120,
    ) -> ActionTally:
        """Return all actions at a glance, over time in no more than so many spans of the same length."""
        with translate(self._path):
            return self._actions(scope).tally_actions(scope, key, session_id, where, spans)

    def _timelines(self, scope: Scope) -> Timelines:
        asked = self._ask(scope)
        return Timelines(asked.connection, asked.context)

    def _actions(self, scope: Scope) -> ActionLog:
        asked = self._ask(scope)
        return ActionLog(asked.connection, asked.context)
