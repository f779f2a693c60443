"""A session's messages and calls as CSV, one row each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from turnlog.export.pieces import AgentBegins, AgentEnds, Done, Noted, Piece, Said, TurnBegins
from turnlog.export.plain import show_controls

COLUMNS = ("turn", "agent", "time", "kind", "name", "state", "model", "text", "output")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render_csv(pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield the text of a file, row by row."""
    turn = 0
    agents: list[str] = []
    yield _write(COLUMNS)
    for piece in pieces:
        match piece:
            case TurnBegins():
                turn = piece.number
            case AgentBegins():
                agents.append(piece.title)
            case AgentEnds():
                agents.pop()
            case _:
                time = "" if piece.time is None else piece.time.isoformat()
                yield _write((str(turn or ""), "/".join(agents), time, *_list_cells(piece)))


def _list_cells(piece: Said | Noted | Done) -> tuple[str, ...]:
    match piece:
        case Said():
            return str(piece.author), "", piece.remark, piece.model or "", piece.text, ""
        case Noted():
            return piece.kind, "", "", "", piece.text, ""
        case Done():
            answered = "" if piece.answered is None else piece.answered.text
            given = "\n".join(body.text for body in piece.given) or piece.topic
            return "call", piece.name, str(piece.state), "", given, answered


def _write(cells: Iterable[str]) -> str:
    row = io.StringIO()
    csv.writer(row, lineterminator="\r\n").writerow([_guard(cell) for cell in cells])
    return row.getvalue()


def _guard(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    text = show_controls(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
