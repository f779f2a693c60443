"""Bytes in a bucket of S3-compatible storage.

Who we are is said as for every program of that kind: by `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or by
the role of the machine. An object appears as a whole when it is written, and whoever asks then sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from obstore.exceptions import BaseError, GenericError
from obstore.store import S3Store

from turnlog.errors import LostStoreError, StoreError
from turnlog.store.blobs.interface import check_name, check_prefix

if TYPE_CHECKING:
    from obstore.store import S3Config

__all__ = ["S3Blobs"]

_PART = 16 << 20
"""What is larger is sent in parts of that size."""
_PATIENCE = timedelta(seconds=120)
"""How long one request may take."""
_RETRIES = 5
_SIDE_BY_SIDE = 16
"""How many objects are read at once: most of the time is waiting for the server."""
_CODE = re.compile("<Code>([A-Za-z]+)</Code>")
_AT_ONCE = 1000
"""How many objects are deleted by one request."""


class S3Blobs:
    """Objects of a bucket whose names begin with a prefix."""

    def __init__(self, address: str) -> None:
        """Take `s3://bucket/prefix?endpoint=…&region=…`; raises `StoreError` for what is no such address."""
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        endpoint, region = options.pop("endpoint", None), options.pop("region", None)
        if not parts.netloc or parts.username is not None or options:
            raise StoreError(f"Expected s3://bucket/prefix?endpoint=…&region=…, got {_describe(address)}")
        self.address = _describe(address)
        self._pool = ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="turnlog-s3")
        config: S3Config = {}
        if endpoint is not None:
            config["endpoint"] = endpoint
        if region is not None:
            config["region"] = region
        with self._translate():
            self._store = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                client_options={"allow_http": (endpoint or "").startswith("http://"), "timeout": _PATIENCE},
                retry_config={"max_retries": _RETRIES},
                config=config,
            )

    def put(self, name: str, data: bytes) -> None:
        """Write an object."""
        check_name(name)
        with self._translate():
            self._store.put(name, data, use_multipart=len(data) > _PART, chunk_size=_PART)

    def get(self, name: str, start: int, length: int) -> bytes:
        """Return some bytes of an object; raises `KeyError`."""
        check_name(name)
        with self._translate(name):
            if length > 0:
                try:
                    return self._store.get_range(name, start=start, length=length).to_bytes()
                except GenericError:
                    # A server refuses to give what is behind the end.
                    if start < self._store.head(name)["size"]:
                        raise
            else:
                self._store.head(name)
            return b""

    def get_many(self, wanted: Sequence[tuple[str, int, int]]) -> list[bytes]:
        """Return some bytes of several objects, which are asked for side by side; raises `KeyError`."""
        if len(wanted) <= 1:
            return [self.get(*each) for each in wanted]
        try:
            asked = [self._pool.submit(self.get, *each) for each in wanted]
        except RuntimeError as error:
            raise StoreError(f"The place {self.address} is closed") from error
        return [each.result() for each in asked]

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects."""
        wanted = list(names)
        for name in wanted:
            check_name(name)
        for first in range(0, len(wanted), _AT_ONCE):
            with self._translate():
                self._store.delete(wanted[first : first + _AT_ONCE])

    def delete_under(self, prefix: str) -> int:
        """Delete objects whose names begin with a prefix."""
        check_prefix(prefix)
        names = [name for name, _ in self.list_under(prefix)]
        self.delete(names)
        return len(names)

    def list_under(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the names and sizes of objects."""
        if prefix:
            check_prefix(prefix)
        with self._translate():
            for several in self._store.list(prefix or None):
                yield from ((each["path"], each["size"]) for each in several)

    def list_folders(self) -> list[str]:
        """Return what names begin with, up to the first slash."""
        with self._translate():
            return sorted(self._store.list_with_delimiter()["common_prefixes"])

    def close(self) -> None:
        """End the threads; connections that nobody uses are closed after a while."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _translate(self, name: str | None = None) -> Iterator[None]:
        """Raise what callers expect; `name` is of an object that may be missing."""
        try:
            yield
        except FileNotFoundError as error:
            if name is not None and "NoSuchBucket" not in str(error):
                raise KeyError(name) from None
            raise StoreError(f"There is no bucket for {self.address} ({_tell(error)})") from error
        except GenericError as error:
            raise LostStoreError(f"The bytes in {self.address} cannot be reached ({_tell(error)})") from error
        except (BaseError, ValueError) as error:
            raise StoreError(f"The bytes in {self.address} cannot be used ({_tell(error)})") from error


def _describe(address: str) -> str:
    """Return an address as it may be shown: the bucket and the prefix."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _tell(error: Exception) -> str:
    """Return the first line of what the library says, and the server's own word for it."""
    text = str(error).strip()
    code = _CODE.search(text)
    line = text.partition("\n")[0].partition(": <?xml")[0][:500]
    return line if code is None else f"{line}: {code[1]}"
