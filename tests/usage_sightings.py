"""Sessions that say something about usage: made up, and written to any store."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from turnlog.store.batch import Derived
from turnlog.store.interface import Store, find_known
from turnlog.store.model import Scope
from turnlog.testing.builders import make_batch, make_key, make_session_row
from turnlog.testing.checks import get_derived, replace_records, unpack_files
from turnlog.transcripts.segments import SightingRecord

SESSIONS = ("a", "b", "c")
FILES = (".jsonl", "/subagents/agent-1.jsonl")
GUEST = Scope("guest")
QUARTER = 900_000_000

Files = dict[str, list[SightingRecord]]
"""What each file of a session says, by the end of its name; or by its source."""

sightings = st.builds(
    SightingRecord,
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


def make_sighting(message: str, **values: object) -> SightingRecord:
    row = SightingRecord(
        message_id=message, session_id="a", offset=0, time=0, model="claude-opus-5",
        input=10, output=20, cache_read=0, cache_write_5m=0, cache_write_1h=0, web_searches=0, ended=True,
    )  # fmt: skip
    return replace(row, **values)


def say(store: Store, owner: str, session: str, said: Files, lines: int, before: Files | None = None) -> Files:
    """Let the files of a session say something, and be so many lines long; return it by their sources.

    What they said before does not count any more. If that is given, the batch tells only what is new, unless
    nothing is said any more of an answer: that no batch of a file that grows can tell.
    """
    known = find_known(store, Scope(owner), make_key(session))
    data = {f"{session}{end}": b"{}\n" * lines for end in FILES}
    batch = make_batch(data, session_id=session, owner=owner, known=known)
    records = {
        source: replace(each, sightings=tuple(said.get(end, ())))
        for end, (source, each) in zip(FILES, unpack_files(get_derived(batch)).items(), strict=True)
    }
    row = make_session_row(session, project=f"/work/{session}", title=f"Session {session}", lines=lines)
    derived = replace_records(Derived(session=row), records)
    told = {source: [*each.sightings] for source, each in records.items()}
    if before is not None and known is not None and _list_answers(before) <= _list_answers(told):
        changed = {
            each.message_id
            for source in told
            for each in (*told[source], *before.get(source, ()))
            if before.get(source, []).count(each) != told[source].count(each)
        }
        usage = tuple(each for each in derived.usage if each[1].message_id in changed)
        derived = replace(derived, usage=usage, is_partial=True)
        batch = replace(batch, base_revision=known.revision)
    store.apply([replace(batch, derived=derived)])
    return told


def _list_answers(said: Files) -> set[str]:
    return {each.message_id for some in said.values() for each in some}
