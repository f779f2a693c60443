"""Sub-agents and workflows: what was read of their files, and what they are.

A sub-agent has a conversation of its own, the call that started it, and what came of it.

Workflows are scripts that run many agents, each run with a journal while it goes on and a record at its end.
The call returns at once, and says which run it started; where it does not, the record names the background
task that the call became. Agents of a run have no call of their own. What each was for stands in the record,
of old only there, and in the journal; a call that is tried again gets a new agent under the same key.

`load_sources` reads what lies beside a transcript, and says what is wrong with any of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from turnlog.messages import Line, Position, Problem, ProblemKind, Raw, Unknown, View, metadata, sidecars
from turnlog.messages.entries import UserEntry
from turnlog.messages.metadata import ForkContextRef
from turnlog.messages.salvage import text_of
from turnlog.messages.sdk.messages import UserFields
from turnlog.messages.sidecars import AgentMeta, WorkflowPhase, WorkflowRecord
from turnlog.messages.tool_io.agents import AgentCompletedResult, AgentInput, WorkflowInput, WorkflowResult
from turnlog.transcripts.call_builder import build_calls
from turnlog.transcripts.calls import Call, TaskNotice
from turnlog.transcripts.kinds import CALL_STATES, AgentState, CallState, Category, Role, state_of_end
from turnlog.transcripts.line_reader import read_agent_meta, read_lines, read_workflow_record
from turnlog.transcripts.lines.content import content_text, list_texts, role_of
from turnlog.transcripts.lines.prompts import read_prompt
from turnlog.transcripts.segments import AgentRecord
from turnlog.transcripts.session_files import AgentFiles, WorkflowFiles, locate_path

WORKFLOW_TOOL = "Workflow"
_RUN = re.compile(r"\bwf_[\w-]+")


class WorkflowSource(Struct, frozen=True, gc=False):
    """What was read of one run; either may be missing."""

    run_id: str
    journal: tuple[Line, ...] = ()
    record: WorkflowRecord | None = None


class Part(Struct, frozen=True, gc=False):
    """What a run says of one of its agents."""

    label: str | None = None
    phase: str | None = None
    outcome: metadata.JournalResult | metadata.JournalFailed | None = None
    progress: sidecars.WorkflowAgentProgress | None = None

    @property
    def answer(self) -> str | None:
        """What the agent answered: text, or JSON of the shape that its script asked for."""
        raw = self.outcome.result if isinstance(self.outcome, metadata.JournalResult) else None
        if not isinstance(raw, Raw):
            return None
        text = text_of(raw)
        return bytes(raw).decode("utf-8", "replace") if text is None else text

    def state(self, run: AgentState) -> AgentState:
        """Return how far the agent came in a run that came so far: one without an end went down with it."""
        if self.outcome is not None:
            return AgentState.DONE if isinstance(self.outcome, metadata.JournalResult) else AgentState.FAILED
        told = self.progress.state if self.progress is not None else None
        if told in ("done", "error"):
            return state_of_end(str(told))
        return run if run in (AgentState.RUNNING, AgentState.UNKNOWN) else AgentState.STOPPED


class Workflow(Struct, frozen=True, gc=False, kw_only=True):
    """One run of a workflow."""

    run_id: str
    call: Call | None = None
    """The call that started it; None where nothing tells."""
    parent_id: str | None = None
    """The agent whose conversation holds the call; None for the main one."""
    state: AgentState = AgentState.UNKNOWN
    agent_ids: tuple[str, ...] = ()
    """Its agents, in order."""
    phases: tuple[WorkflowPhase, ...] = ()
    journal: tuple[Line, ...] = ()
    record: WorkflowRecord | None = None

    @property
    def status(self) -> str | None:
        """How the run ended, in the program's own word."""
        if self.record is not None and isinstance(self.record.status, str):
            return self.record.status
        return self.call.notice.status if self.call is not None and self.call.notice is not None else None

    @property
    def name(self) -> str | None:
        """What the workflow is called."""
        told: list[object] = [self.record.workflow_name] if self.record is not None else []
        if self.call is not None:
            seen = self.call.view_result()
            if seen is not None and isinstance(seen.value, WorkflowResult):
                told.append(seen.value.workflow_name)
            asked = self.call.view_input().value
            if isinstance(asked, WorkflowInput):
                told += asked.name, asked.title
        return next((name for name in told if isinstance(name, str)), None)


def find_run_id(call: Call) -> str | None:
    """Return the run that a call started, or None."""
    if call.name != WORKFLOW_TOOL or call.result is None:
        return None
    seen = call.view_result()
    told = seen.value if seen is not None else None
    if isinstance(told, WorkflowResult):
        if isinstance(told.run_id, str):
            return told.run_id
        places = (told.transcript_dir, told.script_path)
        found = (_RUN.search(place) for place in places if isinstance(place, str))
        run_id = next((match[0] for match in found if match), None)
        if run_id is not None:
            return run_id
    # Sub-agents' files often keep nothing but the text.
    match = _RUN.search(call.result.text)
    return match[0] if match else None


