"""Who owns an answer, and what speaks for it, where it was seen in several places.

One answer of the API stands on several lines, in several files and, after forks, in several sessions. It is
owned where its earliest line is, then by the smallest source; the lines with the most output tokens speak for
it, the owner's among equals. Order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct

from turnlog.transcripts.usage.tokens import Attribution, Sighting, Terms, Tokens

_NEVER = datetime.max.replace(tzinfo=UTC)
_Home = tuple[str, str]


class MessageUsage(Struct, frozen=True, gc=False):
    """One answer of the API, counted once."""

    message: str
    """`message.id`, or what stands for it."""
    session: str
    """The owner."""
    sessions: tuple[str, ...]
    """All in which it stands."""
    time: datetime | None
    model: str | None
    tokens: Tokens
    terms: Terms = Terms()
    attribution: Attribution = Attribution()
    complete: bool = True
    """If not, the output tokens are a floor."""
    source: str = ""
    """The file that owns it."""


class Totals(Struct, frozen=True, gc=False):
    """Messages, and what they used."""

    messages: int = 0
    incomplete: int = 0
    """How many of the messages have a floor for their output."""
    tokens: Tokens = Tokens()

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.messages + other.messages, self.incomplete + other.incomplete, self.tokens + other.tokens
        )


class SightingFold:
    """What was seen of answers, gathered in any order."""

    def __init__(self) -> None:
        self._messages: dict[str, Sighting | dict[_Home, Sighting]] = {}
        """What was seen of each; of those that stand in several places, by place."""

    def add_sighting(self, sighting: Sighting) -> None:
        """Take in what was found in a line before."""
        known = self._messages.get(sighting.message)
        if known is None:
            self._messages[sighting.message] = sighting
        elif isinstance(known, Sighting):
            if _home(known) == _home(sighting):
                self._messages[sighting.message] = known.join(sighting)
            else:
                self._messages[sighting.message] = {_home(known): known, _home(sighting): sighting}
        else:
            before = known.get(_home(sighting))
            known[_home(sighting)] = sighting if before is None else before.join(sighting)

    def list_seen(self, message: str) -> list[Sighting]:
        """Return what each file says of one message; nothing if none does."""
        return _list(self._messages.get(message))

    def list_seen_in(self, source: str) -> Iterator[Sighting]:
        """Yield what one file says of each message, in order of appearance."""
        return (each for seen in self._messages.values() for each in _list(seen) if each.source == source)

    def list_names(self) -> list[str]:
        """Return by what all messages are known, in order of appearance."""
        return list(self._messages)

    def list_sightings(self) -> list[Sighting]:
        """Return what each file says of each message, in order of appearance."""
        return [sighting for seen in self._messages.values() for sighting in _list(seen)]

    def list_messages(self, session: str | None = None) -> list[MessageUsage]:
        """Return all messages, by time; with `session`, those that stand in it, by its own lines alone."""
        found = []
        for places in self._messages.values():
            seen = [each for each in _list(places) if session is None or each.session == session]
            if seen:
                found.append(build_message(seen))
        return sorted(found, key=lambda each: (each.time or _NEVER, each.message))

    def list_answers(self) -> Iterator[MessageUsage | Sighting]:
        """Yield all messages in no order; those that were seen in one place alone, as they were seen there."""
        for places in self._messages.values():
            seen = _list(places)
            yield seen[0] if len(seen) == 1 else build_message(seen)

    def list_own(self) -> dict[str, list[MessageUsage]]:
        """Return the messages that stand in each session, by its own lines alone."""
        own: dict[str, list[MessageUsage]] = {}
        for places in self._messages.values():
            here: dict[str, list[Sighting]] = {}
            for sighting in _list(places):
                here.setdefault(sighting.session, []).append(sighting)
            for session, seen in here.items():
                own.setdefault(session, []).append(build_message(seen))
        return own


@lru_cache(maxsize=64)
def _name(session: str) -> tuple[str, ...]:
    """Return one session as all of them, once for many messages."""
    return (session,)


def _home(sighting: Sighting) -> _Home:
    return sighting.session, sighting.source


def _list(seen: Sighting | dict[_Home, Sighting] | None) -> list[Sighting]:
    if seen is None:
        return []
    return [seen] if isinstance(seen, Sighting) else list(seen.values())


def build_total(messages: Iterable[MessageUsage]) -> Totals:
    """Add messages up."""
    total = Totals()
    for message in messages:
        total += Totals(1, 0 if message.complete else 1, message.tokens)
    return total


def build_message(seen: list[Sighting]) -> MessageUsage:
    """Make one message of what was seen of it in different places."""
    if len(seen) == 1:
        [one] = seen
        return MessageUsage(
            one.message, one.session, _name(one.session), one.time, one.model, one.tokens, one.terms,
            one.attribution, one.ended, one.source,
        )  # fmt: skip
    owner = min(seen, key=lambda each: (each.time or _NEVER, each.source, each.session))
    best = min(seen, key=lambda each: (-each.tokens.output, each is not owner, each.source, each.session))
    attribution = owner.attribution
    for sighting in seen:
        attribution = attribution.join(sighting.attribution)
    return MessageUsage(
        message=owner.message,
        session=owner.session,
        sessions=tuple(sorted({each.session for each in seen})),
        time=owner.time,
        model=best.model,
        tokens=best.tokens,
        terms=best.terms,
        attribution=attribution,
        complete=any(each.ended for each in seen),
        source=owner.source,
    )
