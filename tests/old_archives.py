"""Archives made by versions from before the store was redesigned, which later versions must be able to upgrade.

They are in `data/upgrade`. `expected.json` beside them lists the facts that exist nowhere else, so that no
upgrade may lose them: the bytes of files, people, marks, hook deliveries, tombstones. `ROWS_SQLITE` and
`ROWS_POSTGRES` were made by the last version that stored a row for each message, `SEGMENTS_SQLITE` by the first
versions with segments. All three were filled in the same way. `read_expected` returns the facts of one archive;
`unpack_archive` and `restore_archive` put one where it can be opened.

To make them again, with the Python packages and PostgreSQL that the tests of those versions need, in the root
of this checkout:

    target="$PWD/tests/data/upgrade"
    git worktree add --detach ../rows ad16bb0 && git worktree add --detach ../segments aee74a6
    for old in rows segments; do
        cp tests/old_archives.py ../$old/tests/
        (cd ../$old && PYTHONPATH=src:tests python tests/old_archives.py "$target")
    done

The clock is fixed and random numbers are seeded: the facts are the same each time, and all that differs in the
archives is the inodes of files. Modules of turnlog are imported by name, since most of what is used here exists
in those versions only.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
import psycopg
import time_machine

ROWS_SQLITE = "rows-sqlite"
ROWS_POSTGRES = "rows-postgres"
SEGMENTS_SQLITE = "segments-sqlite"
SQLITE_ARCHIVES = (ROWS_SQLITE, SEGMENTS_SQLITE)
ARCHIVES = (*SQLITE_ARCHIVES, ROWS_POSTGRES)
_SCHEMAS = ("turnlog", "turnlog_accounts", "turnlog_seen")

_FOLDER = Path(__file__).parent / "data" / "upgrade"
_EXPECTED = "expected.json"
_ALL = "all"

Facts = dict[str, Any]


def read_expected(name: str) -> Facts:
    """Return the facts of an archive; as anywhere in Python, names of files may have lone surrogates."""
    found: dict[str, Facts] = json.loads((_FOLDER / _EXPECTED).read_text(encoding="ascii"))
    return found[_ALL] | found[name]


def unpack_archive(name: str, home: Path) -> Path:
    """Put the files of an archive on SQLite into turnlog's home folder, and return the path of the store."""
    with tarfile.open(_FOLDER / f"{name}.tar.xz") as packed:
        packed.extractall(home, filter="data")
    return home / "turnlog.db"


def restore_archive(name: str, address: str) -> None:
    """Put an archive on PostgreSQL into an empty database; the user in the address must be its owner."""
    script = lzma.decompress((_FOLDER / f"{name}.sql.xz").read_bytes())
    with psycopg.connect(address) as connection:
        connection.execute(script)


# The rest makes the archives, in a checkout of the version that they are of.

_PLACE = Path("/tmp/turnlog-upgrade")
"""Always the same, since the keys of sessions are digests of paths."""
_BEN, _CLEO, _DORA = "b" * 32, "c" * 32, "0123456789abcdef" * 2
"""The machines. The last one pushes its sessions, and is assigned to nobody."""
_GOLDEN = (
    "agents-background", "agents-inline-named", "agents-workflow", "compaction-preserved",
    "migration-siblings", "nul-padding", "parents-cycle", "spec-000-sidechain", "split-message",
    "torn-then-glued", "usage-cost-state", "usage-fork", "zero-bytes",
)  # fmt: skip
_PUSHED = ("steering", "superseded", "deleted-and-aborted")
_UNHEARD = "0a0a0a0a-0000-4000-8000-000000000001"
"""A session that only hooks reported."""
_CAPTURED = "11111111-2222-4333-8444-555555555555"
_GROWN = "2b2b2b2b-0000-4000-8000-000000000002"
"""A session with several frames, the last of which grew."""
_FORGOTTEN = "3c3c3c3c-0000-4000-8000-000000000003"
_DAY_NS = 86_400 * 10**9


