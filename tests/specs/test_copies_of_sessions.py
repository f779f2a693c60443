"""Sessions are copies where they begin with the same message; one of the same uuid is not enough."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from turnlog.ingest.pipeline import sync
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import locate_path

REAL = "0000000a-0000-4000-8000-00000000000a"


def write(folder: Path, name: str, text: str, *, first: str = "u1", day: int = 1) -> None:
    """Write a session of a prompt and an answer, as spec 000 has them."""
    lines = [
        {"type": "user", "uuid": first, "message": text},
        {
            "type": "assistant",
            "uuid": f"{name}-2",
            "parentUuid": first,
            "message": "Yes.",
            "subtype": "response",
        },
    ]
    more = {"sessionId": name, "timestamp": f"2025-01-{day:02}T10:00:00Z"}
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line | more) + "\n" for line in lines))


def list_copies(tmp_path: Path, *sessions: tuple[str, str, str, int], at_once: bool) -> dict[str, str]:
    """Archive sessions, and return of which ones others are said to be copies."""
    folder, place = tmp_path / "claude" / "projects" / "-p", tmp_path / "turnlog.db"
    folder.mkdir(parents=True)
    with closing(open_store(place)) as store:
        for at, (name, text, first, day) in enumerate(sessions, 1):
            write(folder, name, text, first=first, day=day)
            if not at_once or at == len(sessions):
                sync(store, place, locate_path(folder).sessions, origin="here")
        found = store.list_sessions(LOCAL).sessions
    names = {each.key: str(each.row.session_id) for each in found if each.row is not None}
    return {names[each.key]: names[each.copied_from] for each in found if each.copied_from is not None}


@pytest.mark.parametrize("at_once", [True, False])
def test_sessions_that_share_a_short_name_are_no_copies(tmp_path: Path, at_once: bool) -> None:
    sessions = (("one", "Mend the roof", "u1", 1), ("two", "Brew some tea", "u1", 2))
    assert list_copies(tmp_path, *sessions, at_once=at_once) == {}


@pytest.mark.parametrize("at_once", [True, False])
def test_neither_are_those_whose_texts_differ_at_the_same_time(tmp_path: Path, at_once: bool) -> None:
    sessions = (("one", "Mend the roof", "u1", 1), ("two", "Brew some tea", "u1", 1))
    assert list_copies(tmp_path, *sessions, at_once=at_once) == {}


@pytest.mark.parametrize("at_once", [True, False])
def test_neither_are_those_whose_times_differ(tmp_path: Path, at_once: bool) -> None:
    sessions = (("one", "Mend the roof", REAL, 1), ("two", "Mend the roof", REAL, 2))
    assert list_copies(tmp_path, *sessions, at_once=at_once) == {}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("first", ["u1", REAL])
def test_those_that_begin_with_the_same_message_are(tmp_path: Path, first: str, at_once: bool) -> None:
    sessions = (
        ("one", "Mend the roof", first, 1),
        ("other", "Brew some tea", first, 2),
        ("two", "Mend the roof", first, 1),
    )
    [pair] = list_copies(tmp_path, *sessions, at_once=at_once).items()
    assert {*pair} == {"one", "two"}
