"""The part of the store that tells what sessions used and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.clickhouse.usage_prices import is_outdated, note_recount, note_recounted
from turnlog.store.clickhouse.usage_queries import ClickHouseUsage
from turnlog.store.clickhouse.usage_versions import EVERY_SESSION, count_versions, find_version
from turnlog.store.clickhouse.usage_writing import list_owners, recount_owner
from turnlog.store.identity import Scope
from turnlog.store.interface import Store
from turnlog.store.packing import unpack_text
from turnlog.store.usage.recounting import RecountedUsage, recount_answers
from turnlog.store.usage.source import UsageSource
from turnlog.store.windows import AnswerUse

__all__ = ["Counting"]

_FIND = """
SELECT a.message_id, a.input, a.output, a.cache_read, toInt128(a.cache_write_5m) + a.cache_write_1h,
    if(a.flags < 2, a.cost, NULL)
FROM (
    SELECT * FROM answers FINAL WHERE answer IN {answers:Array(UInt128)}
        AND session IN (SELECT session FROM sightings WHERE answer IN {answers:Array(UInt128)})
) AS a JOIN (SELECT id, key FROM sessions FINAL) AS e ON e.id = a.session
ORDER BY a.message_id, a.output DESC, e.key LIMIT 1 BY a.message_id
"""


class Counting(Connected):
    """What `ClickHouseStore` tells of usage."""

    def read_usage(self, scope: Scope) -> UsageSource:
        """Return what sessions used and cost, each answer once."""
        if _is_link(scope):  # what is kept is elected among sessions that a link does not show
            return RecountedUsage(cast(Store, self), scope)
        return ClickHouseUsage(self._reading(scope), self._control)

    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        if _is_link(scope):
            return recount_answers(cast(Store, self), scope, ids)
        answers = sorted({number(scope.owner, id) for id in ids})
        if not answers:
            return []
        rows = self._reading(scope).query(_FIND, {"answers": answers})
        return [
            AnswerUse(
                message_id=unpack_text(found), input=input, output=output, cache_read=read, cache_write=write,
                cost=cost,
            )
            for found, input, output, read, write, cost in rows
        ]  # fmt: skip

    def find_usage_version(self, scope: Scope, key: str) -> int:
        """Return a number that changes when another session changes what is told of this one's answers."""
        is_seen = scope.viewer is None or self._reading(scope).find([key])
        return find_version(self._control, number(scope.owner, key) if is_seen else None)

    def recount(self) -> None:
        """Count all usage anew from what is known of answers, by the price list that is installed."""
        note_recount(self._control)
        for owner in list_owners(self._engine):
            with self._locked(owner, None):
                recount_owner(self._engine, owner)
        count_versions(self._control, [EVERY_SESSION])
        note_recounted(self._control)

    def _keep_prices_current(self) -> None:
        """Count anew if costs are by an older price list than the one that is installed."""
        if is_outdated(self._engine, self._control):
            self.recount()


def _is_link(scope: Scope) -> bool:
    return scope.viewer is not None and scope.viewer.session is not None
