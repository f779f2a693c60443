"""A sub-agent: its own conversation, the call that started it, and what came of it.

`WorkList` has what the agents did that each message of the main conversation started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.entries import UserEntry
from turnlog.messages.metadata import ForkContextRef
from turnlog.messages.sdk import UserFields
from turnlog.messages.sidecars import AgentMeta
from turnlog.messages.tool_io import AgentCompletedResult, AgentInput
from turnlog.transcripts.agents.workflows import Part
from turnlog.transcripts.calls.call import Call, TaskNotice
from turnlog.transcripts.conversation.turns import AgentWork
from turnlog.transcripts.kinds import AgentState, CallState, Category, Role
from turnlog.transcripts.lines.blocks import content_text, list_texts
from turnlog.transcripts.lines.categories import role_of
from turnlog.transcripts.lines.prompts import read_prompt

_WARMUP = "Warmup"
_FRAMED = "[Subagent hand-back]"
"""How a result begins in which newer versions put an agent's words into a frame of their own."""
FIRST_LINES = 16
"""How many lines of an agent are looked at for its prompt."""


class AgentLink(StrEnum):
    """By what an agent was joined to its call, the most reliable first."""

    META = "meta"
    """`toolUseId` in its metadata."""
    RESULT = "result"
    """`agentId` in the call's `toolUseResult`."""
    TEXT = "text"
    """`agentId:` in the text of the call's result."""
    PROGRESS = "progress"
    """`parentToolUseID` of its progress."""
    NOTICE = "notice"
    """The notice of its end, which names both."""
    WORKFLOW = "workflow"
    """The run that it worked for."""
    NAME = "name"
    """The name that a teammate was given."""
    PARENT = "parent"
    """The line that its first line follows, or the call that the stream names."""
    PROMPT = "prompt"
    """The same prompt."""


class AgentSource(Struct, frozen=True, gc=False):
    """What was read of one agent's files; any of it may be missing."""

    agent_id: str
    lines: tuple[Line, ...] = ()
    calls: tuple[Call, ...] = ()
    """The calls of these lines."""
    meta: AgentMeta | None = None
    run_id: str | None = None
    """The workflow run in whose folder the files lie."""
    path: Path | None = None


