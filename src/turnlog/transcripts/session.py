"""A session as a whole: its transcript, its sub-agents, and what it all amounts to.

`read` takes the path of a transcript and finds what belongs to it. What is not asked for is not built, and the
files of sub-agents are not even read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from turnlog.messages import Line, Position, Problem, ProblemKind, Unknown, View
from turnlog.transcripts.agents.agent import Agent, AgentSource
from turnlog.transcripts.agents.assembly import Agents, build_agents
from turnlog.transcripts.agents.workflows import Workflow, WorkflowSource
from turnlog.transcripts.calls.builder import build_calls
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.results import Result
from turnlog.transcripts.conversation.compactions import Compaction
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.message import Message
from turnlog.transcripts.conversation.placements import Placement
from turnlog.transcripts.conversation.sidechains import Panel, build_panel
from turnlog.transcripts.conversation.tree import Tree
from turnlog.transcripts.conversation.turns import AgentWork, Turn, build_turns
from turnlog.transcripts.files.locate import locate_path
from turnlog.transcripts.files.reader import read_lines
from turnlog.transcripts.files.session_files import AgentFiles, WorkflowFiles
from turnlog.transcripts.files.sidecar_files import read_agent_meta, read_workflow_record
from turnlog.transcripts.summary.fold import Summary, SummaryFold
from turnlog.transcripts.usage.fold import UsageFold
from turnlog.transcripts.usage.pricing import Bill, Prices

__all__ = ["LineProblem", "Session", "Sources", "read"]


class LineProblem(Struct, frozen=True, gc=False):
    """Something that is wrong in a line, and where that line stands."""

    at: Position | None
    problem: Problem


class Sources(Struct, frozen=True, gc=False):
    """What was read beside the transcript."""

    agents: tuple[AgentSource, ...] = ()
    workflows: tuple[WorkflowSource, ...] = ()
    problems: tuple[LineProblem, ...] = ()


_NOTHING = Sources()
_T = TypeVar("_T")


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
        load: Callable[[], Sources] = lambda: _NOTHING,
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

    @cached_property
    def usage(self) -> UsageFold:
        """What the model's answers used, each counted once, those of sub-agents included."""
        fold = UsageFold(self.lines)
        for source in self._sources.agents:
            for line in source.lines:
                fold.add(line)
        return fold

    @cached_property
    def bill(self) -> Bill:
        """What it all cost, and what of that is not known."""
        return self.prices.build_bill(self.usage.list_messages())

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """Each prompt of the main conversation, with all that answers it."""
        usage = {message.message: message for message in self.usage.list_messages()}
        return build_turns(self.lines, self.messages, self.tree, usage, self._list_work(), self.prices)

    @cached_property
    def summary(self) -> Summary:
        """The session at a glance."""
        fold = SummaryFold(self._folder, usage=self.usage, calls=self.calls)
        for line in self.lines:
            fold.add(line)
        return fold.build(self.prices)

    @cached_property
    def problems(self) -> tuple[LineProblem, ...]:
        """What is wrong or unknown, in all files of the session."""
        others = (line for source in self._sources.agents for line in source.lines)
        journals = (line for source in self._sources.workflows for line in source.journal)
        found = (
            LineProblem(line.at, problem)
            for line in (*self.lines, *others, *journals)
            for problem in line.problems
        )
        return (*found, *self._sources.problems)

    @cached_property
    def _sources(self) -> Sources:
        return self._load()

    @cached_property
    def _built_agents(self) -> Agents:
        return build_agents(self.lines, self.calls, self._sources.agents, self._sources.workflows)

    def _list_work(self) -> dict[int, AgentWork]:
        """Return what the agents did that each message started, by the message's index."""
        home = {id(call): message.index for message in self.messages for call in message.calls}
        children: dict[str | None, list[Agent]] = {}
        for agent in self.agents:
            children.setdefault(agent.parent_id, []).append(agent)
        work: dict[int, tuple[list[str], list[str]]] = {}
        for agent in children.get(None, ()):
            at = None if agent.call is None else home.get(id(agent.call))
            if at is not None:
                names, answers = work.setdefault(at, ([], []))
                for one in _list_below(agent, children):
                    names.append(one.id)
                    answers += _list_answers(one)
        return {at: AgentWork(tuple(names), tuple(answers)) for at, (names, answers) in work.items()}


def read(path: str | os.PathLike[str], *, prices: Prices | None = None) -> Session:
    """Read a transcript, and what belongs to it: sub-agents, workflows, metadata.

    Any file of lines will do: a session, a sub-agent's, a stream, a log of hooks. Whatever is in it, this
    raises only where the file itself cannot be read (`OSError`).
    """
    place = Path(path)
    lines = tuple(read_lines(place))
    folder = Path(os.path.abspath(place)).parent.name
    return Session(lines, path=place, folder=folder, load=lambda: _load(place), prices=prices)


def _load(path: Path) -> Sources:
    """Read what lies beside a transcript; what cannot be read is left out, and is a problem."""
    found = locate_path(path).sessions
    if not found:  # a sub-agent's transcript is nobody's session
        return _NOTHING
    files = found[0]
    problems: list[LineProblem] = []
    agents = tuple(_load_agent(agent, problems) for agent in files.agents)
    workflows = tuple(_load_workflow(run, problems) for run in files.workflows)
    return Sources(agents, workflows, tuple(problems))


def _load_agent(files: AgentFiles, problems: list[LineProblem]) -> AgentSource:
    lines = _load_lines(files.path, problems)
    meta = None if files.meta is None else _load_sidecar(files.meta, read_agent_meta(files.meta), problems)
    calls = build_calls(lines).calls
    return AgentSource(files.agent_id, lines, calls, meta, files.run_id, files.path)


def _load_workflow(files: WorkflowFiles, problems: list[LineProblem]) -> WorkflowSource:
    journal = _load_lines(files.journal, problems)
    path = files.record
    record = None if path is None else _load_sidecar(path, read_workflow_record(path), problems)
    return WorkflowSource(files.run_id, journal, record)


def _load_lines(path: Path | None, problems: list[LineProblem]) -> tuple[Line, ...]:
    if path is None:
        return ()
    try:
        return tuple(read_lines(path))
    except OSError as error:
        unreadable = Problem(ProblemKind.MALFORMED, "a file that can be read", str(error.strerror or error), ())
        problems.append(LineProblem(Position(os.fspath(path), 0), unreadable))
        return ()


def _load_sidecar(path: Path, seen: View[_T], problems: list[LineProblem]) -> _T | None:
    problems += (LineProblem(Position(os.fspath(path), 0), problem) for problem in seen.problems)
    return None if isinstance(seen.value, Unknown) else seen.value


def _list_below(agent: Agent, children: Mapping[str | None, list[Agent]]) -> list[Agent]:
    """Return an agent and all that it started, at any depth."""
    found = [agent]
    seen = {agent.id}
    for one in found:
        below = [child for child in children.get(one.id, ()) if child.id not in seen]
        seen |= {child.id for child in below}
        found += below
    return found


def _list_answers(agent: Agent) -> list[str]:
    """Return the ids of the answers that an agent got from the model."""
    ids = (getattr(getattr(line.entry, "message", None), "id", None) for line in agent.lines[agent.inherited :])
    return [each for each in ids if isinstance(each, str)]
