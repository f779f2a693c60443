"""The page as it is served: what is cached, what stands for what, and what if it was not built."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from server_app import CORE, serving

READERS: dict[str | None, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "zstd": zstandard.decompress,
    None: bytes,
}
FOREVER = "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    ("path", "kind", "caching"),
    [
        ("/", "text/html; charset=utf-8", "no-cache"),
        ("/index.html", "text/html; charset=utf-8", "no-cache"),
        ("/favicon.svg", "image/svg+xml", "no-cache"),
        ("/assets/index-abc123.js", "text/javascript; charset=utf-8", FOREVER),
    ],
)
def test_files_are_served_with_their_types(
    tmp_path: Path, page: Path, path: str, kind: str, caching: str
) -> None:
    with serving(tmp_path / "home", page=page, routes=CORE) as served:
        answer = served.ask("GET", path)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    assert answer.headers["cache-control"] == caching
    assert answer.body == (page / ("index.html" if path == "/" else path[1:])).read_bytes()


def test_every_other_address_is_the_page_s_own(tmp_path: Path, page: Path) -> None:
    with serving(tmp_path / "home", page=page, routes=CORE) as served:
        index = served.ask("GET", "/").body
        for path in ("/sessions/abc", "/search?q=x", "/apiary", "/no.html", "/a/b/c/"):
            assert served.ask("GET", path).body == index
        for path in ("/assets/other.js", "/api/other"):
            answer = served.ask("GET", path)
            assert (answer.status, answer.code) == (404, "not_found")


def test_what_the_browser_has_is_not_sent_again(tmp_path: Path, page: Path) -> None:
    with serving(tmp_path / "home", page=page, routes=CORE) as served:
        etag = served.ask("GET", "/").headers["etag"]
        for known in (etag, f'"other", {etag}', etag.removeprefix("W/"), "*"):
            answer = served.ask("GET", "/", {"If-None-Match": known})
            assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", etag)
        assert served.ask("GET", "/", {"If-None-Match": 'W/"other"'}).status == 200


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("zstd, gzip", "zstd"), ("gzip", "gzip"), ("zstd;q=0, gzip", "gzip"), ("br", None)],
)
def test_files_are_compressed(tmp_path: Path, page: Path, accepted: str, encoding: str | None) -> None:
    with serving(tmp_path / "home", page=page, routes=CORE) as served:
        for _ in range(2):
            answer = served.ask("GET", "/", {"Accept-Encoding": accepted})
            assert answer.headers.get("content-encoding") == encoding
            assert answer.headers["vary"] == "accept-encoding"
            read = READERS[encoding]
            assert read(answer.body) == (page / "index.html").read_bytes()


def test_only_the_head_is_sent_if_only_that_is_asked_for(tmp_path: Path, page: Path) -> None:
    with serving(tmp_path / "home", page=page, routes=CORE) as served:
        answer = served.ask("HEAD", "/")
        assert (answer.status, answer.body) == (200, b"")
        assert int(answer.headers["content-length"]) == (page / "index.html").stat().st_size


def test_a_page_that_is_not_built_says_so(tmp_path: Path) -> None:
    with serving(tmp_path / "home", routes=CORE) as served:
        answer = served.ask("GET", "/")
    assert (answer.status, answer.headers["cache-control"]) == (503, "no-store")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert b"make setup" in answer.body
