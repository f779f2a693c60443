"""`turnlog users`, `tokens`, `machines`, `rules`, `share`, `links` and `audit`: a team's archive."""

from __future__ import annotations

import json
import platform
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from command_line import invoke
from golden import DATA
from turnlog.cli.program import program
from turnlog.errors import TurnlogError
from turnlog.ingest.machine import find_origin
from turnlog.store.account_model import Action, TokenKind
from turnlog.store.accounts import Accounts, open_accounts
from turnlog.store.model import LOCAL, Scope, Viewer
from turnlog.store.opening import open_store

ID = "0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01"
TEAM = Scope(LOCAL.owner, Viewer(person="ben", team=True))


@pytest.fixture
def empty(tmp_path: Path) -> dict[str, str]:
    """A machine on which nothing was done yet."""
    return {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a machine with a session, and two users."""
    folder = tmp_path_factory.mktemp("team")
    shutil.copytree(DATA / "cli" / "tour", folder / "claude" / "projects" / "-home-ada-tea")
    env = {"TURNLOG_HOME": str(folder / "home"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
    succeed("sync", env=env)
    succeed("users", "add", "ada", "--role", "admin", env=env)
    succeed("users", "add", "ben", "--full-name", "Ben \x1b[31mC", "--email", "ben@example.org", env=env)
    return folder / "home"


@pytest.fixture
def env(empty: dict[str, str], made: Path) -> dict[str, str]:
    """A machine of the test's own with a session, and two users."""
    shutil.copytree(made, empty["TURNLOG_HOME"])
    return empty


def succeed(*args: str | Path, env: dict[str, str]) -> str:
    done = invoke(*args, env=env)
    assert done.exit_code == 0, done.output
    return done.stdout


def ask(*args: str | Path, env: dict[str, str]) -> Any:
    return json.loads(succeed(*args, "--json", env=env))


def fail(*args: str | Path, env: dict[str, str], status: int = 2) -> str:
    """Return what is said when a command fails."""
    done = invoke(*args, env=env)
    found = 2 if isinstance(done.exception, TurnlogError) else done.exit_code  # as the program itself ends
    assert found == status, done.output
    return str(done.stderr) + str(done.exception or "")


def answer(text: str, *args: str | Path, env: dict[str, str]) -> Result:
    return CliRunner(env=env).invoke(program, [*map(str, args)], input=text, prog_name="turnlog")


def accounts_of(env: dict[str, str]) -> Accounts:
    return open_accounts(Path(env["TURNLOG_HOME"]) / "turnlog.db")


def list_actions(env: dict[str, str]) -> list[tuple[str, str | None, str]]:
    """Return what was recorded, the oldest first; all of it is the operator's."""
    entries = ask("audit", env=env)["entries"]
    assert {entry["who"] for entry in entries} == {None}
    return [(entry["action"], entry["person"], entry["detail"]) for entry in reversed(entries)]


def complete(env: dict[str, str], monkeypatch: pytest.MonkeyPatch, *args: str) -> list[str]:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    shell = ShellComplete(program, {}, "turnlog", "_TURNLOG_COMPLETE")
    return [item.value for item in shell.get_completions([*args[:-1]], args[-1])]


def test_without_users_there_is_nothing_and_nothing_is_made(empty: dict[str, str]) -> None:
    assert "no users" in fail("users", "list", env=empty, status=1)
    fail("tokens", "list", env=empty, status=1)
    fail("tokens", "create", env=empty, status=1)
    fail("links", "list", env=empty, status=1)
    fail("audit", env=empty, status=1)
    assert not Path(empty["TURNLOG_HOME"]).exists()


def test_the_first_user_is_an_admin_and_it_is_said_what_changes(empty: dict[str, str]) -> None:
    for role in ((), ("--role", "member"), ("--role", "viewer")):
        assert "--role admin" in fail("users", "add", "ada", *role, env=empty)
    told = succeed("users", "add", "ada", "--role", "admin", "--token", env=empty)
    assert "From now on" in told
    secret = told.splitlines()[-1]
    with closing(accounts_of(empty)) as accounts:
        found = accounts.find_by_token(secret)
        assert found is not None
        assert found[0].name == "ada"
    told = succeed("users", "add", "ben", env=empty)
    assert "From now on" not in told
    assert "turnlog tokens create --user ben" in told
    made = ask("users", "add", "cleo", "--role", "viewer", "--token", env=empty)
    assert (made["user"]["role"], made["first"], made["secret"][:4]) == ("viewer", False, "tlp_")
    assert list_actions(empty) == [
        ("user-added", "ada", "as admin"),
        ("token-created", "ada", f"personal {found[1].id}"),
        ("user-added", "ben", "as member"),
        ("user-added", "cleo", "as viewer"),
        ("token-created", "cleo", f"personal {made['token']}"),
    ]


def test_names_and_addresses_that_are_none_are_refused(env: dict[str, str]) -> None:
    for args in (
        ("Ben",),
        ("ben",),
        ("x'; --",),
        ("dan", "--email", "nowhere"),
        ("dan", "--email", "BEN@example.org"),
    ):
        fail("users", "add", *args, env=env)
    for command in (("show",), ("disable", "--yes"), ("enable",), ("role", "admin")):
        name, *rest = command
        fail("users", name, "nobody", *rest, env=env, status=1)


def test_users_are_listed_and_shown(env: dict[str, str]) -> None:
    listed = ask("users", "list", env=env)
    assert [(user["name"], user["role"], user["disabled"]) for user in listed] == [
        ("ada", "admin", False),
        ("ben", "member", False),
    ]
    assert "\x1b" not in succeed("users", "list", env=env)
    assert "Ben \\x1b[31mC" in succeed("users", "show", "ben", env=env)
    assert ask("users", "show", "ben", env=env)["user"]["email"] == "ben@example.org"


def test_roles_change_but_an_admin_stays(env: dict[str, str]) -> None:
    assert "only admin" in fail("users", "role", "ada", "member", env=env)
    assert "is an admin now" in succeed("users", "role", "ben", "admin", env=env)
    assert ask("users", "role", "ada", "viewer", env=env)["role"] == "viewer"
    assert "only admin" in fail("users", "disable", "ben", "--yes", env=env)
    assert list_actions(env)[-2:] == [
        ("user-changed", "ben", "member to admin"),
        ("user-changed", "ada", "admin to viewer"),
    ]


def test_disabling_says_what_ends_asks_and_ends_it(env: dict[str, str]) -> None:
    secret = ask("tokens", "create", "--user", "ben", env=env)["secret"]
    assert "1 token and 0 links of ben would end" in succeed("users", "disable", "ben", "--dry-run", env=env)
    assert answer("n\n", "users", "disable", "ben", env=env).exit_code == 1
    fail("users", "disable", "ben", "--json", env=env)
    with closing(accounts_of(env)) as accounts:
        assert accounts.find_by_token(secret) is not None
        assert answer("y\n", "users", "disable", "ben", env=env).exit_code == 0
        assert accounts.find_by_token(secret) is None
    assert "enabled" in succeed("users", "enable", "ben", env=env)
    assert [action for action, *_ in list_actions(env)[-2:]] == ["user-disabled", "user-enabled"]


def test_a_token_is_printed_alone_and_once(env: dict[str, str]) -> None:
    assert "--user" in fail("tokens", "create", env=env)
    done = invoke(
        "tokens", "create", "--user", "ben", "--machine", "--label", "laptop", "--days", "30", env=env
    )
    secret = done.stdout.strip()
    assert secret.startswith("tlm_")
    assert "nobody can see it again" not in done.stdout
    [token] = ask("tokens", "list", "--user", "ben", env=env)
    assert (token["kind"], token["label"], token["state"]) == ("machine", "laptop", "good")
    for args in (("tokens", "list"), ("tokens", "list", "--json"), ("audit",), ("users", "show", "ben")):
        assert secret not in succeed(*args, env=env)
    fail("tokens", "create", "--user", "ben", "--days", "0", env=env)
    fail("tokens", "create", "--user", "nobody", env=env, status=1)


def test_tokens_are_revoked_by_the_beginning_of_their_ids(env: dict[str, str]) -> None:
    made = [ask("tokens", "create", "--user", "ben", env=env) for _ in range(2)]
    ids = [each["token"]["id"] for each in made]
    fail("tokens", "revoke", "zz", "--yes", env=env, status=1)
    fail("tokens", "revoke", ids[0], env=env | {"LANG": "C"}, status=1)  # nobody answers
    succeed("tokens", "revoke", ids[0], "--dry-run", env=env)
    succeed("tokens", "revoke", ids[0], "--yes", env=env)
    assert [token["id"] for token in ask("tokens", "list", env=env)] == [ids[1]]
    states = {token["id"]: token["state"] for token in ask("tokens", "list", "--all", env=env)}
    assert states == {ids[0]: "revoked", ids[1]: "good"}
    assert list_actions(env)[-1] == ("token-revoked", "ben", f"personal {ids[0]}")


def test_syncing_tells_how_the_machine_is_called(env: dict[str, str]) -> None:
    [machine] = ask("machines", "list", env=env)
    assert (machine["host"], machine["sessions"]) == (platform.node(), 1)


def test_a_machine_is_assigned_by_its_name(env: dict[str, str]) -> None:
    origin = find_origin(Path(env["TURNLOG_HOME"]))
    [machine] = ask("machines", "list", env=env)
    assert (machine["origin"], machine["person"], machine["sessions"]) == (origin, None, 1)
    fail("machines", "assign", origin, env=env)
    fail("machines", "assign", origin, "nobody-there", "--yes", env=env, status=1)
    fail("machines", "assign", "zz", "ben", "--yes", env=env, status=1)
    assert "from nobody to ben" in succeed("machines", "assign", origin[:6], "ben", "--dry-run", env=env)
    assert ask("machines", "list", env=env)[0]["person"] is None
    assert ask("machines", "assign", origin[:6], "ben", "--yes", env=env)["sessions"] == 1
    assert "is ben's already" in succeed("machines", "assign", origin, "ben", env=env)
    [session] = ask("sessions", "--person", "ben", "--machine", origin[:6], env=env)["sessions"]
    assert (session["person"], session["machine"], session["visibility"]) == ("ben", origin, "private")
    fail("sessions", "--person", "ada", env=env, status=1)
    fail("sessions", "--visibility", "team", env=env, status=1)
    fail("sessions", "--machine", "zz", env=env, status=1)
    assert "person" in succeed("sessions", env=env).splitlines()[0]
    assert "ben's, private" in succeed("show", ID, env=env)
    succeed("machines", "assign", origin, "--nobody", "--yes", env=env)
    assert "person" not in succeed("sessions", env=env).splitlines()[0]
    assert [action for action, *_ in list_actions(env)[-2:]] == ["machine-assigned", "machine-assigned"]


def test_rules_say_before_how_many_sessions_others_will_see(env: dict[str, str]) -> None:
    fail("rules", "list", env=env, status=1)
    fail("rules", "remove", "*/tea", "--yes", env=env, status=1)
    assert "1 more session" in succeed("rules", "set", "*/tea", "team", "--dry-run", env=env)
    fail("rules", "list", env=env, status=1)
    assert answer("n\n", "rules", "set", "*/tea", "team", env=env).exit_code == 1
    changed = ask("rules", "set", "*/tea", "team", "--yes", env=env)
    assert (changed["sessions"], changed["done"]) == (1, True)
    assert ask("rules", "list", env=env) == [{"pattern": "*/tea", "visibility": "team"}]
    assert len(ask("sessions", "--visibility", "team", env=env)["sessions"]) == 1
    succeed("rules", "remove", "*/tea", "--yes", env=env)
    fail("sessions", "--visibility", "team", env=env, status=1)
    assert [detail for *_, detail in list_actions(env)[-2:]] == ["*/tea: team", "*/tea: removed"]


def test_sharing_says_who_sees_a_session_and_why(env: dict[str, str]) -> None:
    assert "private (by default), nobody's" in succeed("share", ID[:4], env=env)
    [shared] = ask("share", ID[:4], "--team", env=env)
    assert (shared["visibility"], shared["chosen"], shared["changed"]) == ("team", "team", True)
    with closing(open_store(Path(env["TURNLOG_HOME"]) / "turnlog.db", read_only=True)) as store:
        assert len(store.list_sessions(TEAM).sessions) == 1
    assert not ask("share", ID, "--team", env=env)[0]["changed"]
    succeed("share", ID, "--private", env=env)
    assert ask("share", ID, "--by-rule", env=env)[0]["chosen"] is None
    fail("share", ID, "--team", "--private", env=env)
    fail("share", "zz", "--team", env=env, status=1)
    details = [detail for action, _, detail in list_actions(env) if action == Action.VISIBILITY_CHANGED]
    assert details[:2] == ["team", "private"]


def test_a_link_shows_what_would_be_seen_and_prints_its_address(env: dict[str, str]) -> None:
    told = succeed("links", "create", ID, "--word", "cupboard", "--dry-run", env=env)
    assert "Anyone with the link would see" in told
    assert "cupboard" not in told
    assert "tls_" not in told
    assert answer("n\n", "links", "create", ID, env=env).exit_code == 1
    fail("links", "list", "--all", env=env, status=1)
    made = ask("links", "create", ID, "--days", "3", "--url", "https://a.example/t/", "--yes", env=env)
    assert made["url"] == f"https://a.example/t{made['path']}"
    with closing(accounts_of(env)) as accounts:
        link = accounts.find_link(made["path"].removeprefix("/s/"))
        assert link is not None
        assert (link.id, link.created_by) == (made["link"]["id"], None)
    fail("links", "create", ID, "--url", "ftp://x", "--yes", env=env)
    fail("links", "create", ID, "--days", "0", "--yes", env=env)
    fail("links", "create", "zz", "--yes", env=env, status=1)
    plain = succeed("links", "create", ID, "--yes", env=env).splitlines()[-1]
    assert plain.startswith("/s/tls_")
    assert plain not in succeed("links", "list", env=env)
    assert len(ask("links", "list", "--session", ID, env=env)) == 2
    succeed("links", "revoke", made["link"]["id"], "--yes", env=env)
    states = [link["state"] for link in ask("links", "list", "--all", env=env)]
    assert states == ["good", "revoked"]
    assert [action for action, *_ in list_actions(env)[-3:]] == ["link-created", "link-created", "link-revoked"]


def test_the_audit_is_asked_by_what_it_is_about(env: dict[str, str]) -> None:
    succeed("share", ID, "--team", env=env)
    [entry] = ask("audit", "--session", ID, env=env)["entries"]
    assert (entry["action"], entry["detail"]) == ("visibility-changed", "team")
    assert ask("audit", "--session", entry["session"], env=env)["entries"] == [entry]
    assert [each["person"] for each in ask("audit", "--person", "ben", env=env)["entries"]] == ["ben"]
    assert len(ask("audit", "--action", "user-added", "--since", "1h", env=env)["entries"]) == 2
    assert "--action looked is now called viewed" in fail("audit", "--action", "looked", env=env, status=1)
    fail("audit", "--since", "1h", "--until", "2020-01-01", env=env, status=1)
    fail("audit", "--since", "soon", env=env)
    fail("audit", "--who", "ada", env=env, status=1)
    page = ask("audit", "--limit", "1", env=env)
    rest = ask("audit", "--before", str(page["next"]), env=env)
    assert (page["entries"][0]["action"], rest["next"]) == ("visibility-changed", None)
    assert len(rest["entries"]) == 2
    assert "operator" in succeed("audit", env=env)


def test_names_are_completed(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    token = ask("tokens", "create", "--user", "ben", env=env)["token"]["id"]
    link = ask("links", "create", ID, "--yes", env=env)["link"]["id"]
    succeed("rules", "set", "*/tea", "team", "--yes", env=env)
    origin = find_origin(Path(env["TURNLOG_HOME"]))
    assert complete(env, monkeypatch, "users", "show", "b") == ["ben"]
    assert complete(env, monkeypatch, "tokens", "revoke", token[:3]) == [token]
    assert complete(env, monkeypatch, "links", "revoke", "") == [link]
    assert complete(env, monkeypatch, "rules", "remove", "*") == ["*/tea"]
    assert complete(env, monkeypatch, "machines", "assign", origin[:3]) == [origin]
    assert complete(env, monkeypatch, "sessions", "--person", "") == ["ada", "ben"]
    assert sorted(complete(env, monkeypatch, "us")) == ["usage", "users"]


def test_forgetting_ends_links_and_is_recorded(env: dict[str, str]) -> None:
    made = ask("links", "create", ID, "--yes", env=env)
    assert ask("forget", ID, "--dry-run", env=env)["links"] == 0
    assert ask("forget", ID, "--yes", env=env)["links"] == 1
    with closing(accounts_of(env)) as accounts:
        assert accounts.find_link(made["path"].removeprefix("/s/")) is None
    assert list_actions(env)[-1] == ("forgotten", None, "")
    key = made["link"]["session"]
    assert [entry["action"] for entry in ask("audit", "--session", key, env=env)["entries"]] == [
        "forgotten",
        "link-created",
    ]


def test_accounts_are_backed_up_and_who_was_disabled_since_stays_so(
    env: dict[str, str], tmp_path: Path
) -> None:
    kept = ask("tokens", "create", "--user", "ada", env=env)
    ended = ask("tokens", "create", "--user", "ben", env=env)
    link = ask("links", "create", ID, "--yes", env=env)
    copy = tmp_path / "copy.db"
    assert ask("backup", copy, env=env)["accounts"] == f"{copy}.accounts"
    fail("backup", copy, env=env)
    succeed("users", "disable", "ben", "--yes", env=env)
    succeed("links", "revoke", link["link"]["id"], "--yes", env=env)
    succeed("users", "add", "cleo", env=env)
    done = ask("restore", "--from", copy, "--yes", env=env)
    assert done["accounts"] == {"users": 3, "newer": 4}  # ben, his token, the link, and cleo
    assert {user["name"]: user["disabled"] for user in ask("users", "list", env=env)} == {
        "ada": False, "ben": True, "cleo": False,
    }  # fmt: skip
    with closing(accounts_of(env)) as accounts:
        assert accounts.find_by_token(kept["secret"]) is not None
        assert accounts.find_by_token(ended["secret"]) is None
        assert accounts.find_link(link["path"].removeprefix("/s/")) is None
    assert [action for action, *_ in list_actions(env)[-3:]] == ["user-disabled", "link-revoked", "user-added"]


def test_lost_accounts_come_back_from_a_backup(env: dict[str, str], tmp_path: Path) -> None:
    secret = ask("tokens", "create", "--user", "ben", env=env)["secret"]
    succeed("backup", tmp_path / "copy.db", env=env)
    (Path(env["TURNLOG_HOME"]) / "accounts.db").write_bytes(b"ruined" * 1000)
    assert "accounts" in fail("verify", env=env, status=1) + invoke("verify", env=env).stdout
    assert "accounts" in invoke("doctor", env=env).stdout
    told = succeed("restore", "--from", tmp_path / "copy.db", "--yes", env=env)
    assert "accounts restored, too: 2 users" in told
    with closing(accounts_of(env)) as accounts:
        assert accounts.find_by_token(secret) is not None
        assert accounts.list_tokens()[0].kind is TokenKind.PERSONAL


def test_damaged_copies_of_accounts_are_refused_before_anything_changes(
    env: dict[str, str], tmp_path: Path
) -> None:
    succeed("backup", tmp_path / "copy.db", env=env)
    (tmp_path / "copy.db.accounts").write_bytes(b"ruined" * 1000)
    fail("restore", "--from", tmp_path / "copy.db", "--yes", env=env)
    assert [path.name for path in Path(env["TURNLOG_HOME"]).glob("*before-restore*")] == []


def test_status_doctor_and_verify_tell_of_accounts(env: dict[str, str]) -> None:
    assert ask("status", env=env)["users"] == 2
    assert "shared by a team, with 2 users" in succeed("status", env=env)
    assert "2 active, 1 of them admins" in invoke("doctor", env=env).stdout
    assert ask("verify", env=env)["accounts"] == []
