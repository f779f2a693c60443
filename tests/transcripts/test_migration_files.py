"""Migrating files: what may be written, and what is there when something goes wrong."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stored_documents import call_text, document, golden
from turnlog.errors import MigrationError
from turnlog.transcripts.migration import migrate, plan_migration


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_bytes(golden("siblings", "before").read_bytes())
    return path


AFTER = golden("siblings", "after").read_bytes()


def only(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_dry_run_reports_the_same_and_writes_nothing(source: Path, tmp_path: Path) -> None:
    dry = migrate(source, tmp_path / "out.jsonl", dry_run=True)

    assert only(tmp_path) == ["in.jsonl"]
    assert dry == plan_migration(source) == migrate(source, tmp_path / "out.jsonl")


def test_a_file_that_is_there_is_not_overwritten_unless_forced(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_bytes(b"mine")

    for dry_run in (True, False):
        with pytest.raises(MigrationError, match=r"out\.jsonl: already exists") as caught:
            migrate(source, target, dry_run=dry_run)
        assert caught.value.path == str(target)
    assert target.read_bytes() == b"mine"
    migrate(source, target, force=True)
    assert target.read_bytes() == AFTER


def test_a_link_is_replaced_and_not_followed(source: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "out.jsonl", tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine")
    target.symlink_to(elsewhere)

    with pytest.raises(MigrationError):
        migrate(source, target)
    migrate(source, target, force=True)
    assert (elsewhere.read_bytes(), target.read_bytes()) == (b"mine", AFTER)


@pytest.mark.parametrize("force", [True, False])
def test_a_link_that_leads_nowhere_is_there_too(source: Path, tmp_path: Path, force: bool) -> None:
    target = tmp_path / "out.jsonl"
    target.symlink_to(tmp_path / "nowhere")

    if not force:
        with pytest.raises(MigrationError, match="already exists"):
            migrate(source, target)
    else:
        migrate(source, target, force=True)
        assert target.read_bytes() == AFTER
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["in.jsonl", "./other/../in.jsonl", "link", "hard-link"])
def test_a_file_is_migrated_in_place_only_when_asked(source: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(source)
    (tmp_path / "hard-link").hardlink_to(source)
    target = tmp_path / name

    with pytest.raises(MigrationError, match="is the file to migrate"):
        migrate(source, target, force=True)
    assert source.read_bytes() == golden("siblings", "before").read_bytes()
    migrate(source, target, in_place=True)
    assert target.read_bytes() == AFTER
    assert (tmp_path / "link").is_symlink()


def test_migrating_a_right_file_in_place_does_not_touch_it(source: Path) -> None:
    source.write_bytes(AFTER)
    before = source.stat()
    migrate(source, source, in_place=True)

    assert source.stat() == before


@pytest.mark.parametrize(
    ("given", "expected"), [(0o644, 0o600), (0o600, 0o600), (0o440, 0o400), (0o777, 0o600)]
)
def test_only_the_owner_may_read_the_copy(source: Path, tmp_path: Path, given: int, expected: int) -> None:
    source.chmod(given)
    migrate(source, tmp_path / "out.jsonl")

    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == expected


def test_progress_covers_both_passes(source: Path, tmp_path: Path) -> None:
    size = source.stat().st_size
    told: list[tuple[int, int]] = []
    dry: list[tuple[int, int]] = []
    migrate(source, tmp_path / "out.jsonl", on_progress=lambda *done: told.append(done))
    plan_migration(source, on_progress=lambda *done: dry.append(done))

    assert told == sorted(told)
    assert (told[0], told[-1]) == ((size, 2 * size), (2 * size, 2 * size))
    assert dry == [(size, size)]


def in_the_second_pass(act: Callable[[], object]) -> Callable[[int, int], None]:
    """Return a progress callback that acts when half is done and writing has begun."""

    def on_progress(done: int, total: int) -> None:
        if total // 2 < done < total:
            act()

    return on_progress


def test_an_interruption_leaves_nothing_behind(source: Path, tmp_path: Path) -> None:
    def interrupt() -> None:
        assert len(only(tmp_path)) == 2
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(source, tmp_path / "out.jsonl", on_progress=in_the_second_pass(interrupt))
    assert only(tmp_path) == ["in.jsonl"]


def test_a_program_that_is_killed_leaves_no_half_written_file(source: Path, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from turnlog.transcripts.migration import migrate\n"
        "def die(done, total): done > total // 2 and os.kill(os.getpid(), signal.SIGKILL)\n"
        "migrate(sys.argv[1], sys.argv[2], on_progress=die)"
    )
    target = tmp_path / "out.jsonl"
    ended = subprocess.run([sys.executable, "-c", program, source, target], check=False)

    assert ended.returncode == -signal.SIGKILL
    assert not target.exists()
    migrate(source, target)
    assert target.read_bytes() == AFTER


@contextmanager
def small_files() -> Iterator[None]:
    """Let no file grow past 600 bytes, as if the device were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_fails_leaves_what_was_there(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    with small_files(), pytest.raises(OSError, match="File too large"):
        migrate(source, target)
    assert only(tmp_path) == ["in.jsonl"]

    target.write_bytes(b"mine")
    with small_files(), pytest.raises(OSError, match="File too large"):
        migrate(source, target, force=True)
    assert (only(tmp_path), target.read_bytes()) == (["in.jsonl", "out.jsonl"], b"mine")


def test_a_source_that_grows_meanwhile_is_refused(source: Path, tmp_path: Path) -> None:
    def grow(*_: int) -> None:
        with source.open("ab") as file:
            file.write(b"{}\n")

    for dry_run in (True, False):
        with pytest.raises(MigrationError, match=r"in\.jsonl: changed while it was read"):
            migrate(source, tmp_path / "out.jsonl", dry_run=dry_run, on_progress=grow)
    for grow_late in (in_the_second_pass(grow), lambda done, total: grow() if done == total else None):
        with pytest.raises(MigrationError, match="changed while"):
            migrate(source, tmp_path / "out.jsonl", on_progress=grow_late)
    assert only(tmp_path) == ["in.jsonl"]


@pytest.mark.parametrize("rest", [b"", b"x" * 2000])
@pytest.mark.parametrize("when", ["first pass", "second pass"])
def test_a_source_that_is_rewritten_meanwhile_is_refused(
    source: Path, tmp_path: Path, when: str, rest: bytes
) -> None:
    def rewrite(*_: int) -> None:
        source.write_bytes(rest)

    action = rewrite if when == "first pass" else in_the_second_pass(rewrite)
    with pytest.raises(MigrationError, match="changed while"):
        migrate(source, tmp_path / "out.jsonl", on_progress=action)
    assert only(tmp_path) == ["in.jsonl"]


def test_a_target_that_somebody_else_makes_meanwhile_is_kept(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    with pytest.raises(MigrationError, match="already exists"):
        migrate(source, target, on_progress=in_the_second_pass(lambda: target.write_bytes(b"theirs")))
    assert (only(tmp_path), target.read_bytes()) == (["in.jsonl", "out.jsonl"], b"theirs")


def test_what_is_no_file_is_refused(source: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(MigrationError, match="is not a regular file"):
            plan_migration(path)
    with pytest.raises(FileNotFoundError, match=r"gone\.jsonl"):
        plan_migration(tmp_path / "gone.jsonl")
    for target in (tmp_path, tmp_path / "gone" / "out.jsonl"):
        with pytest.raises(MigrationError, match="cannot be written as a file"):
            migrate(source, target, force=True)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder that nobody may write to")
def test_a_folder_that_cannot_be_written_to_is_an_error_with_the_name_of_the_target(source: Path) -> None:
    with pytest.raises(OSError, match=r"/proc/out\.jsonl"):
        migrate(source, Path("/proc/out.jsonl"))


def write_many(path: Path, documents: int, body: int) -> None:
    """Write so many documents, two thirds of them tool messages with wrong parents, each saying so much."""
    said = "tea " * (body // 4)
    with path.open("w") as file:
        for number in range(documents // 3):
            uuid, call = f"a-{number}", f"a-{number}_tool_0"
            for each in (
                document("assistant", uuid, "u-1", content=said),
                document("tool_use", call, "u-1", content=call_text(id=f"c-{number}", said=said)),
                document("tool_result", f"a-{number}_result_0", "u-1", content=said),
            ):
                file.write(json.dumps(each) + "\n")


def peak(action: Callable[[], object]) -> int:
    """Return how many bytes an action held at once, at most."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_holds_ids_and_not_what_documents_say(tmp_path: Path) -> None:
    many, large = tmp_path / "many.jsonl", tmp_path / "large.jsonl"
    write_many(many, 20_000, 40)
    write_many(large, 1_000, 16_000)

    assert peak(lambda: plan_migration(many)) < 20_000 * 1_500
    assert peak(lambda: migrate(large, tmp_path / "out.jsonl")) < 1_000 * 1_500 + (2 << 20)
    assert large.stat().st_size > 15 << 20