class Agent(Struct, frozen=True, gc=False, kw_only=True):
    """A sub-agent of a session."""

    id: str
    """What the program calls it; of one that has no name, its first line's uuid."""
    lines: tuple[Line, ...] = ()
    calls: tuple[Call, ...] = ()
    """The calls that it made itself."""
    call: Call | None = None
    """The call that started it; None where nothing tells."""
    linked_by: AgentLink | None = None
    """By what the two were joined."""
    resumed_by: tuple[Call, ...] = ()
    """Further calls that went on with it."""
    parent_id: str | None = None
    """The agent whose conversation holds the call; None for the main one."""
    depth: int = 1
    """1 for agents of the main conversation, 2 for theirs, and so on."""
    children: tuple[str, ...] = ()
    """The ids of the agents that it started."""
    run_id: str | None = None
    """The workflow run that it worked for."""
    part: Part | None = None
    """What that run says of it."""
    inline: bool = False
    """Whether its lines stand among those of the main conversation."""
    background: bool = False
    """Whether it was started without waiting for it."""
    state: AgentState = AgentState.UNKNOWN
    notice: TaskNotice | None = None
    """The last news of its end."""
    meta: AgentMeta | None = None
    path: Path | None = None
    inherited: int = 0
    """How many of its first lines are copies of its parent's, if it was forked."""

    def __repr__(self) -> str:
        counts = f"lines={len(self.lines)}, calls={len(self.calls)}"
        return f"Agent(id={self.id!r}, type={self.type!r}, state={self.state.value!r}, {counts})"

    @property
    def fork(self) -> ForkContextRef | None:
        """Where the context stands that a forked agent began with."""
        first = self.lines[0].entry if self.lines else None
        return first if isinstance(first, ForkContextRef) else None

    @property
    def prompt(self) -> str | None:
        """What it was asked first."""
        return find_prompt(self.lines)

    @property
    def is_warmup(self) -> bool:
        """Whether it only warmed up the cache, as versions of 2025 did."""
        return self.prompt == _WARMUP

    @property
    def type(self) -> str | None:
        """What sort of agent it is, such as `Explore`."""
        told: list[object] = []
        if self.meta is not None:
            told += self.meta.custom_agent_type, self.meta.agent_type
        asked = self._asked
        if asked is not None:
            told.append(asked.subagent_type)
        if self.part is not None and self.part.progress is not None:
            told.append(self.part.progress.agent_type)
        said = (getattr(line.entry, "attribution_agent", None) for line in self.lines[:2])
        return _first(*told, *said)

    @property
    def description(self) -> str | None:
        """What it is for, in a few words."""
        asked = self._asked
        return _first(
            self.meta.description if self.meta is not None else None,
            self.part.label if self.part is not None else None,
            asked.description if asked is not None else None,
        )

    @property
    def phase(self) -> str | None:
        """The stage of the workflow that it worked in."""
        told = self.part.phase if self.part is not None else None
        return _first(told, self.meta.workflow_phase if self.meta is not None else None)

    @property
    def answer(self) -> str | None:
        """What it said in the end: as its caller was told, else the last that it said itself, if anything."""
        told = self.notice.result if self.notice is not None else None
        if told is None and self.part is not None:
            told = self.part.answer
        if told is None:
            told = self._result_text()
        if told is not None:
            return told
        answers = (line.entry for line in reversed(self.lines) if role_of(line) is Role.ASSISTANT)
        return next(("\n".join(texts) for entry in answers if (texts := list_texts(entry))), None)

    @property
    def _asked(self) -> AgentInput | None:
        asked = self.call.view_input().value if self.call is not None else None
        return asked if isinstance(asked, AgentInput) else None

    def _result_text(self) -> str | None:
        """Return the last result of its calls that is its answer, without what the program adds to it."""
        if self.background or self.linked_by is AgentLink.WORKFLOW:
            return None
        for call in reversed(list_tries(self.call, self.resumed_by)):
            result = call.result
            if result is None or result.state is not CallState.RESOLVED or result.offloaded_path is not None:
                continue  # of a result that is kept elsewhere, the text is only the beginning
            if self.inline or result.agent_id in (None, self.id):
                text = _find_report(call) or result.text
                if text.startswith(_FRAMED):
                    return None  # then its own last words are clearer
                answer, _, _ = f"\n{text}".partition(f"\nagentId: {result.agent_id or self.id}")
                return answer.strip() or None
        return None


def _find_report(call: Call) -> str | None:
    """Return what an agent said, where its result tells that apart from what the program put around it."""
    seen = call.view_result()
    told = seen.value if seen is not None else None
    if not isinstance(told, AgentCompletedResult) or not isinstance(told.content, tuple):
        return None
    if not isinstance(told.harness_note_count, int):
        return None
    tail = told.harness_tail_count if isinstance(told.harness_tail_count, int) else 0
    said = told.content[max(told.harness_note_count, 0) : len(told.content) - max(tail, 0)]
    return content_text(said)


def list_tries(call: Call | None, resumed_by: Sequence[Call]) -> list[Call]:
    """Return the calls that an agent answers: the one that started it, and those that went on with it."""
    waited = [resumed for resumed in resumed_by if resumed.category is Category.AGENT]
    return waited if call is None else [call, *waited]


def find_prompt(lines: Sequence[Line]) -> str | None:
    """Return what an agent was asked first, without what the program put around it; None if it does not say."""
    for line in islice(lines, FIRST_LINES):
        texts = list_texts(line.entry) if isinstance(line.entry, UserEntry | UserFields) else ()
        if texts:
            return read_prompt(texts[0]).text.strip()
    return None


def _first(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str) and value), None)


class WorkList:
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
                for one in _list_below(agent, children):
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


def _list_below(agent: Agent, children: Mapping[str | None, list[Agent]]) -> list[Agent]:
    """Return an agent and all that it started, at any depth."""
    found = [agent]
    seen = {agent.id}
    for one in found:
        below = [child for child in children.get(one.id, ()) if child.id not in seen]
        seen |= {child.id for child in below}
        found += below
    return found
