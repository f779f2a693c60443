"""What strangers would see of a session by a link, told before anybody makes one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec
from msgspec import Raw, Struct

from turnlog.export import conversation
from turnlog.export.files import read_summary
from turnlog.export.redaction import RedactionRules, Redactor
from turnlog.store.interface import Store
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope
from turnlog.transcripts.calls import Call
from turnlog.transcripts.lines.content import Author
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.queries.threads import build_call, decode_lines
from turnlog.transcripts.summary import Summary

_MOST_FILES = 200
_AT_ONCE = 64
"""Calls whose lines are read together."""
_MOST_EXCERPTS = 5
_LONGEST_EXCERPT = 240
_PATHS = ("file_path", "notebook_path", "path")


class LinkPreview(Struct, frozen=True, gc=False, kw_only=True):
    """What strangers would see of a session."""

    title: str
    project: str | None
    messages: int
    """Messages in the transcript and of all agents."""
    agents: int
    calls: int
    tools: tuple[tuple[str, int], ...]
    """How often each tool was used, most used first."""
    files: tuple[str, ...]
    """Files that calls name, at most 200."""
    redacted: tuple[tuple[str, int], ...]
    """How many values of each kind are removed."""
    excerpts: tuple[str, ...]
    """Excerpts of the first messages, as they would be shown."""


def build_preview(store: Store, scope: Scope, stored: StoredSession, words: Sequence[str] = ()) -> LinkPreview:
    """Return what strangers would see of a session, without secrets and `words`; all of it is read for that."""
    summary = read_summary(store, scope, stored)
    with store.open_session(scope, stored.key) as session:
        return _build_preview(session, summary, stored.marks.name, words)


def _build_preview(
    session: SessionRecords, summary: Summary, name: str | None, words: Sequence[str]
) -> LinkPreview:
    redactor = Redactor(RedactionRules(words=tuple(words)))
    conversation.learn_secrets(session, redactor)
    said = agents = 0
    tools: Counter[str] = Counter()
    excerpts: list[str] = []
    for piece in conversation.redact_pieces(_walk(session, summary.project), redactor):
        match piece:
            case conversation.MessagePiece():
                said += 1
                if piece.author is Author.HUMAN and len(excerpts) < _MOST_EXCERPTS:
                    excerpts += filter(None, [" ".join(piece.text.split())[:_LONGEST_EXCERPT]])
            case conversation.CallPiece():
                tools[redactor.redact(piece.name)] += 1
            case conversation.AgentStart():
                agents += 1
    heading = conversation.build_heading(session, summary, name)
    return LinkPreview(
        title=redactor.redact(heading.title),
        project=None if heading.project is None else redactor.redact(heading.project),
        messages=said,
        agents=max(agents, heading.agents),
        calls=tools.total(),
        tools=tuple(sorted(tools.items(), key=lambda each: (-each[1], each[0]))),
        files=tuple(dict.fromkeys(map(redactor.redact, _list_files(session))))[:_MOST_FILES],
        redacted=tuple((each.kind.value, each.times) for each in redactor.replaced),
        excerpts=tuple(excerpts),
    )


def _walk(session: SessionRecords, project: str | None) -> Iterator[conversation.Piece]:
    main = session.main
    return (
        iter(())
        if main is None or not main.count_messages
        else conversation.build_pieces(session, project=project)
    )


def _list_files(session: SessionRecords) -> Iterator[str]:
    for chapter in session.list_conversations():
        calls = chapter.list_calls()
        while some := [*islice(calls, _AT_ONCE)]:
            lines = decode_lines(chapter, (record.line for record in some))
            yield from _list_named(build_call(record, lines) for record in some)


def _list_named(calls: Iterable[Call]) -> Iterator[str]:
    for call in calls:
        given = call.block.input
        try:
            fields = msgspec.json.decode(given, type=dict[str, Raw]) if isinstance(given, Raw) else {}
            for name in _PATHS:
                if name in fields:
                    yield msgspec.json.decode(fields[name], type=str)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
