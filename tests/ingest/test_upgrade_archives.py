"""Archives of earlier versions become those of today: nothing that only they know is lost, killed or not."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import msgspec
import psycopg
import pytest

from command_line import TIMEOUT, run
from old_archives import (
    ARCHIVES,
    ROWS_POSTGRES,
    ROWS_SQLITE,
    SEGMENTS_SQLITE,
    SQLITE_ARCHIVES,
    read_expected,
    restore_archive,
    unpack_archive,
)
from postgres_server import make_database
from turnlog.errors import BusyStoreError, FormerStoreError, StoreError
from turnlog.ingest.upgrade import Phase, upgrade_archive
from turnlog.ingest.verification import check_archive
from turnlog.store.accounts import open_accounts
from turnlog.store.interface import KnownSession, MaintainedStore, find_sessions, read_all
from turnlog.store.model import LOCAL, ServerPlace, StorePlace
from turnlog.store.opening import open_store, open_upgrade

KILLS = 6
"""For each archive; many more were tried by hand, which find nothing else."""
ORIGIN = "f" * 32


def put(name: str, folder: Path) -> StorePlace:
    """Return the place of an archive of an earlier version."""
    home = folder / "home"
    home.mkdir()
    if name in SQLITE_ARCHIVES:
        return unpack_archive(name, home)
    address = make_database()
    restore_archive(name, address)
    return ServerPlace(address, home)


def environment(place: StorePlace, folder: Path) -> dict[str, str]:
    named = {} if isinstance(place, Path) else {"TURNLOG_STORE": place.address}
    return {"TURNLOG_HOME": str(folder / "home"), "CLAUDE_CONFIG_DIR": str(folder / "claude"), **named}


@pytest.mark.parametrize("name", ARCHIVES)
def test_all_that_only_an_archive_knows_is_there_afterwards(name: str, tmp_path: Path) -> None:
    place = put(name, tmp_path)
    with pytest.raises(FormerStoreError, match="`turnlog upgrade`"):
        open_store(place, read_only=True)
    phases: list[Phase] = []
    report = upgrade_archive(place, origin=ORIGIN, on_phase=lambda phase, done, whole: phases.append(phase))
    assert (report.sessions, report.kept) == (len(read_expected(name)["sessions"]), None)
    assert list(dict.fromkeys(phases)) == [Phase.COPYING, Phase.DERIVING, Phase.VERIFYING]
    check_facts(name, place)


@pytest.mark.parametrize("name", [ROWS_SQLITE, ROWS_POSTGRES])
def test_workers_derive_what_has_names_that_are_no_text(name: str, tmp_path: Path) -> None:
    place = put(name, tmp_path)
    upgrade_archive(place, origin=ORIGIN, workers=2)
    check_facts(name, place)


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_upgrade_goes_on_wherever_it_was_killed(name: str, tmp_path: Path) -> None:
    place = put(name, tmp_path)
    given = environment(place, tmp_path)
    chance = random.Random(name)
    for _ in range(KILLS):
        command = [sys.executable, "-m", "turnlog", "upgrade", "--workers", "1"]
        process = subprocess.Popen(
            command, env={**os.environ, **given}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        time.sleep(chance.uniform(0.3, 1.1))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=TIMEOUT)
    done = run("upgrade", env=given)
    assert done.returncode == 0, done.stderr
    check_facts(name, place)


@pytest.mark.parametrize("name", [SEGMENTS_SQLITE, ROWS_POSTGRES])
def test_the_former_archive_is_kept_if_it_is_asked_for(name: str, tmp_path: Path) -> None:
    place = put(name, tmp_path)
    report = upgrade_archive(place, origin=ORIGIN, keep=True)
    assert report.kept is not None
    if isinstance(place, Path):
        with closing(apsw.Connection(report.kept)) as former:
            assert former.execute("SELECT count(*) FROM checkpoints").fetchall() == [(87,)]
    else:
        with psycopg.connect(place.address) as connection:
            query = f"SELECT count(*) FROM {report.kept}.generations".encode()
            assert connection.execute(query).fetchall() == [(87,)]
    check_facts(name, place)


def test_an_upgrade_goes_on_that_could_not_take_its_place(tmp_path: Path) -> None:
    place = put(ROWS_SQLITE, tmp_path)
    assert isinstance(place, Path)
    kept = place.with_name(f"{place.name}.before-upgrade")
    kept.touch()
    with pytest.raises(StoreError, match="exists"):
        upgrade_archive(place, origin=ORIGIN, keep=True)
    kept.unlink()
    kept.hardlink_to(place)  # as one that was killed just then leaves it
    report = upgrade_archive(place, origin=ORIGIN, keep=True)
    assert report.kept == str(kept)
    check_facts(ROWS_SQLITE, place)
    with closing(apsw.Connection(str(place))) as connection:
        assert not connection.table_exists(None, "upgrade_state")


@pytest.mark.parametrize("name", SQLITE_ARCHIVES)
def test_what_is_written_after_an_attempt_is_not_lost(name: str, tmp_path: Path) -> None:
    place = put(name, tmp_path)
    assert isinstance(place, Path)
    upgrade = open_upgrade(place)
    with upgrade.alone():
        upgrade.copy()
    with closing(apsw.Connection(str(place))) as former:  # as a program of the earlier version would
        former.execute("DELETE FROM rules WHERE pattern = '*/odd'")
    upgrade_archive(place, origin=ORIGIN)
    with closing(open_store(place)) as store:
        assert "*/odd" not in {rule.pattern for rule in store.list_rules(LOCAL)}


def test_an_archive_that_is_in_use_is_not_upgraded(tmp_path: Path) -> None:
    place = put(ROWS_SQLITE, tmp_path)
    with open_upgrade(place).alone(), pytest.raises(BusyStoreError, match="in use"):
        upgrade_archive(place, origin=ORIGIN)
    server = put_server(tmp_path)
    with open_upgrade(server).alone(), pytest.raises(BusyStoreError, match="another process"):
        upgrade_archive(server, origin=ORIGIN)


def put_server(folder: Path) -> ServerPlace:
    address = make_database()
    restore_archive(ROWS_POSTGRES, address)
    return ServerPlace(address, folder / "home")


@pytest.mark.parametrize("keep", [False, True])
def test_servers_of_the_earlier_version_are_told(keep: bool, tmp_path: Path) -> None:
    place = put_server(tmp_path)
    upgrade_archive(place, origin=ORIGIN, keep=keep)
    # They refuse tables in which a step is recorded that they do not know, and make none where there are some.
    with psycopg.connect(place.address) as connection:
        query = b"SELECT name FROM turnlog.migrations WHERE NOT is_additive"
        steps = {name for (name,) in connection.execute(query).fetchall()}
    assert "moved_to_another_schema" in steps


def test_an_upgrade_that_does_not_verify_leaves_the_archive_as_it_is(tmp_path: Path) -> None:
    place = put(ROWS_SQLITE, tmp_path)
    assert isinstance(place, Path)
    with closing(apsw.Connection(str(place))) as former:
        former.execute(
            "UPDATE tail_frames SET data = zeroblob(length(data)) WHERE id = (SELECT min(id) FROM tail_frames)"
        )
    with pytest.raises(StoreError, match="The former archive stays"):
        upgrade_archive(place, origin=ORIGIN)
    with pytest.raises(FormerStoreError):
        open_store(place)
    report = upgrade_archive(place, origin=ORIGIN, force=True)
    assert report.damaged
    with closing(open_store(place)) as store:
        assert len(list(store.list_known(LOCAL))) == report.sessions


def test_a_full_disk_is_told_before_anything_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = put(ROWS_SQLITE, tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    with pytest.raises(StoreError, match="MB are free"):
        upgrade_archive(place, origin=ORIGIN)
    assert not list((tmp_path / "home").glob("*.upgrade"))
    assert not list((tmp_path / "home").glob(".*"))


def test_commands_that_write_upgrade_first_and_others_say_how(tmp_path: Path) -> None:
    given = environment(put(ROWS_SQLITE, tmp_path), tmp_path)
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    told = run("status", env=given)
    assert told.returncode == 2
    assert b"`turnlog upgrade`" in told.stderr
    would = run("upgrade", "--dry-run", "--json", env=given)
    assert json.loads(would.stdout)["sessions"] == 42
    assert b"upgraded first" in run("sync", env=given).stderr
    assert b"42 sessions" in run("status", env=given).stdout
    assert run("upgrade", env=given).stdout == b"The archive is up to date.\n"


def check_facts(name: str, place: StorePlace) -> None:
    """Compare an archive with what the former one knew, and with its own bytes."""
    expected = read_expected(name)
    with closing(open_store(place)) as store:
        assert [each for step in check_archive(store, LOCAL) for each in step.checked.left] == []
        entries = store.read_feed(LOCAL, 0, 10**6)
        last = expected["last_change"]
        former = [each for each in entries.entries if each.seq <= last]
        assert (entries.epoch.partition("-")[0], len(former)) == (expected["epoch"], expected["changes"])
        assert digest(former) == expected["change_digest"]
        known = {each.key: describe_session(store, each) for each in store.list_known(LOCAL)}
        for key, session in expected["sessions"].items():
            assert simplify(known.pop(key)) == {**session, "revision": session["revision"] + 1}
        assert known == {}
        for subject, found in (
            ("tombstones", store.list_tombstones(LOCAL)),
            ("machines", store.list_machines(LOCAL)),
            ("rules", store.list_rules(LOCAL)),
            ("deliveries", [describe_delivery(each) for each in store.list_deliveries(LOCAL)]),
            ("backups", store.list_backups()),
            ("reported", sorted(store.read_usage(LOCAL).list_reported(), key=lambda each: each.session)),
            ("undone", [store.undo_mark(LOCAL) for _ in range(5)]),
        ):
            assert simplify(found) == expected[subject], subject
    with closing(open_accounts(place)) as accounts:
        assert simplify(accounts.list_users()) == expected["users"]
        assert simplify(accounts.list_tokens()) == expected["tokens"]
        assert simplify(accounts.list_links()) == expected["links"]
        names = {"looked": "viewed", "found": "searched"}
        audit = [{**each, "action": names.get(each["action"], each["action"])} for each in expected["audit"]]
        assert simplify(accounts.list_audit(limit=10**6)) == audit


def describe_session(store: MaintainedStore, known: KnownSession) -> dict[str, Any]:
    shown = [each for each in find_sessions(store, LOCAL, known.key) if each.key == known.key]
    [access] = store.list_access(LOCAL, [known.key])
    return {
        "session_id": known.session_id,
        "project_folder": known.project_folder,
        "origin": known.origin,
        "revision": known.revision,
        "marks": shown[0].marks if shown else None,
        "person": access.person,
        "chosen": access.chosen,
        "rule": access.rule,
        "visibility": access.visibility,
        "sources": {
            each.source: {
                "kind": each.kind,
                "path": each.path,
                "present": each.present,
                "agent_id": each.agent_id,
                "run_id": each.run_id,
                "copied_from": each.copied_from,
                "generations": [
                    [number, length, digest_bytes(store, each.source, number)]
                    for number, length in store.archive.list_generations(LOCAL, each.source)
                ],
            }
            for each in known.sources
        },
    }


def digest_bytes(store: MaintainedStore, source: str, generation: int) -> str:
    return sha256(b"".join(read_all(store.archive, LOCAL, source, generation))).hexdigest()


def describe_delivery(delivery: Any) -> dict[str, Any]:
    facts = {
        name: getattr(delivery, name) for name in delivery.__struct_fields__ if name not in ("id", "payload")
    }
    return facts | {"payload": sha256(delivery.payload).hexdigest()}


def digest(value: object) -> str:
    return sha256(json.dumps(simplify(value)).encode()).hexdigest()


def simplify(value: object) -> Any:
    """Return a value as JSON has it, structs as objects."""
    return json.loads(json.dumps(msgspec.to_builtins(value, str_keys=True)))
