"""The three lists that the action log is made of, as SQL: calls, events, and what hooks told.

Each is a query with the same columns: where an action stands (`at`, `rank`, `place`, `line`, `part`), its
`number`, and what is filtered by. Words are numbers in calls and events, and text in what hooks told.
"""

from __future__ import annotations

from msgspec import Struct

from turnlog.store.actions import ENDING_EVENTS, ActionFilter, ActionKind
from turnlog.store.identity import SourceKind
from turnlog.store.sqlite.chapters import Values
from turnlog.store.sqlite.timelines import IS_EVENT, OF_SESSION
from turnlog.store.timeline import FIRST_EVENTS
from turnlog.transcripts.actions.states import CALL_STATES, FAILED_HOOKS, TOLD_FAILURES, ActionState
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.hooks.matching import NEAR
from turnlog.transcripts.lines.kinds import Category

__all__ = ["LIVE_STATES", "PARTS", "TIMED_HOOKS", "TOLD", "Part", "build_wanted"]


class Part(Struct, frozen=True, kw_only=True):
    """One of the lists."""

    kind: ActionKind
    columns: str
    table: str
    """With a condition; others can be added."""
    hidden: str = ""
    """A further condition, for what is told elsewhere."""
    at: str
    """What it is in order by."""
    scale: int = 1
    """How many of this are a microsecond."""
    order: str = "at, rank, place, line, part"
    """All that it is in order by."""
    categories: frozenset[Category]
    """Those that there may be."""

    @property
    def rows(self) -> str:
        """The query; further conditions can be added."""
        return f"SELECT {self.columns} FROM {self.table}{self.hidden}"


LIVE_STATES = (ActionState.UNRESOLVED, ActionState.RUNNING, ActionState.WAITING)
"""What is known of calls without a result, by the number that `live` is."""


def _word(text: str) -> str:
    return f"(SELECT id FROM words WHERE word = '{text}')"


