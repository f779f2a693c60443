"""Contracts of bytes, values, chapters and scans: all comes back as it was, in the parts that are asked for."""

from __future__ import annotations

from pathlib import Path
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.ingest.session_scan import scan_session, vanish
from turnlog.store.batch import ChapterBatch, Derived, SessionBatch
from turnlog.store.interface import KnownSession, Store, find_known, find_sessions, read_all
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.store.model import LOCAL, Place, name_source
from turnlog.store.usage_recount import RecountedUsage, list_differences
from turnlog.testing.builders import (
    ORIGIN,
    TIME,
    FileRecords,
    make_batch,
    make_key,
    make_line,
    make_lines,
    make_message,
    make_outline,
    make_session_row,
    unpack_records,
)
from turnlog.testing.checks import (
    ContractBase,
    collect_answers,
    expect_derived,
    find_source,
    get_derived,
    keep,
    read_bytes,
    read_records,
    refused,
    replace_records,
    unpack_files,
)
from turnlog.transcripts.segments import SEGMENT
from turnlog.transcripts.session_files import locate_path

_TRANSCRIPT = "session-1.jsonl"
_LARGE = 900 * 1024
"""Several frames and a tail."""


class ArchiveContract(ContractBase):
    """Contracts of the archive."""

    def test_bytes_come_back_from_any_range_across_frames_and_tail(self, tmp_path: Path) -> None:
        data = _make_large()
        half = data.index(b"\n", len(data) // 2) + 1
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: data[:half]})
            batch = keep(store, {_TRANSCRIPT: data})
            edges = {0, 1, half, len(data) - 1, 256 * 1024, *(frame.start for frame in batch.sources[0].frames)}
            for edge in edges:
                for start in (max(edge - 3, 0), edge):
                    for length in (1, 7, 300 * 1024):
                        length = min(length, len(data) - start)
                        assert _read(store, batch.key, start, length) == data[start : start + length]
            assert read_bytes(store, LOCAL, batch.key, 0) == data

    def test_a_whole_generation_is_what_it_was_when_it_was_asked_for(self, tmp_path: Path) -> None:
        """Even if the file grows on, or begins anew, before it is read."""
        data = _make_large()
        half = data.index(b"\n", len(data) // 2) + 1
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data[:half]})
            pieces = read_all(store.archive, LOCAL, batch.key, 0)
            keep(store, {_TRANSCRIPT: data})
            keep(store, {_TRANSCRIPT: b"anew\n"})
            assert b"".join(pieces) == data[:half]
            for source, generation in ((batch.key, 2), ("nowhere", 0)):
                try:
                    read_all(store.archive, LOCAL, source, generation)
                except KeyError:
                    continue
                raise AssertionError("there is no such generation")

    def test_no_bytes_can_be_read_of_a_length_of_zero(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: b"abc\n"})
            assert _read(store, batch.key, 2, 0) == b""

    def test_bytes_that_are_not_there_are_a_key_error(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: b"abc\n"})
            for at, length in (
                (Place("nowhere", 0, 0), 1),
                (Place(batch.key, 1, 0), 1),
                (Place(batch.key, 0, 4), 1),
                (Place(batch.key, 0, 2), 3),
            ):
                try:
                    found = store.archive.read(LOCAL, at, length)
                except KeyError:
                    continue
                raise AssertionError(f"{at} gave {found!r}")

    def test_many_small_appends_come_back_as_one_file(self, tmp_path: Path) -> None:
        data = b""
        with self.opened(tmp_path) as store:
            for number in range(30):
                data += make_line(number, text="x" * 20_000 + str(number))
                batch = keep(store, {_TRANSCRIPT: data})
            assert read_bytes(store, LOCAL, batch.key, 0) == data
            for start in (0, 255 * 1024, 300 * 1024, len(data) - 20):
                assert _read(store, batch.key, start, 20) == data[start : start + 20]
            known = find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT)
            assert (known.length, known.lines) == (len(data), 30)

    def test_a_torn_last_line_is_archived_before_it_is_a_line(self, tmp_path: Path) -> None:
        whole, torn = make_lines(2), make_line(2)[:25]
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: whole + torn})
            known = find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT)
            assert (known.length, known.consumed, known.lines) == (len(whole + torn), len(whole), 2)
            assert _read(store, batch.key, known.consumed, len(torn)) == torn
            keep(store, {_TRANSCRIPT: whole + make_line(2)})
            assert read_bytes(store, LOCAL, batch.key, 0) == make_lines(2) + make_line(2)
            assert [line.number for line in read_records(store, batch.key).lines] == [0, 1, 2]

    def test_appended_bytes_extend_a_generation(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(2)})
            batch = keep(store, {_TRANSCRIPT: make_lines(5)})
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(make_lines(5)))]
            facts = read_records(store, batch.key).lines
            assert [fact.number for fact in facts] == [0, 1, 2, 3, 4]
            lines = make_lines(5).splitlines()
            assert [_read(store, batch.key, fact.offset, fact.length) for fact in facts] == lines

    def test_a_new_generation_keeps_the_old_one_readable(self, tmp_path: Path) -> None:
        old, new = make_lines(4), make_lines(3, first=7)
        with self.opened(tmp_path) as store:
            before = keep(store, {_TRANSCRIPT: old})
            keep(store, {_TRANSCRIPT: new})
            known = find_source(find_known(store, LOCAL, before.key), _TRANSCRIPT)
            assert (known.generation, known.length, known.lines) == (1, len(new), 3)
            assert store.archive.list_generations(LOCAL, before.key) == [(0, len(old)), (1, len(new))]
            assert read_bytes(store, LOCAL, before.key, 0) == old
            assert read_bytes(store, LOCAL, before.key, 1) == new
            assert len(read_records(store, before.key).lines) == 3

    def test_a_generation_may_be_empty(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(1)})
            batch = keep(store, {_TRANSCRIPT: b""})
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(make_lines(1))), (1, 0)]
            assert read_bytes(store, LOCAL, batch.key, 1) == b""

    def test_files_that_are_not_read_by_lines_are_kept_whole(self, tmp_path: Path) -> None:
        files = {
            _TRANSCRIPT: make_lines(1),
            "session-1/subagents/agent-a1.meta.json": b'{"agentType":"x"}',
            "session-1/tool-results/b1.txt": bytes(range(256)) * 2000,
            "session-1/custom-title.json": b"",
            "session-1/notes": b"\0\xff\n\n",
        }
        with self.opened(tmp_path) as store:
            batch = keep(store, files)
            for source in find_known(store, LOCAL, batch.key).sources:  # type: ignore[union-attr]
                [data] = [files[path] for path in files if source.path.endswith(f"/{path}")]
                assert read_bytes(store, LOCAL, source.source, 0) == data
                assert bool(read_records(store, batch.key, source.source).lines) == source.kind.has_lines

    def test_vanished_files_are_marked_and_their_bytes_stay(self, tmp_path: Path) -> None:
        agent = "session-1/subagents/agent-a1.jsonl"
        files = {_TRANSCRIPT: make_lines(3), agent: make_lines(2, agent_id="a1")}
        with self.opened(tmp_path) as store:
            batch = keep(store, files)
            records = read_records(store, batch.key)
            keep(store, {_TRANSCRIPT: files[_TRANSCRIPT]})
            known = find_source(find_known(store, LOCAL, batch.key), agent)
            assert not known.present
            assert find_source(find_known(store, LOCAL, batch.key), _TRANSCRIPT).present
            keep(store, {})
            [session] = store.list_sessions(LOCAL).sessions
            assert not session.present
            assert read_bytes(store, LOCAL, known.source, 0) == files[agent]
            assert read_bytes(store, LOCAL, batch.key, 0) == files[_TRANSCRIPT]
            assert read_records(store, batch.key) == records
            assert len(read_records(store, batch.key, known.source).lines) == 2

    def test_a_file_that_is_back_is_marked_as_there(self, tmp_path: Path) -> None:
        files = {_TRANSCRIPT: make_lines(3)}
        with self.opened(tmp_path) as store:
            keep(store, files)
            keep(store, {})
            batch = keep(store, files)
            [session] = store.list_sessions(LOCAL).sessions
            assert session.present
            assert store.archive.list_generations(LOCAL, batch.key) == [(0, len(files[_TRANSCRIPT]))]
            assert read_bytes(store, LOCAL, batch.key, 0) == files[_TRANSCRIPT]

    def test_a_moved_file_keeps_its_source(self, tmp_path: Path) -> None:
        data = make_lines(3)
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: data})
            keep(store, {"moved/here.jsonl": data + make_line(3)}, moved={"moved/here.jsonl": _TRANSCRIPT})
            [known] = find_known(store, LOCAL, batch.key).sources  # type: ignore[union-attr]
            assert (known.source, known.generation) == (batch.key, 0)
            assert known.path.endswith("/moved/here.jsonl")
            [session] = store.list_sessions(LOCAL).sessions
            assert (session.path, session.present) == (known.path, True)
            assert read_bytes(store, LOCAL, batch.key, 0) == data + make_line(3)

    def test_damaged_frames_are_refused(self, tmp_path: Path) -> None:
        """At once, or when they are read; never given out as if they were right."""
        with self.opened(tmp_path) as store:
            batch = _make_damaged()
            try:
                store.apply([batch])
                found = read_bytes(store, LOCAL, batch.key, 0)
            except StoreError:
                return
            raise AssertionError(f"a wrong digest was not noticed: {found!r}")


