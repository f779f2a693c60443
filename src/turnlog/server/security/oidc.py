"""Logins at a provider that speaks OpenID Connect: the authorization code flow, with PKCE.

What the provider signed is checked by its published keys, with asymmetric algorithms alone; its keys are
fetched again when one is named that is not known. An e-mail address that the token does not have is asked for
(`userinfo`), for the same subject. Nothing of what the provider gave is kept.

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
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from httpx import AsyncClient, HTTPError, InvalidURL
from httpx import Request as HttpRequest
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from msgspec import Struct

from turnlog.config import OidcSettings
from turnlog.server.security.providers import ConfirmedIdentity, RefusedLoginError
from turnlog.store.account_model import Identity, PendingLogin

_SECONDS = 10.0
"""For one answer, all of it."""
_LARGEST = 1 << 20
_PORTS = {"http": 80, "https": 443}


class FetchError(Exception):
    """A request to a provider failed; the text says why."""


class Fetcher:
    """Asks one provider."""

    def __init__(self, issuer: str, seconds: float = _SECONDS, largest: int = _LARGEST) -> None:
        self._issuer = _name_host(urlsplit(issuer))
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
        except (HTTPError, InvalidURL, OSError, ValueError) as error:
            raise FetchError(f"{url}: {error or type(error).__name__}") from error

    async def _ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(url)
        address = await self._find_address(parts)
        request = HttpRequest(method, url, headers={"accept": "application/json", **headers}, content=body)
        if address is not None:  # the name still counts for the certificate, and for the host that is asked
            request.extensions = {**request.extensions, "sni_hostname": parts.hostname or ""}
            request.url = request.url.copy_with(host=address)
        async with AsyncClient(
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
        if _name_host(parts) == self._issuer:
            return None
        if parts.scheme != "https":
            raise FetchError(f"{parts.geturl()} does not use TLS")
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        if not addresses or not all(ipaddress.ip_address(each).is_global for each in addresses):
            raise FetchError(f"{parts.hostname} is not a public host, and not the provider's own")
        return addresses[0]


def _name_host(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


_ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)
_METADATA_SECONDS = 3600.0
_LEEWAY = 120
"""Seconds by which clocks may differ."""
_LONGEST = 255
"""Characters of a provider's name for somebody, as the standard says."""


_Told = TypeVar("_Told")


