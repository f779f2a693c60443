"""One answer of what sightings say of it, in the numbers of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
from msgspec import Struct
from msgspec.structs import astuple

from turnlog.instants import from_microseconds, to_microseconds
from turnlog.store.sqlite.values import unpack_text
from turnlog.store.usage.cells import join_terms
from turnlog.transcripts.usage.charges import Charge, Charger
from turnlog.transcripts.usage.election import SightingFold
from turnlog.transcripts.usage.tokens import Attribution, Sighting, Terms, Tokens

__all__ = ["FOR_ALL", "FOR_OTHERS", "FOR_WHOLE", "Answer", "Elector"]

_MOST = (1 << 63) - 1
_NO_TERMS = Terms()
FOR_ALL, FOR_WHOLE, FOR_OTHERS = 0, 1, 2
"""For whom an answer counts: all who see its session, those who see all of the person's, only others."""


class Answer(Struct, frozen=True, gc=False):
    """An answer, as it stands in the tables."""

    message: str
    group: tuple[Any, ...]
    """Session, session's id, model, agent, skill, server, terms without a price, and for whom it counts."""
    time: int | None
    values: tuple[int, ...]
    """Flags, tokens by kind, searches, cost, savings."""

    def count_for(self, audience: int) -> Answer:
        """Return it as it counts for some."""
        return Answer(self.message, (*self.group[:-1], audience), self.time, self.values)


class _Seen(Struct, frozen=True, gc=False):
    """A row of `sightings`, with its message, and whose its session is."""

    message: str
    owner: str
    person: str | None
    shared: int | None
    session: int
    source: int
    session_id: int
    offset: int
    time: int | None
    model: int | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    ended: int
    service_tier: int | None
    speed: int | None
    inference_geo: int | None
    agent: int | None
    agent_id: int | None
    skill: int | None
    mcp_server: int | None

    @property
    def words(self) -> tuple[int | None, ...]:
        """The numbers of all words that an answer may have from it."""
        return None, self.model, self.agent, self.agent_id, self.skill, self.mcp_server

    @property
    def tokens(self) -> Tokens:
        """What was used."""
        return Tokens(
            self.input,
            self.output,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.web_searches,
        )


class Elector:
    """Makes answers of sightings, and prices them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._words = _Lookup(connection, "SELECT word FROM words WHERE id = ?")
        self._names = _Lookup(connection, "SELECT source FROM sources WHERE id = ?")
        self._charger = Charger()
        self._terms: dict[tuple[int | None, ...], Terms] = {(None, None, None): _NO_TERMS}

    def reset(self) -> None:
        """Forget words and names: they may have been rolled back."""
        self._words.reset()
        self._names.reset()
        self._terms = {(None, None, None): _NO_TERMS}

    def elect(self, rows: Sequence[tuple[Any, ...]]) -> list[Answer]:
        """Return the answer of all sightings that one person has of a message.

        Others see only what is shared. So there is one more of those sightings alone, if it is another one.
        """
        seen = [_Seen(*row) for row in rows]
        whole = self._elect(seen)
        others = [each for each in seen if each.shared]
        if len(others) in (0, len(seen)):
            return [whole]
        told = self._elect(others)
        if told == whole:
            return [whole]
        is_told = any(each.session == whole.group[0] for each in others)
        return [whole.count_for(FOR_WHOLE) if is_told else whole, told.count_for(FOR_OTHERS)]

    def _elect(self, seen: Sequence[_Seen]) -> Answer:
        if len(seen) == 1:  # as nearly always: what is said once needs no election
            [only] = seen
            behalf = only.agent or only.agent_id, only.skill, only.mcp_server
            terms = self._find_terms(only)
            return self._build(only, only.time, only.model, only.tokens, terms, behalf, bool(only.ended))
        fold = SightingFold()
        for each in seen:
            fold.add_sighting(self._unpack(each))
        [message] = fold.list_messages()
        numbers = {self._words[number]: number for each in seen for number in each.words}
        home = message.source, message.session
        owner = next(each for each in seen if (self._names[each.source], self._words[each.session_id]) == home)
        behalf = (
            numbers[message.attribution.agent or message.attribution.agent_id],
            numbers[message.attribution.skill],
            numbers[message.attribution.mcp_server],
        )
        time = None if message.time is None else to_microseconds(message.time)
        model = numbers[message.model]
        return self._build(owner, time, model, message.tokens, message.terms, behalf, message.complete)

    def _build(
        self,
        owner: _Seen,
        time: int | None,
        model: int | None,
        tokens: Tokens,
        terms: Terms,
        behalf: tuple[int | None, ...],
        complete: bool,
    ) -> Answer:
        charge = self._charger.find_charge(self._words[model], time, tokens, terms)
        cost, saved, lacking = (0, 0, "") if charge is None else _pack_charge(charge)
        flags = (0 if complete else 1) | (2 if charge is None else 0)
        group = owner.session, owner.session_id, model or 0, *(each or 0 for each in behalf), lacking, FOR_ALL
        return Answer(owner.message, group, time, (flags, *astuple(tokens), cost, saved))

    def _unpack(self, seen: _Seen) -> Sighting:
        word = self._words
        return Sighting(
            message=seen.message,
            session=word[seen.session_id],
            source=self._names[seen.source],
            offset=seen.offset,
            time=None if seen.time is None else from_microseconds(seen.time),
            model=word[seen.model],
            tokens=seen.tokens,
            terms=self._find_terms(seen),
            attribution=Attribution(
                agent=word[seen.agent],
                agent_id=word[seen.agent_id],
                skill=word[seen.skill],
                mcp_server=word[seen.mcp_server],
            ),
            ended=bool(seen.ended),
        )

    def _find_terms(self, seen: _Seen) -> Terms:
        key = seen.service_tier, seen.speed, seen.inference_geo
        terms = self._terms.get(key)
        if terms is None:
            terms = self._terms[key] = Terms(*(self._words[number] for number in key))
        return terms


class _Lookup(dict[int | None, Any]):
    """Words or names by number, each read when it is first needed."""

    def __init__(self, connection: apsw.Connection, query: str) -> None:
        super().__init__({None: None})
        self._connection = connection
        self._query = query

    def __missing__(self, number: int | None) -> Any:
        found = self._connection.execute(self._query, (number,)).fetchone()
        if found is None:
            raise apsw.CorruptError(f"what {number} stands for is missing")
        value = self[number] = unpack_text(found[0])
        return value

    def reset(self) -> None:
        """Forget what was read."""
        self.clear()
        self[None] = None


def _pack_charge(charge: Charge) -> tuple[int, int, str]:
    cost, saved = (max(-_MOST, min(each, _MOST)) for each in (charge.cost, charge.saved))
    return cost, saved, join_terms(charge.unpriced_terms)