def main(target: Path) -> None:
    """Make the archives of the version in whose checkout this runs, and update `expected.json`."""
    has_rows = find_spec("turnlog.store.care") is not None
    made = {}
    if has_rows:
        made[ROWS_SQLITE] = _make_sqlite(target / f"{ROWS_SQLITE}.tar.xz")
        made[ROWS_POSTGRES] = _make_postgres(target / f"{ROWS_POSTGRES}.sql.xz")
    else:
        made[SEGMENTS_SQLITE] = _make_sqlite(target / f"{SEGMENTS_SQLITE}.tar.xz")
    path = target / _EXPECTED
    former = json.loads(path.read_text()) if path.exists() else {_ALL: {}}
    complete = {name: former[_ALL] | facts for name, facts in former.items() if name != _ALL} | made
    first = next(iter(complete.values()))
    same = {
        name: fact
        for name, fact in first.items()
        if all(name in each and each[name] == fact for each in complete.values())
    }
    split = {
        name: {key: fact for key, fact in complete[name].items() if key not in same}
        for name in ARCHIVES
        if name in complete
    }
    path.write_text(json.dumps({_ALL: same, **split}, indent=1, sort_keys=True) + "\n", encoding="ascii")
    for name, facts in split.items():
        print(name, "has", ", ".join(facts), "of its own")


def _make_sqlite(target: Path) -> Facts:
    with _preparing() as clock:
        home = _PLACE / "home"
        store = home / "turnlog.db"
        digests = _fill(store, clock)
        with closing(sqlite3.connect(store)) as connection, connection:
            # A feed has a random name, made up by the engine.
            connection.execute("UPDATE feed SET epoch = '0123456789abcdef'")
        facts = _read_facts(store, digests)
        for path in home.glob("*.db"):
            with closing(sqlite3.connect(path)) as connection:  # the last one to close it leaves no log behind
                assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert sorted(path.name for path in home.glob("*.db*")) == ["accounts.db", "turnlog.db"]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(home.glob("*.db")):
                member = tarfile.TarInfo(path.name)
                member.size, member.mode = path.stat().st_size, 0o600
                with path.open("rb") as file:
                    archive.addfile(member, file)
        target.write_bytes(_compress(packed.getvalue()))
        return facts | {"undone": _undo(store)}


def _make_postgres(target: Path) -> Facts:
    postgres_server: Any = import_module("postgres_server")
    with _preparing() as clock:
        server = postgres_server.start_server()
        try:
            database = server.create()
            address = server.address(database)
            place = import_module("turnlog.store.places").ServerPlace(address, _PLACE / "home")
            digests = _fill(place, clock)
            server.execute("UPDATE turnlog.feed SET epoch = md5('turnlog')", database)
            facts = _read_facts(place, digests)
            # Rows as statements can be restored through any connection, without `psql`.
            command = [
                str(postgres_server.find_programs() / "pg_dump"), f"--dbname={address}", "--no-owner",
                "--no-privileges", "--inserts", "--rows-per-insert=200",
                *(f"--schema={name}" for name in _SCHEMAS),
            ]  # fmt: skip
            script = subprocess.run(command, capture_output=True, check=True).stdout
            # These lines are for `psql` alone, and have a random word.
            script = re.sub(rb"^\\(un)?restrict .*\n", b"", script, flags=re.MULTILINE)
            # Indexes of text need an extension that belongs to no schema; the owner of a database may add it.
            target.write_bytes(_compress(b"CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;\n" + script))
            return facts | {"undone": _undo(place)}
        finally:
            server.remove()


def _compress(data: bytes) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 64 << 20}]
    return lzma.compress(data, filters=filters)


@contextmanager
def _preparing() -> Iterator[Any]:
    """Provide an empty folder and a clock that stands still."""
    shutil.rmtree(_PLACE, ignore_errors=True)
    (_PLACE / "home").mkdir(parents=True)
    _PLACE.chmod(0o755)
    fixed = {"TZ": "UTC", "HOME": "/home/ada", "TURNLOG_HOME": str(_PLACE / "home"), "LANG": "C.UTF-8"}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, _PLACE)
        stack.enter_context(patch.dict(os.environ, fixed))
        now = import_module("api_archive").NOW
        yield stack.enter_context(time_machine.travel(now, tick=False))


