"""Sessions that say something about usage: made up, and written to any store."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.identity import Scope
from turnlog.store.interface import Store
from turnlog.store.rows import SightingRow
from turnlog.testing.builders import make_batch, make_key
from turnlog.testing.row_builders import make_session_row

SESSIONS = ("a", "b", "c")
FILES = (".jsonl", "/subagents/agent-1.jsonl")
GUEST = Scope("guest")
QUARTER = 900_000_000

Files = dict[str, list[SightingRow]]
"""What each file of a session says, by the end of its name."""

sightings = st.builds(
    SightingRow,
    index=st.just(0),
    source=st.just(""),
    message_id=st.sampled_from(["msg_1", "msg_2", "msg_3", "x", ""]),
    session_id=st.sampled_from(["a", "b"]),
    offset=st.integers(0, 3),
    time=st.sampled_from([None, 0, 1, QUARTER - 1, QUARTER, -1, 1_772_323_200_000_000]),
    model=st.sampled_from([None, "claude-opus-5", "claude-haiku-4-5", "glm-5"]),
    input=st.integers(0, 3),
    output=st.integers(0, 2),
    cache_read=st.sampled_from([0, 250_000]),
    cache_write_5m=st.integers(0, 2),
    cache_write_1h=st.integers(0, 2),
    web_searches=st.integers(0, 1),
    ended=st.booleans(),
    speed=st.sampled_from([None, "fast", "a b"]),
    agent=st.sampled_from([None, "Explore"]),
    agent_id=st.sampled_from([None, "a1"]),
    skill=st.sampled_from([None, "brew", "pour"]),
    mcp_server=st.sampled_from([None, "kettle"]),
)
files = st.dictionaries(st.sampled_from(FILES), st.lists(sightings, max_size=4), min_size=1)
steps = st.lists(
    st.tuples(st.sampled_from(["local", "guest"]), st.sampled_from(SESSIONS), st.one_of(st.none(), files)),
    max_size=8,
)


def make_sighting(message: str, **values: object) -> SightingRow:
    row = SightingRow(
        index=0, source="", message_id=message, session_id="a", offset=0, time=0, model="claude-opus-5",
        input=10, output=20, cache_read=0, cache_write_5m=0, cache_write_1h=0, web_searches=0, ended=True,
    )  # fmt: skip
    return replace(row, **values)


def say(store: Store, owner: str, session: str, said: Files, lines: int) -> Files:
    """Let the files of a session say something, and be so many lines long; return it as it was written.

    What they said before does not count any more.
    """
    known = store.find_known(Scope(owner), make_key(session))
    data = {f"{session}{end}": b"{}\n" * lines for end in FILES}
    probe = make_batch(data, session_id=session, owner=owner, known=known)
    assert probe.derived is not None
    names = {end: chapter.source for end, chapter in zip(FILES, probe.derived.chapters, strict=True)}
    rows = {
        end: [replace(row, index=at, source=names[end]) for at, row in enumerate(said.get(end, []))]
        for end in FILES
    }
    derived = DerivedRows(
        session=make_session_row(session, project=f"/work/{session}", title=f"Session {session}"),
        chapters=tuple(ChapterRows(names[end], sightings=tuple(rows[end])) for end in FILES),
    )
    store.apply([make_batch(data, session_id=session, owner=owner, known=known, rows=derived)])
    return rows
