"""Values: odd, long and many ones, and sessions that lack something."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from turnlog.store.batch import Derived
from turnlog.store.interface import find_known, find_sessions
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.store.model import LOCAL, Place
from turnlog.testing.answers import read_bytes
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.contracts.base import (
    ContractBase,
    expect_derived,
    find_source,
    get_derived,
    keep,
    read_records,
    replace_records,
    unpack_files,
)
from turnlog.testing.memory_session import FileRecords
from turnlog.testing.row_builders import make_message, make_session_row

_TRANSCRIPT = "session-1.jsonl"
_ODD = (
    "",
    " ",
    "0",
    "1e3",
    "null",
    'it\'s "quoted" \\ and -- ; DROP',
    "%_*?[a]",
    "a\0b\0",
    "\ufffd\ufeff\u2028\x1b[31m",
    "e\u0301 \u00e9 ß \u1e9e \u0130 \u0131",
    "日本語 👩‍👩‍👧 \U0010ffff",
    "long " * 200_000,
)
_LARGEST = 2**63 - 1


class ValueContract(ContractBase):
    """Contracts of what can be kept at all."""

    def test_odd_texts_survive_in_records_and_rows(self, tmp_path: Path) -> None:
        batch = make_batch({_TRANSCRIPT: make_lines(1)})
        records = replace(
            unpack_files(get_derived(batch))[batch.key],
            messages=tuple(
                make_message(index, id=text, rule=text, types=(text,), model=text)
                for index, text in enumerate(_ODD)
            ),
        )
        with self.opened(tmp_path) as store:
            for index, text in enumerate(_ODD):
                session = make_session_row(title=text, project=text, summary=text.encode())
                known = find_known(store, LOCAL, batch.key)
                batch = make_batch({_TRANSCRIPT: make_lines(index + 1)}, known=known)
                derived = replace_records(Derived(session=session), {batch.key: records})
                store.apply([replace(batch, derived=derived)])
                listed = store.list_sessions(LOCAL, SessionFilter(project=text)).sessions
                assert [each.row for each in listed] == [replace(session, summary=b"")]
                assert [each.row for each in find_sessions(store, LOCAL, batch.key)] == [session]
            assert read_records(store, batch.key) == records

    def test_odd_texts_survive_in_what_is_known_of_files(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            files = {f"session-1/odd {text[:500]}": text.encode() for text in _ODD if text.strip()}
            batch = keep(store, {_TRANSCRIPT: make_lines(1), **files})
            for path, data in files.items():
                known = find_source(find_known(store, LOCAL, batch.key), path)
                assert read_bytes(store, LOCAL, known.source, 0) == data

    def test_names_of_files_may_be_no_text(self, tmp_path: Path) -> None:
        path = "session-1/caf\udce9 \udcff.txt"
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2), path: b"x"})
            known = find_source(find_known(store, LOCAL, batch.key), path)
            assert read_bytes(store, LOCAL, known.source, 0) == b"x"
            records = unpack_files(get_derived(batch))[batch.key]
            records = replace(records, calls=(replace(records.calls[0], path=path),))
            session = replace(get_derived(batch).session, project="/caf\udce9")
            derived = replace_records(replace(get_derived(batch), session=session), {batch.key: records})
            keep(store, {_TRANSCRIPT: make_lines(3), path: b"x"}, derived=derived)
            assert read_records(store, batch.key) == records
            found = store.list_sessions(LOCAL, SessionFilter(project="/caf\udce9")).sessions
            assert [each.row for each in found] == [replace(session, summary=b"")]

    def test_uuids_come_back_as_they_were_written(self, tmp_path: Path) -> None:
        plain = "0123abcd-45ef-4678-89ab-cdef01234567"
        names = (plain, plain.upper(), plain.replace("-", ""), f"{{{plain}}}", plain[:-1], f"{plain[:-1]}g")
        data = b"".join(
            make_line(number, uuid=name, parentUuid=name, sessionId=name) for number, name in enumerate(names)
        )
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data})
            records = read_records(store, batch.key)
            for field in ("uuid", "parent_uuid", "session_id"):
                assert [getattr(line, field) for line in records.lines] == [*names]
            assert [message.id for message in records.messages] == [*names]

    def test_odd_texts_survive_in_lines(self, tmp_path: Path) -> None:
        lines = [make_line(number, text=text, uuid=text) for number, text in enumerate(_ODD)]
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: b"".join(lines)})
            facts = read_records(store, batch.key).lines
            assert [fact.uuid for fact in facts] == [*_ODD]
            for fact, line in zip(facts, lines, strict=True):
                place = Place(batch.key, 0, fact.offset)
                assert store.archive.read(LOCAL, place, fact.length) == line.rstrip(b"\n")

    def test_bytes_that_are_no_text_survive(self, tmp_path: Path) -> None:
        data = b"".join(
            (
                b"\xef\xbb\xbf",
                make_line(0, uuid="half").replace(b'"half"', b'"\\ud83d half"'),
                make_line(1).replace(b"hello", b"\xff\xfe\x80"),
                b"\0\0\0\n\r\nnot json\n",
                make_line(2).replace(b"hello", b"\\u0000"),
                b'{"torn":"\xf0\x9f',
            )
        )
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data})
            assert read_bytes(store, LOCAL, batch.key, 0) == data
            expect_derived(store, batch.key, get_derived(batch))

    def test_large_numbers_survive(self, tmp_path: Path) -> None:
        batch = make_batch({_TRANSCRIPT: make_lines(2)})
        records = unpack_files(get_derived(batch))[batch.key]
        [sighting] = records.sightings
        records = replace(
            records,
            messages=(make_message(0, time=-_LARGEST, turn=_LARGEST),),
            sightings=(replace(sighting, input=_LARGEST, offset=_LARGEST, time=-1),),
        )
        session = make_session_row(input_tokens=_LARGEST, first_time=-1, last_time=_LARGEST, cost="9" * 40)
        derived = replace_records(Derived(session=session), {batch.key: records})
        with self.opened(tmp_path) as store:
            store.apply([replace(batch, derived=derived)])
            expect_derived(store, batch.key, derived)

    def test_rows_without_anything_optional_survive(self, tmp_path: Path) -> None:
        empty = make_session_row(
            session_id=None, title=None, project=None, first_time=None, last_time=None, cost=None, summary=b""
        )
        batch = make_batch({_TRANSCRIPT: b"{}\n"}, derived=Derived(session=empty))
        with self.opened(tmp_path) as store:
            store.apply([batch])
            for order in SessionOrder:
                assert [found.row for found in store.list_sessions(LOCAL, order=order).sessions] == [empty]

    def test_an_empty_session_is_a_session(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: b""})
            [session] = store.list_sessions(LOCAL).sessions
            assert (session.key, session.present) == (batch.key, True)
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, 0)]
            assert read_bytes(store, LOCAL, batch.key, 0) == b""
            assert read_records(store, batch.key) == FileRecords()
            keep(store, {_TRANSCRIPT: make_lines(2)})
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(make_lines(2)))]

    def test_a_session_without_a_transcript_is_a_session(self, tmp_path: Path) -> None:
        agent = "session-1/subagents/agent-a1.jsonl"
        with self.opened(tmp_path) as store:
            batch = keep(store, {agent: make_lines(2, agent_id="a1")})
            assert batch.key == make_key()
            [session] = store.list_sessions(LOCAL).sessions
            assert (session.key, session.present) == (batch.key, False)
            with store.open_session(LOCAL, batch.key) as opened:
                assert opened.main is None
                assert [agent.id for agent in opened.list_agents()] == ["a1"]
            assert [found.key for found in find_sessions(store, LOCAL, "session-1")] == [batch.key]
            keep(store, {_TRANSCRIPT: make_lines(2), agent: make_lines(2, agent_id="a1")})
            [session] = store.list_sessions(LOCAL).sessions
            assert session.present
            assert len(read_records(store, batch.key).messages) == 2

    def test_a_session_may_have_ten_thousand_messages(self, tmp_path: Path) -> None:
        data = b"".join(b'{"n":%d}\n' % number for number in range(10_000))
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data})
            expect_derived(store, batch.key, get_derived(batch))
            messages = unpack_files(get_derived(batch))[batch.key].messages
            assert len(messages) == 10_000
            with store.open_session(LOCAL, batch.key) as session:
                assert session.main is not None
                assert session.main.list_after(5000, 100) == [*messages[5000:5100]]