def _fill(place: Any, clock: Any) -> list[str]:
    """Fill an archive with everything that it can hold, and return the digests of all secrets of accounts."""
    identity, people = (import_module(f"turnlog.store.{name}") for name in ("identity", "people"))
    local, viewer = identity.LOCAL, identity.Viewer
    private, team = people.Visibility.PRIVATE, people.Visibility.TEAM
    change = import_module("turnlog.store.marks").MarkChange
    as_ben = identity.Scope(local.owner, viewer(person="ben", team=True))
    ben, cleo, dora = (_PLACE / name / ".claude" for name in ("ben", "cleo", "dora"))
    spooled = _write_files(ben, cleo, dora)
    with (
        closing(import_module("turnlog.store.opening").open_store(place)) as store,
        closing(import_module("turnlog.store.accounts.opening").open_accounts(place)) as accounts,
    ):
        # Machines, their sessions, and files that change or vanish.
        store.note_machine(local, _BEN, person="ben", host="ben.local", user="ben", at_ns=time.time_ns())
        store.note_machine(local, _CLEO, person=None, host="caf\u00e9", user="cleo", at_ns=time.time_ns())
        _sync(store, place, ben, _BEN)
        clock.shift(timedelta(hours=1))
        _sync(store, place, cleo, _CLEO)
        store.assign_machine(local, _CLEO, "cleo")
        clock.shift(timedelta(hours=1))
        store.note_machine(local, _DORA, person=None, host="", user="", at_ns=time.time_ns())
        _push(store, dora)
        clock.shift(timedelta(hours=1))
        _change_files(ben, cleo)
        _sync(store, place, ben, _BEN)
        _sync(store, place, cleo, _CLEO)

        # Visibility and marks.
        clock.shift(timedelta(hours=1))
        keys = {each.session_id: each.key for each in store.list_known(local)}
        archive: Any = import_module("api_archive")
        store.set_rule(local, "*/odd", team)
        store.set_rule(local, "/home/robin/*", team)
        store.set_rule(local, "*/caf\u00e9", private)
        store.set_visibility(local, [keys[archive.IMAGES], keys[_GROWN]], private)
        store.set_visibility(local, [keys[archive.BRANCHES], keys["a-original"]], team)
        store.set_visibility(local, [keys[archive.INLINE]], team)
        store.set_visibility(local, [keys[archive.INLINE]], None)
        for scope, names, marks in (
            (
                local,
                (archive.ODD, archive.TOOLS),
                change(name="Kept \u65e5\u672c", starred=True, tags=("kept",)),
            ),
            (as_ben, (archive.ODD,), change(note="Look again\n\tsoon", tags=("two", "caf\u00e9"))),
            (local, (archive.OFFLOADED, _GROWN), change(archived=True)),
            (as_ben, (archive.BRANCHES,), change(name="To be taken back")),
            (local, (archive.ODD, archive.TOOLS), change(untags=("kept",), starred=False)),
        ):
            clock.shift(1)
            store.mark(scope, [keys[name] for name in names], marks)
        clock.shift(1)
        store.undo_mark(local)
        store.undo_mark(as_ben)
        store.mark(local, [keys[archive.HOMELESS]], change(name="Gone outside", note="Only here"))

        # Hook deliveries, forgotten sessions, backups.
        clock.shift(timedelta(hours=1))
        store.add_deliveries(local, [*spooled, *_build_deliveries(archive)])
        store.mark(local, [keys[_FORGOTTEN]], change(name="Nobody may know"))
        clock.shift(1)
        copied = [each.key for each in store.list_known(local) if each.session_id == archive.COPIED]
        store.forget(local, [keys[_FORGOTTEN]])
        clock.shift(1)
        store.forget(local, [min(copied)])
        clock.shift(1)
        for name in ("first.backup", "caf\u00e9.backup"):
            clock.shift(1)
            store.back_up(_PLACE / name)
            (_PLACE / name).unlink()
        with _seeding():
            return _fill_accounts(accounts, clock, keys[archive.ODD], keys[archive.IMAGES])


