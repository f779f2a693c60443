"""Every record of the real data: nothing raises, nothing is lost, and it is typed to the last field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import turnlog
from all_views import tool_names, view_all
from turnlog.messages.envelope import Envelope
from turnlog.messages.spans import list_items, list_members, list_values
from untyped_fields import UNTYPED_FIELDS

GOAL = 0.999


CHANNELS = ["sessions", "stream", "hooks"]


def records(path: Path) -> list[bytes]:
    """Return a file's records: lines, or the values of files that are pretty-printed or arrays."""
    data = path.read_bytes()
    spans = list_values(data)
    if len(spans) == 1 and data[spans[0].start : spans[0].start + 1] == b"[":
        spans = list_items(data, spans[0].start)
    elif not spans or data[spans[-1].end :].strip():
        return [line for line in data.split(b"\n") if line.strip()]
    return [unwrap(data[slice(*span)]) for span in spans]


def unwrap(record: bytes) -> bytes:
    """Return the payload of a log entry that a hook script wrote around it."""
    members = {member.key: member.value for member in list_members(record)}
    wrapped = {"ts", "payload"} <= members.keys()
    return record[slice(*members["payload"])] if wrapped else record


def is_foreign(record: bytes) -> bool:
    """Tell whether a record is nothing that Claude Code wrote: comments, log text, objects without a type."""
    return not {"type", "hook_event_name"} & {member.key for member in list_members(record)}


def files(corpus: Path, channel: str) -> Iterator[Path]:
    return (path for path in sorted((corpus / channel).rglob("*")) if path.is_file())


def untyped(lines: list[turnlog.Line]) -> Iterator[list[str]]:
    """Yield, for each line, what of it is not typed, with every lazy view forced."""
    names = tool_names(line.entry for line in lines)
    for line in lines:
        views = [problem for view in view_all(line.entry, names) for problem in view.problems]
        yield [f"{problem.kind}: {problem}" for problem in (*line.problems, *views)]


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_record_is_kept_and_typed(corpus: Path, report: Callable[[str], None], channel: str) -> None:
    total = typed = foreign = 0
    reasons: Counter[str] = Counter()
    for path in files(corpus, channel):
        found = records(path)
        lines = [turnlog.decode(record) for record in found]
        assert [turnlog.encode(line) for line in lines] == found
        for record, problems in zip(found, untyped(lines), strict=True):
            if problems and is_foreign(record):
                foreign += 1
                continue
            total += 1
            typed += not problems
            reasons.update(problems)
    said = [f"{typed} of {total} records are fully typed ({typed / total:.3%}); not typed:"]
    said += [f"  {count} x {reason}" for reason, count in reasons.most_common()]
    said += [f"{foreign} lines or objects are nothing that Claude Code wrote, and are kept as they are"]
    report("\n".join(said))
    assert typed / total >= GOAL


def test_what_is_free_form_on_purpose(report: Callable[[str], None]) -> None:
    report("\n".join(f"{name}: {why}" for name, why in UNTYPED_FIELDS.items()))
    assert UNTYPED_FIELDS


@pytest.mark.parametrize("channel", CHANNELS)
def test_typed_entries_say_all_that_their_lines_say(corpus: Path, channel: str) -> None:
    for path in files(corpus, channel):
        for record in records(path):
            line = turnlog.decode(record)
            if not line.problems:
                assert json.loads(turnlog.encode(line.entry)) == json.loads(record)


def test_envelopes_agree_with_the_entries(corpus: Path) -> None:
    for path in files(corpus, "sessions"):
        for record in records(path):
            entry, head = turnlog.decode(record).entry, turnlog.decode_envelope(record)
            assert isinstance(entry, Envelope)
            assert (head.uuid, head.session_id, head.time) == (entry.uuid, entry.session_id, entry.time)