def _join(words: tuple[str, ...] | frozenset[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


_OF_THIS_CALL = f"d INDEXED BY hook_deliveries_by_call WHERE d.tool_use_id = t.id AND {IS_EVENT}"
_LAST_EVENT = f"""(
    SELECT d.event_name FROM hook_deliveries AS {_OF_THIS_CALL}
    ORDER BY d.received_ns DESC, d.delivery_id DESC LIMIT 1
)"""
_HAS_ENDED = f"""
(SELECT max(d.received_ns) FROM hook_deliveries AS {_OF_THIS_CALL}) < (
    SELECT max(d.received_ns) FROM hook_deliveries AS d INDEXED BY hook_deliveries_by_session
    WHERE {OF_SESSION} AND d.event_name IN ({_join(ENDING_EVENTS)})
)
"""
_LIVE = f"""
CASE WHEN t.state <> {_word(CallState.UNRESOLVED)} THEN NULL
    WHEN ifnull({_LAST_EVENT}, '') NOT IN ({_join(FIRST_EVENTS)}) OR {_HAS_ENDED} THEN 0
    WHEN {_LAST_EVENT} = 'PermissionRequest' THEN 2 ELSE 1 END
"""
_SOURCE = f"""
(SELECT kind <> '{SourceKind.TRANSCRIPT}' FROM sources WHERE id = t.source) AS rank,
(SELECT source FROM sources WHERE id = t.source) AS place
"""

_CALLS = f"""
ifnull(t.reached, 0) AS at, {_SOURCE}, t.line AS line, t.block + 1 AS part, t.idx AS number,
    t.category AS category, t.name AS title, t.state AS state, {_LIVE} AS live,
    iif(t.ended >= t.started, (t.ended - t.started) / 1000, NULL) AS took,
    t.state = {_word(CallState.FAILED)} AS failed
"""

_HOOK = "(SELECT word FROM words WHERE id = t.hook)"
_SAME_CALL = f"""
hook_deliveries AS d INDEXED BY hook_deliveries_by_call
WHERE d.tool_use_id = t.tool_use_id AND d.event_name = {_HOOK} AND {IS_EVENT}
"""
_NEAR = f"""
hook_deliveries AS d INDEXED BY hook_deliveries_by_session
WHERE d.received_ns >= (t.time - {NEAR}) * 1000 AND d.received_ns < (t.time + {NEAR} + 1) * 1000
    AND d.event_name = {_HOOK} AND d.tool_use_id IS NULL AND {IS_EVENT}
"""
_EVENTS = f"""
ifnull(t.reached, 0) AS at, {_SOURCE}, t.idx AS line, 0 AS part, t.idx AS number,
    t.category AS category, t.name AS title, t.state AS state, NULL AS live, t.duration_ms AS took,
    t.state = {_word(ActionState.FAILED)} AS failed
"""
_IS_TOLD = f"(EXISTS (SELECT 1 FROM {_SAME_CALL}) OR EXISTS (SELECT 1 FROM {_NEAR}))"
_NEAREST = "ORDER BY abs(d.received_ns / 1000 - t.time), d.received_ns, d.delivery_id LIMIT 1"

TOLD = f"""
SELECT delivery, max(failed), max(took) FROM (
    SELECT t.state = {_word(ActionState.FAILED)} AS failed, t.duration_ms AS took,
        ifnull(
            (SELECT d.id FROM {_SAME_CALL} {_NEAREST}), (SELECT d.id FROM {_NEAR} {_NEAREST})
        ) AS delivery
    FROM placements AS t INDEXED BY hook_lines_by_call
    WHERE t.session = :session AND t.hook IS NOT NULL
        AND (t.duration_ms IS NOT NULL OR t.state = {_word(ActionState.FAILED)})
) WHERE delivery IS NOT NULL GROUP BY delivery
"""
"""What lines tell of deliveries: their numbers, whether they failed, and how long they took."""

_HOOKS = f"""
d.received_ns / 1000 AS at, 2 AS rank, printf('%03d', d.received_ns % 1000) || d.delivery_id AS place,
    0 AS line, 0 AS part, d.id AS number,
    iif(d.event_name IN ({_join(TOLD_FAILURES)}), '{Category.ERROR}', '{Category.HOOK}') AS category,
    d.event_name AS title, NULL AS state, NULL AS live, {{took}} AS took,
    d.event_name IN ({_join(FAILED_HOOKS)}) OR d.id IN (SELECT value FROM json_each(:failed)) AS failed,
    d.received_ns AS received, d.delivery_id AS delivery
"""

_TOOLS = frozenset({Category.SKILL, Category.MCP, Category.BUILTIN, Category.AGENT})

PARTS = (
    Part(
        kind=ActionKind.CALL,
        columns=_CALLS,
        table="calls AS t INDEXED BY calls_in_order WHERE t.session = :session",
        at="ifnull(t.reached, 0)",
        categories=_TOOLS,
    ),
    Part(
        kind=ActionKind.EVENT,
        columns=_EVENTS,
        table="""
        placements AS t INDEXED BY events_in_order WHERE t.session = :session AND t.category IS NOT NULL
        """,
        hidden=f" AND (t.hook IS NULL OR NOT {_IS_TOLD})",
        at="ifnull(t.reached, 0)",
        categories=frozenset(Category) - _TOOLS | {Category.AGENT},
    ),
    Part(
        kind=ActionKind.HOOK,
        columns=_HOOKS.format(took="iif(d.id IN (SELECT value FROM json_each(:long)), :min_ms, NULL)"),
        table=f"hook_deliveries AS d INDEXED BY hook_deliveries_by_session WHERE {IS_EVENT}",
        at="d.received_ns",
        scale=1000,
        order="received, delivery",
        categories=frozenset({Category.HOOK, Category.ERROR}),
    ),
)
"""Of what hooks told, lines tell that those in `:failed` failed, and those in `:long` took long."""

TIMED_HOOKS = Part(
    kind=ActionKind.HOOK,
    columns=_HOOKS.format(took="json_extract(w.value, '$[1]')"),
    table=f"""
    json_each(:timed) AS w CROSS JOIN hook_deliveries AS d ON d.id = json_extract(w.value, '$[0]')
    WHERE {IS_EVENT}
    """,
    at="d.received_ns",
    scale=1000,
    categories=frozenset({Category.HOOK, Category.ERROR}),
)
"""What hooks told whose durations are known: `:timed` has them by their numbers."""


def build_wanted(part: Part, where: ActionFilter) -> tuple[str, Values]:
    """Return a condition for rows of a part, and its values."""
    values: Values = {}
    clauses = ["1"]
    if where.categories is not None:
        clauses.append(f"category IN ({_choose(part, where.categories, 'category', values)})")
    if where.name is not None:
        clauses.append(f"title IN ({_choose(part, (where.name,), 'title', values)})")
    if where.min_ms is not None:
        clauses.append("took >= :min_ms")
    if where.states is not None:
        clauses.append(_choose_states(part, where.states, values))
    return " AND ".join(clauses), values


def _choose(part: Part, words: tuple[str, ...], name: str, values: Values) -> str:
    names = [f"{name}{number}" for number in range(len(words))]
    values |= zip(names, words, strict=True)
    given = ", ".join(f":{each}" for each in names)
    return given if part.kind is ActionKind.HOOK else f"SELECT id FROM words WHERE word IN ({given})"


def _choose_states(part: Part, states: tuple[str, ...], values: Values) -> str:
    if part.kind is ActionKind.HOOK:
        failed, noted = ActionState.FAILED in states, ActionState.NOTE in states
        return "1" if failed and noted else "failed" if failed else "NOT failed" if noted else "0"
    if part.kind is ActionKind.EVENT:
        return f"state IN ({_choose(part, states, 'state', values)})"
    called = tuple(call.value for call, state in CALL_STATES.items() if state in states)
    live = ", ".join(str(number) for number, state in enumerate(LIVE_STATES) if state in states)
    known = tuple(each for each in called if each != CallState.UNRESOLVED)
    return f"(live IN ({live}) OR state IN ({_choose(part, known, 'state', values)}))"
