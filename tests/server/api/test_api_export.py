"""`/api/export`: sessions as files, and what they would be."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from api_archive import BRANCHES, INLINE, TOOLS, Writer, call, say
from server_app import Served, serving
from turnlog.export.formats import Format
from turnlog.ingest.pipeline import sync
from turnlog.server.requests import ServerContext
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions

SECRET = "5ec2e700-0000-4000-8000-00000000000b"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def write_secret() -> bytes:
    to = Writer(SECRET, cwd="/home/ada/odd")
    to.user(f"Use {TOKEN} and mail ada@harbour.org about Project Falcon {HOSTILE}", permissionMode="plan")
    to.answer({"type": "thinking", "thinking": "A thought of its own.", "signature": ""}, say("I will."))
    to.answer(call("t1", command=f"curl -H 'Authorization: Bearer {TOKEN}'"))
    to.result("t1", "the answer of the tool")
    to.user("And then?", permissionMode="acceptEdits")
    to.answer(say("That was all."))
    return to.data


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a session that nobody else should read as it is."""
    home = tmp_path_factory.mktemp("secret")
    folder = home / "claude" / "projects" / "-home-ada-odd"
    folder.mkdir(parents=True)
    (folder / f"{SECRET}.jsonl").write_bytes(write_secret())
    store = open_store(home / "turnlog.db")
    sync(store, home / "turnlog.db", locate_sessions([home / "claude"]).sessions, origin="test")
    around = ServerContext(redact_words=("Falcon",))
    with serving(home / "home", store=store, around=around) as running:
        yield running
    store.close()


def export(served: Served, query: str) -> str:
    answer = served.get(f"/api/export?{query}")
    assert answer.status == 200, answer.body
    return answer.body.decode()


def preview(served: Served, query: str) -> Any:
    answer = served.get(f"/api/export/preview?{query}")
    assert answer.status == 200, answer.body
    return answer.json


@pytest.mark.parametrize("form", Format)
def test_each_form_comes_whole_and_without_secrets(secret: Served, form: Format) -> None:
    answer = secret.get(f"/api/export?id={SECRET}&format={form}")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{SECRET}.{form}"'
    assert "sandbox" in answer.headers["content-security-policy"]
    text = answer.body.decode()
    assert "That was all." in text
    for taken in (TOKEN, "ada@harbour.org", "Falcon", "/home/ada"):
        assert taken not in text
    assert preview(secret, f"id={SECRET}&format={form}")["size"] == len(answer.body)


def test_what_would_be_taken_out_is_told_first(secret: Served) -> None:
    told = preview(secret, f"id={SECRET}&format=md")
    assert (told["name"], told["sessions"]) == (f"{SECRET}.md", 1)
    kinds = {each["kind"]: each for each in told["redacted"]}
    assert kinds["email"]["examples"] == ["ada@harbour.org"]
    assert kinds["word"] == {"kind": "word", "times": 2, "values": 1, "examples": ["Falcon"]}
    assert kinds["token"]["times"] >= 2
    assert kinds["token"]["values"] == 1
    assert kinds["token"]["examples"] == ["ghp_a1…"]
    assert preview(secret, f"id={SECRET}&redact=false")["redacted"] == []


def test_words_of_ones_own_are_taken_out(secret: Served) -> None:
    assert "That was" not in export(secret, f"id={SECRET}&format=md&word=that+was")


def test_it_can_be_given_out_as_it_is(secret: Served) -> None:
    assert export(secret, f"id={SECRET}&format=jsonl&redact=false").encode() == write_secret()


def test_parts_can_be_left_out(secret: Served) -> None:
    whole = export(secret, f"id={SECRET}&format=md")
    assert "A thought of its own." in whole
    assert "the answer of the tool" in whole
    less = export(secret, f"id={SECRET}&format=md&thinking=false&tool_output=false&last_turn=1")
    for missing in ("A thought of its own.", "the answer of the tool", "That was all."):
        assert missing not in less
    assert "I will." in less
    assert "I will." not in export(secret, f"id={SECRET}&format=md&first_turn=2")


def test_a_hostile_session_is_text_in_a_page(secret: Served) -> None:
    page = export(secret, f"id={SECRET}&format=html")
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page


def test_fields_of_documents_come_in_two_spellings(secret: Served) -> None:
    assert "parentUuid" in json.loads(export(secret, f"id={SECRET}&format=json"))[0]
    assert "parent_uuid" in json.loads(export(secret, f"id={SECRET}&format=json&snake=true"))[0]


def test_several_sessions_come_in_one_file(api: Served) -> None:
    query = f"id={TOOLS}&id={INLINE}&id={BRANCHES}&id={TOOLS}&format=md"
    answer = api.get(f"/api/export?{query}")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="3-sessions-md.zip"'
    packed = zipfile.ZipFile(io.BytesIO(answer.body))
    assert packed.testzip() is None
    assert packed.namelist() == [f"{name}.md" for name in (TOOLS, INLINE, BRANCHES)]
    assert packed.read(f"{TOOLS}.md").decode() == export(api, f"id={TOOLS}&format=md")
    told = preview(api, query)
    assert (told["sessions"], told["name"]) == (3, "3-sessions-md.zip")
    assert told["size"] == sum(each.file_size for each in packed.infolist())


@pytest.mark.parametrize("path", ["/api/export", "/api/export/preview"])
@pytest.mark.parametrize(
    ("query", "status"),
    [
        (f"id={SECRET}&format=pdf", 422),
        (f"id={SECRET}&first_turn=3", 422),
        (f"id={SECRET}&first_turn=2&last_turn=1", 422),
        (f"id={SECRET}&branch=7", 422),
        (f"id={SECRET}&first_turn=0", 422),
        ("format=md", 422),
        ("id=nobody-knows-it", 404),
        (f"id={SECRET}&first_turn=9&format=jsonl", 422),
        (f"id={SECRET}&id=nobody-knows-it", 404),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    secret: Served, path: str, query: str, status: int
) -> None:
    answer = secret.get(f"{path}?{query}")
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json")


def test_nobody_without_the_token_is_given_anything(secret: Served) -> None:
    assert secret.ask("GET", f"/api/export?id={SECRET}").status == 401


def test_a_prompt_tells_the_permission_mode_in_which_it_was_typed(secret: Served) -> None:
    items = secret.get(f"/api/sessions/{SECRET}/messages").json["items"]
    modes = [(item["role"], item["permission_mode"]) for item in items]
    assert modes == [
        ("user", "plan"),
        ("assistant", None),
        ("tool_use", None),
        ("user", "acceptEdits"),
        ("assistant", None),
    ]
