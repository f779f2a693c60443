"""A session's row: all that is known of it at a glance; whoever changes a part publishes all of it anew."""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from turnlog.store.clickhouse.session_schema import SESSIONS
from turnlog.store.marks import Marks
from turnlog.store.packing import pack_row, pack_text, unpack_row, unpack_text
from turnlog.store.rows import SessionRow

__all__ = ["COLUMNS", "Session", "with_marks", "with_summary"]

COLUMNS = ", ".join(SESSIONS.names)
"""As they are asked for to make a `Session` of a row."""


class Session(Struct, frozen=True, kw_only=True):
    """A row of `sessions`; text that comes from data is packed."""

    owner: bytes
    id: int
    write: int
    born: date
    key: bytes
    origin: bytes
    session_id: bytes
    project_folder: bytes
    revision: int = 0
    derivation: int = 0
    present: bool = True
    path: bytes = b""
    transcript_present: bool = False
    copied_from: bytes | None = None
    told_id: bytes | None = None
    title: bytes | None = None
    title_key: bytes | None = None
    project: bytes | None = None
    project_key: bytes | None = None
    first_time: int | None = None
    last_time: int | None = None
    messages: int = 0
    prompts: int = 0
    answers: int = 0
    errors: int = 0
    problems: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: bytes | None = None
    models: list[bytes] = []
    model_keys: list[bytes] = []
    branches: list[bytes] = []
    branch_keys: list[bytes] = []
    series: bytes | None = None
    row: bytes | None = None
    person: bytes | None = None
    chosen: bool | None = None
    rule: bytes | None = None
    shared: bool = False
    name: bytes | None = None
    name_key: bytes | None = None
    tags: list[bytes] = []
    starred: bool = False
    note: bytes | None = None
    archived: bool = False
    reported_kind: bytes | None = None
    reported_cost: bytes | None = None
    computed_cost: bytes | None = None

    @property
    def cells(self) -> tuple[Any, ...]:
        """The row as it is inserted."""
        return astuple(self)

    @property
    def summary(self) -> SessionRow | None:
        """What follows from its files; None if nothing did yet."""
        return None if self.row is None else unpack_row(SessionRow, self.row)

    @property
    def marks(self) -> Marks:
        """What people said about it."""
        return Marks(
            name=unpack_text(self.name),
            tags=tuple(map(unpack_text, self.tags)),
            starred=self.starred,
            note=unpack_text(self.note),
            archived=self.archived,
        )


def with_summary(session: Session, row: SessionRow) -> Session:
    """Return a session with what follows from its files."""
    return msgspec.structs.replace(
        session,
        told_id=pack_text(row.session_id),
        title=pack_text(row.title),
        title_key=_fold(row.title),
        project=pack_text(row.project),
        project_key=_fold(row.project),
        first_time=row.first_time,
        last_time=row.last_time,
        messages=row.messages,
        prompts=row.prompts,
        answers=row.answers,
        errors=row.errors,
        problems=row.problems,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost=pack_text(row.cost),
        models=list(map(pack_text, row.models)),
        model_keys=list(map(_fold, row.models)),
        branches=list(map(pack_text, row.branches)),
        branch_keys=list(map(_fold, row.branches)),
        series=pack_text(row.series),
        row=pack_row(row),
    )


def with_marks(session: Session, marks: Marks) -> Session:
    """Return a session with what people said about it."""
    return msgspec.structs.replace(
        session,
        name=pack_text(marks.name),
        name_key=_fold(marks.name),
        tags=list(map(pack_text, marks.tags)),
        starred=marks.starred,
        note=pack_text(marks.note),
        archived=marks.archived,
    )


def _fold(text: str | None) -> Any:
    return None if text is None else pack_text(text.casefold())
