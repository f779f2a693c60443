"""Sessions that began as copies of others are recognised, whatever the order in which they are archived."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import verify_session
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import locate_path

IDS = ("0000000a-0000-4000-8000-00000000000a", "0000000b-0000-4000-8000-00000000000b", "0000000c")


def write_lines(
    name: str, count: int, prefix: str = "m", parent: str | None = None, fork_of: str | None = None
) -> str:
    lines = []
    for number in range(count):
        uuid = f"{prefix}{number}"
        line: dict[str, object] = {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": name}
        if fork_of is not None:
            line["forkedFrom"] = {"sessionId": fork_of, "messageUuid": uuid}
        line |= {"timestamp": f"2026-05-01T10:00:0{number}Z", "message": {"role": "user", "content": uuid}}
        lines.append(json.dumps(line) + "\n")
        parent = uuid
    return "".join(lines)


def archive(tmp_path: Path, texts: dict[str, str], order: tuple[str, ...], *, at_once: bool) -> dict[str, str]:
    """Archive sessions one by one or at once, and return of which ones the others are said to be copies."""
    folder = tmp_path / "claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    place = tmp_path / "turnlog.db"
    store = open_store(place)
    for name in order:
        (folder / f"{name}.jsonl").write_text(texts[name])
        if not at_once:
            sync(store, place, locate_path(folder).sessions, origin="here")
    sync(store, place, locate_path(folder).sessions, origin="here")
    assert sync(store, place, locate_path(folder).sessions, origin="here").changed == 0
    known = list(store.list_known(LOCAL))
    assert [each for one in known for each in verify_session(store, LOCAL, one).disagreements] == []
    names = {session.key: session.session_id for session in known}
    found = {names[each.key]: each.copied_from for each in store.list_sessions(LOCAL).sessions}
    store.close()
    return {name: names[original] for name, original in found.items() if original is not None}


def fork(name: str, of: str) -> str:
    """Return a session as `--fork-session` makes it: the same lines under its own id, and one more."""
    return write_lines(name, 4, fork_of=of) + write_lines(name, 1, "own", "m3")


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("order", list(permutations(IDS)))
def test_copies_are_told_from_their_original_in_any_order(
    tmp_path: Path, order: tuple[str, ...], at_once: bool
) -> None:
    first, second, third = IDS
    # The second is the original: the first was forked from it, and the third is its file under another name.
    texts = {first: fork(first, second), second: write_lines(second, 4), third: write_lines(second, 4)}
    assert archive(tmp_path, texts, order, at_once=at_once) == {first: second, third: second}


def test_of_equals_the_first_by_name_is_the_original(tmp_path: Path) -> None:
    texts = {name: write_lines(name, 3) for name in IDS[:2]}
    [(copy, original)] = archive(tmp_path, texts, IDS[1::-1], at_once=False).items()
    assert {copy, original} == {*IDS[:2]}


def test_sessions_that_share_nothing_are_no_copies(tmp_path: Path) -> None:
    # The second goes on where the first ends, in a file of its own.
    texts = {IDS[0]: write_lines(IDS[0], 3), IDS[1]: write_lines(IDS[1], 3, "n", "m2")}
    assert archive(tmp_path, texts, IDS[:2], at_once=True) == {}


def test_a_copy_that_goes_on_stays_one(tmp_path: Path) -> None:
    first, second = IDS[:2]
    texts = {first: write_lines(first, 4), second: fork(second, first)}
    assert archive(tmp_path, texts, (first, second), at_once=True) == {second: first}
    path = tmp_path / "claude" / "projects" / "-p" / f"{second}.jsonl"
    with path.open("a") as file:
        file.write(write_lines(second, 1, "more", "own0"))
    place = tmp_path / "turnlog.db"
    store = open_store(place)
    sync(store, place, locate_path(path.parent).sessions, origin="here")
    copies = [known for known in store.list_known(LOCAL) if known.sources[0].copied_from is not None]
    assert [known.session_id for known in copies] == [second]
    store.close()
