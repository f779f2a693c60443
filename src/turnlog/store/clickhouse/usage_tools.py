"""Usage by tool, added up by the server: as `turnlog.store.usage.tools` has it, answer by answer.

Of calls that stand in several files one is chosen for each person. An answer's figures are split among its
calls, and what cannot be split goes to the first.
"""

from __future__ import annotations

from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.usage_schema import COUNTED
from turnlog.store.clickhouse.usage_sums import ask, divide_time, list_counted
from turnlog.store.packing import Cells, unpack_text
from turnlog.store.usage.cells import Home
from turnlog.store.usage.grouping import UsageQuery
from turnlog.store.usage.source import ToolSums
from turnlog.store.usage.stored import NO_SLOT, UsageGroup, build_stored_cell
from turnlog.store.usage.tools import FAILED, ToolSum

__all__ = ["CALLS", "add_up_tools"]

_NOWHERE = Home("")
CALLS = """
SELECT c.session AS session, s.name AS source, c.idx AS idx, c.id AS id, c.name AS name, c.state AS state,
    c.started AS started, c.ended AS ended, l.start IS NOT NULL AND p.name IS NOT NULL AS is_line,
    l.message_id AS message_id, l.uuid AS uuid, c.at_start AS start, p.name AS at_source
FROM (
    SELECT t.session AS session, t.source AS source, t.idx AS idx, t.id AS id, t.name AS name, t.state AS state,
        t.started AS started, t.ended AS ended, t.at_source AS at_source, t.at_generation AS at_generation,
        t.at_start AS at_start, t.gone AS gone
    FROM rows AS t JOIN (SELECT id, revision FROM sessions FINAL) AS e ON e.id = t.session
    WHERE t.kind = 2 AND t.revision <= e.revision
    ORDER BY t.session, t.source, t.idx, t.revision DESC, t.write DESC LIMIT 1 BY t.session, t.source, t.idx
) AS c
JOIN (SELECT source, name FROM sources FINAL) AS s ON s.source = c.source
LEFT JOIN (SELECT source, name FROM sources FINAL) AS p ON p.source = c.at_source
LEFT JOIN (
    SELECT source, generation, start, any(tuple(message_id)).1 AS message_id, any(tuple(uuid)).1 AS uuid
    FROM lines WHERE type = 'assistant' GROUP BY source, generation, start
) AS l ON l.source = c.at_source AND l.generation = c.at_generation AND l.start = c.at_start
WHERE NOT c.gone
"""
"""The calls of all files, with what tells the answers that made them."""

_PERSONS = "SELECT session, (isNull(person), ifNull(toString(person), '')) AS whose FROM summaries FINAL"
# As `packing.unpack_uuid` has it: 16 bytes, or text between bytes that no text has.
_UUID = """
if(length(c.uuid) = 16, UUIDNumToString(toFixedString(substring(ifNull(c.uuid, ''), 1, 16), 16)),
    trim(BOTH unhex('ff') FROM ifNull(c.uuid, '')))
"""
_NAMED = f"""
SELECT e.whose AS whose, if(ifNull(c.id, '') != '', c.id, concat(c.source, ' ', toString(c.idx))) AS same,
    multiIf(ifNull(c.message_id, '') != '', ifNull(c.message_id, ''),
        ifNull(c.uuid, '') != '', concat('uuid:', {_UUID}),
        concat('at:', toString(c.start), ':', ifNull(c.at_source, ''))) AS message,
    (c.idx, c.source, ifNull(c.id, ''), ifNull(c.name, ''),
        c.state IN ({", ".join(f"'{state}'" for state in sorted(FAILED))}),
        greatest(ifNull(c.ended - c.started, 0), 0)) AS told,
    (isNull(c.ended), c.source, c.idx) AS worth
FROM ({CALLS}) AS c JOIN ({_PERSONS}) AS e ON e.session = c.session WHERE c.is_line
"""
_CHOSEN = f"""
SELECT whose, message, arraySort(groupArray(told)) AS calls FROM (
    SELECT whose, message, same, argMin(told, worth) AS told FROM ({_NAMED}) GROUP BY whose, message, same
) GROUP BY whose, message
"""


def _share(amount: str) -> str:
    """Return the part of the call with number `part` of `parts`; what cannot be split is in the first."""
    whole = f"toInt128({amount})"
    even = f"(intDiv({whole}, parts) - ({whole} - intDiv({whole}, parts) * parts < 0))"
    return f"{even} + if(part = 1, {whole} - {even} * parts, 0)"


_SPLIT = f"""
SELECT if(empty(calls), NULL, calls[part].4) AS name, terms, if(flags < 2, NULL, model) AS without_price,
    sum(toInt64(part = 1)), sum(toInt64(part = 1 AND bitAnd(flags, 1) = 1)),
    sum(toInt64(part = 1 AND flags >= 2)), {", ".join(f"sum({_share(name)})" for name in COUNTED)},
    min(time), max(time), sum(toInt64(notEmpty(calls))), sum(if(empty(calls), 0, toInt64(calls[part].5))),
    sum(if(empty(calls), 0, calls[part].6))
FROM (
    SELECT u.terms AS terms, u.model AS model, u.flags AS flags, u.time AS time,
        {", ".join(f"u.{name} AS {name}" for name in COUNTED)}, k.calls AS calls,
        toInt128(greatest(length(calls), 1)) AS parts
    FROM answers AS u FINAL JOIN ({_PERSONS}) AS e ON e.session = u.session
    LEFT JOIN ({_CHOSEN}) AS k ON k.whose = e.whose AND k.message = u.message_id
    WHERE {{}}
) ARRAY JOIN range(1, toUInt64(parts) + 1) AS part
GROUP BY name, terms, without_price
"""


def add_up_tools(reading: Reading, query: UsageQuery) -> ToolSums:
    """Return what calls of tools took, and what answers without calls did."""
    asked = ask(query, divide_time(reading, query))
    rows = reading.query(_SPLIT.format(asked.where), asked.values)
    return ToolSums(parts=[_build_sum(row) for row in rows], sessions=list_counted(reading, query, asked))


def _build_sum(row: Cells) -> ToolSum:
    name, terms, model, *amounts, calls, failed, took = row
    group = UsageGroup(_NOWHERE, "", unpack_text(model), None, None, None, unpack_text(terms))
    return ToolSum(unpack_text(name), build_stored_cell(group, NO_SLOT, amounts), calls, failed, took)
