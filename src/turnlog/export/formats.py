"""A session in any of the forms in which it can be given out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from itertools import islice

from msgspec.structs import replace

from turnlog.export.conversation import build_pieces
from turnlog.export.documents import render_documents
from turnlog.export.heading import Heading, build_heading
from turnlog.export.html import render_html
from turnlog.export.markdown import render_markdown
from turnlog.export.pieces import Piece
from turnlog.export.redacted import learn_session, redact_pieces
from turnlog.export.redaction.json_values import redact_json
from turnlog.export.redaction.redactor import Redactor
from turnlog.export.selection import EVERYTHING, Selection, select
from turnlog.export.tables import render_csv
from turnlog.transcripts.queries.bodies import read_json
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.summary import Summary

_TOGETHER = 64


class Format(StrEnum):
    """A form in which a session can be given out."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"
    """Spec 003's documents."""
    JSONL = "jsonl"
    """The lines as they are."""
    CSV = "csv"


def render_session(
    session: SessionRecords,
    summary: Summary,
    form: Format,
    *,
    selection: Selection = EVERYTHING,
    redactor: Redactor | None = None,
    name: str | None = None,
    camel: bool = True,
    shared: Collection[str] = (),
) -> Iterator[bytes]:
    """Yield the bytes of a file, piece by piece.

    With a `redactor`, which is first told all of the session, nothing is given out that it takes out. `name` is
    one that somebody gave the session, `camel` says how the fields of documents are written, and `shared` are
    the uuids that messages of other sessions have, too. Raises `SelectionError` for turns or a branch that are
    not there.
    """
    if redactor is not None:
        learn_session(session, redactor)
    match form:
        case Format.JSON:
            yield from render_documents(
                session, summary, selection, camel=camel, redactor=redactor, shared=shared
            )
        case Format.JSONL:
            yield from _render_lines(session, selection, redactor)
        case Format.CSV:
            yield from _encode(render_csv(_list_pieces(session, summary, selection, redactor)))
        case Format.MARKDOWN | Format.HTML:
            heading = _redact_heading(build_heading(session, summary, name), redactor)
            render = render_html if form is Format.HTML else render_markdown
            yield from _encode(render(heading, _list_pieces(session, summary, selection, redactor)))


def _list_pieces(
    session: SessionRecords, summary: Summary, selection: Selection, redactor: Redactor | None
) -> Iterator[Piece]:
    pieces = build_pieces(session, selection, summary.project)
    return pieces if redactor is None else redact_pieces(pieces, redactor)


def _redact_heading(heading: Heading, redactor: Redactor | None) -> Heading:
    if redactor is None:
        return heading
    return replace(
        heading,
        title=redactor.redact(heading.title),
        project=None if heading.project is None else redactor.redact(heading.project),
        branch=None if heading.branch is None else redactor.redact(heading.branch),
    )


def _render_lines(session: SessionRecords, selection: Selection, redactor: Redactor | None) -> Iterator[bytes]:
    main, chosen = session.main, select(session, selection)
    if main is None:
        return
    numbers = {number for row in chosen for number in row.lines} if selection.is_part else None
    for line in read_json(main, numbers):
        yield (line if redactor is None else redact_json(line, redactor)) + b"\n"


def _encode(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield texts as bytes, some at a time: most are a few words."""
    left = iter(texts)
    while some := [*islice(left, _TOGETHER)]:
        yield "".join(some).encode("utf-8", "backslashreplace")