def _read(store: Store, source: str, offset: int, length: int) -> bytes:
    return store.archive.read(LOCAL, Place(source, 0, offset), length)


def _make_large() -> bytes:
    """Return lines that do not compress to nothing, so that places in them can be told apart."""
    lines: list[bytes] = []
    size = 0
    while size < _LARGE:
        number = len(lines)
        lines.append(
            make_line(number, text=" ".join(str(number * 7919 + step) for step in range(number % 400)))
        )
        size += len(lines[-1])
    return b"".join(lines)


def _make_damaged() -> SessionBatch:
    batch = make_batch({_TRANSCRIPT: make_lines(2)})
    [source] = batch.sources
    [frame] = source.frames
    wrong = replace(source, frames=(replace(frame, digest=bytes(len(frame.digest))),))
    return replace(batch, sources=(wrong,))


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


_AGENTS = tuple(f"session-1/subagents/agent-a{number}.jsonl" for number in range(1, 4))
_FILES = {
    _TRANSCRIPT: make_lines(6),
    **{path: make_lines(4, agent_id=path[-8:-6]) for path in _AGENTS},
}


class ChapterContract(ContractBase):
    """Contracts of segments by chapter."""

    def test_chapters_that_are_not_named_stay_as_they_are(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = keep(store, _FILES)
            second = _append(store, _AGENTS[0])
            chapters = {chapter.source: chapter for chapter in get_derived(first).chapters}
            [named] = get_derived(second).chapters
            assert len(unpack_records(named.segments).messages) == 6
            merged = tuple({**chapters, named.source: named}.values())
            expect_derived(store, first.key, replace(get_derived(second), chapters=merged))

    def test_turns_and_agents_are_replaced_alone_where_no_chapter_is_named(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, _FILES)
            with store.open_session(LOCAL, batch.key) as session:
                outline = make_outline(session.list_turns(0, 1), ())
            derived = replace(get_derived(batch), outline=outline)
            store.apply([replace(batch, sources=(), derived=replace(derived, chapters=()))])
            expect_derived(store, batch.key, derived)

    def test_an_empty_chapter_is_emptied(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = keep(store, _FILES)
            one, *others = get_derived(batch).chapters
            for emptied in (others[0].source, one.source):
                derived = replace(get_derived(batch), chapters=(ChapterBatch(emptied, 0),))
                store.apply([replace(batch, sources=(), derived=derived)])
                assert read_records(store, batch.key, emptied) == FileRecords()
            left = tuple(
                ChapterBatch(each.source, 0) if each in (one, others[0]) else each for each in (one, *others)
            )
            expect_derived(store, batch.key, replace(get_derived(batch), chapters=left))

    def test_a_line_more_in_one_file_writes_nothing_of_others(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            if not isinstance(getattr(store, "writes", None), int):
                raise SkipTest("the store does not count its writes")
            keep(store, {_TRANSCRIPT: make_lines(2), _AGENTS[0]: make_lines(400, agent_id="a1")})
            before: int = store.writes  # type: ignore[attr-defined]
            keep(store, {_TRANSCRIPT: make_lines(3), _AGENTS[0]: make_lines(400, agent_id="a1")})
            assert 0 < store.writes - before < 40  # type: ignore[attr-defined]

    def test_a_chapter_that_is_no_file_of_the_session_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            other = keep(store, {"session-2.jsonl": make_lines(2)}, session_id="session-2")
            batch = keep(store, _FILES)
            before = collect_answers(store, LOCAL)
            for source in (other.key, "nobody's"):
                derived = replace(get_derived(batch), chapters=(ChapterBatch(source, 0),))
                with refused():
                    store.apply([replace(batch, sources=(), derived=derived)])
                assert collect_answers(store, LOCAL) == before

    def test_files_of_a_session_come_by_source_the_transcript_first(self, tmp_path: Path) -> None:
        """Whichever came first, so that all stores list them alike."""
        with self.opened(tmp_path) as store:
            for count in range(1, len(_FILES) + 1):
                batch = keep(store, dict(list(reversed(_FILES.items()))[:count]))
            agents = [find_source(find_known(store, LOCAL, batch.key), path).source for path in _AGENTS]
            with store.open_session(LOCAL, batch.key) as session:
                assert [file.source for file in session.files] == [batch.key, *sorted(agents)]
                facts = [(file.facts.is_main, file.facts.generation) for file in session.files]
                assert facts == [(True, 0), (False, 0), (False, 0), (False, 0)]
                names = {file.facts.path.rpartition("/")[2]: file.facts.agent_id for file in session.files[1:]}
                assert names == {f"agent-a{number}.jsonl": f"a{number}" for number in (1, 2, 3)}

    def test_a_journal_has_lines_and_no_messages(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            path = "session-1/workflows/wf_1/journal.jsonl"
            batch = keep(store, {_TRANSCRIPT: make_lines(2), path: b'{"n":1}\n{"n":2}\n'})
            source = find_source(find_known(store, LOCAL, batch.key), path).source
            with store.open_session(LOCAL, batch.key) as session:
                assert [chapter.source for chapter in session.chapters] == [batch.key]
                assert [file.source for file in session.files] == [batch.key, source]
                assert session.files[1].read_raw([0, 1]) == {0: b'{"n":1}', 1: b'{"n":2}'}
                assert session.find_chapter(source) is None

    def test_a_session_may_get_its_transcript_late(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {path: _FILES[path] for path in _AGENTS})
            key = make_key()
            with store.open_session(LOCAL, key) as session:
                assert (len(session.chapters), session.main) == (3, None)
            keep(store, _FILES)
            with store.open_session(LOCAL, key) as session:
                assert session.main is session.find_chapter(None) is session.find_chapter(key) is not None
                assert session.find_chapter("nobody's") is None
            with store.open_session(LOCAL, "nobody's") as session:
                assert session.files == ()

    def test_of_several_transcripts_the_one_with_messages_counts(self, tmp_path: Path) -> None:
        other = "session-1 again.jsonl"
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(2), other: make_lines(4)})
            one, two = get_derived(batch).chapters
            for read, left in ((one, two), (two, one)):
                derived = replace(get_derived(batch), chapters=(read, ChapterBatch(left.source, 0)))
                store.apply([replace(batch, sources=(), derived=derived)])
                assert read_records(store, batch.key) == unpack_records(read.segments)
                with store.open_session(LOCAL, batch.key) as session:
                    assert [file.facts.is_main for file in session.files] == [True, False]

    def test_segments_come_back_as_they_were_written(self, tmp_path: Path) -> None:
        """At the ends of segments, growing from one to the next, and shrinking again."""
        with self.opened(tmp_path) as store:
            for first, count in ((0, 511), (0, 512), (0, 513), (0, 1100), (7, 1025), (7, 3)):
                batch = keep(store, {_TRANSCRIPT: make_lines(count, first=first)})
                [chapter] = get_derived(batch).chapters
                assert chapter.count == len(chapter.segments) == -(-count // SEGMENT)
                expect_derived(store, batch.key, get_derived(batch))

    def test_the_heads_of_segments_are_kept_where_nothing_else_differs(self, tmp_path: Path) -> None:
        """A segment of lines that are not shown is the same bytes, whatever number of messages is before it."""
        with self.opened(tmp_path) as store:
            batch = keep(store, {_TRANSCRIPT: make_lines(600)})
            lines = tuple(replace(line, message=None) for line in read_records(store, batch.key).lines)
            for count in (10, 11, 3, 0, 7):
                messages = tuple(make_message(index, index) for index in range(count))
                records = FileRecords(lines=lines, messages=messages)
                derived = replace_records(get_derived(batch), {batch.key: records})
                store.apply([replace(batch, sources=(), derived=derived)])
                expect_derived(store, batch.key, derived)

    def test_a_file_may_move_to_another_session(self, tmp_path: Path) -> None:
        """Its segments go with it, and what it says about usage counts once."""
        with self.opened(tmp_path) as store:
            first = keep(store, _FILES)
            source = find_source(_know(store), _AGENTS[0]).source
            grown = _look(store, {_AGENTS[0]: make_lines(6, agent_id="a1")})
            other = make_batch({"session-2.jsonl": make_lines(2)}, session_id="session-2")
            moved = unpack_files(get_derived(grown))[source]
            derived = replace_records(get_derived(other), {source: moved})
            sources = *other.sources, *(each for each in grown.sources if each.source == source)
            store.apply([replace(other, sources=sources, derived=derived)])
            expect_derived(store, other.key, derived)
            with store.open_session(LOCAL, first.key) as session:
                assert source not in {file.source for file in session.files}
            left = make_batch({path: data for path, data in _FILES.items() if path != _AGENTS[0]})
            store.apply([replace(left, sources=())])
            expect_derived(store, first.key, get_derived(left))
            assert list_differences(store.read_usage(LOCAL), RecountedUsage(store, LOCAL)) == []

    def test_the_derivation_is_kept_with_the_records(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            batch = make_batch({_TRANSCRIPT: make_lines(2)})
            store.apply([replace(batch, derivation=3)])
            assert _know(store).derivation == 3
            store.apply([replace(_look(store, {}), derivation=9)])
            assert _know(store).derivation == 3, "nothing was derived"
            seq = store.read_feed(LOCAL).last
            store.apply([replace(batch, sources=(), derivation=4)])
            assert _know(store).derivation == 4
            assert store.read_feed(LOCAL).last == seq, "no record is another one"

    def test_what_is_based_on_another_revision_is_refused(self, tmp_path: Path) -> None:
        """Two looks at once may read on in different files; their records are of neither's state."""
        with self.opened(tmp_path) as store:
            keep(store, _FILES)
            revision = _know(store).revision
            faster = _look(store, {**_FILES, _TRANSCRIPT: make_lines(8)})
            slower = _look(store, {**_FILES, _AGENTS[0]: make_lines(6, agent_id="a1")})
            store.apply([replace(faster, base_revision=revision)])
            before = collect_answers(store, LOCAL)
            with refused():
                store.apply([replace(slower, base_revision=revision)])
            assert collect_answers(store, LOCAL) == before
            store.apply([replace(slower, base_revision=revision + 1)])
            assert _know(store).revision == revision + 2

    def test_what_was_applied_already_is_not_refused_for_its_base(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            first = replace(make_batch({_TRANSCRIPT: make_lines(2)}), base_revision=0)
            store.apply([first])
            revision = _know(store).revision
            second = replace(_look(store, {_TRANSCRIPT: make_lines(4)}), base_revision=revision)
            store.apply([second])
            anew = replace(second, sources=(), base_revision=revision)
            before = collect_answers(store, LOCAL)
            for batch in (second, anew):
                store.apply([batch])
                assert collect_answers(store, LOCAL) == before

    def test_a_session_that_was_thought_to_be_new_is_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as store:
            keep(store, {_TRANSCRIPT: make_lines(2)})
            before = collect_answers(store, LOCAL)
            other = make_batch({_AGENTS[0]: make_lines(4, agent_id="a1")})
            with refused():
                store.apply([replace(other, base_revision=0)])
            assert collect_answers(store, LOCAL) == before


def _know(store: Store) -> KnownSession:
    known = find_known(store, LOCAL, make_key())
    assert known is not None
    return known


def _look(store: Store, files: dict[str, bytes]) -> SessionBatch:
    return make_batch(files, known=_know(store))


def _append(store: Store, path: str) -> SessionBatch:
    """Apply what two more lines of one file give, and name its chapter alone."""
    batch = _look(store, {**_FILES, path: make_lines(6, agent_id=path[-8:-6])})
    source = find_source(_know(store), path).source
    named = tuple(chapter for chapter in get_derived(batch).chapters if chapter.source == source)
    batch = replace(batch, derived=replace(get_derived(batch), chapters=named))
    store.apply([batch])
    return batch


_SCANNED = {
    _TRANSCRIPT: make_lines(5),
    "session-1/subagents/agent-a1.jsonl": make_lines(3, agent_id="a1"),
    "session-1/subagents/agent-a1.meta.json": b'{"agentType":"explorer"}',
    "session-1/tool-results/b1.txt": b"much\n" * 1000,
}


class ScanContract(ContractBase):
    """Contracts of a store and its archive with looks at files."""

    def test_what_a_look_gave_can_be_read_back(self, tmp_path: Path) -> None:
        folder = _write(tmp_path, _SCANNED)
        with self.opened(tmp_path) as store:
            batch = _scan(store, folder)
            _expect_kept(store, folder, batch)
            with store.open_session(LOCAL, batch.key) as session:
                assert session.list_agents() != []
                assert [chapter.count_messages for chapter in session.chapters] == [5, 3]

    def test_a_second_look_finds_nothing_new(self, tmp_path: Path) -> None:
        folder = _write(tmp_path, _SCANNED)
        with self.opened(tmp_path) as store:
            _scan(store, folder)
            assert _find_news(store, folder) is None

    def test_looks_at_a_growing_file_give_what_one_look_at_its_end_gives(self, tmp_path: Path) -> None:
        whole = _SCANNED[_TRANSCRIPT] + make_line(5, text="é" * 50) + make_line(6, type="assistant")
        with self.opened(tmp_path) as store:
            for end in (0, 10, len(make_lines(2)), len(make_lines(3)) + 40, len(whole) - 1, len(whole)):
                folder = _write(tmp_path, {**_SCANNED, _TRANSCRIPT: whole[:end]})
                batch = _scan(store, folder)
                _expect_kept(store, folder, batch)
            live = collect_answers(store, LOCAL)
        cold_path = tmp_path / "cold"
        cold_path.mkdir()
        with self.opened(cold_path) as store:
            _scan(store, folder)
            cold = collect_answers(store, LOCAL)
        for name in ("open_session", "read_usage", "read_all"):
            assert live[name] == cold[name] != [], name

    def test_a_session_whose_files_are_gone_can_still_be_read(self, tmp_path: Path) -> None:
        folder = _write(tmp_path, _SCANNED)
        with self.opened(tmp_path) as store:
            batch = _scan(store, folder)
            records = read_records(store, batch.key)
            known = find_known(store, LOCAL, batch.key)
            assert known is not None
            store.apply([vanish(known, LOCAL.owner, ORIGIN, TIME)])
            [session] = store.list_sessions(LOCAL).sessions
            assert not session.present
            assert read_records(store, batch.key) == records
            for path, data in _SCANNED.items():
                assert read_bytes(store, LOCAL, name_source(ORIGIN, str(folder / path)), 0) == data


def _write(tmp_path: Path, files: dict[str, bytes]) -> Path:
    folder = tmp_path / "projects" / "-work-project"
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def _find_news(store: Store, folder: Path) -> SessionBatch | None:
    [files] = locate_path(folder).sessions
    known = find_known(store, LOCAL, name_source(ORIGIN, str(folder / _TRANSCRIPT)))
    scan = scan_session(
        files, known, store.archive, owner=LOCAL.owner, origin=ORIGIN, now_ns=TIME, is_last=True
    )
    return scan.batch


def _scan(store: Store, folder: Path) -> SessionBatch:
    batch = _find_news(store, folder)
    assert batch is not None
    store.apply([batch])
    return batch


def _expect_kept(store: Store, folder: Path, batch: SessionBatch) -> None:
    """Expect all records of a batch, and the bytes of all files as they are now."""
    expect_derived(store, batch.key, get_derived(batch))
    for path in folder.rglob("*.*"):
        if path.is_file():
            [*_, (generation, length)] = store.archive.list_generations(LOCAL, name_source(ORIGIN, str(path)))
            assert length == path.stat().st_size
            found = read_bytes(store, LOCAL, name_source(ORIGIN, str(path)), generation)
            assert found == path.read_bytes()
