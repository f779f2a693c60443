"""The files of one session: what its folder holds, and for what.

<session>.jsonl                                 the transcript
<session>/subagents/…/agent-<id>.jsonl          a sub-agent's, with agent-<id>.meta.json, at any depth
<session>/subagents/workflows/wf_<run>/         a workflow's sub-agents and its journal.jsonl
<session>/workflows/wf_<run>.json               a workflow's record
<session>/tool-results/                         results too large for a line
<session>/custom-title.json                     and other facts about the session

What turnlog captured of a session itself has names of its own (`captures`), and is laid out alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from turnlog.transcripts.files.captures import CaptureKind
from turnlog.transcripts.files.folders import FolderLister, Listing, is_inside

_AGENT = re.compile(r"agent-(.+?)(\.jsonl|\.meta\.json)")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RUN = "wf_"
_TOOL_RESULTS = "tool-results"
_PARTS = frozenset({"subagents", "workflows", _TOOL_RESULTS})


class AgentFiles(Struct, frozen=True, gc=False):
    """The files of one sub-agent; either may be missing."""

    agent_id: str
    path: Path | None = None
    meta: Path | None = None
    run_id: str | None = None
    """The workflow run that it worked for."""


class WorkflowFiles(Struct, frozen=True, gc=False):
    """The files of one workflow run; either may be missing."""

    run_id: str
    journal: Path | None = None
    record: Path | None = None


class SessionFiles(Struct, frozen=True, gc=False):
    """All files of one session, each tuple in the order of paths."""

    session_id: str
    """After the file's name; what the lines say counts more."""
    path: Path | None
    """The transcript; None when only other files of the session are left."""
    project_folder: str
    """The name of the folder it lies in."""
    own_folder: Path | None = None
    """The session's own folder, where it is not the one beside the transcript that is called as it."""
    agents: tuple[AgentFiles, ...] = ()
    workflows: tuple[WorkflowFiles, ...] = ()
    tool_results: tuple[Path, ...] = ()
    meta: tuple[Path, ...] = ()
    """Facts about the session, as JSON."""
    others: tuple[Path, ...] = ()
    """What nobody knows the use of."""
    capture: CaptureKind | None = None
    """What kind of capture `path` is; None if it is Claude Code's own file."""
    captures: tuple[Path, ...] = ()
    """Further files of lines that tell of the same session or of its agents; `path` tells more."""

    @property
    def folder(self) -> Path:
        """The session's own folder, which need not exist: of thousands of sessions, few are asked for it."""
        if self.own_folder is not None:
            return self.own_folder
        return Path() if self.path is None else self.path.with_suffix("")


def find_offloaded(session: SessionFiles, name_or_path: str) -> Path | None:
    """Return the file of a tool result that is kept outside its line, or None.

    A line gives a name or a path, which may come from another machine: then what stands behind `tool-results`
    counts. Nothing outside the session's folder is ever returned, by whatever way a path leads there.
    """
    parts = re.split(r"[/\\]", name_or_path)
    if _TOOL_RESULTS in parts:
        parts = parts[len(parts) - parts[::-1].index(_TOOL_RESULTS) :]
    elif os.path.isabs(name_or_path) or len(parts) > 1:
        return None
    path = os.path.join(session.folder, _TOOL_RESULTS, *parts)
    try:
        inside = is_inside(path, os.fspath(session.folder))
    except (OSError, ValueError):  # a name that no file can have
        return None
    return Path(path) if inside and os.path.isfile(path) else None


def is_session_folder(name: str, listing: Listing) -> bool:
    """Tell whether a folder is a session's own, even if the transcript is gone."""
    return _UUID.fullmatch(name) is not None or not _PARTS.isdisjoint(listing.folders)


def read_session_folder(lister: FolderLister, session: SessionFiles, listing: Listing) -> SessionFiles:
    """Return `session` with all that its folder holds, whose own names are in `listing`."""
    agent_files: list[Path] = []
    runs: dict[str, WorkflowFiles] = {}
    results: list[Path] = []
    meta: list[Path] = []
    others: list[Path] = []
    for parts in _walk(lister, os.fspath(session.folder), listing):
        path = session.folder.joinpath(*parts)
        name, parent = parts[-1], parts[-2] if len(parts) > 1 else ""
        if parts[0] == _TOOL_RESULTS and parent:
            results.append(path)
        elif _AGENT.fullmatch(name):
            agent_files.append(path)
        elif name == "journal.jsonl" and parent.startswith(_RUN):
            record = runs[parent].record if parent in runs else None
            runs[parent] = WorkflowFiles(parent, path, record)
        elif name.startswith(_RUN) and name.endswith(".json") and parent == "workflows":
            run_id = name.removesuffix(".json")
            journal = runs[run_id].journal if run_id in runs else None
            runs[run_id] = WorkflowFiles(run_id, journal, path)
        else:
            (meta if name.endswith(".json") and not parent else others).append(path)
    return SessionFiles(
        session_id=session.session_id,
        path=session.path,
        project_folder=session.project_folder,
        own_folder=session.own_folder,
        agents=(*session.agents, *pair_agents(agent_files)),
        workflows=tuple(runs[run_id] for run_id in sorted(runs)),
        tool_results=tuple(results),
        meta=tuple(meta),
        others=tuple(others),
        capture=session.capture,
    )


def pair_agents(paths: list[Path]) -> list[AgentFiles]:
    """Return the sub-agents that some files belong to, in the order of paths; other files are left out."""
    found: dict[tuple[Path, str], dict[str, Path]] = {}
    for path in paths:
        match = _AGENT.fullmatch(path.name)
        if match:
            found.setdefault((path.parent, match[1]), {})[match[2]] = path
    return [
        AgentFiles(
            agent_id=agent_id,
            path=files.get(".jsonl"),
            meta=files.get(".meta.json"),
            run_id=parent.name if parent.name.startswith(_RUN) else None,
        )
        for (parent, agent_id), files in sorted(found.items())
    ]


def _walk(lister: FolderLister, folder: str, listing: Listing) -> Iterator[tuple[str, ...]]:
    """Yield each file under a session's folder as its steps from there."""
    todo: list[tuple[tuple[str, ...], Listing]] = [((), listing)]
    while todo:
        steps, found = todo.pop()
        for name in found.files:
            yield (*steps, name)
        for name in reversed(found.folders):
            inner = (*steps, name)
            todo.append((inner, lister.list_folder(os.path.join(folder, *inner), folder)))
