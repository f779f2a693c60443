from __future__ import annotations

from datetime import UTC, datetime

import pytest

import golden
import turnlog
from turnlog import UNSET, ChangeError, UnknownEntry
from turnlog.messages import envelope
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.envelope import ForkedFrom, instant

LINES = golden.all_entry_lines()
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_every_field_of_the_envelope_is_set_by_a_golden_line() -> None:
    declared = {name for name in golden.fields_declared(envelope) if not name.startswith("Head.")}

    assert declared - golden.fields_set(golden.values()) == set()


def test_the_whole_envelope_is_read() -> None:
    line = golden.entry("envelope-whole", UserEntry)

    assert (line.parent_uuid, line.logical_parent_uuid, line.sidechain_parent_uuid) == (
        "u-000",
        "u-000",
        "u-999",
    )
    assert (line.is_sidechain, line.is_meta, line.is_teammate) == (True, False, True)
    assert (line.user_type, line.entrypoint, line.version) == ("external", "cli", "2.1.150")
    assert (line.cwd, line.git_branch, line.slug) == ("/home/ada/tea", "main", "calm-green-pot")
    assert (line.session_id, line.session_kind, line.prompt_id) == ("s-1", "bg", "p-1")
    assert (line.agent_id, line.agent_name, line.agent_color) == ("a0b1c2d", "brewer", "green")
    assert (line.team_name, line.attribution_agent) == ("kitchen", "general-purpose")
    assert line.leaf_uuid == "u-777"


def test_a_line_needs_no_envelope() -> None:
    line = golden.entry("envelope-bare", UserEntry)

    assert (line.uuid, line.session_id, line.timestamp, line.parent_uuid) == (UNSET, UNSET, UNSET, UNSET)
    assert line.time is None


def test_null_differs_from_absent() -> None:
    line = golden.entry("envelope-nulls", UserEntry)

    assert (line.cwd, line.session_id, line.version, line.is_sidechain) == (None, None, None, None)
    assert line.entrypoint is UNSET


def test_a_fork_names_its_origin_by_object_or_by_session() -> None:
    whole, partial = golden.entries("forked-from-object", UserEntry)
    text, null = golden.entries("forked-from-string", UserEntry)

    assert whole.forked_from == ForkedFrom(session_id="s-0", message_uuid="u-500")
    assert partial.forked_from == ForkedFrom(session_id="s-0")
    assert text.forked_from == "s-0"
    assert null.forked_from is None


def test_of_two_session_ids_both_are_kept_under_their_own_names() -> None:
    for line in golden.entry_lines("session-id-twice"):
        entry = turnlog.decode(line).entry
        assert isinstance(entry, UserEntry | AssistantEntry)
        assert (entry.session_id, entry.second_session_id) == ("s-1", "s-2")


def test_a_line_knows_its_instant() -> None:
    lines = golden.entries("timestamp-forms", UserEntry)
    moment = TEN.replace(microsecond=250_000)

    assert [line.time for line in lines] == [moment, moment, moment, None, None]
    assert lines[1].timestamp == "2026-03-01T12:00:00.250+02:00"


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-03-01T10:00:00Z", TEN),
        ("2026-03-01T10:00:00.000Z", TEN),
        ("2026-03-01T12:00:00+02:00", TEN),
        ("2026-03-01T04:30:00-05:30", TEN),
        ("2026-03-01T10:00:00", TEN),
        (1772359200000, TEN),
        (1772359200000.0, TEN),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-1000, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_every_form_of_time_is_one_utc_instant(timestamp: str | float, expected: datetime) -> None:
    found = instant(timestamp)

    assert found == expected
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "timestamp",
    [
        "soon",
        "",
        "2026-13-01T10:00:00Z",
        "10:00",
        None,
        UNSET,
        1e300,
        -1e300,
        10**30,
        float("nan"),
        float("inf"),
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
    ],
)
def test_nonsense_is_no_time(timestamp: str | float | None) -> None:
    assert instant(timestamp) is None


def test_true_is_no_time() -> None:
    line = turnlog.decode(b'{"type":"user","message":{"content":"x"},"timestamp":true}')

    assert isinstance(line.entry, UserEntry)
    assert line.entry.timestamp is UNSET
    assert line.entry.time is None


def test_an_unknown_line_has_its_envelope_read() -> None:
    line = b'{"type":"hologram","uuid":"u-1","sessionId":"s-1","timestamp":"2026-03-01T10:00:00Z","cwd":"/tea"}'
    entry = turnlog.decode(line).entry

    assert isinstance(entry, UnknownEntry)
    assert (entry.uuid, entry.session_id, entry.cwd, entry.time) == ("u-1", "s-1", "/tea", TEN)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_change_that_is_taken_back_leaves_no_trace(line: bytes) -> None:
    decoded = turnlog.decode(line)
    changed = decoded.replace(uuid="u-new")

    assert golden.envelope(changed).uuid == "u-new"
    assert changed.problems == ()
    assert changed.replace(uuid=golden.envelope(decoded).uuid).raw == line


@pytest.mark.parametrize("name", ["number-forms", "key-order", "type-after-message", "line-separators"])
def test_a_change_touches_nothing_else(name: str) -> None:
    for line in golden.entry_lines(name):
        decoded = turnlog.decode(line)
        old = golden.envelope(decoded).uuid
        assert isinstance(old, str)
        assert decoded.replace(uuid="u-new").raw == line.replace(old.encode(), b"u-new")


def test_a_change_follows_the_spacing_of_its_line() -> None:
    spaced = turnlog.decode(golden.entry_lines("whitespace")[1])

    assert spaced.replace(cwd="/tea").raw.endswith(b'"leafUuid": "u-807", "cwd": "/tea"}')


def test_a_field_that_the_entry_does_not_have_cannot_be_changed() -> None:
    line = turnlog.decode(golden.entry_lines("meta-tag")[0])

    with pytest.raises(ChangeError, match="`request_id`"):
        line.replace(request_id="req_1")


def test_a_value_of_the_wrong_type_cannot_be_written() -> None:
    line = turnlog.decode(golden.entry_lines("user-prompt-text")[0])

    with pytest.raises(ChangeError):
        line.replace(cwd=5)
