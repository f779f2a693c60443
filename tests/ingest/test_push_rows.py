"""Pushing to a server gives the rows that a sync of the same machine gives."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from golden import DATA
from ingest.pushed_store import ORIGIN, PushedStore, check_same, check_sound
from postgres_server import make_archive
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, ServerPlace
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_lines
from turnlog.transcripts.session_files import locate_path

GOLDEN = DATA / "transcripts"
SMALL = 700
"""Bytes: stretches that end in the middle of lines."""


def bring_up(store: MaintainedStore, folder: Path) -> None:
    sync(store, folder / "unused.db", locate_path(folder).sessions, origin=ORIGIN, within=[folder], workers=1)


def bring_both(synced: MaintainedStore, pushed: PushedStore, folder: Path, *, copies: bool = True) -> None:
    bring_up(synced, folder)
    pushed.push(locate_path(folder).sessions, [folder])
    check_same(synced, pushed.store, copies=copies)


def test_golden_sessions_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    shutil.copytree(GOLDEN, folder)
    synced, pushed = open_store(tmp_path / "synced.db"), PushedStore(tmp_path / "pushed.db", SMALL)
    bring_both(synced, pushed, folder, copies=False)
    check_sound(pushed.store)
    uploads = pushed.uploads
    pushed.push(locate_path(folder).sessions, [folder])
    assert pushed.uploads == uploads
    synced.close()
    pushed.store.close()


def test_whatever_happens_to_files_is_the_same(tmp_path: Path) -> None:
    chance = random.Random(11)
    folder = tmp_path / "projects" / "-p"
    shutil.copytree(GOLDEN / "agents-workflow", folder)
    synced, pushed = open_store(tmp_path / "synced.db"), PushedStore(tmp_path / "pushed.db", SMALL)
    bring_both(synced, pushed, folder)
    for number in range(25):
        change(chance, folder, number)
        bring_both(synced, pushed, folder)
    check_sound(pushed.store)
    synced.close()
    pushed.store.close()


def change(chance: random.Random, folder: Path, number: int) -> None:
    """Do to files what happens to files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice(files) if files else folder / "first.jsonl"
    lines = make_lines(chance.randrange(1, 6), session_id=f"s-{number}")
    match chance.randrange(8):
        case 0 | 1 | 2:
            with path.open("ab") as file:
                file.write(lines[: chance.choice([len(lines), len(lines) // 2])])
        case 3:
            path.write_bytes(lines)  # the same inode, other bytes
        case 4:
            os.truncate(path, path.stat().st_size // 2)
        case 5:
            other = path.with_name(f"{path.name}.new")
            other.write_bytes(path.read_bytes() + lines)
            os.replace(other, path)
        case 6:
            path.unlink(missing_ok=True)
        case 7:
            os.rename(path, path.with_name(f"moved-{number}{path.suffix}"))
            (folder / f"new-{number}.jsonl").write_bytes(lines)


def test_a_fork_is_told_as_one(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    lines = make_lines(6)
    (folder / "b.jsonl").write_bytes(lines)
    (folder / "a.jsonl").write_bytes(lines + make_lines(2, first=6, session_id="fork"))
    synced, pushed = open_store(tmp_path / "synced.db"), PushedStore(tmp_path / "pushed.db")
    bring_both(synced, pushed, folder)
    assert any(source.copied_from for known in pushed.list_known() for source in known.sources) is False
    assert any(source.copied_from for known in pushed.store.list_known(LOCAL) for source in known.sources)
    synced.close()
    pushed.store.close()


def test_it_is_the_same_on_a_database_server(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    for name in ("agents-workflow", "agents-meta", "turns"):
        shutil.copytree(GOLDEN / name, folder / name)
    synced = open_store(tmp_path / "synced.db")
    pushed = PushedStore(ServerPlace(make_archive(), tmp_path), SMALL)
    bring_both(synced, pushed, folder)
    for path in sorted(folder.rglob("*.jsonl"))[::2]:
        path.write_bytes(make_lines(5, session_id=path.stem))
    bring_both(synced, pushed, folder)
    check_sound(pushed.store)
    synced.close()
    pushed.store.close()


def test_the_corpus_is_the_same(corpus: Path, tmp_path: Path, report: Callable[[str], None]) -> None:
    folder = corpus / "sessions"
    sessions = sorted(locate_path(folder).sessions, key=lambda files: files.session_id)[::12]
    synced, pushed = open_store(tmp_path / "synced.db"), PushedStore(tmp_path / "pushed.db", 256 << 10)
    done = sync(synced, tmp_path / "synced.db", sessions, origin=ORIGIN, workers=1)
    pushed.push(sessions)
    check_same(synced, pushed.store)
    report(f"{done.sessions} sessions, {done.bytes / 1e6:.1f} MB, by {pushed.uploads} uploads: the same rows")
    synced.close()
    pushed.store.close()
