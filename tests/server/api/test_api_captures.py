"""What was captured of a session can be read over the API, and goes with it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from api_archive import TOOLS
from server_app import Served, serving
from turnlog.ingest.capture import archive_paths
from turnlog.server.requests import ServerContext
from turnlog.store.opening import open_store

ID = "11111111-2222-4333-8444-555555555555"
OWN = {"type": "user", "uuid": "u1", "sessionId": ID, "message": {"role": "user", "content": "Brew tea"}}
STREAM = b'{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}\n'


def test_a_session_that_was_not_captured_has_none(api: Served) -> None:
    assert api.get(f"/api/sessions/{TOOLS}/captures").json["items"] == []
    assert api.get(f"/api/sessions/{TOOLS}/captures/{'0' * 32}").status == 404


def test_captures_are_listed_given_out_and_forgotten(tmp_path: Path) -> None:
    config, captured, place = tmp_path / "claude", tmp_path / "captured", tmp_path / "turnlog.db"
    own = config / "projects" / "-tea" / f"{ID}.jsonl"
    stream = captured / "projects" / "-tea" / f"{ID}.stream.jsonl"
    for path, data in ((own, json.dumps(OWN).encode() + b"\n"), (stream, STREAM)):
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    archive_paths(place, [own, stream])
    around = ServerContext(place=place, config_dirs=(config,), captured_dir=captured)
    with closing(open_store(place)) as store, serving(tmp_path / "home", store=store, around=around) as api:
        [item] = api.get(f"/api/sessions/{ID}/captures").json["items"]
        assert (item["kind"], item["path"], item["lines"], item["provides_messages"]) == (
            "stream",
            str(stream),
            1,
            False,
        )
        answer = api.get(item["href"])
        assert (answer.body, answer.headers["content-type"]) == (STREAM, "application/x-ndjson")
        assert "sandbox" in answer.headers["content-security-policy"]
        headers = {**api.bearer, "Content-Type": "application/json"}
        own.unlink()
        restored = api.ask("POST", f"/api/sessions/{ID}/restore", headers, b'{"dry_run":false}').json
        assert (restored["written"], restored["kept"]) == ([str(own)], [str(stream)])
        told = api.ask("POST", f"/api/sessions/{ID}/forget", headers, b'{"dry_run":false}').json
        assert told["outside"] == [str(own)]
    assert own.exists()
    assert not stream.exists()
