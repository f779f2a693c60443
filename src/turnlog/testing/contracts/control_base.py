"""What tests of control databases have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.errors import StoreError
from turnlog.store.changes import NewChange
from turnlog.store.control.interface import Control
from turnlog.store.interface import ChangeKind

__all__ = ["ControlBase", "changes_of", "make_change", "refuses"]


class ControlBase:
    """Opens the control database of a test: the first call makes it."""

    def open(self, tmp_path: Path) -> Control:
        """Return a handle of its own on the database."""
        raise NotImplementedError


def make_change(owner: str, session: str) -> NewChange:
    """Return an entry for the feed."""
    return NewChange(owner=owner, kind=ChangeKind.SESSION_CHANGED, session=session, revision=1, at_ns=5)


def changes_of(control: Control, owner: str, after: int = 0) -> list[str]:
    """Return the sessions that the feed tells of."""
    return [each.entry.session for each in control.list_changes(owner, after, 1000)]


@contextmanager
def refuses(kind: type[StoreError], word: str = "") -> Iterator[None]:
    """Expect that something is refused, by words that have this one in them."""
    said = None
    try:
        yield
    except kind as error:
        said = str(error)
    assert said is not None, "it was not refused"
    assert word in said
