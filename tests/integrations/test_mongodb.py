"""`turnlog export --to mongodb://…`, against a real server that speaks MongoDB's protocol."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bson import json_util
from pymongo import MongoClient

from command_line import TURNLOG, environment
from golden import DATA
from mongodb_home import KILLS, Home, fetch, talk
from mongodb_server import MongoServer, own_server, start_server
from turnlog.transcripts import read_lines, validate
from turnlog.transcripts.validation.rules import Severity

INDEXES = {"parentUuid_1", "type_1", "isSidechain_1", "sessionId_1_timestamp_1"}


@pytest.fixture(scope="module")
def server() -> MongoServer:
    return start_server()


@pytest.fixture
def address(server: MongoServer) -> str:
    return server.name()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def find_errors(address: str, folder: Path) -> list[str]:
    """Return what `validate` finds in a dump of the messages."""
    path = folder / "dump.jsonl"
    path.write_text("".join(json_util.dumps(each) + "\n" for each in fetch(address).values()))
    return [str(each.message) for each in validate(read_lines(path)) if each.severity is Severity.ERROR]


def test_a_database_has_the_documents_of_an_export(home: Home, address: str, tmp_path: Path) -> None:
    home.write("one", talk("one", 3))
    home.sync()
    told = home.run("export", "--to", address, "--no-redact")
    assert "12 documents added, 0 changed, 0 deleted" in told
    home.run("export", "one", "--format", "json", "--no-redact", "--output", tmp_path / "one.json")
    wanted = json.loads((tmp_path / "one.json").read_bytes())
    assert fetch(address) == {each["_id"]: each for each in wanted}
    assert find_errors(address, tmp_path) == []
    assert home.run("export", "--to", address, "--no-redact").startswith("0 sessions, 1 unchanged; 0 documents")


def test_a_database_has_the_indexes_of_the_spec(home: Home, address: str) -> None:
    home.write("one", talk("one", 1))
    home.sync()
    home.run("export", "--to", address)
    with MongoClient[Any](address) as client:
        names = {each["name"] for each in client.get_default_database().messages.list_indexes()}
    assert names >= INDEXES


def test_sessions_and_projects_are_listed_as_claudelens_does(home: Home, address: str) -> None:
    home.write("one", talk("one", 2))
    home.sync()
    home.run("export", "--to", address, "--no-redact")
    [session] = fetch(address, "sessions").values()
    [project] = fetch(address, "projects").values()
    assert (session["sessionId"], session["messageCount"], session["summary"]) == ("one", 4, "Tea 0")
    assert session["projectId"] == project["_id"]
    assert (project["name"], project["path"]) == ("tea", "/tea")


def test_what_is_exported_is_redacted_unless_that_is_not_wanted(home: Home, address: str) -> None:
    secret = "sk-ant-api03-" + "Zx9" * 30
    home.write("one", talk("one", 1, text=f"key {secret} of /home/ada/tea"))
    home.sync()
    home.run("export", "--to", address)
    for collection in ("messages", "sessions", "projects"):
        assert secret not in str(fetch(address, collection))
        assert "ada" not in str(fetch(address, collection))
    home.run("export", "--to", address, "--no-redact")
    assert secret in str(fetch(address))


def test_only_what_is_new_or_changed_is_written(home: Home, address: str) -> None:
    home.write("one", talk("one", 2))
    home.write("two", talk("two", 1))
    home.sync()
    home.run("export", "--to", address)
    home.write("one", talk("one", 1, first=2))
    home.sync()
    told = home.run("export", "--to", address)
    assert told.startswith("1 session, 1 unchanged; 4 documents added, 0 changed, 0 deleted")
    assert len(fetch(address)) == 16


def test_copies_in_several_sessions_are_named_after_both(home: Home, address: str) -> None:
    home.write("one", talk("one", 2))
    home.sync()
    home.run("export", "--to", address)
    assert "one-u0" in fetch(address)
    fork = [{**line, "sessionId": "two"} for line in talk("one", 1)]
    home.write("two", [*fork, *({**line, "parentUuid": None} for line in talk("two", 1))])
    home.sync()
    told = home.run("export", "--to", address)
    assert "12 documents added, 0 changed, 4 deleted" in told
    found = fetch(address)
    copied = {
        f"{session}:one-{name}"
        for session in ("one", "two")
        for name in ("u0", "a0", "a0_tool_0", "a0_result_0")
    }
    assert copied <= found.keys()
    assert "one-u1" in found
    assert "one-u0" not in found


def test_a_dry_run_writes_nothing(home: Home, address: str) -> None:
    home.write("one", talk("one", 2))
    home.sync()
    assert "8 documents would be added" in home.run("export", "--to", address, "--dry-run")
    with MongoClient[Any](address) as client:
        assert client.get_default_database().list_collection_names() == []
    assert "8 documents added" in home.run("export", "--to", address)


def test_only_what_this_archive_wrote_is_deleted(home: Home, address: str, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    other.write("foreign", talk("foreign", 1))
    other.sync()
    other.run("export", "--to", address)
    with MongoClient[Any](address) as client:
        client.get_default_database().messages.insert_one(
            {"_id": "one-u0", "uuid": "one-u0", "content": "theirs"}
        )
    home.write("one", talk("one", 1))
    home.write("two", talk("two", 1))
    home.sync()
    assert "1 document of others left as they are" in home.run("export", "--to", address)
    for name in ("one", "two"):
        (home.project / f"{name}.jsonl").unlink()
    home.run("forget", "one", "--yes")
    assert "0 added, 0 changed, 3 deleted" in home.run("export", "--to", address).replace(" documents", "")
    found = fetch(address)
    assert found["one-u0"]["content"] == "theirs"
    assert {each.get("sessionId") for each in found.values()} == {None, "foreign", "two"}
    assert {each["sessionId"] for each in fetch(address, "sessions").values()} == {"foreign", "two"}


def test_an_empty_archive_deletes_nothing(home: Home, address: str) -> None:
    home.write("one", talk("one", 1))
    home.sync()
    home.run("export", "--to", address)
    before = fetch(address)
    (home.project / "one.jsonl").unlink()
    home.run("forget", "one", "--yes")
    assert "0 deleted" in home.run("export", "--to", address)
    (home.folder / "turnlog" / "turnlog.db").unlink()
    home.write("two", [])
    home.sync()
    assert "0 deleted" in home.run("export", "--to", address)
    assert fetch(address) == before


def test_what_bson_cannot_hold_is_written_as_near_as_can_be(home: Home, address: str) -> None:
    lines = talk("one", 1)
    given = {
        "a.b": 1,
        "$ref": 2,
        "big": 12345678901234567890,
        "nested": [[1, [2]]],
        "deep": json.loads("[" * 150 + "]" * 150),
    }
    lines[1]["message"]["content"][0]["input"] = given
    lines[0]["message"]["content"] = "half \ud800 a character"
    home.write("one", lines)
    home.sync()
    told = home.run("export", "--to", address, "--no-redact")
    assert "4 documents added" in told
    assert "refused" not in told
    found = fetch(address)
    said = found["one-a0"]["messageData"]["content"][0]["input"]
    assert (said["a\uff0eb"], said["\uff04ref"], said["big"]) == (1, 2, "12345678901234567890")
    assert json.loads(found["one-a0_tool_0"]["content"])["input"] == given
    assert found["one-u0"]["content"].startswith("half ")
    assert home.run("export", "--to", address, "--no-redact").startswith("0 sessions")


def test_a_document_that_is_too_large_is_shortened(home: Home, address: str) -> None:
    lines = talk("one", 1)
    lines[0]["message"]["content"] = "x" * (9 << 20)  # twice in the document, that is
    home.write("one", lines)
    home.sync()
    assert "4 documents added" in home.run("export", "--to", address, "--no-redact")
    assert len(fetch(address)["one-u0"]["content"]) == 9 << 20


def test_another_database_at_the_same_address_is_filled_anew(home: Home, address: str) -> None:
    home.write("one", talk("one", 2))
    home.sync()
    home.run("export", "--to", address)
    before = fetch(address)
    with MongoClient[Any](address) as client:
        client.drop_database(client.get_default_database().name)
    assert "8 documents added" in home.run("export", "--to", address)
    assert fetch(address) == before


def test_a_database_that_was_put_back_is_written_again(home: Home, address: str) -> None:
    home.write("one", talk("one", 2))
    home.sync()
    home.run("export", "--to", address)
    before = fetch(address)
    with MongoClient[Any](address) as client:
        database = client.get_default_database()
        database.messages.delete_one({"_id": "one-u1"})
        database.messages.update_one({"_id": "one-u0"}, {"$set": {"content": "old"}})
        database.turnlog.update_many({}, {"$set": {"run": 0}})
    home.run("export", "--to", address)
    assert fetch(address) == before


def test_only_one_process_exports_to_a_database(home: Home, address: str) -> None:
    home.write("one", talk("one", 1))
    home.sync()
    home.run("export", "--to", address)
    [folder] = (home.folder / "turnlog" / "mongodb").iterdir()
    with (folder / "lock").open("ab") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another process is exporting" in home.run("export", "--to", address, status=2)


def await_count(address: str, count: int) -> None:
    limit = time.monotonic() + 30
    while len(fetch(address)) != count:
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_an_export_follows_sessions_as_they_grow(home: Home, tmp_path: Path) -> None:
    with own_server() as server:
        address = server.name()
        home.write("one", talk("one", 1))
        home.sync()
        process = subprocess.Popen(
            [*TURNLOG, "export", "--to", address, "--follow", "--json"],
            env=environment(home.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            await_count(address, 4)
            home.write("one", talk("one", 2, first=1))
            await_count(address, 12)
        finally:
            process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert sum(json.loads(line)["added"] for line in output.splitlines()) == 12


@pytest.fixture(scope="session")
def silent_port() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    held.append(listener.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def test_a_server_that_is_away_or_slow_is_told_in_a_line(home: Home, silent_port: int) -> None:
    home.write("one", talk("one", 1))
    home.sync()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    options = "serverSelectionTimeoutMS=700&connectTimeoutMS=500"
    for port in (free, silent_port):
        for command in (["export", "--to"], ["sync"], ["migrate"]):
            told = home.run(*command, f"mongodb://127.0.0.1:{port}/tea?{options}", status=2)
            assert told.startswith(f"turnlog: 127.0.0.1:{port}: ")
            assert told.count("\n") == 1
            assert "Topology" not in told
            assert len(told) < 200


def test_a_password_is_never_told(home: Home, tmp_path: Path) -> None:
    home.write("one", talk("one", 1))
    home.sync()
    for address in (
        "mongodb://ada:s3cr3t@127.0.0.1:1/t",
        "mongodb://127.0.0.1:1/t?tlsCertificateKeyFilePassword=s3cr3t",
    ):
        for command in (["export", "--to"], ["sync"], ["migrate"]):
            told = home.run(*command, address, status=2)
            assert "s3cr3t" not in told
            assert "TURNLOG_MONGODB_PASSWORD" in told
    file = tmp_path / "password"
    file.write_text("s3cr3t\n")
    address = "mongodb://ada@127.0.0.1:1/t?serverSelectionTimeoutMS=200"
    assert "s3cr3t" not in home.run("export", "--to", address, "--password-file", file, status=2)
    assert "s3cr3t" not in home.run(
        "export", "--to", address, status=2, env={"TURNLOG_MONGODB_PASSWORD": "s3cr3t"}
    )
    told = home.run("export", "--to", address, status=2, env={"TURNLOG_MONGODB_PASSWORD": "refused"})
    assert "refused" not in told  # as the connection is, and the driver says
    assert "No such file" in home.run("export", "--to", address, "--password-file", tmp_path / "none", status=2)


def test_a_password_reaches_the_server(home: Home, address: str, tmp_path: Path) -> None:
    """The test server knows no users: that it was asked for one is what it says."""
    home.write("one", talk("one", 1))
    home.sync()
    named = address.replace("mongodb://", "mongodb://ada@")
    told = home.run(
        "export",
        "--to",
        f"{named}?authMechanism=SCRAM-SHA-256",
        status=2,
        env={"TURNLOG_MONGODB_PASSWORD": "s3cr3t"},
    )
    assert "uthentication" in told
    assert "s3cr3t" not in told


def test_addresses_that_are_none_are_misuse(home: Home) -> None:
    home.write("one", talk("one", 1))
    home.sync()
    for address in (
        "http://127.0.0.1/t",
        "mongodb://127.0.0.1",
        "mongodb:///t",
        "mongodb://127.0.0.1/a b",
        "mongodb://h:x/t",
    ):
        assert home.run("export", "--to", address, status=2).startswith("turnlog: ")
    for args in (("--format", "json"), ("--raw",), ("--turns", "1"), ("--output", "x")):
        assert "--to writes documents" in home.run("export", "--to", "mongodb://h/t", *args, status=2)
    assert "--follow" in home.run("export", "one", "--format", "json", "--follow", status=2)


def test_tls_is_as_the_driver_does_it(home: Home, tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    home.write("one", talk("one", 1))
    home.sync()
    with own_server(certificate, key) as server:
        address = server.name()
        told = home.run("export", "--to", f"{address}&serverSelectionTimeoutMS=1000", status=2)
        assert "certificate" in told.lower()
        assert "4 documents added" in home.run("export", "--to", f"{address}&tlsCAFile={certificate}")


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Return a certificate of 127.0.0.1 that vouches for itself, and its key."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(*form))
    return paths


def test_an_export_that_is_killed_loses_nothing_and_writes_nothing_twice(
    home: Home, server: MongoServer, address: str
) -> None:
    chance = random.Random(28)
    turns = {"big": 400, "one": 3, "two": 3}
    for name, count in turns.items():
        home.write(name, talk(name, count))
    home.sync()
    kills = 0
    while kills < KILLS:
        for name in chance.sample(list(turns), 2):
            more = chance.randrange(1, 6)
            home.write(name, talk(name, more, first=turns[name]))
            turns[name] += more
        if chance.random() < 0.4:  # a copy, by which documents of both get other ids
            fork = f"fork{kills}"
            home.write(fork, [{**line, "sessionId": fork} for line in talk("one", 1)])
        home.sync()
        while not home.kill(
            chance.randrange(8, 30), chance.choice((0, 0, 5)), "export", "--to", address, "--no-redact"
        ):
            home.write(f"more{kills}", talk(f"more{kills}", 2))
            home.sync()
        kills += 1
    home.run("export", "--to", address, "--no-redact")
    fresh = server.name()
    home.run("export", "--to", fresh, "--no-redact")
    assert fetch(address) == fetch(fresh)
    for collection in ("sessions", "projects"):
        assert fetch(address, collection) == fetch(fresh, collection)


def test_the_example_of_the_spec_goes_out_and_in_and_out(server: MongoServer, tmp_path: Path) -> None:
    source = DATA / "specs" / "003.jsonl"
    go_round(server, tmp_path, source)
    stored = [json.loads(line) for line in source.read_text().splitlines()]
    assert len(stored) > 10


def test_real_sessions_go_out_and_in_and_out(server: MongoServer, tmp_path: Path, corpus: Path) -> None:
    go_round(server, tmp_path, corpus / "sessions")


def go_round(server: MongoServer, folder: Path, source: Path) -> None:
    first, second = Home(folder / "first"), Home(folder / "second")
    one, other = server.name(), server.name()
    first.run("sync", source)
    first.run("export", "--to", one, "--no-redact")
    second.run("sync", one)
    second.run("export", "--to", other, "--no-redact")
    found = fetch(one)
    assert found
    assert fetch(other) == found
    assert find_errors(one, folder) == []