def _write_files(ben: Path, cleo: Path, dora: Path) -> list[Any]:
    """Write the files of three machines, and return hook deliveries of the sample sessions."""
    archive: Any = import_module("api_archive")
    data = import_module("golden").DATA / "transcripts"
    spool = _PLACE / "spooling"
    archive.write_files(ben)
    import_module("turnlog.demo.installing").install(ben, archive.NOW, spool)
    payloads = sorted((spool / "spool").glob("*.json"))
    hooks = [
        _build_delivery(path.stem, int(path.stem.split("-")[0]), path.read_bytes(), _BEN) for path in payloads
    ]
    shutil.rmtree(spool)
    for config, names in ((cleo, _GOLDEN), (dora, _PUSHED)):
        for name in names:
            shutil.copytree(data / name, config / "projects" / os.fsdecode(b"-golden-caf\xe9-" + name.encode()))
    engine = "-home-ada-engine"  # with files of every kind
    shutil.copytree(data / "layout" / "claude" / "projects" / engine, cleo / "projects" / engine)
    long = "".join(f"{number}: a line of a result that takes some frames\n" for number in range(3000))
    for below, session in ((b"-home-ada-tea", _GROWN), (b"-home-ada-caf\xe9", _FORGOTTEN)):
        to = archive.Writer(session, cwd="/home/ada/tea")
        to.user("Print a lot")
        for number in range(4 if session == _GROWN else 1):
            to.answer(archive.call(f"toolu_{number}", command="seq 3000"))
            to.result(f"toolu_{number}", long)
        _write(cleo / "projects" / os.fsdecode(below) / f"{session}.jsonl", to.data)

    # The program's own file, and what was captured of the same session.
    captures: Any = import_module("turnlog.transcripts.files.captures")
    folder = dora / "projects" / "-home-ada-cups"
    to = archive.Writer(_CAPTURED, cwd="/home/ada/cups")
    to.user("Wash the cups")
    to.answer(archive.say("Done."), id="msg_cups")
    _write(folder / f"{_CAPTURED}.jsonl", to.data)
    messages = (
        {"type": "system", "subtype": "init", "cwd": "/home/ada/cups", "tools": [], "model": "m", "uuid": "i"},
        {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.25, "uuid": "r"},
    )
    stream = "".join(json.dumps(each | {"session_id": _CAPTURED}) + "\n" for each in messages)
    _write(captures.name_capture(folder, _CAPTURED, captures.CaptureKind.STREAM), stream.encode())
    for path in _PLACE.rglob("*"):
        os.utime(path, (time.time(), time.time()))
    return hooks


def _change_files(ben: Path, cleo: Path) -> None:
    """Rewrite a file, let one grow, and remove a session and a part of another."""
    archive: Any = import_module("api_archive")
    odd = ben / "projects" / "-home-ada-odd"
    to = archive.Writer(archive.TOOLS)
    to.user("It was rewritten")
    to.answer(archive.say("From the first line on."))
    _write(odd / f"{archive.TOOLS}.jsonl", to.data)
    (ben / "projects" / "-home-ada-nowhere" / f"{archive.HOMELESS}.jsonl").unlink()
    shutil.rmtree(odd / archive.OFFLOADED / "tool-results")
    to = archive.Writer(_GROWN, cwd="/home/ada/tea")
    to.user("Thanks!")
    grown = cleo / "projects" / "-home-ada-tea" / f"{_GROWN}.jsonl"
    _write(grown, grown.read_bytes() + to.data)
    for path in (odd / f"{archive.TOOLS}.jsonl", grown):
        os.utime(path, (time.time(), time.time()))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _sync(store: Any, place: Any, config: Path, origin: str) -> None:
    found = import_module("turnlog.transcripts").locate_sessions([config]).sessions
    sync = import_module("turnlog.ingest.pipeline").sync
    sync(store, place, found, origin=origin, within=[config], workers=1)


