"""The rows of sessions, and their summaries: what lists look at, and what they add up.

A row of `sessions` is wide, and found one by one. A list asks a few columns of all of them; so a view keeps
these apart, in large pieces. What every list would have to find out of a row is found out once.
"""

from __future__ import annotations

from turnlog.store.clickhouse.tables import FEW, FEW_OR_NONE, ID, SETTLING, SOME, TEXT, WHOLE, Table, View

__all__ = ["SESSIONS", "SUMMARIES", "SUMMARISED", "fill_summaries"]


SESSIONS = Table(
    name="sessions",
    key=("owner", "id"),
    version="write",
    columns={
        "owner": FEW, "id": ID, "write": "UInt64", "born": "Date",
        # what is known of it
        "key": "String", "origin": FEW, "session_id": "String", "project_folder": "String",
        "revision": "UInt64", "derivation": "UInt64",
        "present": "Bool",                # whether any of its files is still outside
        "path": "String",                 # of its transcript: where it was last seen, and whether it still was
        "transcript_present": "Bool", "copied_from": TEXT,
        # what follows from its files: see `SessionRow`; `row` is all of it, packed
        "told_id": TEXT, "title": TEXT, "title_key": TEXT, "project": TEXT, "project_key": TEXT,
        "first_time": SOME, "last_time": SOME, "messages": WHOLE, "prompts": WHOLE, "answers": WHOLE,
        "errors": WHOLE, "problems": WHOLE, "input_tokens": WHOLE, "output_tokens": WHOLE, "cost": TEXT,
        "models": "Array(String)", "model_keys": "Array(String)", "branches": "Array(String)",
        "branch_keys": "Array(String)", "series": TEXT, "row": "Nullable(String)",
        # who may see it: see `SessionAccess`
        "person": FEW_OR_NONE, "chosen": "Nullable(Bool)", "rule": TEXT, "shared": "Bool",
        # what people said about it: see `Marks`
        "name": TEXT, "name_key": TEXT, "tags": "Array(String)", "starred": "Bool", "note": TEXT,
        "archived": "Bool",
        # what the program itself says that it cost
        "reported_kind": FEW_OR_NONE, "reported_cost": TEXT, "computed_cost": TEXT,
    },
    by_month=True,
    indexes=("by_key key TYPE bloom_filter GRANULARITY 4",),
    granularity=128,  # rows are wide, and asked for one by one
    settings=SETTLING,
)  # fmt: skip
"""One row for each session, all that is known of it at a glance: `record.Session` is a row."""

_SCALE = 40
"""How many digits behind the point are added up by the engine."""
_PLAIN = r"ifNull(match(e.cost, '^-?[0-9]{1,20}(\\.[0-9]{1,20})?(E-1?[0-9])?$'), false)"
"""The condition that the engine adds an amount up exactly."""
_TOLD = "assumeNotNull(e.cost)"
_COPIED = (
    "owner", "write", "born", "key", "origin", "session_id", "told_id", "title", "title_key", "project",
    "project_key", "first_time", "last_time", "messages", "prompts", "answers", "errors", "problems",
    "input_tokens", "output_tokens", "cost", "models", "model_keys", "branches", "branch_keys", "person",
    "shared", "name_key", "tags", "starred", "archived", "present", "series",
)  # fmt: skip
"""As `sessions` has them."""
_APART = "e.models, e.branches, e.tags, ifNull(e.person, ''), e.origin"
_FOUND = {
    "session": (ID, "e.id"),
    "listed": ("Bool", "e.row IS NOT NULL"),           # lists have what something followed for
    # The cost as a number, with how many digits behind the point; NULL if it has to be told as it stands.
    "amount": (f"Nullable(Decimal(76, {_SCALE}))",
               f"if({_PLAIN}, toDecimal256OrZero({_TOLD}, {_SCALE}), NULL)"),
    "digits": ("UInt8", f"if({_PLAIN}, length(extract({_TOLD}, '\\\\.([0-9]+)')) + "
               f"toUInt8OrZero(extract({_TOLD}, 'E-([0-9]+)')), 0)"),
    # By what sessions can be told apart: those that have all of it in common have the same number.
    "facets": ("UInt128", f"reinterpretAsUInt128(sipHash128({_APART}))"),
    # Whether the program itself may say what it cost: all do that fit; that others do whose titles look like it
    # does no harm.
    "tells_cost": ("Bool", """ifNull(match(e.row, '"reported_cost": *["0-9-]'), false)"""),
}  # fmt: skip
"""What is found out of a row: types, and how."""

SUMMARIES = Table(
    name="summaries",
    key=("owner", "session"),
    version="write",
    by_month=True,
    columns={
        **{name: SESSIONS.columns[name] for name in _COPIED},
        **{name: kind for name, (kind, _) in _FOUND.items()},
    },
    granularity=8192,
    settings=SETTLING,
)
_CELLS = ", ".join(
    [*(f"e.{name} AS {name}" for name in _COPIED), *(f"{how} AS {name}" for name, (_, how) in _FOUND.items())]
)
SUMMARISED = View(
    name="summarised", source="sessions", target="summaries", select=f"SELECT {_CELLS} FROM sessions AS e"
)


def fill_summaries() -> str:
    """Return the statement that summarises all sessions that are there; again does no harm."""
    return f"INSERT INTO summaries ({', '.join(SUMMARIES.names)}) {SUMMARISED.select}"
