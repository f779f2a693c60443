"""From a session, read from all of its files, to the rows that are kept of it.

The rows follow from the lines alone: whatever the pieces in which they came, the same lines give equal rows.
Each file of lines is a chapter, the transcript first and then those of agents; what a forked agent has from its
parent stands in its file and is kept with it. When the rules change, `DERIVATION` is raised, and the next sync
derives all sessions again from the archive.

A session that grows while somebody follows it is derived on: by the same rules, but only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.answer_homes import AnswerHomes
from turnlog.ingest.conversation_rows import ChapterBuilder
from turnlog.ingest.derivation import DERIVATION
from turnlog.ingest.session_rows import build_agent, build_session
from turnlog.ingest.spill import Spill
from turnlog.ingest.turn_rows import TurnRows
from turnlog.messages import Line
from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.rows import AgentRow, TurnRow
from turnlog.transcripts.agents.agent import Agent, AgentSource
from turnlog.transcripts.conversation.conversation import Conversation, Growth
from turnlog.transcripts.conversation.turns import AgentWork
from turnlog.transcripts.session import Session, SessionGrowth
from turnlog.transcripts.sources import Sources
from turnlog.transcripts.usage.tokens import Sighting

__all__ = ["DERIVATION", "Chapter", "Deriver", "derive"]


class Chapter(Struct, frozen=True, gc=False):
    """The conversation in a sub-agent's own file."""

    source: str
    conversation: Conversation
    agent: AgentSource


def derive(
    session: Session,
    transcript: str | None,
    chapters: Sequence[Chapter],
    generations: Mapping[str, int],
    emptied: Iterable[str] = (),
    spill: Spill | None = None,
) -> DerivedRows:
    """Return all rows of a session whose lines know their source by its id.

    `transcript` is the source of its main lines, None if it has none; `chapters` are its agents' files,
    `generations` says of which generation the lines of each source are, and `emptied` are files that had
    chapters and have none any more. The rows of a large session are put aside in a `spill`; the session is of
    no use then.
    """
    deriver = Deriver(session, transcript, chapters, generations, is_final=spill is not None)
    return deriver.build(emptied, spill)


