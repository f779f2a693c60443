"""What strangers would see of a session by a link, told before anybody makes one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw, Struct

from turnlog.export.conversation import build_pieces
from turnlog.export.heading import build_heading
from turnlog.export.pieces import AgentBegins, Done, Piece, Said
from turnlog.export.redacted import learn_session, redact_pieces
from turnlog.export.redaction import RedactionRules, Redactor
from turnlog.ingest.archived import load_session
from turnlog.store.identity import Scope
from turnlog.store.interface import Store
from turnlog.store.lists import StoredSession
from turnlog.transcripts.lines.authors import Author
from turnlog.transcripts.session import Session

__all__ = ["LinkPreview", "build_preview"]

_MOST_FILES = 200
_MOST_EXCERPTS = 5
_LONGEST_EXCERPT = 240
_PATHS = ("file_path", "notebook_path", "path")


class LinkPreview(Struct, frozen=True, gc=False, kw_only=True):
    """What strangers would see, all of it without what is taken out."""

    title: str
    project: str | None
    messages: int
    """Of the transcript and of all agents."""
    agents: int
    calls: int
    tools: tuple[tuple[str, int], ...]
    """How often each tool was used, the most used first."""
    files: tuple[str, ...]
    """Files that calls name, in order, at most 200."""
    redacted: tuple[tuple[str, int], ...]
    """How often something of a kind is taken out."""
    excerpts: tuple[str, ...]
    """How the first things begin that people said."""


def build_preview(store: Store, scope: Scope, stored: StoredSession, words: Sequence[str] = ()) -> LinkPreview:
    """Return what strangers would see of a session, without secrets and `words`; all of it is read for that."""
    session = load_session(store, scope, stored.key)
    redactor = Redactor(RedactionRules(words=tuple(words)))
    learn_session(session, redactor)
    said = agents = 0
    tools: Counter[str] = Counter()
    excerpts: list[str] = []
    for piece in redact_pieces(_walk(session), redactor):
        match piece:
            case Said():
                said += 1
                if piece.author is Author.HUMAN and len(excerpts) < _MOST_EXCERPTS:
                    excerpts += filter(None, [" ".join(piece.text.split())[:_LONGEST_EXCERPT]])
            case Done():
                tools[redactor.redact(piece.name)] += 1
            case AgentBegins():
                agents += 1
    heading = build_heading(session, stored.marks.name)
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


def _walk(session: Session) -> Iterator[Piece]:
    return build_pieces(session) if session.messages else iter(())


def _list_files(session: Session) -> Iterator[str]:
    conversations = [session.conversation, *(session.open(agent) for agent in session.agents)]
    for conversation in conversations:
        for call in conversation.calls:
            given = call.block.input
            try:
                fields = msgspec.json.decode(given, type=dict[str, Raw]) if isinstance(given, Raw) else {}
                for name in _PATHS:
                    if name in fields:
                        yield msgspec.json.decode(fields[name], type=str)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
