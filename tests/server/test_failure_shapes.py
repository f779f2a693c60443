"""Whatever goes wrong, it looks the same, and tells nobody what is none of their business."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pytest
from litestar import Response, get, patch, post
from litestar.exceptions import NotAuthorizedException
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.response import Stream
from msgspec import Struct

from server_app import CORE, Served, serving
from turnlog.errors import (
    ArchiveError,
    BusyStoreError,
    ConfigError,
    CursorError,
    LostStoreError,
    MarkError,
    StoreError,
    TurnlogError,
)
from turnlog.server.errors import ErrorDetail, InvalidRequestError, NotFoundError, RequestError
from turnlog.store.opening import open_store

PRIVATE = "/home/somebody/.local/share/turnlog"


class DryRunOption(Struct):
    count: int


class _PlacedError(TurnlogError):
    def __init__(self, message: str, at: int) -> None:
        self.at = at
        super().__init__(message)


ERRORS: dict[str, Exception] = {
    "busy": BusyStoreError(f"The store {PRIVATE} is being written"),
    "lost": LostStoreError(f"The store {PRIVATE} cannot be reached"),
    "damaged": ArchiveError("bad checksum", "source", 0, 12),
    "store": StoreError(f"The store {PRIVATE} is full"),
    "config": ConfigError("wrong", PRIVATE),
    "cursor": CursorError("not a cursor"),
    "mark": MarkError("a name has at most 200 characters"),
    "query": _PlacedError("expected a word", 7),
    "bug": ZeroDivisionError(PRIVATE),
    "missing": NotFoundError("There is no such session"),
    "invalid": InvalidRequestError("Not that way", ErrorDetail(where="lane", message="main or tool")),
    "own": RequestError(409, "ambiguous", "2 sessions match that name", headers={"x-hint": "longer"}),
    "litestar": NotAuthorizedException(detail=PRIVATE),
}


@get("/api/fail/{name:str}", sync_to_thread=True)
def fail(name: FromPath[str]) -> None:
    raise ERRORS[name]


@get("/api/count", sync_to_thread=False)
def count(limit: Annotated[int, QueryParameter(ge=1, le=10)] = 5) -> int:
    return limit


@patch("/api/wish", sync_to_thread=False)
def wish(data: JSONBody[DryRunOption]) -> DryRunOption:
    return data


@post("/api/late", status_code=200)
async def fail_late() -> Response[Any]:
    async def tell() -> Any:
        yield b"half"
        raise ZeroDivisionError(PRIVATE)

    return Stream(tell())


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(
        tmp_path_factory.mktemp("home"), handlers=[fail, count, wish, fail_late], routes=CORE
    ) as running:
        yield running


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("busy", 503, {"code": "busy", "message": "The archive is being written; try again"}),
        ("lost", 503, {"code": "unavailable", "message": "The archive cannot be reached; try again"}),
        (
            "cursor",
            422,
            {
                "code": "invalid_request",
                "message": "The cursor is not valid",
                "details": [{"where": "cursor", "message": "not a cursor"}],
            },
        ),
        ("mark", 422, {"code": "invalid_request", "message": "a name has at most 200 characters"}),
        (
            "query",
            422,
            {
                "code": "invalid_request",
                "message": "The query is not valid",
                "details": [{"where": "q", "message": "expected a word", "at": 7}],
            },
        ),
        ("missing", 404, {"code": "not_found", "message": "There is no such session"}),
        (
            "invalid",
            422,
            {
                "code": "invalid_request",
                "message": "Not that way",
                "details": [{"where": "lane", "message": "main or tool"}],
            },
        ),
        ("own", 409, {"code": "ambiguous", "message": "2 sessions match that name"}),
        ("litestar", 401, {"code": "unauthorized", "message": "Unauthorized"}),
    ],
)
def test_what_a_client_did_wrong_is_said(failing: Served, name: str, status: int, error: object) -> None:
    answer = failing.get(f"/api/fail/{name}")
    assert (answer.status, answer.json) == (status, {"error": error})


def test_headers_of_a_failure_are_kept(failing: Served) -> None:
    assert failing.get("/api/fail/own").headers["x-hint"] == "longer"
    assert failing.get("/api/fail/busy").headers["retry-after"] == "1"


@pytest.mark.parametrize("name", ["damaged", "store", "config", "bug"])
def test_what_is_wrong_here_is_said_in_the_log_alone(
    failing: Served, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = failing.get(f"/api/fail/{name}")
    assert answer.status == 500
    assert answer.code in ("internal", "damaged")
    assert PRIVATE not in answer.body.decode()
    assert b"Traceback" not in answer.body
    assert b"Error" not in answer.body
    [record] = [each for each in caplog.records if each.name == "turnlog.server"]
    assert answer.json["error"]["request_id"] in record.getMessage()
    assert record.levelno == logging.ERROR


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/nothing", None, 404, "not_found"),
        ("GET", "/api", None, 404, "not_found"),
        ("POST", "/api/nothing", b"{}", 404, "not_found"),
        ("GET", "/openx", None, 503, None),
        ("DELETE", "/api/count", None, 405, "method_not_allowed"),
        ("BREW", "/api/count", None, 400, "bad_request"),
        ("PUT", "/", None, 405, "method_not_allowed"),
        ("GET", "/api/count?limit=0", None, 422, "invalid_request"),
        ("GET", "/api/count?limit=x", None, 422, "invalid_request"),
        ("GET", "/api/count?limit=%ff", None, 422, "invalid_request"),
        ("PATCH", "/api/wish", b"{", 400, "bad_request"),
        ("PATCH", "/api/wish", b"\xff", 400, "bad_request"),
        ("PATCH", "/api/wish", b"", 422, "invalid_request"),
        ("PATCH", "/api/wish", b'{"count": "many"}', 422, "invalid_request"),
        ("PATCH", "/api/wish", b"[" * 100_000, 400, "bad_request"),
        ("PATCH", "/api/wish", b"x" * ((1 << 20) + 1), 413, "too_large"),
    ],
)
def test_every_failure_has_the_shape(
    failing: Served, method: str, path: str, body: bytes | None, status: int, code: str | None
) -> None:
    answer = failing.ask(method, path, {**failing.bearer, "Content-Type": "application/json"}, body)
    assert answer.status == status
    if code is not None:
        assert answer.code == code
        assert set(answer.json["error"]) <= {"code", "message", "details", "request_id"}


def test_what_was_given_is_not_repeated(failing: Served) -> None:
    secret = "sk-ant-secret"
    for answer in (failing.get(f"/api/count?limit={secret}"), failing.get(f"/api/{secret}")):
        assert secret not in answer.body.decode()


def test_the_allowed_methods_are_told(failing: Served) -> None:
    assert "GET" in failing.ask("DELETE", "/api/count", failing.bearer).headers["allow"]


def test_half_an_answer_is_cut_off(failing: Served, caplog: pytest.LogCaptureFixture) -> None:
    line = f"POST /api/late HTTP/1.1\r\nHost: {failing.host}\r\n"
    answer = failing.send(f"{line}Authorization: Bearer {failing.keeper.token}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert PRIVATE.encode() not in answer
    assert not answer.endswith(b"0\r\n\r\n"), "a client must see that something is missing"
    assert any("Exception" in each.getMessage() for each in caplog.records)


def test_the_schema_says_so_of_every_operation(failing: Served) -> None:
    schema = failing.get("/api/schema/openapi.json").json
    operations = [each for path in schema["paths"].values() for each in path.values()]
    assert len(operations) >= 5
    for operation in operations:
        [shape] = operation["responses"]["default"]["content"].values()
        assert shape == {"schema": {"$ref": "#/components/schemas/ErrorDocument"}}
        assert "400" not in operation["responses"]
    assert {"ErrorDocument", "ErrorBody", "ErrorDetail", "DryRunOption"} <= set(schema["components"]["schemas"])


def test_a_store_that_fails_is_seen_by_health(tmp_path: Path) -> None:
    store = open_store(tmp_path / "turnlog.db")
    with serving(tmp_path, store=store, routes=CORE) as served:
        assert served.ask("GET", "/api/health").json == {"status": "ok", "version": version("turnlog")}
        store.close()
        answer = served.ask("GET", "/api/health")
        assert (answer.status, answer.json) == (503, {"status": "failing", "version": version("turnlog")})
        ready = served.ask("GET", "/api/ready")
        assert (ready.status, ready.json) == (503, {"ready": False, "reason": "failing"})
