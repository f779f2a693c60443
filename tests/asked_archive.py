"""An archive that is asked everything: `recorded_answers` records and compares what it answers.

Sessions are archived on an engine as a team's server has them, with the clock stopped: two people own them,
some projects are shared, some sessions are marked, and hooks reported some. An admin, a member and a viewer ask
the API, and the archive's owner asks the command line and MCP. An answer is kept under the name of its
question, in which `{…}` stands for what was taken from an earlier answer: so pages are compared by what is on
them, and the names of questions say nothing about the sessions.

Sessions and files are named after their paths, and names decide between equals, so everything lies in one place
whoever asks. Answers are kept as they are, except for what `SCRUBBED` and `SCRUBBED_OF` list: numbers and
cursors that nobody is promised anything about.
"""

from __future__ import annotations

import csv
import fcntl
import http.client
import io
import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import time_machine
from mcp.server.mcpserver.exceptions import ToolError
from msgspec import Raw, Struct

from api_archive import NOW, write_files
from command_line import invoke
from golden import DATA
from server_app import serving
from turnlog.demo import install
from turnlog.ingest.pipeline import sync
from turnlog.ingest.spool import SPOOL
from turnlog.instants import to_microseconds
from turnlog.integrations.mcp import ArchiveTools
from turnlog.server.requests import ServerContext
from turnlog.store.account_model import TokenKind, UserRole
from turnlog.store.accounts import open_accounts
from turnlog.store.interface import MaintainedStore, Maintenance
from turnlog.store.model import LOCAL, Scope, StorePlace, Viewer
from turnlog.store.opening import open_store
from turnlog.store.usage_report import Grouping
from turnlog.transcripts.hooks import HookDelivery, build_delivery
from turnlog.transcripts.session_files import locate_path

Answers = dict[str, str]
Rules = Mapping[str, Any]
Part = str | tuple[str, int]

ENGINES = ("sqlite", "postgres")
INDEXES = {"clickhouse": "postgres"}
"""What has the index of an engine, is asked only what follows from it, and answers as that engine does."""
PLACE = Path("/tmp/turnlog-answers")
PEOPLE = {
    "ada": UserRole.ADMIN,
    "ben": UserRole.MEMBER,
    "cleo": UserRole.MEMBER,
    "vera": UserRole.VIEWER,
}
ASKING = ("ada", "ben", "vera")
MACHINES = {"ben": "b" * 32, "cleo": "c" * 32}
UNHEARD = "0a0a0a0a-0000-4000-8000-000000000001"
"""A session that only hooks reported."""

# fmt: off
GOLDEN = (
    "agents-background", "agents-inline-named", "agents-teammates", "agents-workflow", "compaction-dangling",
    "compaction-preserved", "deleted-and-aborted", "parents-cycle", "split-message", "steering", "superseded",
    "spec-000-parallel", "spec-000-sidechain", "spec-004-delegation", "torn-then-glued", "usage-cost-state",
    "usage-fork",
)
"""Golden transcripts that are asked about together with the sample sessions."""
ODDITIES = (
    "bytes", "branch_points", "prompt_forks", "missing_parents", "child_before_parent", "compact_boundaries",
    "sidechain_entries", "agent_id_entries", "images", "invalid_lines", "cjk_chars", "windows_cwd",
)
"""Columns of the corpus's manifest: of each, the session with the most is asked about, within `LARGEST`."""
LARGEST = 5 << 20
EVERY = 4
"""Where not all sessions are asked about, one of so many is."""

