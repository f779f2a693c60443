"""A session put together from what was read of its files, there or only in the archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from turnlog.ingest.contents import Content
from turnlog.ingest.derive import Chapter, derive
from turnlog.messages import Line, Position, Unknown, View
from turnlog.store.batch import Derived
from turnlog.store.model import SourceKind
from turnlog.transcripts.agents.agent import AgentSource
from turnlog.transcripts.agents.workflows import WorkflowSource
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.files.reader import decode_agent_meta, decode_workflow_record
from turnlog.transcripts.files.session_files import AgentFiles, pair_agents
from turnlog.transcripts.session import Session
from turnlog.transcripts.sources import LineProblem, Sources
from turnlog.transcripts.usage.prices import Prices

T = TypeVar("T")
_AGENT_FILES = frozenset({SourceKind.AGENT, SourceKind.AGENT_META})
_RUN_FILES = frozenset({SourceKind.JOURNAL, SourceKind.WORKFLOW})


class Part(Struct, frozen=True, gc=False):
    """A file of a session, and what is in it."""

    path: str
    kind: SourceKind
    run_id: str | None
    content: Content


class Assembled(Struct, frozen=True):
    """A session with the conversations of its sub-agents' files."""

    session: Session
    transcript: str | None
    """The source of its main lines; None if it has none."""
    chapters: tuple[Chapter, ...]
    others: dict[str, list[Line]]
    """The lines of files that are no conversations, by source."""

    def derive(self, emptied: Iterable[str] = (), *, is_final: bool = False) -> Derived:
        """Return all records of it, as `turnlog.ingest.derive` does."""
        return derive(self.session, self.transcript, self.chapters, self.others, emptied, is_final=is_final)


def assemble(parts: Iterable[Part], folder: str, prices: Prices | None = None) -> Assembled:
    """Return the session that some files are; their order makes no difference.

    `folder` is the name of the project's folder.
    """
    ordered = sorted(parts, key=lambda part: Path(part.path))
    problems: list[LineProblem] = []
    chapters: list[Chapter] = []
    agents = tuple(_build_agent(files, chapters, problems) for files in _pair(ordered))
    runs = {run.run_id: run for run in ordered if run.run_id is not None and run.kind in _RUN_FILES}
    workflows = tuple(_build_workflow(run_id, ordered, problems) for run_id in sorted(runs))
    sources = Sources(agents, workflows, tuple(problems))
    main = next((part.content for part in ordered if part.kind is SourceKind.TRANSCRIPT), None)
    lines = [] if main is None else main.lines
    return Assembled(
        Session(lines, folder=folder, load=lambda: sources, prices=prices),
        None if main is None else main.source,
        tuple(chapters),
        {part.content.source: part.content.lines for part in ordered if part.kind is SourceKind.JOURNAL},
    )


def _pair(parts: list[Part]) -> Iterator[tuple[AgentFiles, Content | None, Content | None]]:
    """Yield each sub-agent with its lines and its metadata, in the order of paths."""
    contents = {Path(part.path): part.content for part in parts if part.kind in _AGENT_FILES}
    for files in pair_agents(list(contents)):
        yield files, contents.get(files.path or Path()), contents.get(files.meta or Path())


def _build_agent(
    found: tuple[AgentFiles, Content | None, Content | None],
    chapters: list[Chapter],
    problems: list[LineProblem],
) -> AgentSource:
    files, lines, meta = found
    conversation = Conversation(() if lines is None else lines.lines)
    agent = AgentSource(
        agent_id=files.agent_id,
        lines=conversation.lines,
        calls=conversation.calls,
        meta=None if meta is None else _value_of(meta, decode_agent_meta(meta.text), problems),
        run_id=files.run_id,
        path=files.path,
    )
    if lines is not None:
        chapters.append(Chapter(lines.source, conversation, agent))
    return agent


def _build_workflow(run_id: str, parts: list[Part], problems: list[LineProblem]) -> WorkflowSource:
    found = {part.kind: part.content for part in parts if part.run_id == run_id and part.kind in _RUN_FILES}
    journal, record = found.get(SourceKind.JOURNAL), found.get(SourceKind.WORKFLOW)
    return WorkflowSource(
        run_id,
        () if journal is None else tuple(journal.lines),
        None if record is None else _value_of(record, decode_workflow_record(record.text), problems),
    )


def _value_of(content: Content, seen: View[T], problems: list[LineProblem]) -> T | None:
    problems += (LineProblem(Position(content.source, 0), problem) for problem in seen.problems)
    return None if isinstance(seen.value, Unknown) else seen.value
