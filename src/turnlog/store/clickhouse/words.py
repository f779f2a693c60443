"""The list of all words, in which fragments are looked for."""

from __future__ import annotations

from collections.abc import Collection

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.control.interface import Control
from turnlog.store.search.asking import Fragment

__all__ = ["list_unlisted", "list_words", "purge_words"]

_AT_ONCE = 20_000
_REPEATS = 4
"""So many times as many rows as words are looked at: some are listed more than once."""
_LIST = "SELECT word FROM words WHERE word LIKE {pattern:String} LIMIT {most:Int64}"
_MONTHS = "SELECT toYYYYMM(born) AS month, max(write) FROM words GROUP BY month ORDER BY month"
_NOBODYS = """
toYYYYMM(born) = {month:UInt32} AND write < {bound:UInt64}
AND word NOT IN (SELECT arrayJoin(words) FROM texts WHERE toYYYYMM(born) = {month:UInt32})
"""


def list_words(engine: Engine, fragment: Fragment, most: int) -> list[str] | None:
    """Return the words that contain a fragment, in order; None if there are more than `most`."""
    escaped = fragment.text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    pattern = f"{'%' if fragment.open_left else ''}{escaped}{'%' if fragment.open_right else ''}"
    rows = engine.query(_LIST, {"pattern": pattern, "most": _REPEATS * most})
    found = {word.decode() for (word,) in rows}
    return sorted(found) if len(found) <= most and len(rows) < _REPEATS * most else None


def list_unlisted(engine: Engine, words: Collection[str]) -> list[str]:
    """Return those of some words that are not listed, in order."""
    wanted = sorted(words)
    missing: list[str] = []
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        rows = engine.query("SELECT word FROM words WHERE word IN {words:Array(String)}", {"words": some})
        known = {word.decode() for (word,) in rows}
        missing += [word for word in some if word not in known]
    return missing


def purge_words(engine: Engine, control: Control, months: Collection[int] | None = None) -> None:
    """Delete words that no text has any more, of some months (as 202611) or of all.

    What writes that go on have listed stays: their texts may not be there yet.
    """
    newest = {month: write for month, write in engine.query(_MONTHS) if months is None or month in months}
    # Whatever is listed by now is by a write that is over, or among these.
    going_on = [unfinished.write for unfinished in control.list_unfinished()]
    for month, write in newest.items():
        engine.delete("words", _NOBODYS, {"month": month, "bound": min([write + 1, *going_on])})