SORTS = ("newest", "oldest", "title", "cost", "duration", "messages", "tokens")
FILTERS = (
    "text=fix", "model=opus", "branch=main", "tag=kept", "tag=kept&tag=two", "person=me", "person=ben",
    "person=", f"machine={MACHINES['cleo']}", "visibility=team", "visibility=private", "starred=true",
    "starred=false", "archived=true", "only_here=true", "errors=true", "errors=false", "problems=true",
    "problems=false", "since=2026-03-03", "until=2026-03-02", "since=2025-06-01&until=2025-10-01",
    "grouped=true", "project={project}", "series={series}",
)
PROJECT_SORTS = ("newest", "name", "sessions", "cost", "tokens")
OTHERS = (
    "mission-control", "rules", "machines", "me", "users", "tokens", "links", "status", "archive", "login",
    "health", "ready", "notifications",
)
QUERIES = (
    "test", "error", '"the tests"', "pars*", "*ommit*", "test -error", "fix OR add", "src/", "=> {", "日本",
    "的", "tool:Bash", "is:error", "role:user fix", "kind:thinking the", "kind:hook test", "category:agent",
    "is:sidechain the", "file:py", "model:claude the", "branch:main add", "project:a the", "person:me the",
    "after:2026-02-01 the", "before:2026-03-03 the", "case:yes Test", "accents:yes cafe",
    "nothing-has-this-word",
)
GROUPINGS = (
    "daily", "weekly", "monthly", "session", "project", "model", "tool", "agent", "skill", "mcp", "person",
    "machine", "blocks",
)
BREAKDOWNS = ("model", "agent", "skill", "mcp", "person", "machine")
REFUSED = (
    "/api/sessions/nothing-there", "/api/sessions?colour=red", "/api/sessions?sort=nothing",
    "/api/sessions?cursor=nothing", "/api/search?q=(", "/api/search?q=test&cursor=nothing",
    "/api/usage?timezone=Nowhere", "/api/usage?by=tool&breakdown=model", "/api/projects?limit=0",
)
VIEWS = ("", "--turns", "--tree", "--agents", "--json", "--raw")
FORMATS = ("html", "md", "json", "jsonl", "csv")

PARTS: tuple[Part, ...] = (
    ("/messages?limit=6", 3), "/messages?around=end&limit=10", "/messages?before={index}&limit=3",
    "/messages?after={index}&limit=3", ("/messages?lane=main&limit=4", 2), "/messages?lane=tool&limit=30",
    "/messages?lane=agent&limit=30", "/messages?role=user&limit=30", ("/messages?role=tool_result&limit=3", 2),
    "/messages?role=tool_use&role=assistant&around=end&limit=20", "/messages?category=error&limit=20",
    "/messages?category=system&category=hook&limit=20", "/messages?branch=1&limit=20",
    "/messages?active=true&around={middle}&limit=5", "/messages?active=false&limit=20", "/messages/{index}/raw",
    ("/timeline?limit=5", 3), "/timeline?around={middle}&limit=5", "/timeline?around=end&limit=20",
    "/timeline?lane=main&limit=20",
    ("/actions?limit=6", 3), "/actions?category=builtin&limit=20",
    "/actions?category=hook&category=error&limit=20", "/actions?outcome=failed&limit=20",
    "/actions?outcome=ok&outcome=note&limit=20", "/actions?name={action}&limit=20",
    "/actions?min_ms=1000&limit=20", ("/actions?sort=slowest&limit=4", 2),
    ("/turns?limit=1", 3), "/tree?first=2&limit=5", ("/agents?limit=1", 2), ("/problems?limit=3", 3),
    ("/sidechains?limit=1", 2), "/sidechains/{head}", ("/calls?limit=2", 3), "/calls?state=failed",
    "/calls?category=builtin&limit=10", "/calls?name={tool}&limit=10", "/hook-events?first=1&limit=2",
)
"""What the admin asks of a session; with a number, so many pages of it."""
SEEN_PARTS: tuple[Part, ...] = (
    "/messages?around={middle}&limit=11", "/messages/0/raw", "/timeline?limit=30", "/turns", "/tree",
    "/problems", "/hook-events", "/weight", "/access",
)
"""What everybody asks of a session that they see."""
AGENT_PARTS = (
    "/messages?agent={agent}&limit=40", "/messages?agent={agent}&around=end&limit=5",
    "/messages?source={source}&limit=40", "/messages?source={source}&role=tool_result&limit=20",
    "/messages/0/raw?source={source}", "/timeline?agent={agent}&limit=20", "/tree?source={source}",
    "/calls?source={source}&limit=10", "/sidechains/{inside}",
)
CAPTURE_PARTS = ("/messages?source={source}&limit=10", "/calls?source={source}&limit=10", "/problems?limit=50")
# fmt: on

