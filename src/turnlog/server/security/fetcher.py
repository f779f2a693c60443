"""HTTP requests to a login provider, which cannot be led anywhere else.

A provider names the addresses of its parts itself, and they may be on other hosts. None of them may lead into
the network around this server: only the provider's own host, which the configuration names, may be there. A
name is resolved once, checked, and then connected to. Redirects are not followed, and no answer may be long or
take long.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from urllib.parse import SplitResult, urlsplit

import httpx

_SECONDS = 10.0
"""For one answer, all of it."""
_LARGEST = 1 << 20
_PORTS = {"http": 80, "https": 443}


class FetchError(Exception):
    """Something was not fetched; the text says why."""


class Fetcher:
    """Asks one provider."""

    def __init__(self, issuer: str, seconds: float = _SECONDS, largest: int = _LARGEST) -> None:
        self._issuer = _name(urlsplit(issuer))
        self._context = ssl.create_default_context()
        self._seconds = seconds
        self._largest = largest

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> bytes:
        """Return what is at an address; raises `FetchError`."""
        status, body = await self.ask("GET", url, headers or {}, b"")
        if status != 200:
            raise FetchError(f"{url} responded with {status}")
        return body

    async def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """Return status and body of an answer; raises `FetchError`."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._ask(method, url, headers, body)
        except TimeoutError:
            raise FetchError(f"{url} did not respond within {self._seconds:.0f} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise FetchError(f"{url}: {error or type(error).__name__}") from error

    async def _ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(url)
        address = await self._find_address(parts)
        request = httpx.Request(method, url, headers={"accept": "application/json", **headers}, content=body)
        if address is not None:  # the name still counts for the certificate, and for the host that is asked
            request.extensions = {**request.extensions, "sni_hostname": parts.hostname or ""}
            request.url = request.url.copy_with(host=address)
        async with httpx.AsyncClient(
            verify=self._context, trust_env=False, follow_redirects=False, timeout=self._seconds
        ) as client:
            answer = await client.send(request, stream=True)
            try:
                return answer.status_code, await self._read(url, answer.aiter_bytes())
            finally:
                await answer.aclose()

    async def _read(self, url: str, pieces: AsyncIterator[bytes]) -> bytes:
        found = bytearray()
        async for piece in pieces:
            found += piece
            if len(found) > self._largest:
                raise FetchError(f"{url} returned more than {self._largest:,} bytes")
        return bytes(found)

    async def _find_address(self, parts: SplitResult) -> str | None:
        """Return where to connect to, None for the provider itself; raises `FetchError`."""
        if parts.username is not None or parts.scheme not in _PORTS or not parts.hostname:
            raise FetchError(f"{parts.geturl()} is not the address of a provider")
        if _name(parts) == self._issuer:
            return None
        if parts.scheme != "https":
            raise FetchError(f"{parts.geturl()} does not use TLS")
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        if not addresses or not all(ipaddress.ip_address(each).is_global for each in addresses):
            raise FetchError(f"{parts.hostname} is not a public host, and not the provider's own")
        return addresses[0]


def _name(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
