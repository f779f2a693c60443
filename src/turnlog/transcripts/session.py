"""A session as a whole: its transcript, its sub-agents, and what it all amounts to.

`read` takes the path of a transcript and finds what belongs to it. What is not asked for is not built, and the
files of sub-agents are not even read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from turnlog.errors import SelectionError
from turnlog.messages import Line
from turnlog.transcripts.agent_builder import Agents, build_agents, concerns_agents
from turnlog.transcripts.agents import (
    NO_SOURCES,
    Agent,
    LineProblem,
    Sources,
    Workflow,
    list_below,
    load_sources,
)
from turnlog.transcripts.calls import Call, Result
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.messages import Compaction, Message, Placement
from turnlog.transcripts.conversation.timeline import Growth
from turnlog.transcripts.conversation.tree import Panel, Tree, build_panel
from turnlog.transcripts.conversation.turns import AgentWork, Turn, TurnBuilder, TurnChanges, list_turns
from turnlog.transcripts.dumps import list_dumped, list_offsets
from turnlog.transcripts.line_reader import read_lines
from turnlog.transcripts.summary import CallTally, Summary, SummaryFold
from turnlog.transcripts.usage.prices import Bill, Prices
from turnlog.transcripts.usage.sightings import UsageBook, UsageFold


class _AgentWorkIndex:
    """Lists the work of agents again and again; what was read of lines that stay is read once."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, Path | None], tuple[tuple[Line, ...], int, list[str]]] = {}

    def build(self, agents: Iterable[Agent], find_caller: Callable[[Call], int | None]) -> dict[int, AgentWork]:
        """Return what agents did, by the message that made the call that started them."""
        children: dict[str | None, list[Agent]] = {}
        for agent in agents:
            children.setdefault(agent.parent_id, []).append(agent)
        work: dict[int, tuple[list[str], list[str]]] = {}
        for agent in children.get(None, ()):
            at = None if agent.call is None else find_caller(agent.call)
            if at is not None:
                names, answers = work.setdefault(at, ([], []))
                for one in list_below(agent, children):
                    names.append(one.id)
                    answers += self._list_answers(one)
        return {at: AgentWork(tuple(names), tuple(answers)) for at, (names, answers) in work.items()}

    def _list_answers(self, agent: Agent) -> list[str]:
        """Return the ids of the answers that an agent got from the model."""
        lines, inherited = agent.lines, agent.inherited
        known = self._answers.get((agent.id, agent.path))
        if known is None or known[0] is not lines or known[1] != inherited:
            ids = (getattr(getattr(line.entry, "message", None), "id", None) for line in lines[inherited:])
            known = lines, inherited, list(dict.fromkeys(each for each in ids if isinstance(each, str)))
            self._answers[agent.id, agent.path] = known
        return known[2]


class SessionGrowth(Struct, frozen=True, gc=False):
    """What of a session is new, or may be another than it was."""

    main: Growth
    """Of the transcript."""
    divided: TurnChanges
    """Of the turns; from the first one on if all were divided anew."""
    answers: frozenset[str] = frozenset()
    """Answers of which lines tell that came now."""
    agents: bool = False
    """Whether agents were built anew."""