def _push(store: Any, config: Path) -> None:
    """Add sessions to a store as a server does when a collector pushes them."""
    pushing: Any = import_module("ingest.pushed_store")
    pushed = pushing.PushedStore.__new__(pushing.PushedStore)  # one that opens no store of its own
    pushed.store, pushed.limit, pushed.uploads = store, pushing.STRETCH, 0
    pushed.taker = pushing.UploadTaker(store)
    pushed.push(import_module("turnlog.transcripts").locate_sessions([config]).sessions)


def _build_delivery(name: str, at_ns: int, payload: bytes, origin: str) -> Any:
    found = find_spec("turnlog.ingest.hook_facts")
    module = "turnlog.transcripts.hooks.deliveries" if found is None else "turnlog.ingest.hook_facts"
    return import_module(module).build_delivery(name, at_ns, payload, origin)


def _build_deliveries(archive: Any) -> Iterator[Any]:
    """Yield deliveries with everything in them that is hard to store."""
    start_ns = time.time_ns() - _DAY_NS
    unspellable = os.fsdecode(archive.UNSPELLABLE)
    payloads: Sequence[tuple[str, bytes]] = (
        (_BEN, _make_payload(archive.TOOLS, "PreToolUse", tool_use_id="toolu_a", tool_name="Read")),
        (_BEN, _make_payload(archive.TOOLS, "PostToolUse", tool_use_id="toolu_a", tool_name="Read")),
        (_BEN, _make_payload(archive.INLINE, "SubagentStop", agent_id="a1b2c3d", agent_type="Explore")),
        (
            _BEN,
            _make_payload(archive.ODD, "Notification", notification_type="idle_prompt", message="caf\u00e9"),
        ),
        (_BEN, _make_payload(archive.ODD, "PreToolUse", tool_use_id="toolu\0odd", tool_name="Ba\0sh")),
        (_BEN, _make_payload(archive.ODD, "Stop \ud83d", label="half an emoji \ud83d")),
        (_BEN, _make_payload(unspellable, "SessionStart", cwd=unspellable)),
        (_BEN, _make_payload("null \0 id", "\0", tool_name="\U0001f375")),
        (_CLEO, b'{"hook_event_name":"Stop","session_id":"s-1","more":"caf\xe9"}'),
        (_CLEO, b"not JSON at all \xff\xfe\x00"),
        (_CLEO, b""),
        ("", _make_payload("", "")),
        ("caf\udce9", _make_payload(_UNHEARD, "UserPromptSubmit", prompt="From a machine of an odd name")),
        (_DORA, _make_payload(_UNHEARD, "SessionEnd", reason="other")),
        (_DORA, _make_payload(_UNHEARD, "Notification", notification_type="auth_success")),
        (_CLEO, _make_payload(_FORGOTTEN, "Stop", stop_hook_active=False)),
        (_CLEO, _make_payload(_GROWN, "PostToolUse", tool_name="Bash", tool_response="long " * 20_000)),
    )
    for number, (origin, payload) in enumerate(payloads):
        # Some months lie between them, and some come at the same time.
        at_ns = start_ns - (number // 2 % 3) * 40 * _DAY_NS + number // 2
        yield _build_delivery(f"{at_ns}-odd-{number}", at_ns, payload, origin)


def _make_payload(session: str, event: str, **more: object) -> bytes:
    return json.dumps({"hook_event_name": event, "session_id": session, **more}).encode()


@contextmanager
def _seeding() -> Iterator[None]:
    """Make the same random secrets each time."""
    random = Random(23)

    def token_hex(size: int) -> str:
        return random.randbytes(size).hex()

    def token_urlsafe(size: int) -> str:
        return urlsafe_b64encode(random.randbytes(size)).decode().rstrip("=")

    with (
        patch.object(secrets, "token_hex", token_hex),
        patch.object(secrets, "token_urlsafe", token_urlsafe),
    ):
        yield


def _fill_accounts(accounts: Any, clock: Any, odd: str, images: str) -> list[str]:
    """Add users with all that belongs to them, and return the digests of their secrets."""
    given: Any = import_module("turnlog.store.accounts.interface")
    roles, kinds, actions = given.UserRole, given.TokenKind, given.Action
    now_ns = time.time_ns()
    for name, role in (
        ("ada", "ADMIN"),
        ("ben", "MEMBER"),
        ("cleo", "MEMBER"),
        ("vera", "VIEWER"),
        ("zoe", "MEMBER"),
    ):
        accounts.add_user(name, roles[role], full_name=f"{name.title()} \u00c9", email=f"{name}@example.org")
    clock.shift(1)
    for name, subject in (("ada", "1001"), ("ben", "caf\u00e9|\0\ud83d")):
        accounts.bind_identity(name, given.Identity("https://login.example.org/", subject))
    accounts.change_user("cleo", full_name="Cleo \u65e5\u672c", email="Cleo.Two@example.org")
    made = [
        accounts.create_token("ada", kinds.PERSONAL, "laptop"),
        accounts.create_token("ben", kinds.MACHINE, "ben's", expires_ns=now_ns + 3650 * _DAY_NS),
        accounts.create_token("cleo", kinds.PERSONAL, "over soon", expires_ns=now_ns + 10**10),
        accounts.create_token("zoe", kinds.PERSONAL, "of somebody who left"),
        accounts.create_token("ben", kinds.PERSONAL, "revoked"),
    ]
    clock.shift(timedelta(minutes=5))
    accounts.revoke_token(made[-1][0].id)
    accounts.find_by_token(made[0][1])
    accounts.find_by_token(made[1][1], origin=_BEN)
    cookies = [
        accounts.open_session("ada", 3650 * 86_400.0),
        accounts.open_session("ben", 60.0, token=made[1][0].id),
    ]
    accounts.find_by_session(cookies[0])
    login = given.PendingLogin(
        state="state", nonce="nonce", verifier="verifier", next="/", expires_ns=now_ns + _DAY_NS
    )
    accounts.keep_login(login)
    links = [
        accounts.create_link(
            odd,
            title="Half \ud83d\0",
            created_by="ben",
            expires_ns=now_ns + 3650 * _DAY_NS,
            words=("caf\u00e9", "\udce9"),
        ),
        accounts.create_link(images, title="Images", created_by=None, expires_ns=now_ns + 3650 * _DAY_NS),
        accounts.create_link(images, title="Ended", created_by="zoe", expires_ns=now_ns + 10**10),
    ]
    clock.shift(1)
    accounts.note_opened(links[0][0].id)
    accounts.revoke_link(links[1][0].id)
    accounts.disable_user("zoe")
    for action, detail in (
        (actions.LOOKED, "caf\u00e9"),
        (actions.EXPORTED, "\ud83d \0"),
        (actions.LINK_CREATED, ""),
    ):
        clock.shift(1)
        entry = given.AuditEntry(
            at_ns=time.time_ns(),
            who="ada",
            action=action,
            session=odd,
            person="ben",
            link=links[0][0].id,
            detail=detail,
        )
        accounts.record([entry, msgspec.structs.replace(entry, who=None, session=None, link=None)])
    secret = [*(each[1] for each in made), *cookies, *(each[1] for each in links)]
    return [sha256(each.encode()).hexdigest() for each in secret]


def _read_facts(place: Any, digests: list[str]) -> Facts:
    """Read the facts, through the public interface wherever there is one."""
    local = import_module("turnlog.store.model").LOCAL
    with closing(import_module("turnlog.store.opening").open_store(place)) as store:
        usage = store.read_usage(local)
        changes = store.list_changes(local, limit=10**6)
        epoch = store.find_epoch() if hasattr(store, "find_epoch") else store.find_feed(local).epoch
        facts = {
            "sessions": {each.key: _describe_session(store, local, each) for each in store.list_known(local)},
            "tombstones": store.list_tombstones(local),
            "machines": store.list_machines(local),
            "rules": store.list_rules(local),
            "deliveries": [_describe_delivery(each) for each in _list_deliveries(store, local)],
            "backups": store.list_backups(),
            "changes": len(changes),
            "last_change": changes[-1].seq,
            "change_digest": _digest(changes),
            "epoch": epoch.partition("-")[0],  # behind it PostgreSQL adds the number of the database
            "prices": usage.find_prices(),
            "reported": sorted(usage.list_reported(), key=lambda each: each.session),
        }
    opening: Any = import_module("turnlog.store.accounts.opening")
    portable: Any = import_module("turnlog.store.portable.database")
    with closing(opening.open_accounts(place)) as accounts:
        query = "SELECT issuer, subject, name FROM @identities ORDER BY name"
        kept = accounts._database.read(lambda execute: execute(query))
        known = accounts._database.read(
            lambda execute: [
                row[0]
                for table in ("tokens", "cookies", "links")
                for row in execute(f"SELECT digest FROM @{table}")
            ]
        )
        assert set(known) <= set(digests)
        facts |= {
            "users": accounts.list_users(),
            "identities": [[*map(portable.unpack_text, row[:2]), row[2]] for row in kept],
            "tokens": accounts.list_tokens(),
            "links": accounts.list_links(),
            "secrets": sorted(known),
            "audit": accounts.list_audit(limit=10**6),
        }
    simplified: Facts = _simplify(facts)
    return simplified


def _describe_session(store: Any, scope: Any, known: Any) -> Facts:
    [shown] = [each for each in store.find_sessions(scope, known.key) if each.key == known.key] or [None]
    access = store.find_access(scope, known.key)
    return {
        "session_id": known.session_id,
        "project_folder": known.project_folder,
        "origin": known.origin,
        "revision": known.revision,
        "marks": None if shown is None else shown.marks,
        "person": access.person,
        "chosen": access.chosen,
        "rule": access.rule,
        "visibility": access.visibility,
        "sources": {each.source: _describe_source(store, scope, each) for each in known.sources},
    }


def _describe_source(store: Any, scope: Any, known: Any) -> Facts:
    generations = []
    for number, length in store.archive.list_generations(scope, known.source):
        data = b"".join(store.archive.read_all(scope, known.source, number))
        assert len(data) == length
        generations.append([number, length, sha256(data).hexdigest()])
    return {
        "kind": known.kind,
        "path": known.path,
        "present": known.present,
        "agent_id": known.agent_id,
        "run_id": known.run_id,
        "copied_from": known.copied_from,
        "generations": generations,
    }


def _list_deliveries(store: Any, scope: Any) -> Iterable[Any]:
    has_filters = hasattr(store, "find_feed")
    found = store.list_deliveries(scope) if has_filters else store.list_deliveries(scope, count=10**6)
    return sorted(found, key=lambda each: (each.received_ns, each.delivery_id))


def _describe_delivery(delivery: Any) -> Facts:
    facts = {
        name: getattr(delivery, name) for name in delivery.__struct_fields__ if name not in ("id", "payload")
    }
    return facts | {"payload": sha256(delivery.payload).hexdigest()}


def _undo(place: Any) -> list[Any]:
    """Return what undoing marks changes; since it does change them, this comes last."""
    local = import_module("turnlog.store.model").LOCAL
    with closing(import_module("turnlog.store.opening").open_store(place)) as store:
        undone: list[Any] = _simplify([store.undo_mark(local) for _ in range(5)])
        return undone


def _digest(value: object) -> str:
    return sha256(json.dumps(_simplify(value)).encode()).hexdigest()


def _simplify(value: object) -> Any:
    """Return a value as JSON has it, structs as objects."""
    return json.loads(json.dumps(msgspec.to_builtins(value, str_keys=True)))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
