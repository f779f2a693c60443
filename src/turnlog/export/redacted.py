"""Pieces without what nobody else should read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from turnlog.export.pieces import AgentBegins, Body, Done, Noted, Piece, Said
from turnlog.export.redaction.json_values import list_strings
from turnlog.export.redaction.redactor import Redactor
from turnlog.transcripts.queries.bodies import read_json
from turnlog.transcripts.queries.sessions import SessionRecords


def learn_session(session: SessionRecords, redactor: Redactor) -> None:
    """Have all lines of a session read for secrets and names, before any of it is given out."""
    redactor.learn_lines(
        (line for chapter in session.list_conversations() for line in read_json(chapter)), list_strings
    )


def redact_pieces(pieces: Iterable[Piece], redactor: Redactor) -> Iterator[Piece]:
    """Yield pieces, in each text of which nothing is left that is to be taken out."""
    redact = redactor.redact
    for piece in pieces:
        match piece:
            case Said():
                yield replace(piece, text=redact(piece.text), thinking=redact(piece.thinking))
            case Noted():
                yield replace(piece, text=redact(piece.text))
            case AgentBegins():
                yield replace(piece, title=redact(piece.title), description=redact(piece.description))
            case Done():
                answered = piece.answered
                yield replace(
                    piece,
                    topic=redact(piece.topic),
                    given=tuple(_redact_body(body, redactor) for body in piece.given),
                    answered=None if answered is None else _redact_body(answered, redactor),
                )
            case _:
                yield piece


def _redact_body(body: Body, redactor: Redactor) -> Body:
    return replace(body, text=redactor.redact(body.text))
