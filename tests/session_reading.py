"""Reading all files of a session, for tests of what is built from them."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

import golden
from turnlog import Line
from turnlog.messages import Unknown
from turnlog.transcripts.agent_builder import Agents, build_agents
from turnlog.transcripts.agents import Agent, AgentSource, Workflow, WorkflowSource
from turnlog.transcripts.call_builder import build_calls
from turnlog.transcripts.line_reader import read_agent_meta, read_lines, read_workflow_record
from turnlog.transcripts.session_files import AgentFiles, SessionFiles, WorkflowFiles, locate_path


class Found(Struct, frozen=True):
    """The agents and the workflows of a session, by their ids."""

    built: Agents

    def __getitem__(self, agent_id: str) -> Agent:
        [found] = [agent for agent in self.built.agents if agent.id == agent_id]
        return found

    def run(self, run_id: str) -> Workflow:
        [found] = [workflow for workflow in self.built.workflows if workflow.run_id == run_id]
        return found

    @property
    def ids(self) -> list[str]:
        return [agent.id for agent in self.built.agents]

    @property
    def links(self) -> dict[str, tuple[str | None, str | None]]:
        """By what each agent is joined to which call."""
        return {
            agent.id: (agent.linked_by, agent.call.id if agent.call is not None else None)
            for agent in self.built.agents
        }


def read_golden(name: str) -> Found:
    """Read the only session in `tests/data/transcripts/<name>`."""
    [session] = locate_path(golden.DATA / "transcripts" / name).sessions
    return Found(read_agents(session))


def read_agents(session: SessionFiles) -> Agents:
    main = _lines(session.path)
    sources = [read_source(files) for files in session.agents]
    runs = [_read_run(files) for files in session.workflows]
    return build_agents(main, build_calls(main).calls, sources, runs)


def read_source(files: AgentFiles) -> AgentSource:
    lines = _lines(files.path)
    meta = read_agent_meta(files.meta).value if files.meta is not None else None
    known = None if isinstance(meta, Unknown) else meta
    return AgentSource(files.agent_id, lines, build_calls(lines).calls, known, files.run_id, files.path)


def _read_run(files: WorkflowFiles) -> WorkflowSource:
    record = read_workflow_record(files.record).value if files.record is not None else None
    return WorkflowSource(files.run_id, _lines(files.journal), None if isinstance(record, Unknown) else record)


def _lines(path: Path | None) -> tuple[Line, ...]:
    return tuple(read_lines(path)) if path is not None else ()
