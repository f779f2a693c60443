"""One server over one archive, for all tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from api_archive import fill
from server_app import Served, serving
from turnlog.store.interface import MaintainedStore
from turnlog.store.opening import open_store


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaintainedStore]:
    """The archive; nobody changes it."""
    home = tmp_path_factory.mktemp("archive")
    store = open_store(home / "turnlog.db")
    fill(store, home / "turnlog.db", home / "claude")
    yield store
    store.close()


@pytest.fixture(scope="session")
def api(archive: MaintainedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server over it."""
    with serving(tmp_path_factory.mktemp("home"), store=archive) as running:
        yield running
