"""Bytes: raw lines, images, results in files of their own; and what makes answers small."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from api_archive import IMAGES, LONG_RESULT, ODD, OFFLOADED, PIXEL, SVG, TOOLS, Writer, picture, say
from server_app import Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions


def test_raw_lines_are_what_stands_in_the_file(api: Served, archive: MaintainedStore) -> None:
    [stored] = find_sessions(archive, LOCAL, ODD)
    file = Path(stored.path).read_bytes()
    found = b""
    for index in range(9):
        answer = api.get(f"/api/sessions/{ODD}/messages/{index}/raw")
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert "sandbox" in answer.headers["content-security-policy"]
        for line in answer.body.splitlines():
            assert line in file
        found += answer.body
    # Two lines were glued together; nothing else is between lines but newlines.
    assert sorted(found.replace(b"\n", b"")) == sorted(file.replace(b"\n", b""))


def test_raw_lines_of_a_call_have_its_result(api: Served) -> None:
    lines = api.get(f"/api/sessions/{TOOLS}/messages/3/raw").body.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["assistant", "user"]
    assert b"no such file" in lines[1]


@pytest.mark.parametrize("index", ["9", "-1", "9007199254740992", "99999999999999999999", "x"])
def test_there_are_no_raw_lines_of_no_message(api: Served, index: str) -> None:
    answer = api.get(f"/api/sessions/{ODD}/messages/{index}/raw")
    assert answer.status in (404, 422)
    assert answer.code in ("not_found", "invalid_request")


def list_images(api: Served) -> list[dict[str, Any]]:
    first, second, _ = api.get(f"/api/sessions/{IMAGES}/messages").json["items"]
    shown = [block["image"] for block in first["blocks"][1:]]
    return [*shown, *second["blocks"][1]["call"]["result"]["images"]]


def test_images_are_sent_as_what_they_are_if_they_cannot_do_harm(api: Served) -> None:
    png, svg, webp = (api.get(image["href"]) for image in list_images(api))
    assert (png.body, png.headers["content-type"]) == (PIXEL, "image/png")
    assert (webp.body, webp.headers["content-type"]) == (PIXEL, "image/webp")
    assert (svg.body, svg.headers["content-type"]) == (SVG, "application/octet-stream")
    assert svg.headers["content-disposition"] == "attachment"
    for answer in (png, svg, webp):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"


def test_images_are_only_where_they_are(api: Served) -> None:
    href = list_images(api)[0]["href"]
    base, source, generation, offset, number = href.rsplit("/", 4)
    other = api.get(f"/api/sessions/{TOOLS}").json["session"]["key"]
    for path in (
        f"{base}/{source}/{generation}/{offset}/7",
        f"{base}/{source}/{generation}/1/0",
        f"{base}/{source}/7/{offset}/0",
        f"{base}/{other}/{generation}/{offset}/0",
        f"{base}/nothing/{generation}/{offset}/0",
        f"/api/sessions/{other}/images/{source}/{generation}/{offset}/{number}",
        f"{base}/{source}/{generation}/99999999999999999999/0",
    ):
        assert api.get(path).status in (404, 422), path


def test_an_image_outlives_the_rewriting_of_its_file(tmp_path: Path) -> None:
    session = "10119000-0000-4000-8000-000000000008"
    to = Writer(session)
    to.user("Hello")
    to.user([say("What is this?"), picture(PIXEL)])
    path = tmp_path / "claude" / "projects" / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True)
    store = open_store(tmp_path / "turnlog.db")
    with serving(tmp_path / "home", store=store) as api:
        path.write_bytes(to.data)
        sync(store, tmp_path / "turnlog.db", locate_sessions([tmp_path / "claude"]).sessions, origin="test")
        [image] = list_shown(api, session)
        path.write_bytes(b"\n" + to.data.replace(b"Hello", b"Hi"))
        sync(store, tmp_path / "turnlog.db", locate_sessions([tmp_path / "claude"]).sessions, origin="test")
        [again] = list_shown(api, session)
        assert image != again
        assert [api.get(each).body for each in (image, again)] == [PIXEL, PIXEL]
        base, offset, number = image.rsplit("/", 2)
        for missing in (f"{base}/{int(offset) + 1}/{number}", f"{base}/99999/{number}", f"{base}/0/{number}"):
            assert api.get(missing).status == 404
    store.close()


def list_shown(api: Served, session: str) -> list[str]:
    blocks = api.get(f"/api/sessions/{session}/messages").json["items"][1]["blocks"]
    return [block["image"]["href"] for block in blocks if "image" in block]


def test_a_result_in_a_file_is_given_back_byte_for_byte(api: Served) -> None:
    [block] = api.get(f"/api/sessions/{OFFLOADED}/messages").json["items"][1]["blocks"]
    href = block["call"]["result"]["offloaded"]["href"]
    answer = api.get(href)
    assert answer.body == LONG_RESULT
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment"
    assert api.get(href, If_None_Match=answer.headers["etag"]).status == 304
    transcript = api.get(f"/api/sessions/{OFFLOADED}").json["session"]["key"]
    assert api.get(f"/api/sessions/{OFFLOADED}/tool-results/{transcript}").status == 404


def test_what_is_long_is_sent_piece_by_piece(tmp_path: Path) -> None:
    session = "10119000-0000-4000-8000-000000000009"
    to = Writer(session)
    to.user("x" * (5 << 20))
    for number in range(9):
        to.answer(say(f"{number}" * (5 << 20)))
    path = tmp_path / "claude" / "projects" / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(to.data)
    store = open_store(tmp_path / "turnlog.db")
    sync(store, tmp_path / "turnlog.db", locate_sessions([tmp_path / "claude"]).sessions, origin="test")
    with serving(tmp_path / "home", store=store) as api:
        line = to.data.splitlines(keepends=True)[0]
        answer = api.get(f"/api/sessions/{session}/messages/0/raw")
        assert (answer.body, answer.headers["content-length"]) == (line, str(len(line)))
        # A window ends before its lines are too long to be read at once, and what it says is cut.
        window = api.get(f"/api/sessions/{session}/messages").json
        assert [item["index"] for item in window["items"]] == [0, 1, 2, 3, 4, 5]
        assert {len(item["content"]) for item in window["items"]} == {200_000}
        assert window["items"][1]["blocks"][0]["truncated"]
        assert (window["before"], window["after"]) == (None, "5")
        around = api.get(f"/api/sessions/{session}/messages?around=5").json
        assert [item["index"] for item in around["items"]] == [3, 4, 5, 6, 7, 8]
        last = api.get(f"/api/sessions/{session}/messages?before=10").json
        assert [item["index"] for item in last["items"]] == [4, 5, 6, 7, 8, 9]
    store.close()


PARTS = ("", "/messages", "/turns", "/tree", "/sidechains", "/agents", "/calls", "/problems", "/messages/0/raw")
EVERYTHING = [*(f"/api/sessions/{ODD}{part}" for part in PARTS), "/api/sessions", "/api/projects", "/api/usage"]


@pytest.mark.parametrize("path", EVERYTHING)
def test_what_did_not_change_is_not_sent_again(api: Served, path: str) -> None:
    first = api.get(path)
    again = api.get(path, If_None_Match=first.headers["etag"])
    assert (first.status, again.status, again.body) == (200, 304, b"")
    other = api.get(f"{path}?limit=1", If_None_Match=first.headers["etag"])
    assert other.status != 304, "another question has another answer"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_answers_are_compressed(api: Served, encoding: str) -> None:
    plain = api.get("/api/sessions")
    packed = api.get("/api/sessions", Accept_Encoding=encoding)
    assert packed.headers["content-encoding"] == encoding
    assert len(packed.body) < len(plain.body) / 3
    unpacked = gzip.decompress(packed.body) if encoding == "gzip" else zstandard.decompress(packed.body)
    assert unpacked == plain.body
