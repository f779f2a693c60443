"""What lies beside a transcript: the files of sub-agents and workflows, and what is wrong with any of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from turnlog.messages import Line, Position, Problem, ProblemKind, Unknown, View
from turnlog.transcripts.agents.agent import AgentSource
from turnlog.transcripts.agents.workflows import WorkflowSource
from turnlog.transcripts.calls.builder import build_calls
from turnlog.transcripts.files.locate import locate_path
from turnlog.transcripts.files.reader import read_agent_meta, read_lines, read_workflow_record
from turnlog.transcripts.files.session_files import AgentFiles, WorkflowFiles


class LineProblem(Struct, frozen=True, gc=False):
    """Something that is wrong in a line, and where that line stands."""

    at: Position | None
    problem: Problem


class Sources(Struct, frozen=True, gc=False):
    """What was read beside the transcript."""

    agents: tuple[AgentSource, ...] = ()
    workflows: tuple[WorkflowSource, ...] = ()
    problems: tuple[LineProblem, ...] = ()


NOTHING = Sources()
_T = TypeVar("_T")


def load_sources(path: Path) -> Sources:
    """Read what lies beside a transcript; what cannot be read is left out, and is a problem."""
    found = locate_path(path).sessions
    if not found:  # a sub-agent's transcript is nobody's session
        return NOTHING
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