class Session:
    """A session, built from lines. Each part is built when it is first asked for, and kept.

    `lines`, `messages`, `calls` and `tree` are those of the transcript, with the sub-agents that stand in it;
    what sub-agents with files of their own said is in `agents`, and `open` makes a conversation of it. `usage`,
    `summary`, `turns` and `problems` are of all files.
    """

    def __init__(
        self,
        lines: Iterable[Line],
        *,
        path: Path | None = None,
        folder: str = "",
        load: Callable[[], Sources] = lambda: NO_SOURCES,
        prices: Prices | None = None,
    ) -> None:
        """Take the lines of a transcript.

        `folder` is the name of the project's folder, `load` reads what lies beside the transcript, and `prices`
        are used in place of the installed ones.
        """
        self.path = path
        self.conversation = Conversation(lines)
        self.prices = prices or Prices()
        self._folder = folder
        self._load = load
        self._opened: dict[int, Conversation] = {}
        self._agent_work = _AgentWorkIndex()

    def __repr__(self) -> str:
        return f"Session(path={None if self.path is None else str(self.path)!r}, lines={len(self.lines)})"

    @property
    def id(self) -> str | None:
        """The session that the lines name; None if they name none."""
        return self.summary.id

    @property
    def project(self) -> str | None:
        """The project's path; without any `cwd` the name of its folder."""
        return self.summary.project

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the transcript."""
        return self.conversation.lines

    @property
    def messages(self) -> tuple[Message, ...]:
        """What people read, in file order."""
        return self.conversation.messages

    @property
    def placements(self) -> tuple[Placement, ...]:
        """What became of each line: shown, folded, hidden or state, and by which rule."""
        return self.conversation.placements

    @property
    def calls(self) -> tuple[Call, ...]:
        """All tool calls, in order of appearance, each with its result."""
        return self.conversation.calls

    @property
    def orphans(self) -> tuple[Result, ...]:
        """Results whose call is not here."""
        return self.conversation.orphans

    @property
    def tree(self) -> Tree:
        """Which message follows which, with its branches."""
        return self.conversation.tree

    @property
    def compactions(self) -> tuple[Compaction, ...]:
        """Where the conversation was made shorter."""
        return self.conversation.compactions

    @property
    def agents(self) -> tuple[Agent, ...]:
        """All sub-agents, at any depth."""
        return self._built_agents.agents

    @property
    def workflows(self) -> tuple[Workflow, ...]:
        """The runs of workflows."""
        return self._built_agents.workflows

    def open(self, agent: Agent) -> Conversation:
        """Return what a sub-agent's lines amount to."""
        key = id(agent)  # two files may be of one name; the agents themselves are kept
        if key not in self._opened:
            self._opened[key] = Conversation(agent.lines)
        return self._opened[key]

    @cached_property
    def panel(self) -> Panel:
        """The main conversation in spec 003's two columns."""
        return build_panel(self.messages, self.tree)

    @property
    def usage(self) -> UsageFold:
        """What the model's answers used, each counted once, those of sub-agents included."""
        return self.book.fold

    @property
    def bill(self) -> Bill:
        """What it all cost, and what of that is not known."""
        return self.book.build_bill() or self.prices.build_bill(())

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """Each prompt of the main conversation, with all that answers it."""
        usage = {message.message: message for message in self.usage.list_messages()}
        return list_turns(self.turn_builder, self.messages, usage, self.work, self.prices)

    @cached_property
    def summary(self) -> Summary:
        """The session at a glance."""
        return self._summary_fold.build(self.prices, agent_count=len(self.agents))

    @cached_property
    def problems(self) -> tuple[LineProblem, ...]:
        """What is wrong or unknown, in all files of the session."""
        lines = (*self.lines, *self._list_other_lines())
        found = (LineProblem(line.at, problem) for line in lines for problem in line.problems)
        return (*found, *self.sources.problems)

    def count_problems(self) -> int:
        """Return how many problems there are, without listing them."""
        return self.summary.counts.problems + self._other_problems

    @cached_property
    def book(self) -> UsageBook:
        """What each answer used and cost; it is kept up when the session is extended."""
        fold = UsageFold(self.conversation.live_lines)
        for source in self.sources.agents:
            for line in source.lines:
                fold.add(line)
        return UsageBook(fold, self.prices)

    def finish(self) -> None:
        """Build one part after the other, and let go of what only further lines would need.

        Neither `extend` nor `tree` nor `orphans` may be used any more.
        """
        fold = self._begin_summary()
        self.conversation.read_through(fold.add)
        fold.finish()
        self.conversation.prepare()
        _ = self.turn_builder  # it is the last that looks at lines and edges together
        self.conversation.finish()
        self.summary = fold.build(self.prices, agent_count=len(self.agents))
        self.__dict__.pop("_call_tally", None)

    @cached_property
    def turn_builder(self) -> TurnBuilder:
        """Which messages are in which turn; it is kept up when the session is extended."""
        conversation, edges = self.conversation, self.conversation.live_tree.edges
        found = TurnBuilder(conversation.live_lines, conversation.live_messages, edges.parents, edges.nearest)
        found.extend()
        return found

    @cached_property
    def work(self) -> Mapping[int, AgentWork]:
        """What the agents did that each message started, by the message's index."""
        return self._agent_work.build(self.agents, self.conversation.find_caller)

    def extend(
        self, lines: Sequence[Line] = (), sources: Sources | None = None, others: Iterable[Line] = ()
    ) -> SessionGrowth:
        """Take further lines of the transcript, and return what is new.

        Where anything else has changed, `sources` is what lies beside the transcript now, and `others` are the
        lines of sub-agents that came. What the session says then is what it would say of all at once.
        """
        book, fold, turn_builder, tally = self.book, self._summary_fold, self.turn_builder, self._call_tally
        former = self._built_agents
        main = self.conversation.extend(lines)
        for name in self.__dict__.keys() & _OUTDATED:
            del self.__dict__[name]
        for position in main.calls:
            tally.put(position, self.conversation.live_calls[position])
        for line in lines:
            fold.add(line)
        if sources is not None:
            self.__dict__.pop("_other_problems", None)
            self.sources = sources
        changed = [self.conversation.live_calls[position] for position in main.calls]
        is_concerned = sources is not None or concerns_agents(lines, changed, former)
        if not is_concerned:
            self._built_agents = former
        if main.message:
            divided = turn_builder.extend(main.message, main.anchored)
        else:
            self.__dict__.pop("turn_builder", None)
            divided = TurnChanges(0)
        return SessionGrowth(main, divided, book.add((*lines, *others)), is_concerned)

    @cached_property
    def sources(self) -> Sources:
        """What lies beside the transcript."""
        return self._load()

    @cached_property
    def _other_problems(self) -> int:
        return sum(len(line.problems) for line in self._list_other_lines()) + len(self.sources.problems)

    def _list_other_lines(self) -> Iterator[Line]:
        """Yield the lines that stand beside the transcript."""
        yield from (line for source in self.sources.agents for line in source.lines)
        yield from (line for source in self.sources.workflows for line in source.journal)

    @cached_property
    def _built_agents(self) -> Agents:
        return build_agents(
            self.conversation.live_lines,
            self.conversation.live_calls,
            self.sources.agents,
            self.sources.workflows,
        )

    @cached_property
    def _summary_fold(self) -> SummaryFold:
        fold = self._begin_summary()
        for line in self.conversation.live_lines:
            fold.add(line)
        return fold

    def _begin_summary(self) -> SummaryFold:
        return SummaryFold(self._folder, usage=lambda: self.book, calls=lambda: self._call_tally)

    @cached_property
    def _call_tally(self) -> CallTally:
        return CallTally(self.conversation.live_calls)


