"""What one file says about the usage of answers, as rows, kept up as it grows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from turnlog.ingest.facts import bounded, microseconds
from turnlog.store.rows import SightingRow
from turnlog.transcripts.usage.tokens import Sighting

__all__ = ["SightingRows"]

_offset = attrgetter("offset")


class SightingRows:
    """The sightings in one file, by their places: what other files say of the same answers does not matter."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._seen: list[Sighting] = []
        self._of_answer: dict[str, Sequence[Sighting]] | None = None
        """Known when somebody asks for what is new."""

    def __len__(self) -> int:
        return len(self._seen)

    def build(self, first: int = 0) -> Iterator[SightingRow]:
        """Yield all rows from one on."""
        return (self._build(index, self._seen[index]) for index in range(first, len(self._seen)))

    def begin(self, seen: Iterable[Sighting]) -> None:
        """Take all that the file says."""
        self._seen = sorted(seen, key=_offset)

    def update(self, seen: Mapping[str, Sequence[Sighting]]) -> tuple[SightingRow, ...]:
        """Take all that the file says of some answers by now; return the rows that are new or differ."""
        known = self._group()
        old = [sighting for name in seen for sighting in known.get(name, ())]
        new = [sighting for sightings in seen.values() for sighting in sightings]
        if old == new:
            return ()
        known.update(seen)
        first = min(sighting.offset for sighting in (*old, *new))
        at = bisect_left(self._seen, first, key=_offset)
        gone = {(sighting.message, sighting.session) for sighting in old}
        rest = [each for each in self._seen[at:] if (each.message, each.session) not in gone]
        self._seen[at:] = sorted((*rest, *new), key=_offset)
        return tuple(self.build(at))

    def _group(self) -> dict[str, Sequence[Sighting]]:
        if self._of_answer is None:
            found: dict[str, list[Sighting]] = {}
            for each in self._seen:
                found.setdefault(each.message, []).append(each)
            self._of_answer = {**found}
        return self._of_answer

    def _build(self, index: int, seen: Sighting) -> SightingRow:
        tokens, terms, behalf = seen.tokens, seen.terms, seen.attribution
        return SightingRow(
            index=index,
            source=self._source,
            message_id=seen.message,
            session_id=seen.session,
            offset=seen.offset,
            time=microseconds(seen.time),
            model=seen.model,
            input=bounded(tokens.input),
            output=bounded(tokens.output),
            cache_read=bounded(tokens.cache_read),
            cache_write_5m=bounded(tokens.cache_write_5m),
            cache_write_1h=bounded(tokens.cache_write_1h),
            web_searches=bounded(tokens.web_searches),
            ended=seen.ended,
            service_tier=terms.service_tier,
            speed=terms.speed,
            inference_geo=terms.inference_geo,
            agent=behalf.agent,
            agent_id=behalf.agent_id,
            skill=behalf.skill,
            plugin=behalf.plugin,
            mcp_server=behalf.mcp_server,
            mcp_tool=behalf.mcp_tool,
        )