RENAMED: Mapping[str, str] = {
    "/api/sessions/{session}/weight": "/api/sessions/{session}/deletion-preview",
    '"strip":': '"call_bars":',
    '"tells":': '"provides_messages":',
    '"taken_out":': '"redacted":',
    '"flawed":': '"sessions_with_problems":',
    '"flawed_total":': '"sessions_with_problems_total":',
    '"aside":': '"quarantined":',
    '"action":"looked"': '"action":"viewed"',
    '"action":"found"': '"action":"searched"',
}
"""What is called otherwise than when its answers were recorded, by the names of then those of today: addresses,
and fields and values in JSON as the API writes it, where no text can be mistaken for them."""

SCRUBBED: Rules = {
    "next": None,
    "revision": None,
    "items": {"*": {"revision": None, "hook": {"id": None}}},
    "session": {"revision": None},
    "entries": {"*": {"id": None}},
}
"""What may be another number another time, in any answer: where a list continues, revisions, numbers of hook
deliveries and of entries of the audit log. Whether a list continues is compared."""
SCRUBBED_OF: Mapping[str, Rules] = {
    "/api/archive": {"bytes": None},
    "/api/health": {"version": None},
    "/api/status": {"version": None, "last_change": None},
    "/api/tokens": {"*": {"id": None}},
}
"""Besides, by question: the size of the database, turnlog's version, the end of the feed, random names."""
JSON = ("application/json", " json")
"""How the first lines of answers end that are JSON."""
_DATABASE = re.compile(r"\bt[0-9a-f]{32}\b")
"""What `postgres_server` calls a database."""
_CURSOR = re.compile(r"--after \S+")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Asked(Struct, frozen=True):
    """A session that is asked about."""

    key: str
    id: str
    path: str
    """Of its transcript, below the folder of all files."""
    number: int
    """By path."""
    label: str
    """What it is called in the names of questions."""

    def is_of(self, path: str) -> bool:
        """Return whether a file is its transcript, or lies in its folder."""
        return path == self.path or path.startswith(f"{self.path.removesuffix('.jsonl')}/")


def find_engines() -> tuple[str, ...]:
    """Return the engines that this version has."""
    return tuple(engine for engine in (*ENGINES, *INDEXES) if _find_maker(engine) is not None)


def _find_maker(engine: str) -> Callable[[Path], StorePlace] | None:
    """Return what makes a place for a store, given a home; None if this version does not have the engine."""
    if engine == "sqlite":
        return lambda home: home / "turnlog.db"
    if engine in INDEXES:
        try:
            make_indexed: Callable[[Path], StorePlace] = import_module("clickhouse_engine").make_place
        except ModuleNotFoundError:
            return None
        return make_indexed
    try:
        make_database = import_module("postgres_server").make_database
    except ModuleNotFoundError:
        return None
    server_place = import_module("turnlog.store.model").ServerPlace
    return lambda home: server_place(make_database(), home)


def ask_about_demo(engine: str) -> Answers:
    """Return all answers about the sample sessions, and about some that are made up for tests."""

    def write(files: Path, home: Path) -> list[HookDelivery]:
        write_files(files)
        install(files, NOW, home)
        for name in GOLDEN:
            shutil.copytree(DATA / "transcripts" / name, files / "projects" / f"-golden-{name}")
        hooks = [
            build_delivery(path.stem, int(path.stem.partition("-")[0]), path.read_bytes(), MACHINES["ben"])
            for path in sorted((home / SPOOL).glob("*.json"))
        ]
        shutil.rmtree(home / SPOOL)
        since = to_microseconds(NOW) * 1000 - 10**12
        for number, event in enumerate(("UserPromptSubmit", "PreToolUse", "Stop")):
            hooks.append(_make_delivery(UNHEARD, event, since + number, f"unheard-{number}"))
        return hooks

    with _archive("demo", engine, write) as asker:
        sessions = asker.list_sessions()
        chosen = [each for each in sessions if engine == "sqlite" or each.number % EVERY == 0]
        asker.mark(sessions)
        for person in ASKING:
            asker.ask_lists(person, QUERIES, limit=15)
            for session in () if engine in INDEXES else sessions:
                if session in chosen:
                    parts = (*SEEN_PARTS, *PARTS) if person == "ada" else SEEN_PARTS
                    asker.ask_session(person, session, parts, ("md", "json"))
                else:
                    asker.ask(person, "/api/sessions/{session}", session)
            if engine in INDEXES:
                continue
            for part in ("", "/timeline", "/actions", "/hook-events"):
                asker.ask(person, f"/api/sessions/{UNHEARD}{part}")
            several = urlencode([("id", each.key) for each in sessions[:4]])
            for form in FORMATS:
                asker.ask(person, f"/api/export?format={form}&{several}")
        if engine in INDEXES:
            return asker.answers
        asker.ask_mcp(chosen, ASKING[1:])
        asker.list_on_command_line()
        for session in chosen:
            asker.show_on_command_line(session, VIEWS, FORMATS)
        for person in ASKING:  # last, because it says what they looked at
            asker.ask(person, "/api/audit?limit=500")
    return asker.answers