_OUTDATED = frozenset({"_built_agents", "panel", "problems", "summary", "turns", "work"})
"""What is made anew of a session that was extended, when somebody asks for it."""


def read(path: str | os.PathLike[str], *, session: str | None = None, prices: Prices | None = None) -> Session:
    """Read a transcript, and what belongs to it: sub-agents, workflows, metadata.

    Any file of lines will do: a session, a sub-agent's, a stream, a log of hooks. Whatever is in it, this
    raises only where the file itself cannot be read (`OSError`), with one exception: a dump with stored
    messages of several sessions needs `session` to say which one to read (`list_dumped` names them), and raises
    `SelectionError` if it is missing or not in the dump.
    """
    place = Path(path)
    dumped = list_dumped(place)
    if (dumped or session is not None) and session not in dumped:
        found = (
            f"found {len(dumped)} sessions: {', '.join(dumped[:10])}" if dumped else "found no dump of several"
        )
        raise SelectionError(f"Expected `session` to name a session in {os.fspath(place)}, {found}")
    lines = tuple(read_lines(place))
    if session is not None:
        offsets = list_offsets(place, session)
        lines = tuple(line for line in lines if line.at is not None and line.at.offset in offsets)
    folder = Path(os.path.abspath(place)).parent.name
    return Session(lines, path=place, folder=folder, load=lambda: load_sources(place), prices=prices)