class Deriver:
    """The rows of a session, kept up as it grows."""

    def __init__(
        self,
        session: Session,
        transcript: str | None,
        chapters: Sequence[Chapter],
        generations: Mapping[str, int],
        *,
        is_final: bool = False,
    ) -> None:
        """Take a session as `derive` does; one that `is_final` cannot be extended, and takes less memory."""
        if is_final:
            session.finish()
            for chapter in chapters:
                chapter.conversation.finish()
        self._session = session
        self._transcript = transcript
        self._generations = generations
        self._chapters = {chapter.source: chapter for chapter in chapters}
        self._builders: dict[str, ChapterBuilder] = {}
        if transcript is not None:
            self._builders[transcript] = self._begin(transcript)
        self._builders |= {source: self._begin(source) for source in self._chapters}
        self._turns = self._begin_turns()
        self._agents = self._build_agents()
        self._homes: AnswerHomes | None = None

    def build(self, emptied: Iterable[str] = (), spill: Spill | None = None) -> DerivedRows:
        """Return all rows; `emptied` are files that had chapters and have none any more.

        Those of a large session are put aside in a `spill`.
        """
        return DerivedRows(
            session=build_session(self._session),
            turns=tuple(self._turns.rows),
            agents=tuple(self._agents),
            chapters=(
                *(builder.build(spill) for builder in self._builders.values()),
                *(ChapterRows(source) for source in emptied if source not in self._builders),
            ),
        )

    def extend(self, new: Mapping[str, Sequence[Line]]) -> DerivedRows:
        """Take further lines of chapters that there are, and return the rows that are new or differ."""
        session, transcript = self._session, self._transcript or ""
        homes = self._homes = self._homes or AnswerHomes(session.conversation.live_messages)
        former = session.work
        grown = {
            name: self._chapters[name].conversation.extend(new[name]) for name in self._chapters if name in new
        }
        others = [line for name in grown for line in new[name]]
        growth = session.extend(new.get(transcript, ()), self._replace_sources(grown), others)
        homes.extend(session.conversation.live_messages, growth.main.message)
        if transcript in new:
            grown[transcript] = growth.main
        chapters = tuple(self._extend_chapter(name, each, growth) for name, each in grown.items())
        agents = self._build_agents() if growth.agents else self._agents
        before, self._agents = self._agents, agents
        if not growth.main.message and transcript in new:
            self._turns = self._begin_turns()
            return DerivedRows(
                session=build_session(session),
                turns=tuple(self._turns.rows),
                agents=tuple(agents),
                chapters=chapters,
            )
        return DerivedRows(
            session=build_session(session),
            turns=tuple(self._extend_turns(growth, former)),
            agents=tuple(row for row in agents if row not in before[row.index : row.index + 1]),
            chapters=chapters,
            sizes=(len(self._turns.rows), len(agents)),
        )

    def _begin(self, source: str) -> ChapterBuilder:
        session = self._session
        chapter = self._chapters.get(source)
        builder = ChapterBuilder(
            source,
            self._generations[source],
            session.conversation if chapter is None else chapter.conversation,
            agent_id=None if chapter is None else chapter.agent.agent_id,
            turn_of=session.division.turn_of if chapter is None else (),
        )
        builder.sightings.begin(session.usage.list_seen_in(source))
        return builder

    def _list_seen(self, source: str, names: Iterable[str]) -> dict[str, list[Sighting]]:
        seen = ((name, self._session.usage.list_seen(name)) for name in names)
        found = {name: [each for each in sightings if each.source == source] for name, sightings in seen}
        return {name: sightings for name, sightings in found.items() if sightings}

    def _extend_chapter(self, source: str, growth: Growth, session: SessionGrowth) -> ChapterRows:
        if not growth.message:
            builder = self._builders[source] = self._begin(source)
            return builder.build()
        moved = session.divided.messages if source == self._transcript else ()
        return self._builders[source].extend(growth, moved, self._list_seen(source, session.answers))

    def _replace_sources(self, grown: Mapping[str, Growth]) -> Sources | None:
        """Return what lies beside the transcript, now that some chapters have grown; None if none has."""
        if not grown:
            return None
        sources = self._session.sources
        fresh: dict[int, AgentSource] = {}
        for name in grown:
            chapter = self._chapters[name]
            lines, calls = chapter.conversation.lines, chapter.conversation.calls
            agent = fresh[id(chapter.agent)] = replace(chapter.agent, lines=lines, calls=calls)
            self._chapters[name] = replace(chapter, agent=agent)
        return replace(sources, agents=tuple(fresh.get(id(agent), agent) for agent in sources.agents))

    def _begin_turns(self) -> TurnRows:
        main = self._builders.get(self._transcript or "")
        return TurnRows(self._session, lambda message: () if main is None else main.list_changed(message))

    def _extend_turns(self, growth: SessionGrowth, former: Mapping[int, AgentWork]) -> list[TurnRow]:
        session, main, divided = self._session, growth.main, growth.divided
        first = min((main.message, *divided.messages))
        work = session.work
        worked = {at for at in former.keys() | work.keys() if at < first and former.get(at) != work.get(at)}
        touched = {*main.touched, *worked}
        division = session.division
        turns = {*divided.turns, *range(divided.turn, len(division.turns))}
        concerned = {*touched, *self._find_homes(growth.answers)}
        turns |= {division.turn_of[at] for at in concerned if division.turn_of[at] >= 0}
        return self._turns.update(turns, first, sorted(touched), growth.answers)

    def _find_homes(self, answers: frozenset[str]) -> set[int]:
        found = set() if self._homes is None else self._homes.find(answers)
        return found | {at for at, work in self._session.work.items() if not answers.isdisjoint(work.messages)}

    def _build_agents(self) -> list[AgentRow]:
        files = {chapter.agent.path: chapter.source for chapter in self._chapters.values()}
        return [
            build_agent(
                index, agent, files.get(agent.path) if agent.path is not None else None, self._find_call(agent)
            )
            for index, agent in enumerate(self._session.agents)
        ]

    def _find_call(self, agent: Agent) -> tuple[str, int] | None:
        """Return the chapter that has the call which started an agent, and which of its calls it is."""
        at = None if agent.call is None else agent.call.place.line.at
        builder = None if at is None else self._builders.get(at.source)
        if builder is None or agent.call is None:
            return None
        position = builder.conversation.find_position(agent.call)
        return None if position is None else (builder.source, position)
