from __future__ import annotations

from collections.abc import Iterator

import pytest

from server_app import Served, serving
from turnlog.store.interface import MaintainedStore
from turnlog.store.opening import open_store


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaintainedStore]:
    """An archive that the tests of a module write to."""
    store = open_store(tmp_path_factory.mktemp("archive") / "turnlog.db")
    yield store
    store.close()


@pytest.fixture(scope="module")
def live(kept: MaintainedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over it."""
    with serving(tmp_path_factory.mktemp("home"), store=kept) as running:
        yield running
