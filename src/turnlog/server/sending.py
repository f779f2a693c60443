"""Bytes out of transcripts. They are untrusted: no page may use anything of them but as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from litestar import Response
from litestar.response import Stream

from turnlog.server.security.headers import UNTRUSTED_POLICY

WHOLE = 4 << 20
"""What is longer is never in memory as a whole."""
_NO_HEADERS: Mapping[str, str] = {}


def send_pieces(
    pieces: Iterator[bytes], size: int, media_type: str, headers: Mapping[str, str] = _NO_HEADERS
) -> Response[Any]:
    """Return bytes of a known size: at once, or piece by piece if they are many."""
    shown = media_type.startswith("image/") or media_type == "application/x-ndjson"
    every = {
        "content-security-policy": UNTRUSTED_POLICY,
        "content-disposition": "inline" if shown else "attachment",
        **headers,
    }
    if size <= WHOLE:
        return Response(b"".join(pieces), media_type=media_type, headers=every)
    # Of a stream, Litestar would say what the route says.
    told = {"content-type": media_type, "content-length": str(size)}
    return Stream(pieces, headers={**every, **told})