class _Metadata(Struct, frozen=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class _Tokens(Struct, frozen=True):
    id_token: str
    access_token: str = ""


class _Failed(Struct, frozen=True):
    error: str = ""


class _Person(Struct, frozen=True):
    sub: str
    email: str | None = None
    email_verified: bool | str = False
    name: str | None = None


class OidcProvider:
    """One provider."""

    def __init__(
        self,
        settings: OidcSettings,
        secret: str | None,
        *,
        fetcher: Fetcher | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._secret = secret
        self._fetcher = fetcher or Fetcher(settings.issuer)
        self._clock = clock
        self._metadata: _Metadata | None = None
        self._known_until = 0.0
        self._keys: KeySet | None = None

    async def begin(self, login: PendingLogin, redirect_uri: str) -> str:
        """Return the address to which a browser is sent; raises `RefusedLoginError`."""
        metadata = await self._find_metadata()
        address: str = prepare_grant_uri(
            metadata.authorization_endpoint,
            client_id=self._settings.client_id,
            response_type="code",
            redirect_uri=redirect_uri,
            scope="openid email profile",
            state=login.state,
            nonce=login.nonce,
            code_challenge=create_s256_code_challenge(login.verifier),
            code_challenge_method="S256",
        )
        return address

    async def finish(
        self, login: PendingLogin, code: str, issuer: str | None, redirect_uri: str
    ) -> ConfirmedIdentity:
        """Return who came back with a code; raises `RefusedLoginError`."""
        metadata = await self._find_metadata()
        is_told = metadata.authorization_response_iss_parameter_supported
        if (issuer is not None or is_told) and issuer != metadata.issuer:
            raise RefusedLoginError("refused", "the response comes from another provider")
        tokens = await self._exchange(metadata, login, code, redirect_uri)
        claims = await self._verify(metadata, tokens, login.nonce)
        person = _read(claims)
        if person.email is None and metadata.userinfo_endpoint is not None and tokens.access_token:
            person = await self._ask_more(metadata.userinfo_endpoint, tokens, person)
        return ConfirmedIdentity(
            identity=Identity(metadata.issuer, person.sub),
            email=person.email or "",
            # Some providers write it as text.
            is_verified=person.email_verified is True or person.email_verified == "true",
            full_name=(person.name or "")[:200],
        )

    async def _find_metadata(self) -> _Metadata:
        if self._metadata is not None and self._clock() < self._known_until:
            return self._metadata
        address = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        found = _decode(await self._get(address), _Metadata, address)
        if found.issuer != self._settings.issuer:
            # With another issuer, tokens could claim to be anybody.
            raise RefusedLoginError("unreachable", f"the provider calls itself {found.issuer[:200]!r}")
        self._metadata, self._known_until = found, self._clock() + _METADATA_SECONDS
        return found

    async def _exchange(
        self, metadata: _Metadata, login: PendingLogin, code: str, redirect_uri: str
    ) -> _Tokens:
        body = urlencode(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": login.verifier,
            }
        )
        auth = ClientAuth(self._settings.client_id, self._secret or "", self._choose_method(metadata))
        given = {"content-type": "application/x-www-form-urlencoded"}
        uri, headers, body = auth.prepare("POST", metadata.token_endpoint, given, body)
        try:
            status, answer = await self._fetcher.ask("POST", uri, headers, body.encode())
        except FetchError as error:
            raise RefusedLoginError("unreachable", str(error)) from error
        if status != 200:
            told = _decode(answer, _Failed, uri).error[:100] if answer[:1] == b"{" else ""
            raise RefusedLoginError("refused", f"the provider did not accept the code: {status} {told!r}")
        return _decode(answer, _Tokens, uri)

    def _choose_method(self, metadata: _Metadata) -> str:
        if self._secret is None:
            return "none"
        known = metadata.token_endpoint_auth_methods_supported
        return "client_secret_post" if "client_secret_basic" not in known else "client_secret_basic"

    async def _verify(self, metadata: _Metadata, tokens: _Tokens, nonce: str) -> dict[str, Any]:
        """Return the claims of a token, if it is the provider's, for us, for this login, and still valid."""
        algorithms = [each for each in _ALGORITHMS if each in metadata.id_token_signing_alg_values_supported]
        try:
            try:
                token = jwt.decode(tokens.id_token, await self._find_keys(metadata), algorithms=algorithms)
            except (JoseError, ValueError):  # the provider may have other keys by now
                keys = await self._find_keys(metadata, anew=True)
                token = jwt.decode(tokens.id_token, keys, algorithms=algorithms)
            claims = CodeIDToken(
                token.claims,
                token.header,
                options={
                    "iss": {"essential": True, "value": metadata.issuer},
                    "aud": {"essential": True, "value": self._settings.client_id},
                    "nonce": {"essential": True, "value": nonce},
                },
                params={
                    "nonce": nonce,
                    "client_id": self._settings.client_id,
                    "access_token": tokens.access_token,
                },
            )
            claims.validate(now=int(time.time()), leeway=_LEEWAY)
        except (JoseError, ValueError, TypeError) as error:
            raise RefusedLoginError("refused", f"the provider's token is not valid: {error}") from error
        return dict(claims)

    async def _find_keys(self, metadata: _Metadata, *, anew: bool = False) -> KeySet:
        if self._keys is None or anew:
            found = _decode(await self._get(metadata.jwks_uri), dict[str, Any], metadata.jwks_uri)
            self._keys = KeySet.import_key_set(
                {"keys": [key for key in found.get("keys", ()) if _is_usable(key)]}
            )
        return self._keys

    async def _ask_more(self, address: str, tokens: _Tokens, person: _Person) -> _Person:
        headers = {"authorization": f"Bearer {tokens.access_token}"}
        told = _decode(await self._get(address, headers), _Person, address)
        if told.sub != person.sub:
            raise RefusedLoginError("refused", "the provider describes somebody else")
        return told

    async def _get(self, address: str, headers: dict[str, str] | None = None) -> bytes:
        try:
            return await self._fetcher.get(address, headers)
        except FetchError as error:
            raise RefusedLoginError("unreachable", str(error)) from error


def _read(claims: dict[str, Any]) -> _Person:
    try:
        person = msgspec.convert(claims, _Person)
    except msgspec.ValidationError as error:
        raise RefusedLoginError("refused", f"the provider's token is not valid: {error}") from error
    if not 0 < len(person.sub) <= _LONGEST:
        raise RefusedLoginError("refused", "the provider's token names nobody")
    return person


def _is_usable(key: object) -> bool:
    """Tell whether a key may have signed a token: not one for secrets, nor a shared one."""
    return isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP") and key.get("use") in (None, "sig")


def _decode(data: bytes, kind: type[_Told], address: str) -> _Told:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedLoginError("unreachable", f"{address} is not a provider's response: {error}") from error