def list_parts(source: WorkflowSource) -> dict[str, Part]:
    """Return what a run says of its agents, by their ids, in the order in which they are told of."""
    outcomes: dict[str, metadata.JournalResult | metadata.JournalFailed] = {}
    told: dict[str, dict[str, str]] = {}
    for line in source.journal:
        entry = line.entry
        if isinstance(
            entry,
            metadata.JournalLaunched
            | metadata.JournalStarted
            | metadata.JournalResult
            | metadata.JournalFailed,
        ):
            if not isinstance(entry.agent_id, str):
                continue
            _note(told.setdefault(entry.agent_id, {}), label=entry.label, phase=entry.phase)
            if isinstance(entry, metadata.JournalResult | metadata.JournalFailed):
                outcomes[entry.agent_id] = entry
    progress = _list_progress(source.record)
    for agent_id, reached in progress.items():
        _note(told.setdefault(agent_id, {}), label=reached.label, phase=reached.phase_title)
    return {
        agent_id: Part(said.get("label"), said.get("phase"), outcomes.get(agent_id), progress.get(agent_id))
        for agent_id, said in told.items()
    }


def build_workflow(
    source: WorkflowSource,
    agent_ids: Iterable[str],
    phases: Iterable[str],
    call: Call | None = None,
    parent_id: str | None = None,
) -> Workflow:
    """Return a run with all that belongs to it; `phases` are those that its agents worked in."""
    return Workflow(
        run_id=source.run_id,
        call=call,
        parent_id=parent_id,
        state=_state_of(source.record, call),
        agent_ids=tuple(agent_ids),
        phases=_list_phases(source.record, phases),
        journal=source.journal,
        record=source.record,
    )


def _state_of(record: WorkflowRecord | None, call: Call | None) -> AgentState:
    if record is not None and isinstance(record.status, str):
        return state_of_end(record.status)
    if call is None:
        return AgentState.UNKNOWN
    if call.notice is not None:
        return state_of_end(call.notice.status)
    # The result only says that the run was started.
    return AgentState.RUNNING if call.state is CallState.RESOLVED else CALL_STATES[call.state]


def _list_phases(record: WorkflowRecord | None, worked: Iterable[str]) -> tuple[WorkflowPhase, ...]:
    """Return the stages as the script announced them; else those that were reached."""
    if record is not None and isinstance(record.phases, tuple) and record.phases:
        return record.phases
    entries = record.workflow_progress if record is not None else None
    reached = [
        entry.title
        for entry in (entries if isinstance(entries, tuple) else ())
        if isinstance(entry, sidecars.WorkflowPhaseProgress) and isinstance(entry.title, str)
    ]
    return tuple(WorkflowPhase(title=title) for title in dict.fromkeys((*reached, *worked)))


def _list_progress(record: WorkflowRecord | None) -> dict[str, sidecars.WorkflowAgentProgress]:
    entries = record.workflow_progress if record is not None else None
    return {
        entry.agent_id: entry
        for entry in (entries if isinstance(entries, tuple) else ())
        if isinstance(entry, sidecars.WorkflowAgentProgress) and isinstance(entry.agent_id, str)
    }


def _note(said: dict[str, str], **values: object) -> None:
    """Keep what is said for the first time."""
    for name, value in values.items():
        if isinstance(value, str):
            said.setdefault(name, value)


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
        for call in reversed(list_attempts(self.call, self.resumed_by)):
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


def list_attempts(call: Call | None, resumed_by: Sequence[Call]) -> list[Call]:
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


A = TypeVar("A", Agent, AgentRecord)


def list_below(agent: A, children: Mapping[str | None, list[A]]) -> list[A]:
    """Return an agent and all that it started, at any depth."""
    found = [agent]
    seen = {agent.id}
    for one in found:
        below = [child for child in children.get(one.id, ()) if child.id not in seen]
        seen |= {child.id for child in below}
        found += below
    return found


class LineProblem(Struct, frozen=True, gc=False):
    """Something that is wrong in a line, and where that line stands."""

    at: Position | None
    problem: Problem


class Sources(Struct, frozen=True, gc=False):
    """What was read beside the transcript."""

    agents: tuple[AgentSource, ...] = ()
    workflows: tuple[WorkflowSource, ...] = ()
    problems: tuple[LineProblem, ...] = ()


NO_SOURCES = Sources()
_T = TypeVar("_T")


def load_sources(path: Path) -> Sources:
    """Read what lies beside a transcript; what cannot be read is left out, and is a problem."""
    found = locate_path(path).sessions
    if not found:  # a sub-agent's transcript is nobody's session
        return NO_SOURCES
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
