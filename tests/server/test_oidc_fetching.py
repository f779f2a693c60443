"""What is asked of a provider: only where it may be, and never for long."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from turnlog.config import OidcSettings
from turnlog.server.security.oidc import Fetcher, FetchError


class Answers(BaseHTTPRequestHandler):
    """Answers by address."""

    def do_GET(self) -> None:
        status = 302 if self.path == "/elsewhere" else 200
        body = b"x" * (2000 if self.path == "/long" else 5)
        self.send_response(status)
        self.send_header("location", "/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def answering() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def get(fetcher: Fetcher, url: str) -> bytes:
    return asyncio.run(fetcher.get(url))


def test_the_provider_itself_may_be_anywhere() -> None:
    with answering() as issuer:
        fetcher = Fetcher(issuer, largest=1000)
        assert get(fetcher, f"{issuer}/") == b"xxxxx"
        with pytest.raises(FetchError, match="302"):
            get(fetcher, f"{issuer}/elsewhere")
        with pytest.raises(FetchError, match="more than 1,000 bytes"):
            get(fetcher, f"{issuer}/long")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/keys",
        "https://127.0.0.1/keys",
        "https://localhost/keys",
        "https://[::1]/keys",
        "https://10.0.0.1/keys",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00::1]/keys",
        "https://0.0.0.0/keys",
        "https://2130706433/keys",
        "https://user:secret@login.example.org/keys",
        "file:///etc/passwd",
        "ftp://login.example.org/keys",
        "https:///keys",
        "",
    ],
)
def test_nothing_else_around_here_is_asked(url: str) -> None:
    with pytest.raises(
        FetchError, match=r"not a public host|does not use TLS|not the address|Name or|not known|resolution"
    ):
        get(Fetcher("https://login.example.org"), url)


def test_another_port_of_the_same_host_is_not_the_provider() -> None:
    with answering() as issuer, answering() as other, pytest.raises(FetchError):
        get(Fetcher(issuer), other)


def test_who_does_not_answer_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        issuer = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(FetchError, match="did not respond"):
            get(Fetcher(issuer, seconds=0.05), issuer)


@pytest.mark.parametrize(
    "issuer", ["http://login.example.org", "login.example.org", "https://a@b.org", "https://b.org/?x"]
)
def test_what_could_be_changed_on_the_way_is_no_provider(issuer: str) -> None:
    with pytest.raises(ValueError, match="issuer"):
        OidcSettings(issuer=issuer, client_id="turnlog")
