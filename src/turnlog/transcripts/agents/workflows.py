"""Workflows: scripts that run many agents, each run with a journal while it goes on and a record at its end.

The call returns at once, and says which run it started; where it does not, the record names the background task
that the call became. Agents of a run have no call of their own. What each was for stands in the record, of old
only there, and in the journal; a call that is tried again gets a new agent under the same key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from turnlog.messages import Line, Raw
from turnlog.messages.metadata import JournalFailed, JournalLaunched, JournalResult, JournalStarted
from turnlog.messages.salvage import text_of
from turnlog.messages.sidecars import (
    WorkflowAgentProgress,
    WorkflowPhase,
    WorkflowPhaseProgress,
    WorkflowRecord,
)
from turnlog.messages.tool_io import WorkflowInput, WorkflowResult
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.kinds import CALL_STATES, AgentState, CallState, state_of_end

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
    outcome: JournalResult | JournalFailed | None = None
    progress: WorkflowAgentProgress | None = None

    @property
    def answer(self) -> str | None:
        """What the agent answered: text, or JSON of the shape that its script asked for."""
        raw = self.outcome.result if isinstance(self.outcome, JournalResult) else None
        if not isinstance(raw, Raw):
            return None
        text = text_of(raw)
        return bytes(raw).decode("utf-8", "replace") if text is None else text

    def state(self, run: AgentState) -> AgentState:
        """Return how far the agent came in a run that came so far: one without an end went down with it."""
        if self.outcome is not None:
            return AgentState.DONE if isinstance(self.outcome, JournalResult) else AgentState.FAILED
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
    outcomes: dict[str, JournalResult | JournalFailed] = {}
    told: dict[str, dict[str, str]] = {}
    for line in source.journal:
        entry = line.entry
        if isinstance(entry, JournalLaunched | JournalStarted | JournalResult | JournalFailed):
            if not isinstance(entry.agent_id, str):
                continue
            _note(told.setdefault(entry.agent_id, {}), label=entry.label, phase=entry.phase)
            if isinstance(entry, JournalResult | JournalFailed):
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
        if isinstance(entry, WorkflowPhaseProgress) and isinstance(entry.title, str)
    ]
    return tuple(WorkflowPhase(title=title) for title in dict.fromkeys((*reached, *worked)))


def _list_progress(record: WorkflowRecord | None) -> dict[str, WorkflowAgentProgress]:
    entries = record.workflow_progress if record is not None else None
    return {
        entry.agent_id: entry
        for entry in (entries if isinstance(entries, tuple) else ())
        if isinstance(entry, WorkflowAgentProgress) and isinstance(entry.agent_id, str)
    }


def _note(said: dict[str, str], **values: object) -> None:
    """Keep what is said for the first time."""
    for name, value in values.items():
        if isinstance(value, str):
            said.setdefault(name, value)