def ask_about_corpus(engine: str, corpus: Path) -> Answers:
    """Return answers about real sessions: all of them together, and parts of the odd and some other ones."""
    odd = set(_list_odd(corpus))

    def write(files: Path, home: Path) -> list[HookDelivery]:
        for path in (corpus / "sessions").rglob("*"):
            if path.is_file():
                copy = files / path.relative_to(corpus / "sessions")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        return []

    with _archive("corpus", engine, write) as asker:
        sessions = asker.list_sessions(lambda _, number: f"#{number}")
        unusual = [each for each in sessions if any(map(each.is_of, odd))]
        chosen = (
            unusual
            if engine != "sqlite"
            else [each for each in sessions if each in unusual or each.number % EVERY == 0]
        )
        asker.add_hooks(unusual)
        asker.mark(sessions)
        for person in ASKING:
            asker.ask_lists(person, QUERIES if person == "ada" else QUERIES[::5], limit=60)
        if engine in INDEXES:
            return asker.answers
        for session in sessions:
            asker.ask(ASKING[1 + session.number % 2], "/api/sessions/{session}", session)
        for session in chosen:
            parts = (*SEEN_PARTS, *PARTS) if engine == "sqlite" else SEEN_PARTS
            asker.ask_session("ada", session, parts, [FORMATS[session.number % len(FORMATS)]])
        asker.ask_mcp(chosen)
        asker.list_on_command_line()
        for session in chosen:
            view, form = VIEWS[session.number % len(VIEWS)], FORMATS[(session.number + 2) % len(FORMATS)]
            asker.show_on_command_line(session, [view], [form])
    return asker.answers


