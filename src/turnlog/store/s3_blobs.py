"""Blobs in a bucket of S3-compatible storage.

Who we are is said as for every program of that kind: by `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, by the
role of the machine, or in the address. An object appears as a whole when it is written, and whoever asks then
sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from obstore.exceptions import BaseError, GenericError
from obstore.store import S3Store

from turnlog.errors import LostStoreError, StoreError
from turnlog.store.model import BlobPlace

if TYPE_CHECKING:
    from obstore.store import S3Config

_PATIENCE = timedelta(seconds=60)
"""How long one request may take."""
_RETRIES = 5
_CODE = re.compile("<Code>([A-Za-z]+)</Code>")


class S3Blobs:
    """Objects of a bucket whose names begin with a prefix."""

    def __init__(self, place: BlobPlace) -> None:
        """Take `s3://bucket/prefix?endpoint=…&region=…`; raises `StoreError` for what is no such address."""
        self._name = str(place)
        parts = urlsplit(place.address)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        config: S3Config = {}
        if "endpoint" in options:
            config["endpoint"] = options.pop("endpoint")
        if "region" in options:
            config["region"] = options.pop("region")
        if parts.username and parts.password:
            config["access_key_id"] = unquote(parts.username)
            config["secret_access_key"] = unquote(parts.password)
        bucket = parts.netloc.rpartition("@")[2]
        if not bucket or options:
            raise StoreError(f"Expected s3://bucket/prefix?endpoint=…&region=…, got {self._name}")
        is_plain = config.get("endpoint", "").startswith("http://")
        with self._translate():
            self._store = S3Store(
                bucket,
                prefix=parts.path.strip("/") or None,
                client_options={"allow_http": is_plain, "timeout": _PATIENCE},
                retry_config={"max_retries": _RETRIES, "retry_timeout": _PATIENCE},
                config=config,
            )

    def put(self, name: str, data: bytes) -> None:
        """Write an object, in one request."""
        with self._translate():
            self._store.put(name, data, use_multipart=False)

    def get(self, name: str) -> bytes:
        """Return the bytes of an object; raises `KeyError`."""
        with self._translate(name):
            return self._store.get(name).bytes().to_bytes()

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects."""
        with self._translate():
            self._store.delete([*names])

    @contextmanager
    def _translate(self, name: str | None = None) -> Iterator[None]:
        """Raise what callers expect; `name` is of an object that may be missing."""
        try:
            yield
        except FileNotFoundError as error:
            if name is not None and "NoSuchBucket" not in str(error):
                raise KeyError(name) from None
            raise StoreError(f"There is no bucket for {self._name} ({_tell(error)})") from error
        except GenericError as error:
            raise LostStoreError(f"The blobs in {self._name} cannot be reached ({_tell(error)})") from error
        except (BaseError, ValueError) as error:
            raise StoreError(f"The blobs in {self._name} cannot be used ({_tell(error)})") from error


def _tell(error: Exception) -> str:
    """Return the first line of what the library says, and the server's own word for it."""
    text = str(error).strip()
    code = _CODE.search(text)
    line = text.partition("\n")[0].partition(": <?xml")[0][:500]
    return line if code is None else f"{line}: {code[1]}"
