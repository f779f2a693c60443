"""Opening the place where bytes are: a folder by its path, or a bucket by its address."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from turnlog.errors import StoreError
from turnlog.store.blobs.folder import FolderBlobs
from turnlog.store.blobs.interface import Blobs

__all__ = ["open_blobs"]

_BUCKET = "s3://"


def open_blobs(address: str) -> Blobs:
    """Return what keeps bytes at an address: a path, or `s3://bucket/prefix?endpoint=…&region=…`.

    Raises `StoreError` for what is neither, or if the library for it is not installed.
    """
    if address.startswith(_BUCKET):
        try:
            # Loaded when it is asked for: its library is optional.
            blobs: Blobs = import_module("turnlog.store.blobs.s3").S3Blobs(address)
        except ModuleNotFoundError as error:
            raise StoreError(
                f"{address} needs {error.name}, which is not installed: pip install 'turnlog[s3]'"
            ) from error
        return blobs
    if not address or "://" in address:
        raise StoreError(f"Expected a folder or s3://bucket/prefix to keep bytes in, got {address!r}")
    return FolderBlobs(Path(address).expanduser().absolute())
