"""What keeps bytes under names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

__all__ = ["Blobs", "check_name", "check_prefix"]


class Blobs(Protocol):
    """Bytes under names, as `2026-11/…/17`: written once, and then read, or deleted. Raises `StoreError`.

    Several threads may use it.
    """

    @property
    def address(self) -> str:
        """Where they are, as it may be shown."""

    def put(self, name: str, data: bytes) -> None:
        """Write bytes under a name, all or nothing; when this returns, they outlast a loss of power.

        What is there by that name is replaced.
        """

    def get(self, name: str, start: int, length: int) -> bytes:
        """Return some of the bytes under a name; fewer, if there are no more. Raises `KeyError`."""

    def get_many(self, wanted: Sequence[tuple[str, int, int]]) -> list[bytes]:
        """Return what `get` does for each of several names with start and length, at once if that is faster."""

    def delete(self, names: Iterable[str]) -> None:
        """Delete what has these names, as far as it is there."""

    def delete_under(self, prefix: str) -> int:
        """Delete all whose names begin with a prefix that ends with a slash; return how many there were."""

    def list_under(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the names that begin with a prefix, in order, each with how many bytes it has.

        The prefix is empty, which is all of them, or ends with a slash.
        """

    def list_folders(self) -> list[str]:
        """Return what names begin with, up to the first slash, in order."""

    def close(self) -> None:
        """Let go of it; again does nothing."""


def check_name(name: str) -> None:
    """Raise `ValueError` for what is no name: it could lead elsewhere, or be hidden."""
    if not name or not name.isascii() or any(not part or part.startswith(".") for part in name.split("/")):
        raise ValueError(f"Expected a name of bytes, got {name!r}")


def check_prefix(prefix: str) -> None:
    """Raise `ValueError` for what is no beginning of names up to a slash."""
    if not prefix.endswith("/"):
        raise ValueError(f"Expected a prefix that ends with a slash, got {prefix!r}")
    check_name(prefix[:-1])
