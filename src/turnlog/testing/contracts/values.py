"""Values: odd, long and many ones, and sessions that lack something."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.identity import LOCAL, Place
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.testing.answers import read_bytes
from turnlog.testing.builders import make_batch, make_key, make_line, make_lines
from turnlog.testing.contracts.base import ContractBase, expect_rows, find_source, keep
from turnlog.testing.row_builders import make_message_row, make_session_row

__all__ = ["ValueContract"]

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

    def test_odd_texts_survive_in_rows(self, tmp_path: Path) -> None:
        batch = make_batch({_TRANSCRIPT: make_lines(1)})
        rows = tuple(
            make_message_row(index, batch.key, 0, id=text, rule=text, types=(text,), model=text)
            for index, text in enumerate(_ODD)
        )
        with self.opened(tmp_path) as store:
            for index, text in enumerate(_ODD):
                session = make_session_row(title=text, project=text, summary=text.encode())
                known = store.find_known(LOCAL, batch.key)
                batch = make_batch({_TRANSCRIPT: make_lines(index + 1)}, known=known)
                derived = DerivedRows(session=session, chapters=(ChapterRows(batch.key, rows),))
                store.apply([replace(batch, derived=derived)])
                found = store.list_sessions(LOCAL, SessionFilter(project=text)).sessions
                assert [each.row for each in found] == [session]
            assert store.list_messages(LOCAL, batch.key) == [*rows]

    def test_odd_texts_survive_in_what_is_known_of_files(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            files = {f"session-1/odd {text[:500]}": text.encode() for text in _ODD if text.strip()}
            batch = keep(store, {_TRANSCRIPT: make_lines(1), **files})
            for path, data in files.items():
                known = find_source(store.find_known(LOCAL, batch.key), path)
                assert read_bytes(store, LOCAL, known.source, 0) == data

    def test_names_of_files_may_be_no_text(self, tmp_path: Path) -> None:
        path = "session-1/caf\udce9 \udcff.txt"
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2), path: b"x"})
            known = find_source(store.find_known(LOCAL, batch.key), path)
            assert read_bytes(store, LOCAL, known.source, 0) == b"x"
            assert batch.derived is not None
            [chapter] = batch.derived.chapters
            call = replace(chapter.calls[0], path=path)
            session = replace(batch.derived.session, project="/caf\udce9")
            rows = replace(batch.derived, session=session, chapters=(replace(chapter, calls=(call,)),))
            keep(store, {_TRANSCRIPT: make_lines(3), path: b"x"}, rows=rows)
            assert store.list_calls(LOCAL, batch.key) == [call]
            found = store.list_sessions(LOCAL, SessionFilter(project="/caf\udce9")).sessions
            assert [each.row for each in found] == [session]

    def test_uuids_come_back_as_they_were_written(self, tmp_path: Path) -> None:
        plain = "0123abcd-45ef-4678-89ab-cdef01234567"
        names = (plain, plain.upper(), plain.replace("-", ""), f"{{{plain}}}", plain[:-1], f"{plain[:-1]}g")
        data = b"".join(
            make_line(number, uuid=name, parentUuid=name, sessionId=name) for number, name in enumerate(names)
        )
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data})
            facts = store.list_lines(LOCAL, batch.key, 0)
            for field in ("uuid", "parent_uuid", "session_id"):
                assert [getattr(fact, field) for fact in facts] == [*names]
            assert [row.id for row in store.list_messages(LOCAL, batch.key)] == [*names]

    def test_a_message_may_be_made_of_lines_of_several_files_and_generations(self, tmp_path: Path) -> None:
        agent = "session-1/subagents/agent-a1.jsonl"
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(4), agent: make_lines(2, agent_id="a1")})
            [one, two] = [source.source for source in batch.sources]
            places = (
                (),
                (Place(one, 0, 9), Place(one, 0, 3), Place(one, 0, 3)),
                (Place(one, 0, 5), Place(one, 1, 5)),
                (Place(one, 1, 0), Place(two, 0, 0)),
                (Place(two, 0, 2),),
                (Place("a file of another session", 0, 7), Place(one, 0, 1)),
            )
            rows = tuple(make_message_row(index, one, 0, lines=lines) for index, lines in enumerate(places))
            derived = DerivedRows(session=make_session_row(), chapters=(ChapterRows(one, rows),))
            keep(store, {_TRANSCRIPT: make_lines(4, first=9)}, rows=derived)
            assert store.list_messages(LOCAL, batch.key) == [*rows]

    def test_odd_texts_survive_in_lines(self, tmp_path: Path) -> None:
        lines = [make_line(number, text=text, uuid=text) for number, text in enumerate(_ODD)]
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: b"".join(lines)})
            facts = store.list_lines(LOCAL, batch.key, 0)
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
            assert store.list_lines(LOCAL, batch.key, 0) == [*batch.sources[0].lines]

    def test_large_numbers_survive(self, tmp_path: Path) -> None:
        batch = make_batch({_TRANSCRIPT: make_lines(2)})
        assert batch.derived is not None
        [chapter] = batch.derived.chapters
        [sighting] = chapter.sightings
        chapter = replace(
            chapter,
            messages=(make_message_row(0, batch.key, 0, time=-_LARGEST, turn=_LARGEST),),
            sightings=(replace(sighting, input=_LARGEST, offset=_LARGEST, time=-1),),
        )
        rows = DerivedRows(
            session=make_session_row(input_tokens=_LARGEST, first_time=-1, last_time=_LARGEST, cost="9" * 40),
            chapters=(chapter,),
        )
        with self.opened(tmp_path) as store:
            store.apply([replace(batch, derived=rows)])
            expect_rows(store, batch.key, rows)

    def test_rows_without_anything_optional_survive(self, tmp_path: Path) -> None:
        empty = make_session_row(
            session_id=None, title=None, project=None, first_time=None, last_time=None, cost=None, summary=b""
        )
        batch = make_batch({_TRANSCRIPT: b"{}\n"}, rows=DerivedRows(session=empty))
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
            assert store.list_messages(LOCAL, batch.key) == []
            keep(store, {_TRANSCRIPT: make_lines(2)})
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(make_lines(2)))]

    def test_a_session_without_a_transcript_is_a_session(self, tmp_path: Path) -> None:
        agent = "session-1/subagents/agent-a1.jsonl"
        with self.opened(tmp_path) as store:
            batch = keep(store, {agent: make_lines(2, agent_id="a1")})
            assert batch.key == make_key()
            [session] = store.list_sessions(LOCAL).sessions
            assert (session.key, session.present) == (batch.key, False)
            assert [row.id for row in store.list_agents(LOCAL, batch.key)] == ["a1"]
            assert [found.key for found in store.find_sessions(LOCAL, "session-1")] == [batch.key]
            keep(store, {_TRANSCRIPT: make_lines(2), agent: make_lines(2, agent_id="a1")})
            [session] = store.list_sessions(LOCAL).sessions
            assert session.present
            assert len(store.list_messages(LOCAL, batch.key)) == 2

    def test_a_session_may_have_ten_thousand_messages(self, tmp_path: Path) -> None:
        data = b"".join(b'{"n":%d}\n' % number for number in range(10_000))
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data})
            assert batch.derived is not None
            [chapter] = batch.derived.chapters
            rows = chapter.messages
            assert len(rows) == 10_000
            assert store.list_messages(LOCAL, batch.key) == [*rows]
            window = store.list_messages(LOCAL, batch.key, first=5000, count=100)
            assert window == [*rows[5000:5100]]
            assert len(store.list_lines(LOCAL, batch.key, 0)) == 10_000