def _list_odd(corpus: Path) -> Iterator[str]:
    """Yield the paths of odd files, below the folder of all sessions."""
    with (corpus / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"].startswith("session")]
    for column in ODDITIES:
        fit = [row for row in rows if int(row["bytes"]) <= LARGEST and int(row[column] or 0) > 0]
        if fit:
            yield max(fit, key=lambda row: (int(row[column]), row["file"]))["file"].removeprefix("sessions/")


@contextmanager
def _archive(about: str, engine: str, write: Callable[[Path, Path], list[HookDelivery]]) -> Iterator[Asker]:
    """Archive what `write` writes, with the hook deliveries that it returns, and run a server on it."""
    make_place = _find_maker(engine)
    assert make_place is not None, engine
    with ExitStack() as stack:
        folder = stack.enter_context(_claim_folder(about))
        files, home = folder / "files", folder / "home"
        stack.enter_context(_fix_environment(home))
        stack.enter_context(time_machine.travel(NOW, tick=False))
        home.mkdir()
        hooks = write(files, home)
        for path in files.rglob("*"):
            os.utime(path, (NOW.timestamp(), NOW.timestamp()))
        place = make_place(home)
        store = stack.enter_context(closing(open_store(place)))
        accounts = stack.enter_context(closing(open_accounts(place)))
        tokens = {}
        for person, role in PEOPLE.items():
            accounts.add_user(person, role, full_name=person.title(), email=f"{person}@example.org")
            tokens[person] = accounts.create_token(person, TokenKind.PERSONAL, "test")[1]
        sessions = locate_path(files).sessions
        folders = sorted({each.folder.parent for each in sessions})
        for number, (person, origin) in enumerate(MACHINES.items()):
            store.save_machine(LOCAL, origin, person=person, host=f"{person}.local", user=person, at_ns=0)
            own = [each for each in sessions if folders.index(each.folder.parent) % 2 == number]
            sync(store, place, own, origin=origin, workers=1)
        store.add_deliveries(LOCAL, hooks)
        around = ServerContext(place=place, env={})
        served = stack.enter_context(serving(home, store=store, accounts=accounts, around=around))
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        yield Asker(files, store, place, stack.enter_context(closing(connection)), tokens)


@contextmanager
def _claim_folder(about: str) -> Iterator[Path]:
    """Provide an empty folder with a fixed path, to one process at a time."""
    PLACE.mkdir(mode=0o700, exist_ok=True)
    with (PLACE / f"{about}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = PLACE / about
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


@contextmanager
def _fix_environment(home: Path) -> Iterator[None]:
    """Keep this machine's settings out of the answers."""
    fixed = {
        "TZ": "UTC",
        "HOME": "/home/robin",
        "TURNLOG_HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / "nothing"),
        "COLUMNS": "100",
        "LANG": "C.UTF-8",
    }
    before = {name: os.environ.pop(name, None) for name in (*fixed, "TURNLOG_STORE", "XDG_CONFIG_HOME")}
    os.environ.update(fixed)
    time.tzset()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        time.tzset()


def _make_delivery(session: str, event: str, at_ns: int, name: str, **more: object) -> HookDelivery:
    payload = {"hook_event_name": event, "session_id": session, "cwd": "/home/robin", **more}
    return build_delivery(f"{at_ns}-{name}", at_ns, msgspec.json.encode(payload), MACHINES["ben"])


class Asker:
    """Asks an archive, and keeps each answer under the name of its question."""

    def __init__(
        self,
        files: Path,
        store: MaintainedStore,
        place: StorePlace,
        connection: http.client.HTTPConnection,
        tokens: Mapping[str, str],
    ) -> None:
        self._files = files
        self._store = store
        self._place = place
        self._connection = connection
        self._tokens = tokens
        self.answers: Answers = {}

    def list_sessions(self, name: Callable[[str, int], str] = lambda path, _: path) -> list[Asked]:
        """Return all sessions by their paths; `name` returns a session's label."""
        found = []
        for item in self._read("ada", "/api/sessions?limit=500")["items"]:
            path = self._read("ada", f"/api/sessions/{item['key']}")["path"]
            found.append((path.removeprefix(f"{self._files}/"), item["key"], item["session_id"]))
        return [
            Asked(key, id, path, number, name(path, number))
            for number, (path, key, id) in enumerate(sorted(found))
        ]

    def mark(self, sessions: Sequence[Asked]) -> None:
        """Share some projects and sessions, and give some sessions names, tags and stars."""
        found = [each["path"] for each in self._read("ada", "/api/projects")["items"]]
        for number, path in enumerate(sorted(filter(None, found))[::3]):
            self._change(f"rules {number}", "PUT", "/api/rules", {"pattern": path, "visibility": "team"})
        marks: Iterable[dict[str, Any]] = (
            {"name": "A name of its own", "starred": True, "add_tags": ["kept", "two"]},
            {"note": "Look again", "add_tags": ["kept"]},
            {"archived": True},
        )
        for session, mark in zip(sessions[1::4], marks, strict=False):
            at = f"/api/sessions/{session.key}"
            self._change(f"marks {session.label}", "PATCH", f"{at}/marks", mark)
            self._change(f"forget {session.label}", "POST", f"{at}/forget", {"dry_run": True})
        for session, chosen in zip(sessions[2::4], ("team", "private"), strict=False):
            path = f"/api/sessions/{session.key}/access"
            self._change(f"access {session.label}", "PUT", path, {"visibility": chosen})

    def _change(self, question: str, method: str, path: str, body: object) -> None:
        _, head, answer = self._fetch("ada", method, path, msgspec.json.encode(body))
        assert head.startswith("200 "), (method, path, head, answer)
        self._keep(f"ada {method} {question}", head, answer)

    def add_hooks(self, sessions: Iterable[Asked]) -> None:
        """Add hook deliveries for the first calls of sessions, and for the ends of their turns."""
        made = []
        for number, session in enumerate(sessions):
            for call in self._read("ada", f"/api/sessions/{session.key}/calls?limit=15")["items"]:
                for event, at in (("PreToolUse", call["started_at"]), ("PostToolUse", call["ended_at"])):
                    if at is not None and call["id"] is not None:
                        name = f"{number}-{call['source']}-{call['index']}-{event}"
                        more = {"tool_use_id": call["id"], "tool_name": call["name"]}
                        made.append(_make_delivery(session.id, event, _read_ns(at), name, **more))
            for turn in self._read("ada", f"/api/sessions/{session.key}/turns?limit=10")["items"]:
                if turn["ended_at"] is not None:
                    at_ns = _read_ns(turn["ended_at"]) + 1000
                    made.append(_make_delivery(session.id, "Stop", at_ns, f"{number}-{turn['index']}"))
        self._store.add_deliveries(LOCAL, made)

    def ask_lists(self, person: str, queries: Iterable[str], limit: int) -> None:
        """Ask for everything about more than one session, with `limit` sessions on a page."""
        self._store.maintain(Maintenance.FILL)
        for sort in SORTS:
            self.ask(person, f"/api/sessions?limit={limit}&sort={sort}", pages=9)
        sessions = self._read(person, "/api/sessions?limit=500")["items"]
        given = {
            "project": next((each["project"] for each in sessions if each["project"]), None),
            "series": next((each["series"] for each in sessions if each["series"]), None),
        }
        for asked in FILTERS:
            self.ask(person, f"/api/sessions?limit=100&{asked}", given=given)
        for asked in ("", "?errors=true", "?person=me"):
            self.ask(person, f"/api/sessions/facets{asked}")
        for sort in PROJECT_SORTS:
            self.ask(person, f"/api/projects?sort={sort}")
        self.ask(person, "/api/projects?text=a&limit=4", pages=3)
        for name in OTHERS:
            self.ask(person, f"/api/{name}")
        for query in queries:
            for order, pages in (("newest", 3), ("relevance", 1)):
                asked = urlencode({"q": query, "order": order, "limit": 15})
                self.ask(person, f"/api/search?{asked}", pages=pages)
        self.ask(person, "/api/search?q=the+par&typing=true")
        for by in GROUPINGS:
            self.ask(person, f"/api/usage?by={by}")
        for breakdown in BREAKDOWNS:
            self.ask(person, f"/api/usage?by=weekly&breakdown={breakdown}")
        for asked in ("by=session&top=3", "since=2026-03-03", "timezone=Asia/Tokyo", "by=model&project=a"):
            self.ask(person, f"/api/usage?{asked}")
        for path in REFUSED:
            self.ask(person, path)

    def ask_session(self, person: str, session: Asked, parts: Iterable[Part], formats: Iterable[str]) -> None:
        """Ask for a session and its parts, if the person sees it, and for files that the answers point at."""
        at = "/api/sessions/{session}"
        if self.ask(person, at, session) is None:
            return
        self.ask(person, "/api/sessions/{id}", session)
        messages = self.ask(person, f"{at}/messages?limit=100", session)
        actions = self.ask(person, f"{at}/actions?limit=100", session)
        calls = self.ask(person, f"{at}/calls?bodies=true&limit=40", session)
        groups = self.ask(person, f"{at}/sidechains", session)
        agents = self.ask(person, f"{at}/agents", session)
        captures = self.ask(person, f"{at}/captures", session)
        middle = messages["items"][len(messages["items"]) // 2] if messages["items"] else {}
        given = {
            "middle": middle.get("uuid"),
            "index": middle.get("index"),
            "action": max(sorted(actions["names"]), key=actions["names"].__getitem__, default=None),
            "tool": calls["items"][0]["name"] if calls["items"] else None,
            "head": groups["items"][-1]["message_uuid"] if groups["items"] else None,
        }
        for each in parts:
            part, pages = (each, 1) if isinstance(each, str) else each
            self.ask(person, f"{at}{part}", session, pages=pages, given=given)
        for number, agent in enumerate(agents["items"][:2]):
            given = {"agent": agent["id"], "source": agent["source"]}
            for part in AGENT_PARTS:
                found = self.ask(person, f"{at}{part}", session, note=f"agent {number}", given=given)
                if part == AGENT_PARTS[0] and found is not None and found["items"]:
                    given["inside"] = found["items"][0]["uuid"]
        for number, capture in enumerate(captures["items"][:1]):
            given = {"source": capture["source"]}
            for part in CAPTURE_PARTS:
                self.ask(person, f"{at}{part}", session, note=f"capture {number}", given=given)
        for number, href in enumerate([*dict.fromkeys(_list_hrefs([messages, calls, captures]))][:4]):
            self.ask(person, "{href}", session, note=f"file {number}", given={"href": href})
        for form in formats:
            self.ask(person, f"/api/export?id={{session}}&format={form}", session)
            self.ask(person, f"/api/export/preview?id={{session}}&format={form}", session)

    def ask(
        self,
        person: str,
        template: str,
        session: Asked | None = None,
        *,
        pages: int = 1,
        note: str = "",
        given: Mapping[str, Any] | None = None,
    ) -> Any:
        """Ask the API, and return the first page; None if it was refused, or not asked for lack of a value."""
        values = {**(given or {}), **({} if session is None else {"session": session.key, "id": session.id})}
        if any(values.get(name) is None for name in _PLACEHOLDER.findall(template)):
            return None
        safe = "/" if template == "{href}" else ""
        path = _PLACEHOLDER.sub(
            lambda name: quote(str(values[name[1]]), safe=safe), RENAMED.get(template, template)
        )
        question = f"{person} {template}"
        if session is not None:
            question = question.replace("{session}", session.label)
            question += "" if session.label in question else f" {session.label}"
        question += f" {note}" if note else ""
        first, asked = None, path
        for page in range(1, pages + 1):
            status, head, body = self._fetch(person, "GET", asked)
            self._keep(f"{question} page {page}" if page > 1 else question, head, body, template)
            if status != 200 or not head.endswith(JSON):
                break
            found = msgspec.json.decode(body)
            first = found if first is None else first
            if page == pages:
                break
            # Lists continue behind a cursor, windows of messages behind an index.
            further = [("cursor", found.get("next")), ("after", found.get("after"))]
            further = [each for each in further if each[1] is not None]
            if not further:
                break
            asked = f"{path}&{urlencode(further)}"
        return first

    def ask_mcp(self, sessions: Iterable[Asked], people: Iterable[str] = ()) -> None:
        """Ask all tools of MCP as the owner, and those about several sessions as other people, too."""
        scopes = {"owner": LOCAL}
        scopes |= {each: Scope(LOCAL.owner, Viewer(person=each, team=True)) for each in people}
        for who, scope in scopes.items():
            tools = ArchiveTools(self._store, scope)
            for query in QUERIES:
                self._ask_tool(f"mcp {who} search {query}", tools.search, query, limit=10, pages=2)
            self._ask_tool(f"mcp {who} file_history", tools.file_history, "py", limit=10, pages=2)
            self._ask_tool(f"mcp {who} list_projects", tools.list_projects)
            self._ask_tool(f"mcp {who} list_sessions", tools.list_sessions, limit=15, pages=9)
            for by in GROUPINGS:
                self._ask_tool(f"mcp {who} usage {by}", tools.usage, Grouping(by))
        read = ArchiveTools(self._store, LOCAL).read_conversation
        for session in sessions:
            question = f"mcp owner read_conversation {session.label}"
            self._ask_tool(f"{question} by id", read, session.id)
            text = self._ask_tool(question, read, session.key)
            messages = [] if text is None else msgspec.json.decode(text)["messages"]
            if messages:
                around = messages[len(messages) // 2]["message"]
                self._ask_tool(f"{question} around", read, session.key, around=around, limit=6, full=True)

    def _ask_tool(
        self, question: str, tool: Callable[..., str], *given: Any, pages: int = 1, **more: Any
    ) -> str | None:
        first = None
        for page in range(1, pages + 1):
            try:
                text = tool(*given, **more)
            except ToolError as error:  # such as for an id that copies share
                self._keep(question, "mcp refused", str(error).encode())
                return None
            self._keep(f"{question} page {page}" if page > 1 else question, "mcp json", text.encode())
            first = text if first is None else first
            more["cursor"] = msgspec.json.decode(text).get("next")
            if more["cursor"] is None:
                break
        return first

    def list_on_command_line(self) -> None:
        """Ask the command line for everything about more than one session, as the archive's owner."""
        for options in ((), ("--json",), ("--csv",), ("--all", "--sort", "title"), ("--limit", "3")):
            self._run("sessions", "--limit", "0", *options)
        for options in ((), ("--json",), ("--csv",), ("--sort", "cost")):
            self._run("projects", *options)
        for query in QUERIES:
            self._run("search", "--", query)
        self._run("search", "--json", "--limit", "30", "--", "test")
        self._run("search", "--order", "relevance", "--", "test")
        for by in GROUPINGS:
            self._run("usage", by, "--no-sync", "--timezone", "UTC")
        for options in (("--json",), ("--csv",), ("--breakdown", "model"), ("--since", "2026-03-03")):
            self._run("usage", "daily", "--no-sync", "--timezone", "UTC", *options)

    def show_on_command_line(self, session: Asked, views: Iterable[str], formats: Iterable[str]) -> None:
        """Ask the command line for a session, as the archive's owner."""
        for view in views:
            self._run("show", session.key, *([view] if view else ["--full", "--thinking"]), session=session)
        for form in formats:
            self._run("export", session.key, "--format", form, "--output", "-", session=session)

    def _run(self, *args: str, session: Asked | None = None) -> None:
        address = getattr(self._place, "address", None)
        done = invoke(*args, env={} if address is None else {"TURNLOG_STORE": address})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        shown = [session.label if session is not None and each == session.key else each for each in args]
        head = f"exit {done.exit_code}" + (" json" if "--json" in args and done.exit_code == 0 else "")
        self._keep(" ".join(["turnlog", *shown]), head, done.output_bytes)

    def _read(self, person: str, path: str) -> Any:
        """Ask for something that further questions need."""
        status, _, answer = self._fetch(person, "GET", path)
        assert status == 200, (person, path, status, answer)
        return msgspec.json.decode(answer)

    def _fetch(self, person: str, method: str, path: str, body: bytes | None = None) -> tuple[int, str, bytes]:
        """Return the status, what kind of answer it is, and the answer."""
        headers = {"Authorization": f"Bearer {self._tokens[person]}"}
        headers |= {} if body is None else {"Content-Type": "application/json"}
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
        except http.client.RemoteDisconnected:  # the server closes a connection that is idle for some seconds
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
        named = answer.getheader("content-disposition")
        head = f"{answer.status} {f'{named} ' if named else ''}{answer.getheader('content-type')}"
        return answer.status, head, answer.read()

    def _keep(self, question: str, head: str, body: bytes, template: str = "") -> None:
        """Keep an answer, without what nobody is promised."""
        if head.endswith(JSON):
            body = scrub(body, {**SCRUBBED, **SCRUBBED_OF.get(template, {})})
            for former, today in RENAMED.items():
                body = body.replace(today.encode(), former.encode())
        elif head.endswith("application/zip"):
            body = _list_zipped(body)
        text = _CURSOR.sub("--after …", _DATABASE.sub("t…", body.decode("utf-8", "backslashreplace")))
        assert question not in self.answers, question
        self.answers[question] = f"{head}\n{text}"


def scrub(data: bytes, rules: Rules | None) -> bytes:
    """Return JSON with `…` in place of what rules name, unless it is null; the rest stays, byte for byte."""
    if rules is None:
        return data if data == b"null" else '"…"'.encode()
    if data.startswith(b"[") and "*" in rules:
        items = msgspec.json.decode(data, type=list[Raw])
        return msgspec.json.encode([Raw(scrub(bytes(each), rules["*"])) for each in items])
    if data.startswith(b"{"):
        fields = msgspec.json.decode(data, type=dict[str, Raw])
        for name in fields.keys() & rules.keys():
            fields[name] = Raw(scrub(bytes(fields[name]), rules[name]))
        return msgspec.json.encode(fields)
    return data


def _list_hrefs(value: object) -> Iterator[str]:
    """Yield the addresses of files that answers point at."""
    if isinstance(value, dict):
        href = value.get("href")
        if isinstance(href, str) and href.startswith("/api/sessions/"):
            yield href
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _list_hrefs(each)


def _list_zipped(data: bytes) -> bytes:
    """Return the names of the files in a ZIP file, each with a digest; how they are compressed may change."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = [f"{name} {sha256(archive.read(name)).hexdigest()}" for name in archive.namelist()]
    return "\n".join(found).encode()


def _read_ns(text: str) -> int:
    return to_microseconds(datetime.fromisoformat(text)) * 1000
