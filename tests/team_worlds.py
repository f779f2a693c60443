"""Teams for tests: some people, their machines and sessions, as a store and a server have them.

A world may hold all of it, or only what somebody may see: then, whatever that person asks, both must answer the
same. The files of the sessions are the same ones, so that everything is called the same in all worlds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from api_archive import Writer, call, say
from postgres_server import make_archive
from server_app import Answer, Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.server.requests import ServerContext
from turnlog.store.account_model import TokenKind, UserRole
from turnlog.store.accounts import Accounts, open_accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, ServerPlace, StorePlace, Visibility, home_of
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.hooks import HookDelivery, build_delivery

PEOPLE = {"ada": UserRole.ADMIN, "ben": UserRole.MEMBER, "cleo": UserRole.MEMBER, "vera": UserRole.VIEWER}
ENGINES = ("sqlite", "postgres")
WITH_SESSIONS = tuple(person for person, role in PEOPLE.items() if role is not UserRole.VIEWER)
AT_NS = 1_770_000_000 * 10**9


class Told(Struct, frozen=True, gc=False, kw_only=True):
    """A session that somebody had."""

    number: int
    person: str
    project: str
    chosen: Visibility | None = None
    hooks: int = 0
    """How many deliveries there are of it."""
    has_file: bool = True
    """Otherwise only hooks tell of it."""

    @property
    def id(self) -> str:
        return f"{self.number:08x}-0000-4000-8000-{self.number:012d}"

    @property
    def secret(self) -> str:
        """A word that stands in nobody else's session."""
        return f"zq{self.number:04d}x"


class Project(Struct, frozen=True, gc=False):
    """A rule for a project."""

    name: str
    visibility: Visibility


class World(Struct, frozen=True):
    """A team's server."""

    store: MaintainedStore
    accounts: Accounts
    served: Served
    tokens: dict[str, str]
    machines: dict[str, str]
    """Secrets of machines' tokens, by person."""

    def get(self, who: str, path: str) -> Answer:
        return self.served.ask("GET", path, {"Authorization": f"Bearer {self.tokens[who]}"})


def name_machine(person: str) -> str:
    return blake2b(person.encode(), digest_size=16).hexdigest()


def can_see(who: str, told: Told, rules: Sequence[Project]) -> bool:
    """Tell whether somebody may see a session, as simply as it can be said."""
    if PEOPLE[who] is UserRole.ADMIN or told.person == who:
        return True
    if not told.has_file:
        return False
    by_rule = [rule.visibility for rule in rules if rule.name == told.project]
    return (told.chosen or next(iter(by_rule), Visibility.PRIVATE)) is Visibility.TEAM


def write_files(folder: Path, sessions: Sequence[Told]) -> None:
    """Write the files of sessions as they lie on their people's machines."""
    for told in sessions:
        if told.has_file:
            project = folder / told.person / "projects" / f"-home-{told.person}-{told.project}"
            project.mkdir(parents=True, exist_ok=True)
            (project / f"{told.id}.jsonl").write_bytes(_write(told))


@contextmanager
def making_world(
    engine: str, home: Path, files: Path, sessions: Sequence[Told], rules: Sequence[Project]
) -> Iterator[World]:
    """Run a server with some of the sessions whose files were written."""
    home.mkdir(parents=True, exist_ok=True)
    place: StorePlace = home / "turnlog.db"
    if engine == "postgres":
        place = ServerPlace(make_archive(), home)
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(place)))
        accounts = stack.enter_context(closing(open_accounts(place)))
        _fill(store, place, files, sessions, rules)
        tokens, machines = {}, {}
        for person, role in PEOPLE.items():
            accounts.add_user(person, role, email=f"{person}@example.org")
            tokens[person] = accounts.create_token(person, TokenKind.PERSONAL, "test")[1]
            if role is not UserRole.VIEWER:
                machines[person] = accounts.create_token(person, TokenKind.MACHINE, "test")[1]
        served = stack.enter_context(
            serving(home_of(place), store=store, accounts=accounts, around=ServerContext(place=place))
        )
        yield World(store, accounts, served, tokens, machines)


def _fill(
    store: MaintainedStore, place: StorePlace, files: Path, sessions: Sequence[Told], rules: Sequence[Project]
) -> None:
    wanted = {told.id: told for told in sessions}
    for person in WITH_SESSIONS:
        origin = name_machine(person)
        store.save_machine(LOCAL, origin, person=person, host=f"{person}.local", user=person, at_ns=AT_NS)
        found = locate_sessions([files / person]).sessions if (files / person).exists() else ()
        sync(store, place, [each for each in found if each.session_id in wanted], origin=origin, workers=1)
        deliveries = [
            each for told in sessions if told.person == person for each in _list_deliveries(told, origin)
        ]
        store.add_deliveries(LOCAL, deliveries)
    # In this order nothing is seen for a moment only: whoever saw it would be told that it is gone.
    for known in store.list_known(LOCAL):
        chosen = wanted[known.session_id].chosen
        if chosen is not None:
            store.set_visibility(LOCAL, [known.key], chosen)
    for rule in rules:
        store.set_rule(LOCAL, rule.name, rule.visibility)


def _list_deliveries(told: Told, origin: str) -> Iterator[HookDelivery]:
    for number in range(told.hooks):
        at_ns = AT_NS + told.number * 10**9 + number
        payload = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": told.id,
            "prompt": f"{told.secret} hook",
        }
        built = build_delivery(f"{at_ns}-{told.number:08d}", at_ns, json.dumps(payload).encode())
        yield HookDelivery(
            **{name: getattr(built, name) for name in built.__struct_fields__} | {"origin": origin}
        )


def _write(told: Told) -> bytes:
    to = Writer(told.id, cwd=f"/home/{told.person}/{told.project}")
    to.user(f"{told.secret} asked")
    to.answer(
        say(f"{told.secret} answered"), call(f"toolu_{told.secret}", "Read", file_path=f"/{told.secret}.py")
    )
    to.result(f"toolu_{told.secret}", f"{told.secret} result")
    to.answer(say("Done."))
    return to.data
