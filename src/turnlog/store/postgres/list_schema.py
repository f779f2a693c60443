"""The tables of lists: sessions at a glance, what people say about them, and which are only here.

A summary has all that sessions are filtered and ordered by; text that is compared whatever its case is there
casefolded as well, so that SQL alone decides. No entry of marks is changed: the newest one of a session counts,
entries that were made at once share an operation, and one that takes another operation back says which.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from turnlog.errors import StoreError
from turnlog.store.packing import pack_text
from turnlog.store.postgres.hook_spans import HOOK_SPANS
from turnlog.store.rows import SessionRow

__all__ = ["LIST_TABLES", "SERIES_COLUMN", "SUMMARY_COLUMNS", "pack_summary"]

LIST_TABLES = f"""
CREATE TABLE summaries (               -- derived, one row a session; lists go over all months
    session        bigint PRIMARY KEY,
    revision       bigint NOT NULL,
    owner          text COLLATE "C" NOT NULL,
    session_id     bytea,
    title          bytea,
    title_key      bytea,              -- casefolded, as all keys are
    project        bytea,
    project_key    bytea,
    first_time     bigint,
    last_time      bigint,
    messages       bigint NOT NULL,
    prompts        bigint NOT NULL,
    answers        bigint NOT NULL,
    errors         bigint NOT NULL,
    problems       bigint NOT NULL,
    input_tokens   bigint NOT NULL,
    output_tokens  bigint NOT NULL,
    cost           numeric,
    models         bytea[] NOT NULL,
    model_keys     bytea[] NOT NULL,
    branches       bytea[] NOT NULL,
    branch_keys    bytea[] NOT NULL,
    row            bytea NOT NULL
);
CREATE INDEX summaries_by_time ON summaries (owner, last_time);
CREATE INDEX summaries_by_id ON summaries (owner, substring(session_id from 1 for 64));
CREATE TABLE marks (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner      text COLLATE "C" NOT NULL,
    session    bigint NOT NULL,
    operation  bigint NOT NULL,
    undoes     bigint,
    at_ns      bigint NOT NULL,
    name       bytea,
    name_key   bytea,
    tags       bytea[] NOT NULL,
    starred    boolean NOT NULL,
    note       bytea,
    archived   boolean NOT NULL
);
CREATE INDEX marks_by_session ON marks (owner, session, id);
CREATE INDEX marks_by_operation ON marks (owner, operation);
CREATE TABLE absent_sessions (         -- those of which no file is outside any more; operational
    session  bigint PRIMARY KEY
);
{HOOK_SPANS}
"""

SERIES_COLUMN = "ALTER TABLE summaries ADD COLUMN series bytea"

SUMMARY_COLUMNS = (
    "session_id, title, title_key, project, project_key, first_time, last_time, messages, prompts, answers, "
    "errors, problems, input_tokens, output_tokens, cost, models, model_keys, branches, branch_keys, series"
)
"""What `pack_summary` returns."""


def pack_summary(row: SessionRow) -> tuple[Any, ...]:
    """Return the columns of a summary that lists look at; raises `StoreError` for an amount that is none."""
    return (
        pack_text(row.session_id), pack_text(row.title), _fold(row.title), pack_text(row.project),
        _fold(row.project), row.first_time, row.last_time, row.messages, row.prompts, row.answers, row.errors,
        row.problems, row.input_tokens, row.output_tokens, _read_amount(row.cost),
        list(map(pack_text, row.models)), list(map(_fold, row.models)), list(map(pack_text, row.branches)),
        list(map(_fold, row.branches)), pack_text(row.series),
    )  # fmt: skip


def _fold(text: str | None) -> bytes | None:
    return None if text is None else pack_text(text.casefold())


def _read_amount(cost: str | None) -> Decimal | None:
    try:
        return None if cost is None else Decimal(cost)
    except InvalidOperation as error:
        raise StoreError(f"Expected an amount of dollars, got {cost!r}") from error
