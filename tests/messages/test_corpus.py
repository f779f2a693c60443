"""Every record of the real data: nothing raises, nothing is lost, and it is typed to the last field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import turnlog
from turnlog.messages.free_form import FREE_FORM
from turnlog.messages.lazy import tool_names, view_all

GOAL = 0.999


def records(path: Path) -> list[bytes]:
    """Return a file's records: lines, or the items of the few files that are JSON arrays."""
    data = path.read_bytes()
    if path.suffix == ".json":
        return [json.dumps(record).encode() for record in json.loads(data)]
    return [line for line in data.split(b"\n") if line.strip()]


def files(corpus: Path) -> Iterator[Path]:
    return (path for path in sorted((corpus / "sessions").rglob("*")) if path.is_file())


def untyped(lines: list[turnlog.Line]) -> Iterator[list[str]]:
    """Yield, for each line, what of it is not typed, with every lazy view forced."""
    names = tool_names(line.entry for line in lines)
    for line in lines:
        views = [problem for view in view_all(line.entry, names) for problem in view.problems]
        yield [f"{problem.kind}: {problem}" for problem in (*line.problems, *views)]


def test_every_record_is_kept_and_typed(corpus: Path, report: Callable[[str], None]) -> None:
    total = typed = 0
    reasons: Counter[str] = Counter()
    for path in files(corpus):
        lines = [turnlog.decode(record) for record in records(path)]
        assert [turnlog.encode(line) for line in lines] == records(path)
        for problems in untyped(lines):
            total += 1
            typed += not problems
            reasons.update(problems)
    said = [f"{typed} of {total} records are fully typed ({typed / total:.3%}); not typed:"]
    said += [f"  {count} x {reason}" for reason, count in reasons.most_common()]
    said += ["free-form on purpose:", *(f"  {name}: {why}" for name, why in FREE_FORM.items())]
    report("\n".join(said))
    assert typed / total >= GOAL


def test_typed_entries_say_all_that_their_lines_say(corpus: Path) -> None:
    for path in files(corpus):
        for record in records(path):
            line = turnlog.decode(record)
            if not line.problems:
                assert json.loads(turnlog.encode(line.entry)) == json.loads(record)


def test_envelopes_agree_with_the_entries(corpus: Path) -> None:
    for path in files(corpus):
        for record in records(path):
            entry, head = turnlog.decode(record).entry, turnlog.decode_envelope(record)
            assert (head.uuid, head.session_id, head.time) == (entry.uuid, entry.session_id, entry.time)
