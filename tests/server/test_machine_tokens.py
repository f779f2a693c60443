"""What people push: it is theirs, and they learn nothing of what is others'."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from command_line import run
from team_server import Team, serving_team
from turnlog.errors import PushError
from turnlog.ingest.change_check import match_known
from turnlog.ingest.machine import Exclusion, find_origin
from turnlog.ingest.push_client import PushClient, SessionResult
from turnlog.ingest.push_collector import SpooledHooks
from turnlog.ingest.pusher import collect_changes, identify_session
from turnlog.ingest.spool import Spool, make_delivery_id
from turnlog.ingest.upload_protocol import CHUNK, PROTOCOL, HookUpload, Machine, Upload, UploadedDelivery
from turnlog.store.account_model import TokenKind, UserRole
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_lines
from turnlog.transcripts.hooks import DeliveryFilter
from turnlog.transcripts.session_files import locate_path

SESSION = "5b8ee9a0-0000-4000-8000-{:012d}"
_numbers = iter(range(1, 1 << 20))


class Pushed:
    """A server with people, and machines that push to it."""

    def __init__(self, team: Team, store: MaintainedStore, home: Path) -> None:
        self.team = team
        self.store = store
        self.home = home

    def make_token(self, person: str, kind: TokenKind = TokenKind.MACHINE) -> str:
        return self.team.accounts.create_token(person, kind, "test")[1]

    def name_machine(self) -> str:
        return f"{next(_numbers):032x}"

    def name_session(self) -> str:
        return SESSION.format(next(_numbers))

    @contextmanager
    def connecting(
        self, token: str, origin: str, find_token: Callable[[], str] | None = None
    ) -> Iterator[PushClient]:
        client = PushClient(urlsplit(self.team.served.origin), token, origin, find_token=find_token)
        with closing(client):
            yield client

    def push(self, token: str, origin: str, session_id: str, lines: int = 3) -> SessionResult:
        """Push a session from a machine."""
        path = self.home / origin / "projects" / "-p" / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make_lines(lines, session_id=session_id))
        [files] = locate_path(path).sessions
        given = collect_changes(
            identify_session(files), *match_known(files, None), None, origin=origin, limit=1 << 20
        ).upload
        assert given is not None
        upload = Upload(protocol=PROTOCOL, origin=origin, machine=Machine("box", "me", "1"), sessions=(given,))
        with self.connecting(token, origin) as client:
            [result] = client.send(upload)
        return result

    def push_hooks(
        self, token: str, origin: str, *payloads: bytes, offered: tuple[str, ...] = ()
    ) -> tuple[list[str], frozenset[str]]:
        """Push what hooks were given, and return their names, and which of the offered ones are missing."""
        given = [UploadedDelivery(make_delivery_id(), 1, payload) for payload in payloads]
        upload = HookUpload(protocol=PROTOCOL, origin=origin, offered=offered, deliveries=tuple(given))
        with self.connecting(token, origin) as client:
            return [each.delivery_id for each in given], client.send_hooks(upload)

    def find(self, session_id: str, person: str | None) -> StoredSession:
        [found] = [each for each in find_sessions(self.store, LOCAL, session_id) if each.person == person]
        return found

    def combine_states(self) -> int:
        """Wait until nothing is written any more of what was pushed before, and return where the feed is."""
        last = -1
        while last != (last := self.store.read_feed(LOCAL).last):
            time.sleep(0.3)
        return last

    def refuse(self, code: str, work: Callable[[], object]) -> None:
        """Something is refused, and nothing is written."""
        before = self.combine_states()
        with pytest.raises(PushError) as refused:
            work()
        assert (refused.value.status, refused.value.code) == (403, code)
        assert self.store.read_feed(LOCAL).last == before


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pushed]:
    home = tmp_path_factory.mktemp("home")
    with serving_team(home) as team, closing(open_store(home / "turnlog.db", read_only=True)) as store:
        for name, role in (
            ("ada", UserRole.ADMIN),
            ("ben", UserRole.MEMBER),
            ("cleo", UserRole.MEMBER),
            ("vera", UserRole.VIEWER),
        ):
            team.accounts.add_user(name, role)
        yield Pushed(team, store, home)


@pytest.mark.parametrize("kind", list(TokenKind))
def test_what_a_machine_pushes_is_its_person_s(pushed: Pushed, kind: TokenKind) -> None:
    origin, session_id = pushed.name_machine(), pushed.name_session()
    token = pushed.make_token("ben", kind)
    assert pushed.push(token, origin, session_id).outcome == "taken"
    found = pushed.find(session_id, "ben")
    assert (found.origin, found.person) == (origin, "ben")
    [machine] = [each for each in pushed.store.list_machines(LOCAL) if each.origin == origin]
    assert (machine.person, machine.host, machine.user, machine.sessions) == ("ben", "box", "me", 1)
    with pushed.connecting(token, origin) as client:
        assert [known.key for known in client.fetch_state().sessions] == [found.key]


def test_a_machine_s_token_is_good_for_one_machine(pushed: Pushed) -> None:
    token, origin = pushed.make_token("ben"), pushed.name_machine()
    pushed.push(token, origin, pushed.name_session())
    other = pushed.name_machine()
    pushed.refuse("another_machine", lambda: pushed.push(token, other, pushed.name_session()))
    pushed.refuse("another_machine", lambda: pushed.push_hooks(token, other, b"{}"))
    twice = f"/api/ingest/state?origin={origin}&origin={other}"
    assert pushed.team.ask(token, "GET", twice).status in (403, 422)
    assert pushed.team.ask(token, "GET", f"/api/ingest/state?origin={origin}").status == 200


def test_a_machine_that_is_somebody_s_stays_theirs(pushed: Pushed) -> None:
    origin, session_id = pushed.name_machine(), pushed.name_session()
    pushed.push(pushed.make_token("ben"), origin, session_id)
    for kind in TokenKind:
        token = pushed.make_token("cleo", kind)
        pushed.refuse("machine_taken", lambda token=token: pushed.push(token, origin, pushed.name_session()))  # type: ignore[misc]
        pushed.refuse("machine_taken", lambda token=token: pushed.push_hooks(token, origin, b"{}"))  # type: ignore[misc]
        with pushed.connecting(token, origin) as client:
            assert client.fetch_state().sessions == (), "not even that there is something"
        key = pushed.find(session_id, "ben").key
        asked = pushed.team.ask(token, "GET", f"/api/ingest/state?origin={origin}&session={key}")
        assert asked.json["sessions"] == []


def test_sessions_that_are_nobody_s_are_not_taken_by_whoever_comes(pushed: Pushed) -> None:
    origin, session_id = pushed.name_machine(), pushed.name_session()
    pushed.push(pushed.team.served.keeper.token, origin, session_id)
    assert pushed.find(session_id, None).person is None
    token = pushed.make_token("ben")
    pushed.refuse("machine_unassigned", lambda: pushed.push(token, origin, pushed.name_session()))
    pushed.refuse("machine_unassigned", lambda: pushed.push_hooks(token, origin, b"{}"))
    admin = pushed.make_token("ada", TokenKind.PERSONAL)
    assert pushed.team.ask(admin, "PUT", f"/api/machines/{origin}", {"person": "ben"}).json == {"sessions": 1}
    assert pushed.find(session_id, "ben").person == "ben"
    pushed.push_hooks(token, origin, b"{}")


def test_who_has_no_sessions_pushes_nothing(pushed: Pushed) -> None:
    token, origin = pushed.make_token("vera", TokenKind.PERSONAL), pushed.name_machine()
    pushed.refuse("forbidden", lambda: pushed.push(token, origin, pushed.name_session()))


def test_deliveries_say_where_they_come_from_and_are_known_to_their_person_alone(pushed: Pushed) -> None:
    ben, cleo = pushed.make_token("ben"), pushed.make_token("cleo")
    mine, theirs = pushed.name_machine(), pushed.name_machine()
    session_id = pushed.name_session()
    payload = json.dumps({"hook_event_name": "Stop", "session_id": session_id}).encode()
    large = json.dumps({"hook_event_name": "Stop", "session_id": session_id, "x": "x" * CHUNK}).encode()
    names, _ = pushed.push_hooks(ben, mine, payload)
    with pushed.connecting(ben, mine) as client:
        client.send_hook(names[0] + "x", large)
    names.append(names[0] + "x")
    while pushed.store.count_deliveries(LOCAL, session_id) < 2:
        time.sleep(0.01)
    kept = pushed.store.list_deliveries(LOCAL, DeliveryFilter(session_id=session_id))
    assert {each.origin for each in kept} == {mine}
    assert pushed.push_hooks(ben, mine, offered=tuple(names))[1] == frozenset()
    assert pushed.push_hooks(cleo, theirs, offered=tuple(names))[1] == frozenset(names)


def test_a_hook_of_a_person_says_from_which_machine_it_is(pushed: Pushed) -> None:
    token = pushed.make_token("ben", TokenKind.PERSONAL)
    assert pushed.team.ask(token, "POST", "/api/hooks", {}).status == 422
    assert pushed.team.ask(pushed.team.served.keeper.token, "POST", "/api/hooks", {}).status == 200


def test_what_somebody_forgot_does_not_keep_others_from_theirs(pushed: Pushed) -> None:
    session_id = pushed.name_session()
    ben, mine = pushed.make_token("ben"), pushed.name_machine()
    cleo, theirs = pushed.make_token("cleo"), pushed.name_machine()
    pushed.push(ben, mine, session_id)
    key = pushed.find(session_id, "ben").key
    with closing(open_store(pushed.home / "turnlog.db")) as store:
        store.forget(LOCAL, [key])
    assert pushed.push(ben, mine, session_id).outcome == "forgotten"
    assert pushed.push(cleo, theirs, session_id).outcome == "taken"
    with pushed.connecting(ben, mine) as client:
        assert key in client.fetch_state().forgotten
    with pushed.connecting(cleo, theirs) as client:
        assert client.fetch_state().forgotten == frozenset()


def test_copies_are_looked_for_among_the_same_person_s_sessions(pushed: Pushed) -> None:
    session_id = pushed.name_session()
    first, second, third = (pushed.name_machine() for _ in range(3))
    pushed.push(pushed.make_token("ben"), first, session_id)
    pushed.push(pushed.make_token("cleo"), second, session_id)
    keys = {each.origin: each for each in find_sessions(pushed.store, LOCAL, session_id)}
    assert {each.copied_from for each in keys.values()} == {None}
    pushed.push(pushed.make_token("ben"), third, session_id)
    found = {each.origin: each for each in find_sessions(pushed.store, LOCAL, session_id)}
    assert found[second].copied_from is None
    assert {found[first].copied_from, found[third].copied_from} - {None} <= {found[first].key, found[third].key}
    assert (found[first].copied_from is None) != (found[third].copied_from is None)


def test_with_a_new_token_it_goes_on_where_it_was(pushed: Pushed, tmp_path: Path) -> None:
    origin, session_id = pushed.name_machine(), pushed.name_session()
    spool, tokens = Spool(tmp_path / "spool"), [pushed.make_token("ben")]
    spool.folder.mkdir()
    name = make_delivery_id()
    payload = {"hook_event_name": "Stop", "session_id": session_id}
    (spool.folder / f"{name}.json").write_text(json.dumps(payload))
    with pushed.connecting(tokens[0], origin, find_token=lambda: tokens[-1]) as client:
        hooks = SpooledHooks(client, spool, origin, Machine(), Exclusion(()))
        client.fetch_state()
        [token] = [each for each in pushed.team.accounts.list_tokens("ben") if each.origin == origin]
        pushed.team.accounts.revoke_token(token.id)
        with pytest.raises(PushError, match="expired or was revoked") as refused:
            hooks.push()
        assert refused.value.status == 401
        assert spool.count().waiting == 1, "it stays until the server has it"
        tokens.append(pushed.make_token("ben"))
        assert hooks.push() == 1
    assert spool.count().waiting == 0


def test_a_collector_says_why_it_is_refused_and_ends(pushed: Pushed, tmp_path: Path) -> None:
    origin = find_origin(tmp_path)
    pushed.push(pushed.make_token("ben"), origin, pushed.name_session())
    project = tmp_path / "claude" / "projects" / "-p"
    project.mkdir(parents=True)
    session_id = pushed.name_session()
    (project / f"{session_id}.jsonl").write_bytes(make_lines(2, session_id=session_id))
    env = {
        "TURNLOG_HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "TURNLOG_TOKEN": pushed.make_token("cleo"),
    }
    done = run("push", "--to", pushed.team.served.origin, env=env)
    assert done.returncode == 2
    assert "another person there; an admin of the server can reassign it" in done.stderr.decode()
    assert env["TURNLOG_TOKEN"] not in done.stderr.decode()
