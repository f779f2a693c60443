"""How SQL names a session and a chapter of it, and says what is wanted of its rows."""

from __future__ import annotations

from collections.abc import Mapping

from turnlog.store.identity import Scope, SourceKind

__all__ = ["MAIN", "SESSION", "SOURCE", "Values", "build_conditions", "build_values", "name_chapter"]

SESSION = "(SELECT id FROM sessions WHERE owner = :owner AND key = :key)"
SOURCE = "(SELECT id FROM sources WHERE owner = :owner AND source = :source)"
MAIN = f"""(
    SELECT id FROM sources AS s WHERE session = {SESSION} AND kind = '{SourceKind.TRANSCRIPT}'
    ORDER BY EXISTS (SELECT 1 FROM messages WHERE session = s.session AND source = s.id) DESC,
        source = :key DESC
    LIMIT 1
)"""
"""The transcript: of several, the one that is read."""
Values = dict[str, str | bytes | int | None]


def name_chapter(source: str | None) -> str:
    """Return the expression for the number of a file; without one, of the transcript."""
    return MAIN if source is None else SOURCE


def build_values(scope: Scope, key: str, source: str | None) -> Values:
    """Return what these expressions need."""
    values: Values = {"owner": scope.owner, "key": key}
    return values if source is None else values | {"source": source}


def build_conditions(
    words: Mapping[str, tuple[str, ...] | None], numbers: Mapping[str, int | None]
) -> tuple[str, Values]:
    """Return conditions for columns of `t`, and their values; words are compared by their numbers."""
    clauses: list[str] = []
    values: Values = {}
    for column, wanted in words.items():
        if wanted is not None:
            names = [f"{column}{number}" for number in range(len(wanted))]
            given = ", ".join(f":{name}" for name in names)
            clauses.append(f"t.{column} IN (SELECT id FROM words WHERE word IN ({given}))")
            values |= zip(names, wanted, strict=True)
    for column, number in numbers.items():
        if number is not None:
            clauses.append(f"t.{column} = :{column}")
            values[column] = int(number)
    return "".join(f" AND {clause}" for clause in clauses), values
